"""When maintenance windows are open. Pure: what is true at a moment that the caller names.

A window begins on a local date at a wall-clock time and lasts so many elapsed minutes. On a day when the clock is put
forward past that time it begins at the first moment that exists; on a day when that time comes twice, at the first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

_DAY = timedelta(days=1)
_SECOND = timedelta(seconds=1)
_WEEK_DAYS = 7


@dataclass(frozen=True, kw_only=True)
class Window:
    weekdays: frozenset[int]
    """0 Monday to 6 Sunday, on which it begins."""
    starts_at: time
    minutes: int
    time_zone: str
    excluded_dates: frozenset[date] = frozenset()
    """Local dates on which it does not begin."""


def is_open(windows: Sequence[Window], now: datetime) -> bool:
    """Whether one of them is open. A cluster without windows has no preference: always."""
    return not windows or any(_is_open(window, now) for window in windows)


def next_opening(windows: Sequence[Window], now: datetime) -> datetime | None:
    """The first moment after `now` at which a window begins, in UTC; None when there are none, or none begins again."""
    return min((begin for window in windows if (begin := _next_begin(window, now)) is not None), default=None)


def openings(windows: Sequence[Window], now: datetime, length: timedelta) -> list[tuple[datetime, datetime]]:
    """When they are open between `now` and `length` after it, as (begin, end) in UTC: sorted, without overlaps.

    Empty when there are no windows at all, so that it is always open.
    """
    start = now.astimezone(UTC)
    until = start + length
    found: list[tuple[datetime, datetime]] = []
    for begin, end in sorted(_between(windows, start, until)):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return [(max(begin, start), min(end, until)) for begin, end in found]


def _between(windows: Sequence[Window], start: datetime, until: datetime) -> Iterator[tuple[datetime, datetime]]:
    for window in windows:
        length = timedelta(minutes=window.minutes)
        # A day more on both sides: clocks are put forward and back.
        first, last = _local_date(window, start - length) - _DAY, _local_date(window, until) + _DAY
        for begin in _begins(window, first, last):
            if begin < until and begin + length > start:
                yield begin, begin + length


def open_until(windows: Sequence[Window], now: datetime) -> datetime | None:
    """When the windows that are open at `now`, and those that follow without a gap, have closed, in UTC.

    None when there are no windows at all, so that it is always open, or when they follow each other for over four
    weeks. `now` itself when none is open.
    """
    if not windows:
        return None
    end = now.astimezone(UTC)
    while end - now < _DAY * _WEEK_DAYS * 4:
        closes = max((closing for window in windows if (closing := _closes(window, end)) is not None), default=None)
        if closes is None:
            return end
        end = closes
    return None


def _closes(window: Window, now: datetime) -> datetime | None:
    """When it closes if it is open; of several that lie over each other, the last."""
    length = timedelta(minutes=window.minutes)
    first = _local_date(window, now - length) - _DAY
    begins = _begins(window, first, _local_date(window, now) + _DAY)
    return max((begin + length for begin in begins if begin <= now < begin + length), default=None)


def _is_open(window: Window, now: datetime) -> bool:
    length = timedelta(minutes=window.minutes)
    # A day more on both sides: clocks are put forward and back.
    first = _local_date(window, now - length) - _DAY
    return any(begin <= now < begin + length for begin in _begins(window, first, _local_date(window, now) + _DAY))


def _next_begin(window: Window, now: datetime) -> datetime | None:
    first = _local_date(window, now) - _DAY
    # Every excluded date can cost a week, if it begins on one weekday only.
    last = first + _DAY * (_WEEK_DAYS * (len(window.excluded_dates) + 1) + 2)
    return next((begin for begin in _begins(window, first, last) if begin > now), None)


def _local_date(window: Window, moment: datetime) -> date:
    return moment.astimezone(ZoneInfo(window.time_zone)).date()


def _begins(window: Window, first: date, last: date) -> Iterator[datetime]:
    """When it begins on the dates from `first` to `last`, in UTC and in order."""
    zone, day = ZoneInfo(window.time_zone), first
    while day <= last:
        if day.weekday() in window.weekdays and day not in window.excluded_dates:
            yield _first_moment(datetime.combine(day, window.starts_at), zone)
        day += _DAY


def _first_moment(wall_clock: datetime, zone: ZoneInfo) -> datetime:
    """The first moment at which a clock in the zone shows this time, or has passed it, in UTC."""
    # Of a time that comes twice, fold=0 is the first.
    found = wall_clock.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if found.astimezone(zone).replace(tzinfo=None) == wall_clock:
        return found
    # The clock is put forward past it: read with the offset from before the change (fold=0) the time lies after the
    # change, read with the offset from after it (fold=1) before.
    before, after = wall_clock.replace(tzinfo=zone, fold=1).astimezone(UTC), found
    while after - before > _SECOND:
        middle = before + timedelta(seconds=(after - before) // _SECOND // 2)
        if middle.astimezone(zone).replace(tzinfo=None) > wall_clock:
            after = middle
        else:
            before = middle
    return after
