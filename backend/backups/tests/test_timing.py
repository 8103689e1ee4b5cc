from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from backend.backups.timing import NeverFires, next_due


def due(cron: str, after: datetime, time_zone: str = "UTC") -> datetime:
    return next_due(cron=cron, interval_minutes=None, time_zone=time_zone, after=after)


def test_an_interval_is_in_elapsed_minutes():
    now = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)
    found = next_due(cron="", interval_minutes=90, time_zone="Europe/Vienna", after=now)
    assert found == now + timedelta(minutes=90)


def test_cron_is_in_the_time_zone():
    assert due("30 2 * * *", datetime(2026, 1, 1, tzinfo=UTC), "Europe/Vienna") == datetime(
        2026, 1, 1, 1, 30, tzinfo=UTC
    )
    assert due("30 2 * * *", datetime(2026, 7, 1, 12, tzinfo=UTC), "Europe/Vienna") == datetime(
        2026, 7, 2, 0, 30, tzinfo=UTC
    )


def test_a_time_that_is_skipped_fires_once_and_one_that_comes_twice_does_too():
    # Vienna goes from 2 to 3 on 2026-03-29 and from 3 back to 2 on 2026-10-25.
    for first, days in ((datetime(2026, 3, 28, 12, tzinfo=UTC), 3), (datetime(2026, 10, 24, 12, tzinfo=UTC), 3)):
        moment, fired = first, []
        while moment < first + timedelta(days=days):
            moment = due("30 2 * * *", moment, "Europe/Vienna")
            fired.append(moment)
        assert len(fired) == days + 1
        apart = [later - earlier for earlier, later in pairwise(fired)]
        assert all(timedelta(hours=22) < gap < timedelta(hours=26) for gap in apart)


@pytest.mark.parametrize("cron", ["0 0 31 2 *", "61 * * * *", "* * * *", "* * * * * *", "a b c d e"])
def test_what_never_fires_is_refused(cron: str):
    with pytest.raises(NeverFires):
        due(cron, datetime(2026, 1, 1, tzinfo=UTC))
