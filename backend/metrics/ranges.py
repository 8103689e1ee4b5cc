"""From when to when a chart is, how far apart its points are, and which series answer. Pure."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from backend.core.errors import Invalid
from backend.metrics.promql import ROLL_UP_SECONDS, Resolution

SCRAPE_SECONDS = 15
KEPT_RAW = timedelta(days=3)
KEPT = timedelta(days=30)
# Up to so much is read as the nodes served it; more is read from what was rolled up.
LONGEST_RAW = timedelta(hours=24)
USUAL = timedelta(hours=1)
USUAL_POINTS = 240
MOST_POINTS = 1500
MOST_AHEAD = timedelta(minutes=5)


@dataclass(frozen=True)
class TimeRange:
    """Points lie at multiples of `step` (seconds): a range that moves with the clock reads the same ones again."""

    start: int
    end: int
    step: int
    resolution: Resolution

    @property
    def times(self) -> list[int]:
        return list(range(self.start, self.end + 1, self.step))

    def row(self, points: "list[tuple[float, float]]") -> list[float | None]:
        """Values by point in time; None where there is none."""
        values: list[float | None] = [None] * len(self.times)
        for at, value in points:
            index = round((at - self.start) / self.step)
            if 0 <= index < len(values):
                values[index] = value
        return values


def time_range(
    begins: datetime | None, ends: datetime | None, step: int | None, *, now: datetime, points: int = USUAL_POINTS
) -> TimeRange:
    """Left out: the last hour; a step that makes about `points`. Raises Invalid, which says what to change."""
    end = ends or now
    start = begins or end - USUAL
    for name, moment in (("from", start), ("to", end)):
        if moment.tzinfo is None:
            raise _invalid(name, "A time needs its time zone", "Write 2026-01-31T12:00:00Z.")
    if start >= end:
        raise _invalid("from", "The range must begin before it ends", "Choose an earlier `from`.")
    if end > now + MOST_AHEAD:
        raise _invalid("to", "The range ends in the future", "Leave `to` out for now.")
    if start < now - KEPT - timedelta(hours=1):
        raise _invalid("from", "Metrics are kept for thirty days", "Choose a later `from`.")
    seconds = (end - start).total_seconds()
    raw = seconds <= LONGEST_RAW.total_seconds() and start >= now - KEPT_RAW
    resolution = Resolution.RAW if raw else Resolution.ROLLED_UP
    grain = SCRAPE_SECONDS if raw else ROLL_UP_SECONDS
    width = max(step or seconds / points, grain)
    width = -(-width // grain) * grain
    if seconds / width > MOST_POINTS:
        raise _invalid("step", f"That would be more than {MOST_POINTS} points", "Choose a larger step.")
    first, last = (int(moment.timestamp() // width * width) for moment in (start, end))
    return TimeRange(first, last, int(width), resolution)


def _invalid(field: str, message: str, hint: str) -> Invalid:
    return Invalid("invalid_range", f"{message}.", hint=hint, field=field)


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
