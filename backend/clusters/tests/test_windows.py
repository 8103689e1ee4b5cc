from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from backend.clusters.windows import Window, is_open, next_opening, open_until, openings

VIENNA = "Europe/Vienna"
SUNDAY = frozenset({6})
EVERY_DAY = frozenset(range(7))


def window(starts_at: str, minutes: int, weekdays: frozenset[int] = EVERY_DAY, **more: object) -> Window:
    return Window(
        **{"weekdays": weekdays, "starts_at": time.fromisoformat(starts_at), "minutes": minutes, "time_zone": VIENNA}
        | more  # type: ignore[arg-type]
    )


def vienna(text: str, *, fold: int = 0) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(VIENNA), fold=fold).astimezone(UTC)


def test_without_windows_it_is_always_open():
    now = vienna("2026-03-02T12:00")
    assert is_open([], now)
    assert next_opening([], now) is None


def test_it_opens_and_closes_by_the_local_clock():
    nightly = [window("02:00", 90)]
    assert not is_open(nightly, vienna("2026-03-02T01:59"))
    assert is_open(nightly, vienna("2026-03-02T02:00"))
    assert is_open(nightly, vienna("2026-03-02T03:29"))
    assert not is_open(nightly, vienna("2026-03-02T03:30"))
    assert next_opening(nightly, vienna("2026-03-02T02:00")) == vienna("2026-03-03T02:00")


def test_it_begins_on_its_weekdays_only():
    weekly = [window("23:00", 60, SUNDAY)]
    # 1 March 2026 is a Sunday.
    assert next_opening(weekly, vienna("2026-03-01T23:00")) == vienna("2026-03-08T23:00")
    assert is_open(weekly, vienna("2026-03-01T23:30"))
    assert not is_open(weekly, vienna("2026-03-02T23:30"))


def test_it_goes_over_midnight_and_over_days():
    weekend = [window("22:00", 50 * 60, frozenset({4}))]
    for moment, expected in (
        ("2026-03-06T21:59", False),
        ("2026-03-06T22:00", True),
        ("2026-03-08T23:59", True),
        ("2026-03-09T00:00", False),
    ):
        assert is_open(weekend, vienna(moment)) is expected, moment


def test_a_week_long_window_never_closes():
    always = [window("00:00", 7 * 24 * 60, SUNDAY)]
    start = vienna("2026-03-01T00:00")
    assert all(is_open(always, start + timedelta(hours=hour)) for hour in range(24 * 21))


def test_a_time_that_is_skipped_begins_at_the_first_moment_after():
    # On 29 March 2026 the clock goes from 02:00 to 03:00.
    skipped = [window("02:30", 60)]
    begin = vienna("2026-03-29T03:00")
    assert next_opening(skipped, vienna("2026-03-29T00:00")) == begin
    assert not is_open(skipped, begin - timedelta(seconds=1))
    assert is_open(skipped, begin)
    assert is_open(skipped, begin + timedelta(minutes=59))
    assert not is_open(skipped, begin + timedelta(minutes=60))


def test_a_time_that_comes_twice_begins_at_the_first():
    # On 25 October 2026 the clock goes from 03:00 back to 02:00.
    twice = [window("02:30", 45)]
    begin = vienna("2026-10-25T02:30")
    assert next_opening(twice, vienna("2026-10-25T00:00")) == begin
    assert is_open(twice, begin)
    assert not is_open(twice, vienna("2026-10-25T02:30", fold=1))


def test_minutes_are_elapsed_minutes():
    night = [window("01:00", 120)]
    # Two hours from 01:00: until 04:00 when the clock is put forward, until 02:00 for the second time when back.
    assert is_open(night, vienna("2026-03-29T03:59"))
    assert not is_open(night, vienna("2026-03-29T04:00"))
    assert is_open(night, vienna("2026-10-25T02:59"))
    assert not is_open(night, vienna("2026-10-25T02:00", fold=1))


def test_excluded_dates_are_those_on_which_it_would_begin():
    nightly = [window("23:00", 120, excluded_dates=frozenset({date(2026, 12, 24)}))]
    assert is_open(nightly, vienna("2026-12-24T00:30"))
    assert not is_open(nightly, vienna("2026-12-24T23:30"))
    assert not is_open(nightly, vienna("2026-12-25T00:30"))
    assert next_opening(nightly, vienna("2026-12-24T12:00")) == vienna("2026-12-25T23:00")


def test_it_lists_when_it_is_open_without_overlaps():
    nightly = [window("02:00", 90), window("03:00", 60), window("23:30", 60, SUNDAY)]
    now = vienna("2026-03-28T03:15")
    # The clock is put forward at two on the 29th: that night begins at three, when the second window does.
    assert openings(nightly, now, timedelta(days=2)) == [
        (now, vienna("2026-03-28T04:00")),
        (vienna("2026-03-29T03:00"), vienna("2026-03-29T04:30")),
        (vienna("2026-03-29T23:30"), vienna("2026-03-30T00:30")),
        (vienna("2026-03-30T02:00"), vienna("2026-03-30T04:00")),
    ]
    assert openings([], now, timedelta(days=2)) == []


def test_a_long_row_of_excluded_dates_is_looked_past():
    free = frozenset(date(2026, 1, 4) + timedelta(weeks=week) for week in range(60))
    weekly = [window("02:00", 60, SUNDAY, excluded_dates=free)]
    assert next_opening(weekly, vienna("2026-01-01T00:00")) == vienna("2027-02-28T02:00")


def test_a_day_that_a_zone_left_out_begins_with_the_next():
    # Samoa had no 30 December 2011.
    moved = [window("12:00", 60, time_zone="Pacific/Apia")]
    begin = next_opening(moved, datetime(2011, 12, 30, 0, 0, tzinfo=UTC))
    assert begin == datetime(2011, 12, 30, 10, 0, tzinfo=UTC)


windows = st.builds(
    Window,
    weekdays=st.frozensets(st.integers(0, 6), min_size=1),
    starts_at=st.times().map(lambda found: found.replace(second=0, microsecond=0)),
    minutes=st.integers(15, 10_080),
    time_zone=st.sampled_from([VIENNA, "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"]),
    excluded_dates=st.frozensets(st.dates(date(2026, 1, 1), date(2026, 12, 31)), max_size=5),
)
moments = st.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 31), timezones=st.just(UTC))


@given(found=st.lists(windows, min_size=1, max_size=3), now=moments)
@settings(max_examples=100, deadline=None)
def test_it_is_open_when_it_opens_and_not_a_minute_earlier_unless_it_was(found: list[Window], now: datetime):
    begin = next_opening(found, now)
    assert begin is not None
    assert begin > now
    assert is_open(found, begin)
    # Nothing begins in between, so what is closed now stays closed until then.
    if not is_open(found, now):
        assert not is_open(found, begin - timedelta(seconds=1))
        assert not is_open(found, now + (begin - now) / 2)


@given(found=windows, now=moments)
@settings(max_examples=60, deadline=None)
def test_it_stays_open_as_long_as_it_says(found: Window, now: datetime):
    begin = next_opening([found], now)
    assert begin is not None
    assert is_open([found], begin + timedelta(minutes=found.minutes) - timedelta(seconds=1))


def test_it_says_until_when_it_is_open():
    assert open_until([], vienna("2026-03-02T12:00")) is None
    nightly = [window("02:00", 90), window("03:15", 60), window("05:00", 30)]
    closed = vienna("2026-03-02T01:00")
    assert open_until(nightly, closed) == closed
    assert open_until(nightly, vienna("2026-03-02T02:00")) == vienna("2026-03-02T04:15")
    assert open_until(nightly, vienna("2026-03-02T05:10")) == vienna("2026-03-02T05:30")
    assert open_until([window("00:00", 24 * 60)], vienna("2026-03-02T05:10")) is None


@given(st.datetimes(datetime(2026, 3, 27), datetime(2026, 4, 2)), st.integers(10, 600), st.integers(0, 23))
def test_it_is_open_until_it_closes_and_not_any_longer(moment, minutes, hour):
    windows = [window(f"{hour:02}:30", minutes), window("02:15", 45, SUNDAY)]
    now = moment.replace(tzinfo=UTC)
    closes = open_until(windows, now)
    assert closes is not None
    assert not is_open(windows, closes)
    at = now
    while at < closes:
        assert is_open(windows, at)
        at += timedelta(minutes=7)


@given(st.lists(windows, min_size=1, max_size=4), moments)
@settings(max_examples=200, deadline=None)
def test_what_it_lists_is_when_it_is_open(found: list[Window], now: datetime):
    listed = openings(found, now, timedelta(days=9))
    for (_, end), (begin, _) in pairwise(listed):
        assert end < begin
    for hours in range(9 * 24):
        moment = now + timedelta(hours=hours)
        assert is_open(found, moment) == any(begin <= moment < end for begin, end in listed)
