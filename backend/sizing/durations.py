"""How long a node takes to come back with its data, and a table to be read whole. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from backend.sizing.figures import Figures, Scan, Streaming
from backend.sizing.shapes import NETWORK_SHARE, Machine, Shape, Workload

_MIB = 2**20


@dataclass(frozen=True, kw_only=True)
class Duration:
    seconds: int
    formula: str


def recovery(shape: Shape, workload: Workload, figures: Figures, engine: str) -> Duration | None:
    """Of a node whose data is lost: its part of what is stored, streamed from the others.

    None: nobody published how fast.
    """
    found = _streaming_rate(shape.machine, workload, figures, engine)
    if found is None:
        return None
    rate, because = found
    bytes_each = workload.stored_bytes / shape.nodes
    seconds = _up(bytes_each / rate)
    return Duration(seconds=seconds, formula=f"{_gib(bytes_each)} GiB ÷ {_down(rate / _MIB):,} MiB/s ({because})")


def _streaming_rate(machine: Machine, workload: Workload, figures: Figures, engine: str) -> tuple[Fraction, str] | None:
    """Bytes a second that a new node takes in, and why: the least of what is known."""
    known = [figure for figure in figures.streaming if figure.engine == engine]
    limits = [limit for limit in figures.sender_limits if limit.engine == engine]
    rates = [(machine.network_bits_per_second * NETWORK_SHARE / 8, "half of its network")]
    if machine.disk_write_bytes_per_second is not None:
        rates.append((Fraction(machine.disk_write_bytes_per_second), "what its disks write"))
    if known:
        rates.append((streamed(known, machine.vcpus), f"as published, at {machine.vcpus} vCPUs"))
    for limit in limits:
        senders = max(1, workload.replication_factor - 1)
        rates.append((Fraction(senders * limit.mib_per_second * _MIB), f"{senders} × {limit.mib_per_second} MiB/s"))
    return min(rates, key=lambda rate: rate[0]) if known or limits else None


def streamed(known: Iterable[Streaming], vcpus: int) -> Fraction:
    """Bytes a second by published figures: in proportion below the smallest machine, straight lines between two of
    them, and above the largest what that one did."""
    figures = sorted(known, key=lambda figure: figure.vcpus)
    first, last = figures[0], figures[-1]
    if vcpus <= first.vcpus:
        return Fraction(first.mib_per_second * _MIB * vcpus, first.vcpus)
    if vcpus >= last.vcpus:
        return Fraction(last.mib_per_second * _MIB)
    low, high = next((a, b) for a, b in pairwise(figures) if a.vcpus <= vcpus < b.vcpus)
    slope = Fraction(high.mib_per_second - low.mib_per_second, high.vcpus - low.vcpus)
    return (low.mib_per_second + slope * (vcpus - low.vcpus)) * _MIB


def scan(
    shape: Shape, workload: Workload, scans: Iterable[Scan], engine: str, *, rows_per_core: int | None
) -> Duration | None:
    """Of all rows once: records ÷ (cores × scan speed). `rows_per_core`: what was measured of the table, a second.

    None: nothing was measured, and nobody published a speed.
    """
    published = next((figure.rows_per_core for figure in scans if figure.engine == engine), None)
    speed = published if rows_per_core is None else rows_per_core
    if speed is None or workload.row_bytes == 0:
        return None
    rows = _up(workload.stored_bytes / workload.replication_factor / workload.row_bytes)
    cores = shape.machine.cores * shape.nodes
    whose = "published, of very small rows" if rows_per_core is None else "measured"
    return Duration(
        seconds=_up(Fraction(rows, cores * speed)),
        formula=f"{rows:,} rows ÷ ({cores:,} cores × {speed:,} rows a second, {whose})",
    )


def _gib(size: Fraction) -> str:
    return f"{_up(size / 2**30):,}"


def _up(number: Fraction) -> int:
    return -(-number.numerator // number.denominator)


def _down(number: Fraction) -> int:
    return number.numerator // number.denominator
