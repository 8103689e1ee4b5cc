"""What the control plane must know about a database engine. Nothing outside an engine's package asks which one it is.

An engine takes and returns frozen dataclasses; it imports neither Django nor Celery nor providers nor the agent client.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol


class InvalidOption(ValueError):
    """An option of the order that the engine does not know, or whose value it cannot take. `option` is its name."""

    def __init__(self, option: str, message: str) -> None:
        super().__init__(f"{option}: {message}")
        self.option = option


class Capability(StrEnum):
    """Differences that the rest of the product must know, declared instead of asked by name."""

    PARALLEL_FIRST_START = "parallel-first-start"
    PARALLEL_JOIN = "parallel-join"
    # Keyspaces may be spread by tablets: a new node gets its data after it has joined, at the engine's own pace.
    TABLETS = "tablets"
    # Tables that are spread by tokens can be repaired incrementally, range by range.
    INCREMENTAL_RANGES = "incremental-ranges"
    # A repair can send to one side only.
    PULL_REPAIR = "pull-repair"
    # A node that takes another's place gets each range from one replica, which may lack what the others have.
    REPLACEMENT_READS_ONE_REPLICA = "replacement-reads-one-replica"
    # The engine itself lets clients in by their address.
    ADDRESS_ALLOWLIST = "address-allowlist"


@dataclass(frozen=True, kw_only=True)
class DiskFigures:
    """What all local disks of a node do together: requests of 4 KiB and bytes, per second."""

    read_iops: int
    read_bandwidth: int
    write_iops: int
    write_bandwidth: int


@dataclass(frozen=True, kw_only=True)
class RingMember:
    """A node as the engine sees it. `rack` is the zone. `vcpus` and `disks`: None where its machine is shared."""

    node_id: str
    name: str
    address: str
    datacenter: str
    rack: str
    tokens: tuple[int, ...]
    is_seed: bool
    heap_mib: int
    vcpus: int | None = None
    disks: DiskFigures | None = None


class Entry(StrEnum):
    """How a node comes to be a member of its ring."""

    # Of an empty ring, side by side with all others.
    FIRST = "first"
    # Of a ring that holds data: takes over its ranges from those that hold them.
    JOIN = "join"
    # Of a new data centre of a ring that holds data: joins without data and is rebuilt afterwards.
    JOIN_EMPTY = "join-empty"
    # Takes the place of a dead member, whose machine is gone, and has its tokens.
    REPLACE = "replace"
    # It is one already.
    MEMBER = "member"


@dataclass(frozen=True, kw_only=True)
class Ring:
    """Everything that goes into the configuration of the nodes of one cluster."""

    cluster_id: str
    # What the nodes know the ring by; it never changes, whatever the cluster is called later.
    name: str
    members: tuple[RingMember, ...]
    version: str
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Replaced:
    """The dead member whose place a node takes, as the ring knows it. `host_id` is the engine's own id of it."""

    address: str
    host_id: str


@dataclass(frozen=True, kw_only=True)
class NodeConfig:
    """What `PUT /v1/config` takes (docs/agent-api.md): file contents by name, JVM options, and what the agent needs."""

    engine: str
    version: str
    document: dict[str, Any]
    # Changes when the running engine must be told or started anew to have what the document says.
    revision: str = ""


@dataclass(frozen=True, kw_only=True)
class NodeView:
    """What one node says of the ring, as the agent reports it."""

    node_id: str
    host_id: str
    schema_version: str
    tokens: frozenset[int]
    peers: tuple["PeerView", ...]


@dataclass(frozen=True, kw_only=True)
class PeerView:
    address: str
    host_id: str
    schema_version: str
    rack: str
    up: bool
    # Of the tokens that the node believes the peer to own; empty: not known. See `tokens_digest`.
    tokens_digest: str = ""


@dataclass(frozen=True, kw_only=True)
class SettingDifference:
    """A setting that a running engine does not have as it should, in the engine's words. `setting`: our name for it."""

    setting: str
    wanted: str
    found: str


def tokens_digest(tokens: Iterable[int]) -> str:
    """The first 16 hexadecimal digits of SHA-256 over the sorted tokens joined with commas, as agents tell it."""
    return hashlib.sha256(",".join(str(token) for token in sorted(tokens)).encode()).hexdigest()[:16]


def check_startable(ring: Ring, member: RingMember) -> None:
    """ValueError when the ring is not one that could start with this member."""
    if member not in ring.members:
        raise ValueError(f"{member.name} is not a member of {ring.name}")
    if not any(other.is_seed for other in ring.members):
        raise ValueError(f"{ring.name} has no seed")
    owners: dict[int, str] = {}
    for other in ring.members:
        if not other.tokens:
            raise ValueError(f"{other.name} has no tokens")
        for token in other.tokens:
            if owners.setdefault(token, other.node_id) != other.node_id:
                raise ValueError(f"{other.name} has a token that another node has: {token}")


class Engine(Protocol):
    name: str
    title: str
    capabilities: frozenset[Capability]

    def client_ports(self, options: Mapping[str, Any]) -> tuple[int, ...]:
        """TCP ports that clients connect to, with a cluster's options; CQL's is the first. InvalidOption."""
        ...

    def node_config(
        self, ring: Ring, member: RingMember, entry: Entry = Entry.FIRST, *, replaces: Replaced | None = None
    ) -> NodeConfig:
        """The whole configuration of one node. InvalidOption, ValueError.

        `ring` holds it and all living members; for REPLACE not the dead one, which is `replaces`.
        """
        ...

    def ring_disagreement(self, ring: Ring, views: list[NodeView]) -> str:
        """Empty when every node sees every member up, with its tokens and one schema; else the first difference."""
        ...

    def holdings(self, ring: Ring, replication: Mapping[str, int]) -> dict[str, float]:
        """Share of all rows of which each member holds a replica, 0 to 1, by node id.

        `replication`: replicas per data centre, as the engine tells it of a keyspace.
        """
        ...

    def settings_disagreement(
        self, options: Mapping[str, Any], in_effect: Mapping[str, str]
    ) -> list[SettingDifference]:
        """What differs between a ring's options and what a running engine says that it goes by. InvalidOption.

        `in_effect` has the engine's own names. Of what it does not name, nothing is said.
        """
        ...
