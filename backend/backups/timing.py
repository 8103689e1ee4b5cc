"""When a schedule is due next. Pure: what is true after a moment that the caller names.

Cron as Debian's: on a day when the clock is put forward past a time it fires at the first moment that exists, and a
time that comes twice fires once (https://github.com/cuu508/cronsim). An interval is in elapsed minutes.
"""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

_FIELDS = 5


class NeverFires(ValueError):
    """What is written is no cron expression, or one that no date fits."""


def next_due(*, cron: str, interval_minutes: int | None, time_zone: str, after: datetime) -> datetime:
    """In UTC, later than `after`. Raises NeverFires."""
    if interval_minutes is not None:
        return after + timedelta(minutes=interval_minutes)
    if len(cron.split()) != _FIELDS:
        raise NeverFires("A cron expression has five fields: minute, hour, day of month, month, day of week.")
    try:
        found: datetime = next(CronSim(cron, after.astimezone(ZoneInfo(time_zone))))
    except CronSimError as error:
        raise NeverFires(f"{cron} is never due: {error}.") from error
    except StopIteration:
        raise NeverFires(f"No date in the next 50 years fits {cron}.") from None
    return found.astimezone(UTC)
