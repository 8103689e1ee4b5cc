"""What AWS says when it says no, in the provider's words. The only place that knows AWS's error codes."""

import re

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
)

from provisioner.providers.base import (
    AccessDenied,
    InvalidRequest,
    NotFound,
    OutOfCapacity,
    ProviderError,
    QuotaExceeded,
    RateLimited,
)


class AnswerLost(ProviderError):
    """Nobody knows whether the call took effect."""


class Missing(ProviderError):
    """What the call is about is not there, or not yet shown everywhere."""


class InUse(ProviderError):
    """What is to go is still held by something else."""


class AlreadyThere(ProviderError):
    """What is to be made exists already, although it may not be shown yet."""


class TokenUsed(ProviderError):
    """The idempotency token was used before, with other parameters."""


ALLOWED = "DryRunOperation"
"""The code of the answer to a dry run that would have succeeded."""

_CAPACITY = {"InsufficientInstanceCapacity", "InsufficientCapacity", "InsufficientHostCapacity"}
_RATE = {
    "RequestLimitExceeded",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
    "EC2ThrottledException",
}
_DENIED = {
    "UnauthorizedOperation",
    "AccessDenied",
    "AccessDeniedException",
    "AuthFailure",
    "InvalidClientTokenId",
    "OptInRequired",
    "PendingVerification",
    "UnrecognizedClientException",
}
_IN_USE = {"DependencyViolation"}
_ALREADY_THERE = {
    "InvalidSubnet.Conflict",
    "Resource.AlreadyAssociated",
    "RouteAlreadyExists",
    "VpcPeeringConnectionAlreadyExists",
}
_INVALID = ("Invalid", "Malformed", "Missing", "Unsupported", "ValidationError")

# Service Quotas: names and codes.
_QUOTAS = {
    "VcpuLimitExceeded": "Running On-Demand Standard instances (ec2, L-1216C47A), counted in vCPUs",
    "VpcLimitExceeded": "VPCs per Region (vpc, L-F678F1CE)",
    "InternetGatewayLimitExceeded": "Internet gateways per Region (vpc, L-A4707A72)",
    "SubnetLimitExceeded": "Subnets per VPC (vpc, L-407747CB)",
    "SecurityGroupLimitExceeded": "VPC security groups per Region (vpc, L-E79EC296)",
    "RulesPerSecurityGroupLimitExceeded": "Inbound or outbound rules per security group (vpc, L-0EA8095F)",
    "VpcEndpointLimitExceeded": "Interface VPC endpoints per VPC (vpc, L-29B6F2EB)",
}


def quota_hint(code: str) -> str:
    quota = _QUOTAS.get(code, f"the one that AWS names {code.removesuffix('LimitExceeded') or code!r}")
    return f"Ask AWS to raise the quota: {quota}."


def translated(error: Exception, *, permission: str) -> ProviderError:
    """`permission` is that of the call that failed, such as `ec2:RunInstances`."""
    match error:
        case ClientError():
            return _answered(error, permission)
        case NoCredentialsError() | PartialCredentialsError():
            return AccessDenied(
                "No AWS credentials were found.",
                hint="Give the workers an instance role, a profile or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
            )
        case ParamValidationError():
            return InvalidRequest(f"{permission}: {error}")
        case BotoCoreError():
            return AnswerLost(f"{permission}: {error}")
        case _:
            raise error


def code_of(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _answered(error: ClientError, permission: str) -> ProviderError:
    code = code_of(error)
    said = error.response.get("Error", {}).get("Message") or code
    message = f"{permission}: {said} ({code})"
    if code in _CAPACITY:
        return OutOfCapacity(
            message, hint="Try again later, or order another machine type; other zones are not tried on their own."
        )
    if code in _RATE:
        return RateLimited(message)
    if code in _DENIED:
        lacking = re.search(r"to perform: ([\w-]+:\w+)", said)
        name = lacking[1] if lacking else permission
        return AccessDenied(message, hint=f"The account's role needs the permission {name}; see docs/aws.md.")
    if code.endswith("LimitExceeded"):
        return QuotaExceeded(message, hint=quota_hint(code))
    if code in _IN_USE or code.endswith(".InUse"):
        return InUse(message)
    if code in _ALREADY_THERE or code.endswith(".Duplicate"):
        return AlreadyThere(message)
    if code == "IdempotentParameterMismatch":
        return TokenUsed(message)
    if code.startswith("InvalidAMIID"):
        return NotFound(message)
    if code.endswith(".NotFound") or code in ("InvalidPlacementGroup.Unknown", "Gateway.NotAttached"):
        return Missing(message)
    if code.startswith(_INVALID):
        return InvalidRequest(message)
    return ProviderError(message)
