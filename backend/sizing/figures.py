"""Published figures that the planner is calibrated by, and what they come to per vCPU. Pure; data/figures.json."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

UNIT_BYTES = 1024
"""Of a row: an operation counts once for each of these begun. Published figures are of rows up to that."""


@dataclass(frozen=True, kw_only=True)
class Throughput:
    """What a cluster was seen to do within a p99."""

    engine: str
    version: str
    machine_type: str
    vcpus: int
    """Of one machine."""
    nodes: int
    operations_per_second: int
    """Of clients, all nodes together."""
    p99_ms: int
    read_percent: int
    replication_factor: int
    row_bytes: int
    source: str
    note: str = ""

    @property
    def work_per_vcpu(self) -> Fraction:
        """Replica operations a second (see `work`)."""
        reads = Fraction(self.operations_per_second * self.read_percent, 100)
        writes = self.operations_per_second - reads
        return work(reads, writes, self.replication_factor, self.row_bytes) / (self.nodes * self.vcpus)


SAFE_BUSY_PERCENT = 50
"""How busy vCPUs are planned to be by what a cluster of one's own did. A choice of ours, the same as the advisor's."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What a cluster of one's own did over seven days."""

    cluster_id: str
    cluster_name: str
    engine: str
    machine_type: str
    vcpus: int
    """Of one machine."""
    nodes: int
    operations_per_second: int
    """Of replicas, in the mean."""
    busy_permille: int
    """Of all vCPUs, in the mean."""
    operations_per_busy_second: int
    """Of replicas, for each second that a vCPU was busy."""
    p99_ms: int
    """Of its clients, the higher one of reads and writes; rounded up."""

    @property
    def work_per_vcpu(self) -> Fraction:
        """Replica operations a second that a vCPU is trusted with."""
        return Fraction(self.operations_per_busy_second * SAFE_BUSY_PERCENT, 100)


@dataclass(frozen=True, kw_only=True)
class Streaming:
    """How fast a machine took in its part of the data."""

    engine: str
    machine_type: str
    vcpus: int
    mib_per_second: int
    source: str


@dataclass(frozen=True, kw_only=True)
class SenderLimit:
    """What an engine lets each node send while data moves, unless told otherwise."""

    engine: str
    mib_per_second: int
    source: str


@dataclass(frozen=True, kw_only=True)
class Scan:
    engine: str
    nodes: int
    cores: int
    """Of one machine."""
    rows_per_second: int
    source: str
    note: str = ""

    @property
    def rows_per_core(self) -> int:
        """A second, rounded down."""
        return self.rows_per_second // (self.nodes * self.cores)


@dataclass(frozen=True, kw_only=True)
class EngineRules:
    disk_fill_percent: int
    """How full disks may be: the rest is room for compactions and repairs."""
    disk_fill_source: str
    data_per_memory: int
    """Bytes on disk per byte of memory, at most."""
    data_per_memory_source: str
    counted_vcpus: int | None
    """vCPUs of a machine beyond this many are taken to add nothing; None: all count."""
    counted_vcpus_source: str


@dataclass(frozen=True, kw_only=True)
class Figures:
    throughput: tuple[Throughput, ...]
    streaming: tuple[Streaming, ...]
    sender_limits: tuple[SenderLimit, ...]
    scans: tuple[Scan, ...]
    engines: Mapping[str, EngineRules]


@dataclass(frozen=True, kw_only=True)
class Calibration:
    figure: Throughput | Measured
    work_per_vcpu: Fraction
    """Replica operations a second that a vCPU is trusted with at the wanted p99."""
    is_as_seen: bool
    """False: nobody saw a p99 as low, and the figure was taken down in proportion."""


def work(reads: Fraction | int, writes: Fraction | int, replication_factor: int, row_bytes: int) -> Fraction:
    """Replica operations: a write is one for every replica, a read one for every replica of a quorum.

    Rows count once per KiB begun. That reads and writes cost a replica the same is an assumption.
    """
    units = max(1, -(-row_bytes // UNIT_BYTES))
    return Fraction(units) * (reads * quorum(replication_factor) + writes * replication_factor)


def quorum(replication_factor: int) -> int:
    return replication_factor // 2 + 1


def calibrated(figures: Iterable[Throughput], engine: str, p99_ms: int) -> Calibration:
    """The best figure of the engine whose p99 is no higher than wanted.

    Where none is as low, the one with the lowest p99, in proportion: half the p99, half the work. An assumption.
    Raises ValueError when there is no figure of the engine.
    """
    known = [figure for figure in figures if figure.engine == engine]
    if not known:
        raise ValueError(f"no figures of {engine}")
    within = [figure for figure in known if figure.p99_ms <= p99_ms]
    if within:
        best = max(within, key=lambda figure: figure.work_per_vcpu)
        return Calibration(figure=best, work_per_vcpu=best.work_per_vcpu, is_as_seen=True)
    lowest = min(known, key=lambda figure: (figure.p99_ms, -figure.work_per_vcpu))
    return _taken_down(lowest, p99_ms)


def calibrated_by_own(measured: Measured, p99_ms: int) -> Calibration:
    """In proportion where its p99 was higher than is wanted."""
    if measured.p99_ms <= p99_ms:
        return Calibration(figure=measured, work_per_vcpu=measured.work_per_vcpu, is_as_seen=True)
    return _taken_down(measured, p99_ms)


def _taken_down(figure: Throughput | Measured, p99_ms: int) -> Calibration:
    share = Fraction(p99_ms, figure.p99_ms)
    return Calibration(figure=figure, work_per_vcpu=figure.work_per_vcpu * share, is_as_seen=False)
