"""How much of what was held is used in which hour: pure. docs/costs.md.

A `Held` is a fact: so many units of something, from one moment to another. Usage is unit-seconds by hour, in whole
seconds of UTC, in which no hour is missing or double when clocks on walls change.

Only hours that have ended are closed, and what is said of a closed hour is never changed: when a fact turns out to be
otherwise, the difference is said in addition. So what is written is always `due` minus what was written before, and
the sum of all records is what the facts say, whoever died in between and however often it is tried.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

HOUR = timedelta(hours=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Held:
    """`units` of something, from `began_at` until `ended_at`, or still (None)."""

    units: int
    began_at: datetime
    ended_at: datetime | None = None


def hour_of(moment: datetime) -> datetime:
    """The full hour in which the moment is, UTC."""
    return moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def due(held: Held, *, since: datetime | None = None, closed: datetime) -> dict[datetime, int]:
    """Unit-seconds by hour, of the hours from `since` (or the first) until `closed`, both full hours.

    Moments count as the second in which they are: one that ends where another begins leaves no gap and no overlap.
    """
    begin = _seconds(held.began_at)
    end = _seconds(held.ended_at) if held.ended_at is not None else _seconds(closed)
    end = min(end, _seconds(closed))
    if since is not None:
        begin = max(begin, _seconds(since))
    found: dict[datetime, int] = {}
    while begin < end:
        following = min(begin - begin % 3600 + 3600, end)
        hour = _EPOCH + timedelta(seconds=begin - begin % 3600)
        found[hour] = (following - begin) * held.units
        begin = following
    return found


def differences(wanted: Mapping[datetime, int], written: Mapping[datetime, int]) -> dict[datetime, int]:
    """What is to be written in addition, by hour; hours that agree are left out."""
    hours = sorted({*wanted, *written})
    return {hour: left for hour in hours if (left := wanted.get(hour, 0) - written.get(hour, 0))}


def counted(before: tuple[str, int] | None, now: tuple[str, int]) -> int:
    """How far a counter got between two readings, each an epoch (what it counts since: a boot, say) and a count.

    In another epoch, or when it went back, it began anew: all that it shows is new. So is what the first reading shows.
    """
    if before is None or before[0] != now[0] or now[1] < before[1]:
        return now[1]
    return now[1] - before[1]


def spread(count: int, since: datetime | None, until: datetime) -> dict[datetime, int]:
    """What was counted between two readings, by hour: evenly over the seconds between. They sum to it exactly.

    `since` None, or not before `until` (a clock was put back): all of it is of the hour of `until`.
    """
    end = _seconds(until)
    begin = end if since is None else min(_seconds(since), end)
    if begin == end:
        return {hour_of(until): count} if count else {}
    found: dict[datetime, int] = {}
    at, said = begin, 0
    while at < end:
        following = min(at - at % 3600 + 3600, end)
        so_far = count * (following - begin) // (end - begin)
        if so_far > said:
            found[_EPOCH + timedelta(seconds=at - at % 3600)] = so_far - said
        at, said = following, so_far
    return found


def _seconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(seconds=1)
