"""What was spent, summed by the database: by cluster, table, engine, tag, day or month.

Sums over clusters are read from their days, or months where that is the same; those over tables, or of some keyspace,
from tables' days or months. Both sum to the same in every transaction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any

from django.db import connection

from backend.core.pagination import foreign_cursor, from_cursor, to_cursor
from backend.costs.ranges import Days, days_of_tables, in_months
from backend.costs.sharing import PARTS


class CostGroup(StrEnum):
    """What a row of a report is."""

    CLUSTER = "cluster"
    TABLE = "table"
    ENGINE = "engine"
    TAG = "tag"
    DAY = "day"
    MONTH = "month"


IN_TIME = frozenset({CostGroup.DAY, CostGroup.MONTH})


@dataclass(frozen=True, kw_only=True)
class Wish:
    organisation_id: str
    days: Days
    today: date
    group: CostGroup = CostGroup.CLUSTER
    tag_key: str = ""
    """Of CostGroup.TAG: whose values are the groups."""
    cluster_id: str | None = None
    tag: tuple[str, str] | None = None
    keyspace: str | None = None
    table: str | None = None
    """Of the keyspace."""

    @property
    def of_tables(self) -> bool:
        return self.group is CostGroup.TABLE or self.keyspace is not None


@dataclass(frozen=True)
class Row:
    """`key`: the group; of a table its number."""

    key: str
    micros: int
    sums: Mapping[str, int]


@dataclass(frozen=True)
class Report:
    total: Mapping[str, int]
    groups: int
    rows: Sequence[Row]
    """One more than were asked for, if there are more."""


@dataclass(frozen=True)
class Position:
    """Of the last row of a page."""

    micros: int
    key: str


def report(wish: Wish, *, limit: int, after: Position | None) -> Report:
    """Raises Invalid. Dearest first; days and months in their order."""
    if wish.group is CostGroup.TABLE:
        return _by_table(wish, limit, after)
    source = _Source.of(wish)
    found = _grouped(source, wish)
    order, beyond = _order(wish, after)
    of_page = ", ".join(f"page.{each}" for each in order)
    sums = ", ".join(f"COALESCE(sum({name}), 0)::bigint AS {name}" for name in source.columns)
    rows = _ask(
        f"""
        WITH found AS MATERIALIZED ({found.text}),
             page AS (SELECT * FROM found WHERE {beyond.text} ORDER BY {", ".join(order)} LIMIT %s),
             whole AS (SELECT count(*) AS groups, {sums} FROM found)
        SELECT page.key, {", ".join(f"page.{name}" for name in source.columns)},
               whole.groups, {", ".join(f"whole.{name}" for name in source.columns)}
          FROM whole LEFT JOIN page ON true
         ORDER BY {of_page}
        """,
        [*found.values, *beyond.values, limit + 1],
    )
    width = len(source.columns)
    total = dict(zip(source.columns, rows[0][width + 2 :], strict=True))
    shown = [
        Row(row[0], row[1], dict(zip(source.columns, row[1 : width + 1], strict=True)))
        for row in rows
        if row[0] is not None
    ]
    return Report(total, rows[0][width + 1], shown)


@dataclass(frozen=True)
class _Sql:
    text: str
    values: Sequence[Any] = ()


@dataclass(frozen=True)
class _Source:
    """Rows of one table of the database that fit the wish. Column names are this program's own."""

    table: str
    time: str
    columns: tuple[str, ...]
    """`micros` first."""
    where: _Sql

    @classmethod
    def of(cls, wish: Wish) -> "_Source":
        clusters = _clusters(wish)
        if not wish.of_tables:
            return cls.of_clusters(wish, clusters)
        span, by_day = days_of_tables(wish.days, today=wish.today, each_day=wish.group is CostGroup.DAY)
        table, time = ("costs_tableday", "day") if by_day else ("costs_tablemonth", "month")
        text = f"organisation_id = %s AND {time} >= %s AND {time} < %s"
        values: list[Any] = [wish.organisation_id, span.begin, span.end]
        if wish.keyspace is not None or wish.cluster_id is not None or wish.tag is not None:
            names = {"keyspace": wish.keyspace, "name": wish.table}
            named = {column: name for column, name in names.items() if name is not None}
            text += " AND table_id IN (SELECT id FROM costs_costtable WHERE organisation_id = %s"
            text += "".join(f" AND {column} = %s" for column in named) + f" AND {clusters.text})"
            values += [wish.organisation_id, *named.values(), *clusters.values]
        return cls(table, time, ("micros", *PARTS, "reads", "writes"), _Sql(text, values))

    @classmethod
    def of_clusters(cls, wish: Wish, clusters: _Sql) -> "_Source":
        """By month where that is the same: a thirtieth of the rows."""
        months = None if wish.group is CostGroup.DAY else in_months(wish.days, today=wish.today)
        table, time, span = ("costs_costmonth", "month", months) if months else ("costs_costday", "day", wish.days)
        text = f"organisation_id = %s AND {time} >= %s AND {time} < %s AND {clusters.text}"
        values = [wish.organisation_id, span.begin, span.end, *clusters.values]
        return cls(table, time, ("micros", *PARTS, "unmeasured"), _Sql(text, values))

    def summed(self) -> str:
        micros = "micros" if "reads" in self.columns else " + ".join(PARTS)
        rest = ", ".join(f"sum({name})::bigint AS {name}" for name in self.columns[1:])
        return f"sum({micros})::bigint AS micros, {rest}"


def _clusters(wish: Wish) -> _Sql:
    text, values = "true", []
    if wish.cluster_id is not None:
        text, values = "cluster_id = %s", [wish.cluster_id]
    if wish.tag is not None:
        text += (
            " AND cluster_id IN (SELECT id FROM clusters_cluster"
            " WHERE organisation_id = %s AND options -> 'tags' ->> %s = %s)"
        )
        values += [wish.organisation_id, *wish.tag]
    return _Sql(text, values)


def _grouped(source: _Source, wish: Wish) -> _Sql:
    """By cluster or by day first: that makes few rows of many, of which the words are found."""
    if wish.group in IN_TIME:
        rows = f"{source.table} WHERE {source.where.text}"
        first = f"SELECT {source.time} AS first, {source.summed()} FROM {rows} GROUP BY 1"
        key = "to_char(first, 'YYYY-MM-DD')" if wish.group is CostGroup.DAY else "to_char(first, 'YYYY-MM')"
        return _outer(source, first, key, source.where.values)
    rows = f"{source.table} WHERE {source.where.text}"
    first = f"SELECT cluster_id AS first, {source.summed()} FROM {rows} GROUP BY 1"
    if wish.of_tables:
        by_table = f"SELECT table_id, {source.summed()} FROM {rows} GROUP BY 1"
        first = f"SELECT t.cluster_id AS first, each.* FROM ({by_table}) each JOIN costs_costtable t ON t.id = table_id"
    match wish.group:
        case CostGroup.ENGINE:
            key, values = "COALESCE(cluster.engine, '')", []
        case CostGroup.TAG:
            key, values = "COALESCE(cluster.options -> 'tags' ->> %s, '')", [wish.tag_key]
        case _:
            key, values = "first", []
    return _outer(source, first, key, [*values, *source.where.values])


def _outer(source: _Source, first: str, key: str, values: Sequence[Any]) -> _Sql:
    sums = ", ".join(f"sum(inside.{name})::bigint AS {name}" for name in source.columns)
    cluster = "LEFT JOIN clusters_cluster cluster ON cluster.id = inside.first" if "cluster." in key else ""
    return _Sql(f"SELECT {key} AS key, {sums} FROM ({first}) inside {cluster} GROUP BY 1", values)


def _order(wish: Wish, after: Position | None) -> tuple[Sequence[str], _Sql]:
    if wish.group in IN_TIME:
        return ["key"], _Sql("true") if after is None else _Sql("key > %s", [after.key])
    if after is None:
        return ["micros DESC", "key"], _Sql("true")
    return ["micros DESC", "key"], _Sql(
        "(micros < %s OR (micros = %s AND key > %s))", [after.micros, after.micros, after.key]
    )


def _by_table(wish: Wish, limit: int, after: Position | None) -> Report:
    """Ranked by an index that has the sums alone; parts and names are read of a page's tables only."""
    source = _Source.of(wish)
    text, values = "true", []
    if after is not None:
        text = "(micros < %s OR (micros = %s AND table_id > %s))"
        values = [after.micros, after.micros, int(after.key)]
    rows = _ask(
        f"""
        WITH found AS MATERIALIZED (
            SELECT table_id, sum(micros)::bigint AS micros FROM {source.table} WHERE {source.where.text} GROUP BY 1)
        SELECT table_id, micros, (SELECT count(*) FROM found) FROM found
         WHERE {text} ORDER BY micros DESC, table_id LIMIT %s
        """,
        [*source.where.values, *values, limit + 1],
    )
    sums = {
        row[0]: dict(zip(source.columns, row[1:], strict=True))
        for row in _ask(
            f"SELECT table_id, {source.summed()} FROM {source.table}"
            f" WHERE {source.where.text} AND table_id = ANY(%s) GROUP BY 1",
            [*source.where.values, [row[0] for row in rows]],
        )
    }
    shown = [Row(str(row[0]), row[1], sums[row[0]]) for row in rows]
    return Report(_total(wish, source), rows[0][2] if rows else 0, shown)


def _total(wish: Wish, source: _Source) -> dict[str, int]:
    """Of all tables: what their clusters cost, unless only some keyspace is asked for."""
    if wish.keyspace is None:
        source = _Source.of_clusters(wish, _clusters(wish))
    (row,) = _ask(f"SELECT {source.summed()} FROM {source.table} WHERE {source.where.text}", source.where.values)
    return {name: value or 0 for name, value in zip(source.columns, row, strict=True)}


def _ask(text: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(text, list(values))
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def cursor_of(row: Row) -> str:
    return to_cursor(row.micros, row.key)


def position(cursor: str, group: CostGroup) -> Position:
    """Raises Invalid."""
    try:
        match from_cursor(cursor):
            case [int(micros), str(key)] if type(micros) is int and abs(micros) <= 2**62 and "\x00" not in key:
                if group is not CostGroup.TABLE or 0 <= int(key) < 2**62:
                    return Position(micros, key)
    except ValueError:
        pass
    raise foreign_cursor()
