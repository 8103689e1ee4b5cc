"""How hard a run works: what an intensity means, the brake, and how fast a table is repaired.

Intensity is a number from 1 to 100 that people set. The brake is a factor on it that the nodes' trouble sets.
"""

from dataclasses import dataclass, replace

GIB = 1 << 30
MIB = 1 << 20

LEAST, MOST, USUAL = 1, 100, 50

# Bytes per second of one copy, before anything was measured. A clean full repair does four times that; one that streams
# at the engine's own limit (24 MiB/s) about this, because several replicas send (design, finding 4).
FIRST_RATE = 32 * MIB
# Seconds of a segment that do not depend on its size; 0.07 to 0.13 measured (design, finding 5).
OVERHEAD = 0.15
# How much the last segment counts in the moving average.
_NEWEST = 0.3
_SLOWEST, _FASTEST = 64 * 1024, 4 * GIB
# A rest between segments ends after this, seconds, however long the segment was.
LONGEST_REST = 900.0


@dataclass(frozen=True, kw_only=True)
class Effort:
    """What an intensity comes to."""

    duty: float
    """Share of its time that a node may work for repairs: 0 to 1."""
    slots: int
    """Segments that a node takes part in at once."""
    job_threads: int
    """Tables that the engine compares at once within a segment."""
    stream_mib_s: int
    """What a node may send, MiB per second."""

    def rest_after(self, seconds: float) -> float:
        """Seconds that the nodes of a segment rest after it took so long."""
        return min(LONGEST_REST, seconds * (1 - self.duty) / self.duty)


def effort(intensity: float) -> Effort:
    """Of an intensity from 1 to 100; one with the brake on may be a fraction."""
    share = min(max(intensity, LEAST), MOST) / MOST
    return Effort(
        duty=share,
        slots=2 if share >= 0.9 else 1,
        job_threads=4 if share >= 0.9 else 2 if share >= 0.5 else 1,
        stream_mib_s=max(8, round(200 * share)),
    )


def rate_after(rate: float, *, copied: float, seconds: float) -> float:
    """The moving average of a table's bytes per second after a segment of so many bytes took so long."""
    if copied <= 0:
        return rate
    measured = min(max(copied / max(seconds - OVERHEAD, 0.05), _SLOWEST), _FASTEST)
    return (1 - _NEWEST) * rate + _NEWEST * measured


@dataclass(frozen=True, kw_only=True)
class Load:
    """What a node told about itself. `dropped`: messages since the look before. None: not known."""

    node: str
    pending_compactions: int
    dropped: int
    read_p99_ms: float | None
    disk_free_bytes: int
    disk_total_bytes: int
    largest_table_bytes: int


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    pending_compactions: int = 20
    dropped: int = 0
    read_p99_ms: float | None = None
    """The tenant's target; None: there is none."""


@dataclass(frozen=True)
class Brake:
    """`factor` on the intensity, 1 when it is off. Times are seconds of any one clock."""

    factor: float = 1.0
    changed_at: float = 0.0
    reason: str = ""
    holds: bool = False
    """Nothing new starts: a node's disk has no room for what a repair may add."""


LOWEST_FACTOR = 1 / 32
# Seconds between two halvings, so that the first can show; and between two steps up.
_SETTLE, _RECOVER = 30.0, 60.0
_STEP_UP = 1.25


def braked(brake: Brake, trouble: str, *, holds: bool, now: float) -> Brake:
    """The brake after a look at the nodes that found `trouble`; empty: none. Halves at once, recovers slowly."""
    if trouble:
        if brake.factor < 1 and now - brake.changed_at < _SETTLE:
            return replace(brake, reason=trouble, holds=holds)
        return Brake(max(LOWEST_FACTOR, brake.factor / 2), now, trouble, holds)
    if brake.factor < 1 and now - brake.changed_at >= _RECOVER:
        factor = min(1.0, brake.factor * _STEP_UP)
        return Brake(factor, now, brake.reason if factor < 1 else "")
    return replace(brake, holds=False)


def trouble_of(load: Load, tolerance: Tolerance) -> tuple[str, bool]:
    """Why the brake is to be put on because of a node, empty if not; and whether nothing new may start at all."""
    # The design saw a damaged node's data grow by 20 to 90 %.
    if load.disk_free_bytes < load.largest_table_bytes:
        return f"{load.node}: less disk is free than its largest table has", True
    if load.disk_free_bytes < 2 * load.largest_table_bytes:
        return f"{load.node}: less than twice its largest table is free on its disk", False
    if load.pending_compactions > tolerance.pending_compactions:
        return f"{load.node}: {load.pending_compactions} compactions are pending", False
    if load.dropped > tolerance.dropped:
        return f"{load.node}: {load.dropped} messages were dropped", False
    if tolerance.read_p99_ms is not None and load.read_p99_ms is not None and load.read_p99_ms > tolerance.read_p99_ms:
        return f"{load.node}: one read in a hundred takes longer than {tolerance.read_p99_ms:g} ms", False
    return "", False
