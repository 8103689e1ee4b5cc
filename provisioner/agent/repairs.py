"""What an agent tells of repairs, load, ranges and tables. Units and meanings: docs/agent-api.md, "Repairs"."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, kw_only=True)
class RunningRepair:
    """One that runs. `job`: the job of this node's agent that began it; empty: somebody else did, or another node's.

    `command` is 0 and `progress` of no meaning when another node (`coordinator`, its address) coordinates it.
    """

    id: str
    job: str
    command: int
    coordinator: str
    keyspace: str
    tables: tuple[str, ...]
    state: str
    progress: float
    since: datetime | None


@dataclass(frozen=True, kw_only=True)
class RepairActivity:
    """`engine_started_at`: another one means that the engine was started anew, and that commands count from 1 again.

    `automatic`: the engine repairs keyspaces by itself.
    """

    engine_started_at: datetime
    automatic: bool
    repairs: tuple[RunningRepair, ...]


@dataclass(frozen=True, kw_only=True)
class NodeLoad:
    """What tells whether a node can bear more work. Counters since `engine_started_at`; limits in MiB/s, 0: none."""

    engine_started_at: datetime
    pending_compactions: int
    read_p99_ms: float
    write_p99_ms: float
    dropped_messages: int
    hint_files: int
    streams: int
    streamed_in_bytes: int
    streamed_out_bytes: int
    disk_total_bytes: int
    disk_free_bytes: int
    largest_table_bytes: int
    stream_mib_s: int
    compaction_mib_s: int


@dataclass(frozen=True, kw_only=True)
class RingNode:
    host_id: str
    address: str
    datacenter: str
    rack: str


@dataclass(frozen=True, slots=True)
class ReplicaRange:
    """The tokens above `start` up to and with `end`; `replicas` are the nodes that hold them, by index."""

    start: int
    end: int
    replicas: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class KeyspaceRing:
    """Ranges in the order of their ends: a table's tablets where it has them."""

    keyspace: str
    nodes: tuple[RingNode, ...]
    ranges: tuple[ReplicaRange, ...]


@dataclass(frozen=True, kw_only=True)
class KeyspaceFacts:
    """`placement`: the class of its replication. `system`: of the engine's or the control plane's own."""

    name: str
    placement: str
    replication: Mapping[str, int]
    system: bool
    tablets: bool


@dataclass(frozen=True, kw_only=True)
class TableFacts:
    """Settings of a table, and one node's own share of it. `view_of`: empty for what is no view."""

    keyspace: str
    table: str
    id: str
    bytes: int
    partitions: int
    unrepaired_bytes: int
    percent_repaired: float
    compaction: str
    default_ttl_seconds: int
    gc_grace_seconds: int
    view_of: str
    views: tuple[str, ...]
    cdc: bool


@dataclass(frozen=True, kw_only=True)
class Schema:
    keyspaces: tuple[KeyspaceFacts, ...]
    tables: tuple[TableFacts, ...]


def activity_of(document: Mapping[str, Any]) -> RepairActivity:
    """Of the answer of GET /v1/repairs, checked against the agent's types."""
    repairs = (RunningRepair(**{**one, "tables": tuple(one["tables"])}) for one in document["repairs"])
    return RepairActivity(**{**document, "repairs": tuple(repairs)})


def load_of(document: Mapping[str, Any]) -> NodeLoad:
    """Of GET /v1/load. A disk that the machine does not tell of has 0 bytes."""
    flat = {name: value for name, value in document.items() if name not in ("disk", "throughput")}
    disk = document["disk"] or {"total_bytes": 0, "free_bytes": 0}
    return NodeLoad(
        **flat,
        **document["throughput"],
        disk_total_bytes=disk["total_bytes"],
        disk_free_bytes=disk["free_bytes"],
    )


def ring_of(document: Mapping[str, Any]) -> KeyspaceRing:
    """Of GET /v1/ring."""
    return KeyspaceRing(
        keyspace=document["keyspace"],
        nodes=tuple(RingNode(**node) for node in document["nodes"]),
        ranges=tuple(
            ReplicaRange(int(one["start"]), int(one["end"]), tuple(one["replicas"])) for one in document["ranges"]
        ),
    )


def schema_of(document: Mapping[str, Any]) -> Schema:
    """Of GET /v1/tables."""
    return Schema(
        keyspaces=tuple(
            KeyspaceFacts(placement=one["class"], **{name: value for name, value in one.items() if name != "class"})
            for one in document["keyspaces"]
        ),
        tables=tuple(TableFacts(**{**one, "views": tuple(one["views"])}) for one in document["tables"]),
    )


def document_of(found: RepairActivity | NodeLoad | KeyspaceRing | Schema) -> dict[str, Any]:
    """As the agent writes it: what the readers above read."""
    document = asdict(found)
    match found:
        case RepairActivity():
            document["engine_started_at"] = found.engine_started_at.isoformat()
            for one in document["repairs"]:
                one["since"] = one["since"] and one["since"].isoformat()
        case NodeLoad():
            document["engine_started_at"] = found.engine_started_at.isoformat()
            document["disk"] = {
                "total_bytes": document.pop("disk_total_bytes"),
                "free_bytes": document.pop("disk_free_bytes"),
                "data_bytes": 0,
            }
            document["throughput"] = {name: document.pop(name) for name in ("stream_mib_s", "compaction_mib_s")}
        case KeyspaceRing():
            for one in document["ranges"]:
                one |= {"start": str(one["start"]), "end": str(one["end"])}
        case Schema():
            for one in document["keyspaces"]:
                one["class"] = one.pop("placement")
    return document
