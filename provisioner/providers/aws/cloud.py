"""The way to AWS: clients by region, credentials of a role, and every call's errors translated."""

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from provisioner.providers.aws.errors import ALLOWED, AnswerLost, code_of, translated
from provisioner.providers.aws.settings import AwsSettings
from provisioner.providers.base import AccessDenied, InvalidRequest, RateLimited

# One attempt: whoever asked repeats the call with its own patience, and knows what may be repeated. Capacity errors
# come as HTTP 500, which boto3 would otherwise try again by itself.
_CONFIG = Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=20, max_pool_connections=32)

_ROLE_SECONDS = 3600
_RENEW_BEFORE_SECONDS = 300

_making_clients = threading.Lock()


@dataclass(frozen=True)
class Service:
    """One AWS service in one region. `name` is the prefix of its permissions. Operations are in boto3's spelling."""

    name: str
    client: Any
    _paginators: dict[str, Any] = field(default_factory=dict, compare=False)

    def call(self, operation: str, **parameters: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self._translating(operation, getattr(self.client, operation), parameters)
        return answer

    def all(self, operation: str, key: str, **parameters: Any) -> list[dict[str, Any]]:
        """What a listing has under `key`, over all its pages."""

        def listing(**given: Any) -> list[dict[str, Any]]:
            if not self.client.can_paginate(operation):
                return list(getattr(self.client, operation)(**given)[key])
            if operation not in self._paginators:
                self._paginators[operation] = self.client.get_paginator(operation)
            return [one for page in self._paginators[operation].paginate(**given) for one in page[key]]

        found: list[dict[str, Any]] = self._translating(operation, listing, parameters)
        return found

    def refusal(self, operation: str, **parameters: Any) -> Exception | None:
        """Why this call would fail, from a dry run, which makes nothing."""
        try:
            getattr(self.client, operation)(**parameters, DryRun=True)
        except (ClientError, BotoCoreError) as error:
            if isinstance(error, ClientError) and code_of(error) == ALLOWED:
                return None
            refused = translated(error, permission=self.permission(operation))
            if isinstance(refused, RateLimited | AnswerLost):
                raise refused from error
            return refused
        return None

    def permission(self, operation: str) -> str:
        return f"{self.name}:{self.client.meta.method_to_api_mapping[operation]}"

    def _translating(self, operation: str, function: Callable[..., Any], parameters: dict[str, Any]) -> Any:
        try:
            return function(**parameters)
        except (ClientError, BotoCoreError) as error:
            raise translated(error, permission=self.permission(operation)) from error


class Cloud:
    """One account. Clients are made when they are first needed, and made anew when a role's credentials end."""

    def __init__(self, settings: AwsSettings) -> None:
        self._settings = settings
        self._lock = threading.RLock()
        self._services: dict[tuple[str, str], Service] = {}
        self._role: dict[str, str] = {}
        self._role_ends_at = 0.0

    def ec2(self, region: str) -> Service:
        return self._service("ec2", "ec2", region)

    def quotas(self, region: str) -> Service:
        return self._service("service-quotas", "servicequotas", region)

    def prices(self, region: str) -> Service:
        """Whether this installation uses the region or not: prices are told in a few only."""
        return self._service("pricing", "pricing", region, checked=False)

    def check_region(self, region: str) -> None:
        """InvalidRequest when there is no such region, or this installation does not use it."""
        regions = self._settings.regions or _known_regions()
        if region not in regions:
            raise InvalidRequest(f"Unknown region {region!r}: there are {', '.join(regions)}.")

    def check_role(self, region: str) -> None:
        """Take on the account's role afresh, if there is one, and see that it asks for our external id.

        A role that does not would let everybody who knows its name act through us (the confused deputy of the IAM User
        Guide). AccessDenied, InvalidRequest.
        """
        role, external_id = self._settings.role_arn, self._settings.external_id
        if role is None:
            return
        trust = f"the control plane, and the external id {external_id}" if external_id else "the control plane"
        try:
            with self._lock:
                self._role_ends_at = 0.0
                self._credentials(region)
        except AccessDenied as error:
            raise AccessDenied(
                f"The control plane cannot take on {role}: {error.message}",
                hint=f"Make the role, and let its trust policy name {trust}. New roles take some seconds to be known.",
            ) from error
        if external_id is None:
            return
        try:
            self._assume(region, role, secrets.token_urlsafe(24))
        except AccessDenied:
            return
        raise InvalidRequest(
            f"{role} can be taken on with any external id, so others could use it through this control plane.",
            hint=f'Add the condition {{"StringEquals": {{"sts:ExternalId": "{external_id}"}}}} to its trust policy.',
        )

    def _service(self, service: str, name: str, region: str, *, checked: bool = True) -> Service:
        if checked:
            self.check_region(region)
        with self._lock:
            credentials = self._credentials(region)
            if (service, region) not in self._services:
                client = self._client(service, region, credentials)
                self._services[service, region] = Service(name, client)
            return self._services[service, region]

    def _credentials(self, region: str) -> dict[str, str]:
        """The role's, or none: then boto3 looks for them itself. Renewed in good time."""
        role = self._settings.role_arn
        if role is None or time.monotonic() < self._role_ends_at - _RENEW_BEFORE_SECONDS:
            return self._role
        answer = self._assume(region, role, self._settings.external_id)
        self._services.clear()
        self._role_ends_at = time.monotonic() + _ROLE_SECONDS
        self._role = {
            "aws_access_key_id": answer["AccessKeyId"],
            "aws_secret_access_key": answer["SecretAccessKey"],
            "aws_session_token": answer["SessionToken"],
        }
        return self._role

    def _assume(self, region: str, role: str, external_id: str | None) -> dict[str, str]:
        sts = Service("sts", self._client("sts", region, {}))
        external = {} if external_id is None else {"ExternalId": external_id}
        answer: dict[str, str] = sts.call(
            "assume_role",
            RoleArn=role,
            RoleSessionName=self._settings.installation,
            DurationSeconds=_ROLE_SECONDS,
            **external,
        )["Credentials"]
        return answer

    def _client(self, service: str, region: str, credentials: dict[str, str]) -> Any:
        with _making_clients:
            return _session().client(
                service, region_name=region, endpoint_url=self._settings.endpoint_url, config=_CONFIG, **credentials
            )


@cache
def _session() -> Any:
    """Reads boto3's description of the services once per process. Not safe for use by two threads at a time."""
    return boto3.Session()


@cache
def _known_regions() -> tuple[str, ...]:
    with _making_clients:
        return tuple(_session().get_available_regions("ec2"))
