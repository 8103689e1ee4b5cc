"""What rules look at, and what they say. No rule reads a clock, a database or a store. Pure.

Sizes are bytes, rates are per second, over the window and all replicas of a table together unless it is said. None: not
known; a rule that needs what is not known says nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from backend.advisor.rules.spending import Spending

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
DAY = 86_400

SIZE_TIERED = "SizeTieredCompactionStrategy"
LEVELED = "LeveledCompactionStrategy"
TIME_WINDOW = "TimeWindowCompactionStrategy"


class AdviceSeverity(StrEnum):
    """`critical`: data or service are at stake; `warning`: it costs something now; `hint`: it can be better."""

    CRITICAL = "critical"
    WARNING = "warning"
    HINT = "hint"


class AdviceUnit(StrEnum):
    """Those of metrics, text, and micro-dollars."""

    PER_SECOND = "per second"
    SECONDS = "seconds"
    BYTES = "bytes"
    RATIO = "ratio"
    COUNT = "count"
    TEXT = "text"
    MONEY = "micro-dollars"


@dataclass(frozen=True)
class Evidence:
    """A number, and the chart that shows it: of the table's page or of a dashboard; empty: it is from elsewhere."""

    label: str
    value: float | str
    unit: AdviceUnit
    chart: str = ""


@dataclass(frozen=True, kw_only=True)
class Change:
    """Options of a table as they are, by which a change is known to be still right, and as they shall be."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]
    rewrite: bool = False
    """What is on disk stays as it is until it is compacted or rewritten."""


@dataclass(frozen=True, kw_only=True)
class Advice:
    """`keyspace` and `table` empty: about the cluster; `subject` tells several of one rule and table apart.

    `figure` names an entry of figures.json: who measured or wrote what the gain rests on.
    """

    rule: str
    keyspace: str = ""
    table: str = ""
    subject: str = ""
    severity: AdviceSeverity
    finding: str
    evidence: tuple[Evidence, ...]
    gain: str
    figure: str = ""
    cost: str
    statement: str = ""
    """CQL, or what to do elsewhere."""
    change: Change | None = None
    """What Apply does; None: it is left to people."""
    why_by_hand: str = ""
    saving_micros: int = 0
    """Micro-dollars a month that it would save; 0: it is not about money, or nobody knows."""
    formula: str = ""
    """How that was worked out."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """`kind`: partition_key, clustering, static or regular."""

    name: str
    kind: str
    type: str
    position: int = -1


@dataclass(frozen=True, kw_only=True)
class Index:
    """`kind`: COMPOSITES, KEYS or CUSTOM. `values`: distinct ones on one node, as the engine estimates them."""

    name: str
    kind: str
    target: str
    values: int | None = None


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """Of a table over the window."""

    reads: float | None = None
    range_reads: float | None = None
    writes: float | None = None
    sstables_per_read: float | None = None
    tombstones_per_read_p99: float | None = None
    live_bytes: float | None = None
    node_bytes: float | None = None
    """Of the node that has most of it."""
    uncompressed_bytes: float | None = None
    compression_ratio: float | None = None
    compression_off_heap_bytes: float | None = None
    partition_mean_bytes: float | None = None
    partition_max_bytes: float | None = None
    partitions: float | None = None
    pending_compactions: float | None = None
    flushed_bytes: float | None = None
    """Per second, as what follows."""
    compacted_bytes: float | None = None
    read_repairs: float | None = None
    row_cache_hits: float | None = None
    row_cache_misses: float | None = None


@dataclass(frozen=True, kw_only=True)
class HotPartition:
    """The most asked for partition of a table, of an answer of the question hot-partitions.

    `share` of all calls to the partitions that the answer lists for the table.
    """

    key: str
    reads: bool
    share: float
    per_second: float
    node: str


@dataclass(frozen=True, kw_only=True)
class TableUse:
    """Whole days of UTC, the latest that are over, each with its cost and its metrics; on all replicas."""

    days: int
    reads: int
    writes: int
    storage_micros: int
    """The table's share of what storage cost."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """`options` as the agent's job describe-tables tells them."""

    keyspace: str
    name: str
    options: Mapping[str, Any]
    columns: tuple[Column, ...] = ()
    indexes: tuple[Index, ...] = ()
    numbers: Numbers = field(default_factory=Numbers)
    replicas: int = 0
    """In all data centres; 0: not known."""
    repair_mode: str = ""
    """How it was repaired last; empty: never, or it is skipped."""
    repair_interval: float | None = None
    """Seconds between repairs of each range; None: it is not repaired, or need not be."""
    filtering_queries: int = 0
    """Slow reads of the last day that needed ALLOW FILTERING, of answers of the question slow-queries."""
    hot_partitions: tuple[HotPartition, ...] = ()
    largest_partition_rows: int | None = None
    lately: TableUse | None = None
    """None: some of the days are missing, or were not measured."""

    @property
    def compaction(self) -> str:
        """The class of its strategy, without a package."""
        return str(self.options.get("compaction", {}).get("class", "")).rpartition(".")[2]

    @property
    def ttl(self) -> int:
        return int(self.options.get("default_time_to_live", 0))

    @property
    def quoted(self) -> str:
        return f"{quoted(self.keyspace)}.{quoted(self.name)}"


@dataclass(frozen=True, kw_only=True)
class Keyspace:
    """`factors` by data centre; of SimpleStrategy one entry `replication_factor`."""

    name: str
    strategy: str
    factors: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Node:
    """`cpu` is the p95 of the share in use over seven days, `gc` the share of time in its busiest collector."""

    id: str
    name: str
    datacenter: str = ""
    load_bytes: float | None = None
    requests: float | None = None
    cpu: float | None = None
    disk_total: float | None = None
    disk_free: float | None = None
    heap_used: float | None = None
    heap_max: float | None = None
    gc: float | None = None
    key_cache_hits: float | None = None
    """Of requests, 0 to 1."""
    key_cache_requests: float | None = None
    key_cache_fill: float | None = None
    """Of its capacity, 0 to 1."""
    hints_sent: float | None = None
    busiest_shard: float | None = None
    mean_shard: float | None = None
    known_seconds: float | None = None
    """For how much of seven days there are figures of it; what follows is of them, too."""
    client_reads: float | None = None
    """The p95, as of writes and of the bytes."""
    client_writes: float | None = None
    received: float | None = None
    sent: float | None = None
    read_p99: float | None = None
    """Seconds."""
    write_p99: float | None = None


@dataclass(frozen=True, kw_only=True)
class Size:
    """A machine type. `price`: of an hour, in millionths; None: it has none."""

    name: str
    vcpus: int
    memory_mib: int
    storage_gib: int
    price: int | None = None


@dataclass(frozen=True, kw_only=True)
class ClusterFacts:
    """`zones` by data centre. `size`: of its machines, None: they share one, or differ. `sizes`: all to be had."""

    window_seconds: float
    nodes: tuple[Node, ...] = ()
    zones: Mapping[str, int] = field(default_factory=dict)
    keyspaces: tuple[Keyspace, ...] = ()
    tables: int = 0
    hint_window_seconds: float = 3 * 3600
    size: Size | None = None
    sizes: tuple[Size, ...] = ()
    spending: Spending | None = None
    """None: what it costs was not looked at."""


ENOUGH_CALLS = 1000
"""In the window; fewer say nothing about how a table is used."""


def calls(numbers: Numbers) -> float:
    return (numbers.reads or 0) + (numbers.range_reads or 0) + (numbers.writes or 0)


def enough(rate: float | None, cluster: ClusterFacts) -> bool:
    return rate is not None and rate * cluster.window_seconds >= ENOUGH_CALLS


def quoted(name: str) -> str:
    """A name of CQL, in quotes unless it needs none."""
    plain = name.isascii() and name.replace("_", "").isalnum() and name == name.lower() and not name[0].isdigit()
    return name if plain else '"' + name.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """A value of a table's option as CQL has it."""
    match value:
        case Mapping():
            return "{" + ", ".join(f"{literal(key)}: {literal(str(each))}" for key, each in value.items()) + "}"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"{value:g}" if isinstance(value, float) else str(value)
    return "'" + str(value).replace("'", "''") + "'"


def alter(table: Table, options: Mapping[str, Any]) -> str:
    """The statement that sets options of a table."""
    settings = "\n   AND ".join(f"{name} = {literal(value)}" for name, value in options.items())
    return f"ALTER TABLE {table.quoted}\n  WITH {settings};"


def change(table: Table, after: Mapping[str, Any], *, rewrite: bool = False) -> Change:
    return Change(before={name: table.options.get(name) for name in after}, after=dict(after), rewrite=rewrite)


def in_words(size: float) -> str:
    """Bytes with the unit that fits."""
    for unit, width in (("TiB", 1024 * GIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if size >= width:
            return f"{size / width:.3g} {unit}"
    return f"{size:.0f} B"
