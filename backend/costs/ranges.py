"""Which days a report is of: days of UTC. Pure."""

from dataclasses import dataclass
from datetime import date, timedelta

from backend.core.errors import Invalid

DAYS_KEPT = 62
"""For so long it is known by day what tables cost; by month for good."""
_MOST_DAYS = 1830


@dataclass(frozen=True)
class Days:
    """`end`: the first day that is not in it any more."""

    begin: date
    end: date


def month_of(day: date) -> Days:
    first = day.replace(day=1)
    return Days(first, (first + timedelta(days=32)).replace(day=1))


def days(begin: date | None, end: date | None, *, today: date) -> Days:
    """Left out: from the first of this month, until today included. Raises Invalid."""
    last = end or today + timedelta(days=1)
    first = begin or min(today, last - timedelta(days=1)).replace(day=1)
    if first >= last:
        raise _invalid("The range must begin before it ends", "`to` is the first day that is not in it any more.")
    if (last - first).days > _MOST_DAYS:
        raise _invalid("A report covers five years at most", "Choose a later `from`.")
    return Days(first, last)


def in_months(wanted: Days, *, today: date) -> Days | None:
    """The whole months that are the same to sums: what is to come of the running one costs nothing yet."""
    if wanted.begin.day == 1 and (wanted.end.day == 1 or wanted.end > today):
        return Days(wanted.begin, month_of(wanted.end - timedelta(days=1)).end)
    return None


def days_of_tables(wanted: Days, *, today: date, each_day: bool = False) -> tuple[Days, bool]:
    """What is read of tables, and whether by day (True) or by month. Raises Invalid, which says what to choose.

    `each_day`: days are to be told apart.
    """
    months = in_months(wanted, today=today)
    if months is not None and not each_day:
        return months, False
    if wanted.begin < today - timedelta(days=DAYS_KEPT):
        raise _invalid(
            f"What tables cost is known by day for {DAYS_KEPT} days, then by month",
            "Let `from` and `to` be the first day of a month, or choose a later `from`.",
        )
    return wanted, True


def _invalid(message: str, hint: str) -> Invalid:
    return Invalid("invalid_range", f"{message}.", hint=hint, field="from")
