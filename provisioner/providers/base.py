"""One cloud behind one small interface. Every provider passes provisioner/providers/conformance.py.

Rules: calls are *ensure*, *find* and *delete*; each can be repeated; each returns in seconds and never waits for the
cloud (what is not ready yet is a state in the answer). Names and idempotency tokens are derived from the spec, so a
call after a crash finds what the call before it made. Nothing here imports Django, Celery or another provider.
"""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol


class ProviderError(Exception):
    """A provider said no. ``retryable`` tells whether the same call may succeed later without a person's help."""

    retryable = True
    code = "provider-error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class OutOfCapacity(ProviderError):
    """The zone has no such machine to give. Never retried in another zone: racks would become uneven."""

    retryable = False
    code = "out-of-capacity"


class QuotaExceeded(ProviderError):
    retryable = False
    code = "quota-exceeded"


class AccessDenied(ProviderError):
    retryable = False
    code = "access-denied"


class RateLimited(ProviderError):
    code = "rate-limited"


class NotFound(ProviderError):
    retryable = False
    code = "not-found"


class InvalidRequest(ProviderError):
    retryable = False
    code = "invalid-request"


class MachineState(StrEnum):
    STARTING = "starting"
    RUNNING = "running"
    STOPPED = "stopped"


class ImageState(StrEnum):
    READY = "ready"
    BUILDING = "building"


@dataclass(frozen=True, kw_only=True)
class NetworkSpec:
    """The network of one cluster. `name` is unique per cluster and derived from its id."""

    name: str
    region: str
    zones: tuple[str, ...]
    tags: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Network:
    """`tags`: as it was made; whoever asks for it again with other ones does not change them.

    `id` is the cloud's, `cidr` the machines' addresses; both are told by ensure_network, where there are such.
    """

    name: str
    region: str
    zones: tuple[str, ...]
    tags: dict[str, str] = field(default_factory=dict)
    id: str = field(default="", compare=False)
    cidr: str = field(default="", compare=False)


@dataclass(frozen=True, kw_only=True)
class Image:
    """A machine image (for `local`: a folder) that carries one engine version. `progress` is 0 to 1.

    `by_architecture`: what the cloud calls each part of it; empty where there is one for all machines.
    """

    id: str
    state: ImageState
    progress: float = 1.0
    message: str = ""
    by_architecture: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class MachineSpec:
    """`name` is unique and derived from the node's id; it is also the idempotency token."""

    name: str
    network: str
    region: str
    zone: str
    machine_type: str
    memory_mib: int
    image: str
    user_data: str
    tags: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Machine:
    id: str
    name: str
    zone: str
    state: MachineState
    address: str
    agent_address: str
    tags: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Notice:
    """The cloud will take a machine away or wants it moved. `before`: when at the latest, if it says so (UTC).

    `kind`: retirement (the machine, or what is on its local disks, does not survive it), maintenance (it does), or
    rebalance (the cloud would rather have it elsewhere).
    """

    machine: str
    kind: str
    message: str
    before: datetime.datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Shortfall:
    """Why an order would not get its machines. `code` is that of the error it would end with."""

    code: str
    message: str
    hint: str = ""


@dataclass(frozen=True, kw_only=True)
class Quota:
    """What an account may have in a region. `per_machine`: what one machine of a type takes of it, by type."""

    name: str
    limit: float
    used: float
    per_machine: Mapping[str, float]
    hint: str = ""


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """What a region has room for, as far as the cloud tells. `offered`: types by zone; None: it was not asked."""

    quotas: tuple[Quota, ...] = ()
    offered: Mapping[str, tuple[str, ...]] | None = None


@dataclass(frozen=True, kw_only=True)
class ListPrice:
    """A price as the cloud publishes it: of a machine and hour with its local disks, or of a GiB of disk and month.

    `term`: on_demand, reserved_1y or reserved_3y (nothing paid up front); empty for disks. `micros`: millionths of a US
    dollar. `day`: since when it is so.
    """

    item: str
    name: str
    term: str = ""
    micros: int
    day: datetime.date | None = None


class ConnectionState(StrEnum):
    """WAITING_FOR_YOU: somebody has to do their part at the other end; `message` says what and where."""

    PENDING = "pending"
    WAITING_FOR_YOU = "waiting-for-you"
    READY = "ready"
    FAILED = "failed"
    DELETING = "deleting"


@dataclass(frozen=True, kw_only=True)
class PeeringSpec:
    """Our network and another one reach each other. `name` is unique per network.

    `peer_network`: the other one (AWS: id of the VPC, GCP: its name). `peer_owner`: AWS account or GCP project, empty:
    ours. `peer_region`: AWS only, empty: that of the network. Peerings take no tags at GCP.
    """

    name: str
    network: str
    region: str
    peer_network: str
    peer_owner: str = ""
    peer_region: str = ""
    tags: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class EndpointSpec:
    """An endpoint in our network for a service that somebody publishes, in the same region.

    `service`: AWS `com.amazonaws.vpce.eu-west-1.vpce-svc-0123`, GCP `projects/…/regions/…/serviceAttachments/…`.
    """

    name: str
    network: str
    region: str
    service: str
    tags: dict[str, str] = field(default_factory=dict)


ConnectionSpec = PeeringSpec | EndpointSpec


@dataclass(frozen=True, kw_only=True)
class Connection:
    """`address`, `names` (DNS): under which an endpoint is reached, as far as the cloud gives them."""

    id: str
    name: str
    state: ConnectionState
    message: str = ""
    address: str = ""
    names: tuple[str, ...] = ()


class Provider(Protocol):
    """What an operation may ask of a cloud.

    Every call may raise ProviderError or one of its subclasses, translated in one place per provider.
    """

    def find_image(self, *, region: str, engine: str, version: str) -> Image:
        """The image for an engine version. A provider that can make one starts to and answers BUILDING. NotFound."""
        ...

    def named_image(self, *, region: str, ids: Mapping[str, str]) -> Image:
        """The image whose parts, by architecture, the cloud calls by these names. NotFound."""
        ...

    def ensure_network(self, spec: NetworkSpec) -> Network: ...

    def delete_network(self, *, region: str, name: str) -> bool:
        """True when the network is gone (also when it never was); False while it is still going."""
        ...

    def ensure_machine(self, spec: MachineSpec) -> Machine:
        """The machine of this name, made or started if it is not there or does not run. OutOfCapacity, QuotaExceeded.

        A machine of this name made from another spec is InvalidRequest, never changed silently.
        """
        ...

    def find_machine(self, *, region: str, name: str) -> Machine | None: ...

    def delete_machine(self, *, region: str, name: str) -> bool:
        """True when the machine, its disks and its address are gone (also when they never were)."""
        ...

    def start_machine(self, *, region: str, name: str) -> None: ...

    def stop_machine(self, *, region: str, name: str) -> None:
        """An orderly power-off; the disks stay."""
        ...

    def kill_machine(self, *, region: str, name: str) -> None:
        """Power loss: everything on it ends at once and without warning; the disks stay."""
        ...

    def list_machines(self, *, region: str) -> list[Machine]:
        """Every machine that carries our tags, for the sweep that finds leaks."""
        ...

    def list_networks(self, *, region: str) -> list[Network]:
        """Every network that carries our tags."""
        ...

    def allow_clients(self, *, region: str, network: str, sources: Sequence[str], ports: Sequence[int]) -> None:
        """Only from these CIDR blocks may clients reach these TCP ports; none: only from within the network.

        Nothing to do where a network has no firewall of its own (`firewall` in the catalogue's data): there the
        engine's authorizer does it alone. NotFound.
        """
        ...

    def ensure_connection(self, spec: ConnectionSpec) -> Connection:
        """Asks for it, and when the other side has done its part does the rest of ours (routes); so call it again.

        InvalidRequest: one of this name goes elsewhere, or the provider has no such connections (`connections` in the
        catalogue's data).
        """
        ...

    def delete_connection(self, spec: ConnectionSpec) -> bool:
        """True when it is gone, also when it never was. All of a network go with it."""
        ...

    def shortfalls(self, *, region: str, machine_type: str, machines: Mapping[str, int]) -> list[Shortfall]:
        """What keeps the cloud from giving so many machines (by zone) now, as far as it tells. Makes nothing."""
        ...

    def capacity(self, *, region: str) -> Capacity:
        """What orders are compared with before they are accepted. Makes nothing."""
        ...

    def missing_permissions(self, *, region: str) -> list[str]:
        """Permissions that this provider needs and its account lacks, in the cloud's words. Makes nothing."""
        ...

    def notices(self, *, region: str) -> list[Notice]:
        """What the cloud has announced about our machines."""
        ...

    def price_list(self, *, regions: Sequence[str]) -> Mapping[str, Sequence[ListPrice]]:
        """What the cloud publishes of the catalogue's machine types and boot disks, by region. Takes up to minutes.

        Empty where there is no such list. AccessDenied names the permission that is missing.
        """
        ...

    def memory_budget_mib(self, *, region: str) -> int | None:
        """MiB that all nodes of the region may use together; None where only the cloud knows."""
        ...
