"""Adding amounts to rows that may not be there yet."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection, models

_AT_ONCE = 1000
"""Rows of one statement."""

Amounts = Mapping[tuple[Any, ...], Mapping[str, int]]
"""What is to be added, by column, to the row of each key."""


def by_month(amounts: Amounts) -> Amounts:
    """Keys end with a day: the sums of each month, whose keys end with its first."""
    sums: dict[tuple[Any, ...], dict[str, int]] = {}
    for (*whose, day), columns in amounts.items():
        month = sums.setdefault((*whose, day.replace(day=1)), dict.fromkeys(columns, 0))
        for name, value in columns.items():
            month[name] += value
    return sums


def add_up(model: type[models.Model], amounts: Amounts, *, by: Sequence[str], unique: Sequence[str] = ()) -> None:
    """Adds to the row of each key, a value for each column of `by`; one that is not there counts as zeros.

    `unique`: those of them that tell rows apart; none named: all. Rows are taken in one order, so that two that add
    at the same time do not wait for one another in a circle.
    """
    rows = sorted(amounts.items(), key=lambda pair: str(pair[0]))
    for start in range(0, len(rows), _AT_ONCE):
        _add(model._meta.db_table, rows[start : start + _AT_ONCE], by, unique or by)


def _add(
    table: str,
    rows: Sequence[tuple[tuple[Any, ...], Mapping[str, int]]],
    by: Sequence[str],
    unique: Sequence[str],
) -> None:
    summed = list(rows[0][1])
    columns = [*by, *summed]
    places = ", ".join([f"({', '.join(['%s'] * len(columns))})"] * len(rows))
    sums = ", ".join(f"{name} = {table}.{name} + EXCLUDED.{name}" for name in summed)
    with connection.cursor() as cursor:
        # Names are this program's own.
        cursor.execute(
            f"INSERT INTO {table} ({', '.join(columns)}) VALUES {places} "
            f"ON CONFLICT ({', '.join(unique)}) DO UPDATE SET {sums}",
            [value for key, added in rows for value in (*key, *(added[name] for name in summed))],
        )
