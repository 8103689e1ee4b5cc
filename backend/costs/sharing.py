"""A cluster's cost shared out to its tables: pure, whole micro-dollars. The weights are in docs/costs.md.

Each pool of cost (machines, backups, traffic ...) goes by weights to tables; what no table's weight claims is shared.
Of each pool the parts sum to the pool exactly (largest remainder), so all parts sum to the whole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from backend.prices.money import rounded, shares

MILLION = 1_000_000
COMPUTE_PARTS = 70
STORAGE_PARTS = 30
"""Of a machine with local disks: how many parts in a hundred are paid for its CPU and memory, and for its disks."""


@dataclass(frozen=True, kw_only=True)
class Pools:
    """What a cluster cost, in micro-dollars."""

    machines: int = 0
    storage: int = 0
    """Disks that were bought beside the machines."""
    backups: int = 0
    traffic: int = 0
    overhead: int = 0
    """Mark-up and fees: they follow what all else came to."""

    @property
    def total(self) -> int:
        return self.machines + self.storage + self.backups + self.traffic + self.overhead


@dataclass(frozen=True, kw_only=True)
class TableUse:
    """What one table did in the time, over all nodes."""

    name: str
    service_micros: int = 0
    """Service time of its reads and writes on nodes, microseconds."""
    work_micros: int = 0
    """Time of compaction and repair of it, microseconds."""
    live_bytes: int = 0
    total_bytes: int = 0
    backup_bytes: int = 0
    network_bytes: int = 0
    reads: int = 0
    writes: int = 0


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """What there was of each, so that what nobody used is nobody's: 0 where it is not known, and all is shared out."""

    service_micros: int = 0
    bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class TableCost:
    """Micro-dollars."""

    name: str
    compute: int
    storage: int
    backups: int
    traffic: int
    overhead: int
    per_million_requests: int | None
    """Of compute and traffic: what a million reads and writes cost. None: there were none."""

    @property
    def total(self) -> int:
        return self.compute + self.storage + self.backups + self.traffic + self.overhead


SHARED = ""
"""The name of what is no table's: idle capacity, and what could not be told apart."""


def share_out(pools: Pools, tables: Sequence[TableUse], capacity: Capacity = Capacity()) -> list[TableCost]:
    """One per table in their order, then what is shared (named ""). They sum to the pools exactly."""
    split = shares(pools.machines, {"compute": COMPUTE_PARTS, "storage": STORAGE_PARTS})
    compute = _to_tables(
        split["compute"],
        {each.name: each.service_micros + each.work_micros for each in tables},
        capacity.service_micros,
    )
    # Live and total bytes count alike: rows that were overwritten hold disk too, until they are compacted away.
    held = {each.name: each.live_bytes + each.total_bytes for each in tables}
    storage = _to_tables(split["storage"] + pools.storage, held, 2 * capacity.bytes)
    backups = _to_tables(pools.backups, {each.name: each.backup_bytes for each in tables})
    traffic = _to_tables(pools.traffic, {each.name: each.network_bytes for each in tables})
    direct = {
        name: compute[name] + storage[name] + backups[name] + traffic[name]
        for name in (*(each.name for each in tables), SHARED)
    }
    overhead = _overhead(pools.overhead, direct)
    requests = {each.name: each.reads + each.writes for each in tables}
    return [
        TableCost(
            name=name,
            compute=compute[name],
            storage=storage[name],
            backups=backups[name],
            traffic=traffic[name],
            overhead=overhead[name],
            per_million_requests=_per_million(compute[name] + traffic[name], requests.get(name, 0)),
        )
        for name in direct
    ]


def _to_tables(pool: int, weights: Mapping[str, int], capacity: int = 0) -> dict[str, int]:
    """What is between the tables' weights and the capacity is shared; without weights all is."""
    used = sum(weights.values())
    idle = max(0, capacity - used)
    if used + idle == 0:
        return dict.fromkeys(weights, 0) | {SHARED: pool}
    return shares(pool, {**weights, SHARED: idle})


def _overhead(pool: int, direct: Mapping[str, int]) -> dict[str, int]:
    if not any(direct.values()):
        return dict.fromkeys(direct, 0) | {SHARED: pool}
    return shares(pool, direct)


def _per_million(micros: int, requests: int) -> int | None:
    return rounded(Fraction(micros * MILLION, requests)) if requests else None
