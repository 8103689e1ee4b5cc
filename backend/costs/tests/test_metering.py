from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from backend.costs.metering import Held, counted, differences, due, hour_of, spread

DAY = datetime(2026, 3, 1, tzinfo=UTC)
MOMENTS = st.integers(0, 40 * 86_400_000).map(lambda ms: DAY + timedelta(milliseconds=ms))


def test_a_machine_from_the_middle_of_an_hour_to_the_middle_of_another():
    held = Held(
        units=1,
        began_at=datetime(2026, 3, 1, 10, 59, 50, tzinfo=UTC),
        ended_at=datetime(2026, 3, 1, 12, 0, 7, 999_999, tzinfo=UTC),
    )
    closed = datetime(2026, 3, 1, 13, tzinfo=UTC)
    assert list(due(held, closed=closed).values()) == [10, 3600, 7]
    # An hour that is not over is not closed.
    assert list(due(held, closed=closed - timedelta(hours=1)).values()) == [10, 3600]


def test_the_end_of_a_month_is_an_hour_like_any_other():
    began = datetime(2026, 2, 28, 23, 30, tzinfo=UTC)
    used = due(Held(units=2, began_at=began), closed=datetime(2026, 3, 1, 1, tzinfo=UTC))
    assert used == {
        datetime(2026, 2, 28, 23, tzinfo=UTC): 2 * 1800,
        datetime(2026, 3, 1, 0, tzinfo=UTC): 2 * 3600,
    }


def test_a_day_of_summer_time_has_as_many_hours_as_it_has():
    vienna = ZoneInfo("Europe/Vienna")
    for day, hours in ((datetime(2026, 3, 29), 23), (datetime(2026, 10, 25), 25), (datetime(2026, 6, 1), 24)):
        began, ended = day.replace(tzinfo=vienna), (day + timedelta(days=1)).replace(tzinfo=vienna)
        used = due(Held(units=1, began_at=began, ended_at=ended), closed=hour_of(ended + timedelta(days=2)))
        assert (len(used), sum(used.values())) == (hours, hours * 3600)


@given(MOMENTS, MOMENTS, MOMENTS, st.integers(1, 10**15))
def test_two_that_follow_each_other_are_as_one(one, two, three, units):
    """A replacement, or a new number of bytes: nothing is metered twice where they meet, and nothing is missed."""
    first, second, third = sorted((one, two, three))
    closed = hour_of(third) + timedelta(hours=3)
    whole = due(Held(units=units, began_at=first, ended_at=third), closed=closed)
    parts = [
        due(Held(units=units, began_at=first, ended_at=second), closed=closed),
        due(Held(units=units, began_at=second, ended_at=third), closed=closed),
    ]
    assert {hour: sum(part.get(hour, 0) for part in parts) for hour in whole} == whole
    assert all(0 < used <= 3600 * units for used in whole.values())


@given(MOMENTS, st.none() | MOMENTS, st.lists(MOMENTS, max_size=8))
def test_it_does_not_matter_when_hours_are_closed(began, ended, looks):
    held = Held(units=3, began_at=began, ended_at=ended and max(began, ended))
    last = hour_of(DAY + timedelta(days=41))
    written: dict[datetime, int] = {}
    since = None
    for look in [*looks, last]:
        closed = hour_of(look) if since is None else max(since, hour_of(look))
        for hour, used in due(held, since=since, closed=closed).items():
            assert hour not in written
            written[hour] = used
        since = closed
    assert written == due(held, closed=last)


@given(MOMENTS, MOMENTS, MOMENTS)
def test_a_correction_makes_good_what_was_written(began, ended, true_end):
    closed = hour_of(DAY + timedelta(days=41))
    was = due(Held(units=1, began_at=began, ended_at=max(began, ended)), closed=closed)
    true = due(Held(units=1, began_at=began, ended_at=max(began, true_end)), closed=closed)
    more = differences(true, was)
    summed = {hour: was.get(hour, 0) + more.get(hour, 0) for hour in {*was, *more}}
    assert {hour: used for hour, used in summed.items() if used} == true
    assert differences(true, true) == {}


def test_a_counter_that_begins_anew_counts_from_nothing():
    assert counted(None, ("boot-1", 500)) == 500
    assert counted(("boot-1", 500), ("boot-1", 800)) == 300
    assert counted(("boot-1", 800), ("boot-2", 120)) == 120
    assert counted(("boot-2", 800), ("boot-2", 120)) == 120


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1000)), min_size=1, max_size=30))
def test_a_counter_never_counts_less_than_nothing(readings):
    total, before = 0, None
    for boot, count in readings:
        more = counted(before, (str(boot), count))
        assert more >= 0
        total, before = total + more, (str(boot), count)


def test_what_was_counted_between_two_readings_is_spread_over_their_hours():
    ten = datetime(2026, 3, 1, 10, tzinfo=UTC)
    # 45 minutes of the one hour, 15 of the other.
    assert spread(1001, ten + timedelta(minutes=15), ten + timedelta(minutes=75)) == {
        ten: 750,
        ten + timedelta(hours=1): 251,
    }
    assert spread(7, None, ten + timedelta(minutes=1)) == {ten: 7}
    # A clock that was put back.
    assert spread(7, ten + timedelta(hours=3), ten) == {ten: 7}
    assert spread(0, ten, ten) == {}


@given(st.integers(0, 10**18), MOMENTS, MOMENTS)
def test_hours_sum_to_what_was_counted(count, since, until):
    found = spread(count, since, until)
    assert sum(found.values()) == count
    assert all(
        value > 0 and hour_of(hour) == hour and hour_of(min(since, until)) <= hour <= until
        for hour, value in found.items()
    )
