"""How many machines of a type a workload needs, and what each limit leaves. Pure; docs/sizing.md has it by hand."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from backend.sizing.figures import Calibration, EngineRules, work

NETWORK_SHARE = Fraction(1, 2)
"""Of a machine's network for clients and replicas: repairs and streams have the rest. An assumption."""
MOST_NODES = 1000
"""Of a cluster. What would need more is not suggested."""


class Limit(StrEnum):
    """What a cluster can be too small for."""

    THROUGHPUT = "throughput"
    DISK = "disk"
    MEMORY = "memory"
    NETWORK = "network"


@dataclass(frozen=True, kw_only=True)
class Workload:
    reads_per_second: int
    writes_per_second: int
    row_bytes: int
    data_bytes: int
    """Of one replica, as it lies on disk."""
    growth_percent_per_month: int = 0
    months_ahead: int = 0
    replication_factor: int = 3
    p99_ms: int
    spare_percent: int = 25
    """Room for peaks, repairs and lost nodes, beyond the operations that are named."""

    @property
    def stored_bytes(self) -> Fraction:
        """Of all replicas, at the end of the months ahead: growth compounds."""
        grown = Fraction(100 + self.growth_percent_per_month, 100) ** self.months_ahead
        return self.data_bytes * grown * self.replication_factor

    @property
    def with_spare(self) -> Fraction:
        return Fraction(100 + self.spare_percent, 100)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A machine type with what limits a node on it."""

    name: str
    family: str
    vcpus: int
    cores: int
    memory_bytes: int
    disk_bytes: int
    network_bits_per_second: int
    network_always: bool
    """False: only the most is published, and a machine may get less."""
    disk_write_bytes_per_second: int | None


@dataclass(frozen=True, kw_only=True)
class Bound:
    """One limit of a shape, of all its nodes together, in the limit's unit."""

    limit: Limit
    needs: int
    holds: int

    @property
    def headroom_percent(self) -> int:
        """Of what it holds, rounded down; 100: nothing is needed."""
        return 100 if self.needs == 0 else (self.holds - self.needs) * 100 // self.holds


@dataclass(frozen=True, kw_only=True)
class Shape:
    machine: Machine
    zones: int
    nodes_per_zone: int
    bounds: tuple[Bound, ...]
    decided_by: Limit | None
    """Which limit asks for this many nodes; None: replicas do, there must be a node for each."""
    asked: int
    """Nodes that would do if zones could differ."""

    @property
    def nodes(self) -> int:
        return self.zones * self.nodes_per_zone

    @property
    def first_limit(self) -> Limit:
        """The one with the least room: growth meets it first."""
        return max(self.bounds, key=lambda bound: Fraction(bound.needs, bound.holds)).limit

    def bound(self, limit: Limit) -> Bound:
        return next(bound for bound in self.bounds if bound.limit is limit)


def needs(workload: Workload) -> Mapping[Limit, int]:
    """What the whole cluster must hold: replica operations a second, bytes, bytes, bits a second. Rounded up."""
    operations = work(
        workload.reads_per_second, workload.writes_per_second, workload.replication_factor, workload.row_bytes
    )
    stored = _up(workload.stored_bytes)
    return {
        Limit.THROUGHPUT: _up(operations * workload.with_spare),
        Limit.DISK: stored,
        Limit.MEMORY: stored,
        Limit.NETWORK: _up(_bytes_per_second(workload) * 8 * workload.with_spare),
    }


def _bytes_per_second(workload: Workload) -> int:
    """In the busier direction at most: a write to every replica; a read from a replica, and on to the client."""
    per_write = workload.writes_per_second * workload.replication_factor
    return (per_write + workload.reads_per_second * 2) * workload.row_bytes


def holds(machine: Machine, calibration: Calibration, rules: EngineRules) -> Mapping[Limit, Fraction]:
    """What one node can take, in the units of `needs`."""
    vcpus = machine.vcpus if rules.counted_vcpus is None else min(machine.vcpus, rules.counted_vcpus)
    return {
        Limit.THROUGHPUT: calibration.work_per_vcpu * vcpus,
        Limit.DISK: Fraction(machine.disk_bytes * rules.disk_fill_percent, 100),
        Limit.MEMORY: Fraction(machine.memory_bytes * rules.data_per_memory),
        Limit.NETWORK: machine.network_bits_per_second * NETWORK_SHARE,
    }


def shape_of(
    workload: Workload, machine: Machine, calibration: Calibration, rules: EngineRules, *, zones: int
) -> Shape | None:
    """The smallest cluster of this machine type that stays within all limits; None: it would be too large.

    The same number of nodes in every zone, and at least one for each replica.
    """
    wanted, each = needs(workload), holds(machine, calibration, rules)
    nodes = {limit: _up(wanted[limit] / each[limit]) for limit in Limit}
    most = max(Limit, key=lambda limit: nodes[limit])
    for_replicas = max(zones, workload.replication_factor)
    per_zone = -(-max(nodes[most], for_replicas) // zones)
    count = per_zone * zones
    if count > MOST_NODES:
        return None
    return Shape(
        machine=machine,
        zones=zones,
        nodes_per_zone=per_zone,
        bounds=tuple(Bound(limit=limit, needs=wanted[limit], holds=_down(each[limit] * count)) for limit in Limit),
        decided_by=most if nodes[most] > for_replicas else None,
        asked=max(nodes[most], for_replicas),
    )


def shapes_of(
    workload: Workload, machines: Iterable[Machine], calibration: Calibration, rules: EngineRules, *, zones: int
) -> list[Shape]:
    """Of every machine type that can."""
    found = (shape_of(workload, machine, calibration, rules, zones=zones) for machine in machines)
    return [shape for shape in found if shape is not None]


def use_without_one(shape: Shape, workload: Workload) -> int | None:
    """Percent of what the other nodes hold that the named operations take while one is away, rounded up.

    None: there are no others. Above 100: until it is back the p99 is not what was planned for.
    """
    if shape.nodes == 1:
        return None
    bound = shape.bound(Limit.THROUGHPUT)
    left = Fraction(bound.holds * (shape.nodes - 1), shape.nodes)
    return _up(Fraction(bound.needs * 100) / workload.with_spare / left)


def _up(number: Fraction) -> int:
    return -(-number.numerator // number.denominator)


def _down(number: Fraction) -> int:
    return number.numerator // number.denominator
