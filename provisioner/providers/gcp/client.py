"""Calls to the Compute API: credentials, time limits, and requests that count once.

No call waits for what it starts, and none is tried again here: operations do that, and know why.
"""

import datetime
import os
import time
from collections.abc import Callable, Iterable
from functools import cache, cached_property
from typing import Any, TypeVar

import google.auth
from google.api_core.client_options import ClientOptions
from google.api_core.exceptions import from_http_response
from google.auth import impersonated_credentials
from google.auth.credentials import AnonymousCredentials
from google.auth.transport.requests import AuthorizedSession
from google.cloud import compute_v1
from google.oauth2.credentials import Credentials

from provisioner.providers.base import InvalidRequest, Network, NotFound, ProviderError
from provisioner.providers.gcp.errors import of_operation, translating
from provisioner.providers.gcp.names import request_id
from provisioner.providers.gcp.settings import GcpSettings

Answer = TypeVar("Answer")

_SECONDS = 20.0
"""How long a call may take. Calls of the API are answered in well under a second; none waits for its effect."""

_ATTEMPTS = 50
_MOMENT_SECONDS = 5.0
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_RESOURCE_MANAGER = "https://cloudresourcemanager.googleapis.com"
_CATALOG = "https://cloudbilling.googleapis.com"
_CATALOG_SECONDS = 60.0
"""A page of five thousand SKUs."""

_LINKS = "https://www.googleapis.com/compute/v1/"


class Compute:
    """One project, as one account. Its clients are made when first used and kept: each is a connection."""

    def __init__(self, settings: GcpSettings) -> None:
        self.settings = settings
        self.known_networks: dict[str, Network] = {}
        self.machines_asked_for: set[str] = set()
        self._zones: dict[str, tuple[str, ...]] = {}
        self._absent: dict[tuple[str, str], float] = {}

    @cached_property
    def instances(self) -> compute_v1.InstancesClient:
        return compute_v1.InstancesClient(**self._how)

    @cached_property
    def networks(self) -> compute_v1.NetworksClient:
        return compute_v1.NetworksClient(**self._how)

    @cached_property
    def subnetworks(self) -> compute_v1.SubnetworksClient:
        return compute_v1.SubnetworksClient(**self._how)

    @cached_property
    def firewalls(self) -> compute_v1.FirewallsClient:
        return compute_v1.FirewallsClient(**self._how)

    @cached_property
    def images(self) -> compute_v1.ImagesClient:
        return compute_v1.ImagesClient(**self._how)

    @cached_property
    def regions(self) -> compute_v1.RegionsClient:
        return compute_v1.RegionsClient(**self._how)

    @cached_property
    def machine_types(self) -> compute_v1.MachineTypesClient:
        return compute_v1.MachineTypesClient(**self._how)

    @cached_property
    def zone_operations(self) -> compute_v1.ZoneOperationsClient:
        return compute_v1.ZoneOperationsClient(**self._how)

    @cached_property
    def addresses(self) -> compute_v1.AddressesClient:
        return compute_v1.AddressesClient(**self._how)

    @cached_property
    def forwarding_rules(self) -> compute_v1.ForwardingRulesClient:
        return compute_v1.ForwardingRulesClient(**self._how)

    @property
    def project(self) -> str:
        return self.settings.project

    @property
    def image_project(self) -> str:
        return self.settings.image_project or self.settings.project

    def link(self, path: str) -> str:
        """The full address of a resource of the project, as answers and filters spell it."""
        return f"{_LINKS}projects/{self.project}/{path}"

    def zones(self, region: str) -> tuple[str, ...]:
        """Asked for once per process: regions do not get zones while we run. InvalidRequest: no such region."""
        if region not in self._zones:
            found = self.region(region)
            self._zones[region] = tuple(sorted(last(zone) for zone in found.zones))
        return self._zones[region]

    def region(self, region: str) -> compute_v1.Region:
        try:
            return self.ask(self.regions.get, compute_v1.GetRegionRequest(project=self.project, region=region))
        except (NotFound, InvalidRequest) as error:
            raise InvalidRequest(f"Unknown region {region!r}.") from error

    def note_absent(self, region: str, machine: str) -> None:
        self._absent[region, machine] = time.monotonic()

    def was_absent(self, region: str, machine: str) -> bool:
        """Whether a look a moment ago found no machine of this name: who makes it then need not look again. Asks once.

        Should somebody have made it meanwhile, GCP refuses a second one of the name.
        """
        return time.monotonic() - self._absent.pop((region, machine), float("-inf")) < _MOMENT_SECONDS

    def ask(self, call: Callable[..., Answer], request: object) -> Answer:
        with translating():
            return call(request=request, retry=None, timeout=_SECONDS)

    def ask_all(self, call: Callable[..., Iterable[Answer]], request: object) -> list[Answer]:
        """Every page of it."""
        with translating():
            return list(call(request=request, retry=None, timeout=_SECONDS))

    def look(self, call: Callable[..., Answer], request: object) -> Answer | None:
        """What is there, or None."""
        try:
            return self.ask(call, request)
        except NotFound:
            return None

    def change(self, call: Callable[..., compute_v1.Operation], request: Any, *what: str) -> compute_v1.Operation:
        """Ask for a change that counts once for `what`: the wanted, and the seen that made us want it.

        A request id that was used before brings back its operation. If that one has finished, what it did is undone
        by now (else nobody would ask), so the change is asked for anew; unless it failed just now: then that is said.
        """
        for attempt in range(_ATTEMPTS):
            request.request_id = request_id(*what, str(attempt))
            operation = self.ask(call, request)
            if operation.status != compute_v1.Operation.Status.DONE:
                return operation
            failure = of_operation(operation)
            if failure is not None and self.is_recent(operation):
                raise failure
        raise ProviderError(f"GCP has answered with {_ATTEMPTS} finished operations to {' '.join(what)}.")

    def is_recent(self, operation: compute_v1.Operation) -> bool:
        """Whether it ended so short a time ago that its failure still stands."""
        return _age_seconds(operation.end_time) < self.settings.failure_seconds

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Ask the Resource Manager API."""
        base = self.settings.endpoint or _RESOURCE_MANAGER
        with translating():
            answer = self._session.post(f"{base}/{path}", json=body, timeout=_SECONDS)
            if answer.status_code != 200:
                raise from_http_response(answer)  # type: ignore[no-untyped-call]
            document: dict[str, Any] = answer.json()
        return document

    def catalog(self, path: str, query: dict[str, str]) -> dict[str, Any]:
        """Ask the Cloud Billing Catalog API. Needs no permission; the API must be enabled in the project."""
        with translating():
            answer = self._session.get(
                f"{self.settings.endpoint or _CATALOG}/{path}", params=query, timeout=_CATALOG_SECONDS
            )
            if answer.status_code != 200:
                raise from_http_response(answer)  # type: ignore[no-untyped-call]
            document: dict[str, Any] = answer.json()
        return document

    @cached_property
    def _credentials(self) -> Any:
        endpoint, principal = self.settings.endpoint, self.settings.impersonate
        own: Any = AnonymousCredentials()  # type: ignore[no-untyped-call]
        if endpoint and principal:
            own = Credentials(token="emulated")  # type: ignore[no-untyped-call]
        elif not endpoint:
            with translating():
                own, _ = google.auth.default(scopes=[_SCOPE])
        if not principal:
            return own
        path = f"v1/projects/-/serviceAccounts/{principal}:generateAccessToken"
        return impersonated_credentials.Credentials(  # type: ignore[no-untyped-call]
            source_credentials=own,
            target_principal=principal,
            target_scopes=[_SCOPE],
            iam_endpoint_override=f"{endpoint}/{path}" if endpoint else None,
        )

    @cached_property
    def _session(self) -> AuthorizedSession:
        return AuthorizedSession(self._credentials)  # type: ignore[no-untyped-call]

    @property
    def _how(self) -> dict[str, Any]:
        options = ClientOptions(api_endpoint=self.settings.endpoint) if self.settings.endpoint else None
        return {"credentials": self._credentials, "client_options": options}


def compute(settings: GcpSettings) -> Compute:
    """The connections of this process: they must not be carried over a fork."""
    return _compute(settings, os.getpid())


@cache
def _compute(settings: GcpSettings, process: int) -> Compute:
    return Compute(settings)


def last(link: str) -> str:
    """The name at the end of a resource's address."""
    return link.rpartition("/")[2]


def _age_seconds(moment: str) -> float:
    """Since a time as GCP writes it (RFC 3339); a time that is not there yet is now."""
    if not moment:
        return 0.0
    return (datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(moment)).total_seconds()
