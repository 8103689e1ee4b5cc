"""Cloud accounts on the wire."""

import ipaddress
from datetime import datetime
from typing import Annotated, Literal, Self

from ninja import Schema
from pydantic import AfterValidator, Field, StringConstraints, model_validator

from backend.cloud_accounts.states import CheckState
from backend.core.schemas import AllowedAction, Line, NextCursor, RequestBody
from backend.operations.schemas import Operation

VPCS_LIMIT = 40

AccountName = Annotated[Line, StringConstraints(strip_whitespace=True, min_length=1, max_length=63)]
RegionName = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[a-z0-9-]+$")]
VpcId = Annotated[str, StringConstraints(max_length=32, pattern=r"^vpc-[0-9a-f]+$")]


def _network(text: str) -> str:
    try:
        block = ipaddress.IPv4Network(text)
    except ValueError:
        raise ValueError(f"{text} is no IPv4 address block; write it like 10.32.0.0/12") from None
    if block.prefixlen > 16:
        raise ValueError(f"{text} is too small: each cluster's network is a /16 out of it")
    return str(block)


Network = Annotated[str, StringConstraints(max_length=18), AfterValidator(_network)]


class AccountSettings(RequestBody):
    """How machines are made in the account. It stays as it is for the account's life: clusters are built on it."""

    public_addresses: bool = Field(
        default=False,
        description="Machines get one, and agents are reached there. Without: the control plane needs a way in",
    )
    networks: Network | None = Field(
        default=None, description="IPv4 block that clusters' networks are cut from; null: the installation's"
    )
    vpcs: dict[RegionName, VpcId] = Field(
        default={}, max_length=VPCS_LIMIT, description="aws: VPCs of yours to use, by region; elsewhere one is made"
    )


class CloudAccountOrder(RequestBody):
    name: AccountName = Field(description="For people; unique in the organisation")
    provider: Literal["aws", "gcp"] = Field(description="aws: needs role_arn. gcp: needs project")
    role_arn: (
        Annotated[
            str,
            StringConstraints(max_length=200, pattern=r"^arn:aws:iam::[0-9]{12}:role/ringmaster-[A-Za-z0-9+=,.@_-]+$"),
        ]
        | None
    ) = Field(
        None, description="aws: the role that the control plane takes on: arn:aws:iam::123456789012:role/ringmaster-…"
    )
    project: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{4,28}[a-z0-9]$")] | None = Field(
        None, description="gcp: id of the project in which machines are made"
    )
    settings: AccountSettings = Field(
        default_factory=AccountSettings, description="How machines are made in it; can never be changed"
    )

    @model_validator(mode="after")
    def _belongs_together(self) -> Self:
        if self.provider == "aws" and (self.role_arn is None or self.project is not None):
            raise ValueError("An AWS account needs role_arn, and no project")
        if self.provider == "gcp" and (self.project is None or self.role_arn is not None or self.settings.vpcs):
            raise ValueError("A Google Cloud account needs project, and neither role_arn nor vpcs")
        return self


class CloudAccountUpdate(RequestBody):
    name: AccountName = Field(
        description="The new one, for people; unique in the organisation, without regard to case",
        examples=["Production, Ireland"],
    )


class AccountCheckResult(Schema):
    region: str = Field(description="As the provider calls it, for example eu-west-1")
    missing: list[str] = Field(description="Permissions that are lacking, in the cloud's words")
    problem: str | None = Field(description="Why the cloud could not be asked: a sentence; null: it was")
    hint: str | None = Field(description="What to do about it")


class AccountCheck(Schema):
    """A dry run of everything that the control plane does in an account."""

    state: CheckState = Field(
        description="ready: nothing is missing. incomplete: permissions are. refused: the control plane cannot act"
    )
    checked_at: datetime | None = Field(description="When the last check ended, UTC; null: there was none yet")
    missing: list[str] = Field(description="Permissions that are lacking in any region, in the cloud's words")
    results: list[AccountCheckResult] = Field(description="Region by region")
    operation_id: str | None = Field(description="Of the check that is being made")


class SetupStep(Schema):
    """Something to do in the cloud account, once."""

    title: str = Field(description="What it is, in a few words")
    text: str = Field(description="What to do and why, a sentence or two")
    file_name: str | None = Field(description="Save the content under this name; null: it is commands to run")
    language: str = Field(description="For syntax colours: json, yaml, bash")
    content: str = Field(description="The whole document or the commands, with names and ids filled in")


class CloudAccount(Schema):
    id: str = Field(description="Of the account here: acc_…; what orders of clusters name")
    name: str = Field(description="For people; unique in the organisation, without regard to case")
    provider: str = Field(description="aws or gcp")
    role_arn: str | None = Field(description="aws: the role that the control plane takes on")
    external_id: str = Field(description="Made for this account alone; not a secret")
    project: str | None = Field(description="gcp: where machines are made")
    service_account: str | None = Field(description="gcp: whom the control plane acts as; the external id is in it")
    settings: AccountSettings = Field(description="How machines are made in it, as it was registered")
    check: AccountCheck = Field(description="What the last check found, and whether one is being made")
    clusters: int = Field(description="Living clusters in the account")
    created_by: str = Field(
        description="E-mail address of who registered it, or a service account's name; with a token's name in brackets "
        "if one was used"
    )
    created_at: datetime = Field(description="When it was registered, UTC")
    allowed_actions: list[AllowedAction] = Field(
        description="What the caller may do with it now, and of the rest why not"
    )


class CloudAccountDetail(CloudAccount):
    setup: list[SetupStep] = Field(description="What has to be done in the cloud, with everything filled in")


class CloudAccountPage(Schema):
    items: list[CloudAccount] = Field(description="Newest first, without those that were deleted")
    next_cursor: NextCursor


class CloudAccountStarted(Schema):
    """An account and the operation that checks it."""

    cloud_account: CloudAccountDetail = Field(description="With what has to be done in the cloud")
    operation: Operation = Field(description="It makes the check: follow it to its end")
