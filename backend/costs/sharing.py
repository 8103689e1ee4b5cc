"""A cluster's cost shared out to its tables: pure, whole micro-dollars. The weights are in docs/costs.md.

Each part of the cost (compute, backups, traffic ...) goes by weights to tables; what no weight claims is shared.
Of each the shares sum to it exactly (largest remainder), so all sum to the whole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction

from backend.prices.money import rounded, shares

MILLION = 1_000_000
COMPUTE_PARTS = 70
STORAGE_PARTS = 30
"""Of a machine with local disks: how many parts in a hundred are paid for its CPU and memory, and for its disks."""


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What something cost, in micro-dollars."""

    compute: int = 0
    storage: int = 0
    backups: int = 0
    traffic: int = 0
    overhead: int = 0
    """Mark-up and fees: they follow what all else came to."""

    @property
    def total(self) -> int:
        return self.compute + self.storage + self.backups + self.traffic + self.overhead

    def __add__(self, other: "Parts") -> "Parts":
        return Parts(**{name: getattr(self, name) + getattr(other, name) for name in PARTS})

    def __sub__(self, other: "Parts") -> "Parts":
        return Parts(**{name: getattr(self, name) - getattr(other, name) for name in PARTS})


PARTS = tuple(each.name for each in fields(Parts))


def parts_of(*, machines: int = 0, disks: int = 0, backups: int = 0, traffic: int = 0, overhead: int = 0) -> Parts:
    """From what was paid for. `disks`: those bought beside the machines."""
    split = shares(machines, {"compute": COMPUTE_PARTS, "storage": STORAGE_PARTS})
    return Parts(
        compute=split["compute"],
        storage=split["storage"] + disks,
        backups=backups,
        traffic=traffic,
        overhead=overhead,
    )


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


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """What there was of each, so that what nobody used is nobody's: 0 where it is not known, and all is shared out."""

    service_micros: int = 0
    bytes: int = 0


SHARED = ""
"""The name of what is no table's: idle capacity, and what could not be told apart."""


def share_out(whole: Parts, tables: Sequence[TableUse], capacity: Capacity = Capacity()) -> dict[str, Parts]:
    """By name of the table in their order, then what is shared (SHARED). They sum to the whole in every part."""
    compute = _to_tables(
        whole.compute,
        {each.name: each.service_micros + each.work_micros for each in tables},
        capacity.service_micros,
    )
    # Live and total bytes count alike: rows that were overwritten hold disk too, until they are compacted away.
    held = {each.name: each.live_bytes + each.total_bytes for each in tables}
    storage = _to_tables(whole.storage, held, 2 * capacity.bytes)
    backups = _to_tables(whole.backups, {each.name: each.backup_bytes for each in tables})
    traffic = _to_tables(whole.traffic, {each.name: each.network_bytes for each in tables})
    direct = {name: compute[name] + storage[name] + backups[name] + traffic[name] for name in compute}
    overhead = _overhead(whole.overhead, direct)
    return {
        name: Parts(
            compute=compute[name],
            storage=storage[name],
            backups=backups[name],
            traffic=traffic[name],
            overhead=overhead[name],
        )
        for name in direct
    }


def taken_back(before: Mapping[int, Parts], less: Parts) -> dict[int, Parts]:
    """What each gives back when the whole turns out to have been less: in proportion to what it bore, part by part.

    `less`: not below zero. What nobody bore (the whole was no more than that) is left out.
    """
    given: dict[int, dict[str, int]] = {key: {} for key in before}
    for name in PARTS:
        borne = {key: max(0, getattr(parts, name)) for key, parts in before.items()}
        amount = min(getattr(less, name), sum(borne.values()))
        kept = shares(sum(borne.values()) - amount, borne)
        for key in before:
            given[key][name] = borne[key] - kept[key]
    return {key: Parts(**parts) for key, parts in given.items()}


def per_million(micros: int, requests: int) -> int | None:
    """What a million requests cost, of compute and traffic. None: there were none."""
    return rounded(Fraction(micros * MILLION, requests)) if requests else None


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
