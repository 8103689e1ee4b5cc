"""Reading metrics. Whose they are is decided here: every query holds the id of a cluster that the caller may see, read
from its row; names of tables, zones and nodes are quoted (promql.py)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Max, Q

from backend.accounts.queries import Identity
from backend.backups.models import Backup, BackupTable, TableReading
from backend.backups.states import BackupState
from backend.clusters.models import Cluster, Node
from backend.clusters.queries import cluster_not_found, clusters, node_not_found
from backend.core.errors import Invalid
from backend.core.pagination import foreign_cursor, from_cursor, to_cursor
from backend.metrics.catalogue import CHARTS, CHARTS_BY_ID, COLUMNS_BY_ID
from backend.metrics.charts import DASHBOARD_TITLES, Chart, Column, Dashboard
from backend.metrics.promql import Matcher, Resolution, expanded, legend, selector, window
from backend.metrics.ranges import SCRAPE_SECONDS, TimeRange, moment, time_range
from backend.metrics.rules import percentile_kept, percentile_now
from backend.metrics.store import Instant, Range, Series, Store, history_store, raw_store
from backend.metrics.table_charts import TABLE_COLUMNS
from backend.operations.models import Operation
from backend.operations.states import title
from backend.repairs.models import RepairTable
from backend.repairs.queries import protection_of

MOST_SERIES = 100
"""Of one chart; those with the highest values are told."""
MOST_EVENTS = 200
SPARK_POINTS = 30
# For so long the next pages of a list of tables show the moment that the first one did.
SAME_MOMENT = timedelta(minutes=10)
# What the engines keep for themselves, and the keyspace that proves a node.
SYSTEM_KEYSPACES = frozenset(
    {
        "ringmaster",
        "system",
        "system_auth",
        "system_cluster_metadata",
        "system_distributed",
        "system_distributed_everywhere",
        "system_replicated_keys",
        "system_schema",
        "system_traces",
        "system_views",
        "system_virtual_schema",
    }
)
NAME_KEYS = ("keyspace", "table")
MOMENT_KEYS = ("repaired_at", "protected_until", "backed_up_at")

TableName = tuple[str, str]


def find_cluster(who: Identity, cluster_id: str) -> Cluster:
    """Raises NotFound."""
    found = clusters(who).filter(id=cluster_id).first()
    if found is None:
        raise cluster_not_found()
    return found


def get_catalogue() -> dict[str, Any]:
    """What can be asked for."""
    return {
        "dashboards": [
            {
                "id": dashboard.value,
                "title": DASHBOARD_TITLES[dashboard],
                "charts": [_about(chart) for chart in CHARTS if chart.dashboard is dashboard],
            }
            for dashboard in Dashboard
        ],
        "table_columns": [_about_column(column) for column in TABLE_COLUMNS],
    }


def _about(chart: Chart) -> dict[str, Any]:
    return {"id": chart.id, "title": chart.title, "unit": chart.unit.value, "stacked": chart.stacked}


def _about_column(column: Column) -> dict[str, Any]:
    return {"id": column.id, "title": column.title, "unit": column.unit.value, "sparkline": column.spark}


def newest_question(cluster_id: str, now: datetime) -> Instant:
    """When the newest sample of a node that answered was taken."""
    where = selector([Matcher("cluster", (cluster_id,))])
    return Instant(query=f"max(timestamp(up{{{where}}}) and up{{{where}}} == 1)", at=now.timestamp())


def freshness(found: Sequence[Series], now: datetime) -> dict[str, Any]:
    """`newest_at` and its age; without any, why there may be none."""
    if not found or not found[0].points:
        return {
            "newest_at": None,
            "age_seconds": None,
            "note": "No numbers came in the last five minutes: its nodes are new, or do not answer, or are stopped.",
        }
    newest = found[0].points[0][1]
    return {
        "newest_at": moment(newest),
        "age_seconds": round(max(0.0, now.timestamp() - newest), 1),
        "note": None,
    }


# Charts


def get_cluster_metrics(
    who: Identity,
    cluster_id: str,
    *,
    dashboard: Dashboard,
    charts: Sequence[str],
    by: str,
    node_id: str | None,
    zone: str | None,
    keyspace: str | None,
    table: str | None,
    begins: datetime | None,
    ends: datetime | None,
    step: int | None,
) -> dict[str, Any]:
    """The charts of a dashboard, for all of the cluster, or split `by` zone or node; or those of a table, which are
    over all nodes, as roll-ups of tables are. NotFound, Invalid."""
    cluster = find_cluster(who, cluster_id)
    if dashboard is Dashboard.TABLE:
        named = _named_table(keyspace, table)
        if by != "cluster" or node_id is not None or zone is not None:
            raise Invalid(
                "invalid_field",
                "The charts of a table are over all of its nodes.",
                hint="Leave by, node_id and zone out.",
                field="by" if by != "cluster" else "node_id" if node_id is not None else "zone",
            )
        return get_table_metrics(who, cluster_id, *named, charts=charts, begins=begins, ends=ends, step=step)
    if keyspace is not None or table is not None:
        raise Invalid(
            "invalid_field",
            f"The dashboard {dashboard.value} is not of a table.",
            hint="Leave keyspace and table out, or ask for dashboard=table.",
            field="keyspace" if keyspace is not None else "table",
        )
    now = datetime.now(UTC)
    span = time_range(begins, ends, step, now=now)
    nodes = dict(Node.objects.filter(cluster=cluster).values_list("id", "name"))
    where = [Matcher("cluster", (cluster.id,))]
    if node_id is not None:
        if node_id not in nodes:
            raise node_not_found()
        where.append(Matcher("node", (node_id,)))
    if zone is not None:
        where.append(Matcher("zone", (zone,)))
    labels = () if by == "cluster" else (by,)
    return _answer(cluster, _chosen(charts, dashboard), span, where=where, by=labels, names=nodes, now=now)


def _named_table(keyspace: str | None, table: str | None) -> tuple[str, str]:
    if not keyspace or not table:
        raise Invalid(
            "invalid_field",
            "Which table's charts?",
            hint="Send keyspace and table, or use get_table_metrics.",
            field="table" if keyspace else "keyspace",
        )
    return keyspace, table


def get_table_metrics(
    who: Identity,
    cluster_id: str,
    keyspace: str,
    table: str,
    *,
    charts: Sequence[str],
    begins: datetime | None,
    ends: datetime | None,
    step: int | None,
) -> dict[str, Any]:
    """The charts of a table, over all of its nodes; without lines for one that never was. NotFound, Invalid."""
    cluster = find_cluster(who, cluster_id)
    now = datetime.now(UTC)
    span = time_range(begins, ends, step, now=now)
    where = [Matcher("cluster", (cluster.id,)), Matcher("keyspace", (keyspace,)), Matcher("table", (table,))]
    return _answer(cluster, _chosen(charts, Dashboard.TABLE), span, where=where, by=(), names={}, now=now)


def _chosen(ids: Sequence[str], dashboard: Dashboard) -> list[Chart]:
    of_it = [chart for chart in CHARTS if chart.dashboard is dashboard]
    unknown = [name for name in ids if name not in CHARTS_BY_ID or CHARTS_BY_ID[name] not in of_it]
    if unknown:
        raise Invalid(
            "unknown_chart",
            f"The dashboard {dashboard.value} has no such chart.",
            hint=f"It has {', '.join(chart.id for chart in of_it)}.",
            field="chart",
        )
    return [CHARTS_BY_ID[name] for name in dict.fromkeys(ids)] or of_it


def _answer(
    cluster: Cluster,
    charts: Sequence[Chart],
    span: TimeRange,
    *,
    where: Sequence[Matcher],
    by: Sequence[str],
    names: Mapping[str, str],
    now: datetime,
) -> dict[str, Any]:
    over = window(span.step, span.resolution)
    questions = [
        Range(
            query=expanded(query.expression, by=by, where=selector(where), window=over, resolution=span.resolution),
            start=span.start,
            end=span.end,
            step=span.step,
        )
        for chart in charts
        for query in chart.queries
    ]
    found = iter(store_for(span.resolution).ask(questions))
    newest = freshness(raw_store().ask([newest_question(cluster.id, now)])[0], now)
    return {
        "from": moment(span.start),
        "to": moment(span.end),
        "step_seconds": span.step,
        "resolution": span.resolution.value,
        **newest,
        "times": span.times,
        "charts": [_chart(chart, [next(found) for _ in chart.queries], span, by, names) for chart in charts],
        "events": events(cluster, moment(span.start), moment(span.end)),
    }


def store_for(resolution: Resolution) -> Store:
    return raw_store() if resolution is Resolution.RAW else history_store()


def _chart(
    chart: Chart, found: Sequence[Sequence[Series]], span: TimeRange, by: Sequence[str], names: Mapping[str, str]
) -> dict[str, Any]:
    lines = []
    for query, several in zip(chart.queries, found, strict=True):
        for series in several:
            if not series.points:
                continue
            shown = {label: names.get(value, value) for label, value in series.labels.items()}
            lines.append(
                {
                    "name": legend(query.legend, shown, by=by) or chart.title,
                    "labels": dict(series.labels),
                    "values": span.row(list(series.points)),
                }
            )
    if len(lines) > MOST_SERIES:
        lines.sort(key=_highest, reverse=True)
    shown_lines = sorted(lines[:MOST_SERIES], key=_order(chart, by)) if by else lines[:MOST_SERIES]
    return _about(chart) | {"series": shown_lines, "series_left_out": max(0, len(lines) - MOST_SERIES)}


def _highest(line: dict[str, Any]) -> float:
    values: list[float | None] = line["values"]
    return max(value for value in values if value is not None)


def _order(chart: Chart, by: Sequence[str]) -> Any:
    return lambda line: ([line["labels"].get(label, "") for label in by], line["name"])


def events(cluster: Cluster, begins: datetime, ends: datetime) -> list[dict[str, Any]]:
    """Operations on the cluster that were under way in a time, oldest first; of very many the latest."""
    rows = (
        Operation.objects.filter(cluster_id=cluster.id, organisation_id=cluster.organisation_id)
        .filter(Q(finished_at=None) | Q(finished_at__gte=begins), started_at__lte=ends)
        .order_by("-started_at")
        .values("id", "kind", "state", "started_at", "finished_at")[:MOST_EVENTS]
    )
    return [
        {
            "operation_id": row["id"],
            "kind": row["kind"],
            "title": title(row["kind"]),
            "state": row["state"],
            "started_at": row["started_at"],
            "finished_at": row["finished_at"],
        }
        for row in reversed(rows)
    ]


# The page of tables


@dataclass(frozen=True, kw_only=True)
class TablesWish:
    sort: str = "keyspace"
    descending: bool = False
    q: str = ""
    keyspace: str | None = None
    system: bool = False
    limit: int | None = 50
    """None: all of them."""
    cursor: str | None = None
    sparklines: bool = True
    begins: datetime | None = None
    ends: datetime | None = None


def list_table_metrics(who: Identity, cluster_id: str, wish: TablesWish) -> dict[str, Any]:
    """Every table with its numbers of now. NotFound, Invalid, MetricsUnavailable.

    The number of questions to the store does not depend on how many tables there are: one for each column, one for the
    age, and one for each sparkline, which are asked for the tables of the page only.
    """
    cluster = find_cluster(who, cluster_id)
    now = datetime.now(UTC)
    after = None if wish.cursor is None else _position(wish.cursor)
    at = now if after is None or not now - SAME_MOMENT <= after.at <= now else after.at
    if wish.sort not in COLUMNS_BY_ID and wish.sort not in (*NAME_KEYS, *MOMENT_KEYS):
        raise Invalid(
            "invalid_field",
            "Tables cannot be sorted by that.",
            hint=f"Sort by one of {', '.join([*NAME_KEYS, *MOMENT_KEYS, *COLUMNS_BY_ID])}; -NAME sorts downwards.",
            field="sort",
        )
    span = time_range(wish.begins, wish.ends, None, now=now, points=SPARK_POINTS)
    where = selector([Matcher("cluster", (cluster.id,))])
    newest, *numbers = raw_store().ask(
        [newest_question(cluster.id, at), *(_now(column, where, at) for column in TABLE_COLUMNS)]
    )
    values: dict[TableName, dict[str, float]] = {}
    for column, found in zip(TABLE_COLUMNS, numbers, strict=True):
        for series in found:
            if series.points:
                name = (series.labels.get("keyspace", ""), series.labels.get("table", ""))
                values.setdefault(name, {})[column.id] = series.points[0][1]
    known = _moments(cluster, now)
    names = [name for name in values.keys() | known.keys() if _is_wanted(name, wish)]
    sorted_by = {name: _value(name, wish, values, known) for name in names}
    keys = {name: _key(name, sorted_by[name], wish) for name in names}
    names.sort(key=keys.__getitem__)
    rest = names if after is None else [name for name in names if keys[name] > _key(after.name, after.value, wish)]
    shown = rest if wish.limit is None else rest[: wish.limit]
    sparks = _sparklines(cluster, shown, span) if wish.sparklines else {}
    protections = protection_of(cluster, shown, now)
    return {
        **freshness(newest, now),
        "columns": [_about_column(column) for column in TABLE_COLUMNS],
        "spark_times": span.times if wish.sparklines else [],
        "total": len(names),
        "items": [
            {
                "keyspace": keyspace,
                "table": table,
                "system": keyspace in SYSTEM_KEYSPACES,
                "numbers": {column.id: values.get((keyspace, table), {}).get(column.id) for column in TABLE_COLUMNS},
                "sparklines": sparks.get((keyspace, table), {}),
                "protection": protections.get((keyspace, table), "unknown"),
                **(known.get((keyspace, table)) or dict.fromkeys(MOMENT_KEYS)),
            }
            for keyspace, table in shown
        ],
        "next_cursor": (_cursor(_Position(shown[-1], sorted_by[shown[-1]], at)) if len(shown) < len(rest) else None),
    }


def _now(column: Column, where: str, now: datetime) -> Instant:
    if column.now is not None:
        return Instant(query=f"{percentile_now(column.now, 'p99')}{{{where}}}", at=now.timestamp())
    over = window(SCRAPE_SECONDS, Resolution.RAW)
    query = expanded(column.expression, by=NAME_KEYS, where=where, window=over, resolution=Resolution.RAW)
    return Instant(query=query, at=now.timestamp())


def _sparklines(
    cluster: Cluster, shown: Sequence[TableName], span: TimeRange
) -> dict[TableName, dict[str, list[float | None]]]:
    if not shown:
        return {}
    keyspaces, tables = (tuple(sorted(set(each))) for each in zip(*shown, strict=True))
    where = selector([Matcher("cluster", (cluster.id,)), Matcher("keyspace", keyspaces), Matcher("table", tables)])
    columns = [column for column in TABLE_COLUMNS if column.spark]
    asked = [
        Range(query=_spark(column, where, span), start=span.start, end=span.end, step=span.step) for column in columns
    ]
    found: dict[TableName, dict[str, list[float | None]]] = {}
    for column, several in zip(columns, store_for(span.resolution).ask(asked), strict=True):
        for series in several:
            name = (series.labels["keyspace"], series.labels["table"])
            found.setdefault(name, {})[column.id] = span.row(list(series.points))
    return found


def _spark(column: Column, where: str, span: TimeRange) -> str:
    over = window(span.step, span.resolution)
    if column.now is not None:
        of = percentile_now if span.resolution is Resolution.RAW else percentile_kept
        return f"max_over_time({of(column.now, 'p99')}{{{where}}}[{over}])"
    return expanded(column.expression, by=NAME_KEYS, where=where, window=over, resolution=span.resolution)


def _moments(cluster: Cluster, now: datetime) -> dict[TableName, dict[str, datetime | None]]:
    """Tables that the control plane knows: when they were repaired and backed up, until when they are protected."""
    found: dict[TableName, dict[str, datetime | None]] = {}
    reading = TableReading.objects.filter(cluster=cluster).values_list("tables", flat=True).first() or []
    for table in reading:
        found[(table["keyspace"], table["table"])] = dict.fromkeys(MOMENT_KEYS)
    rows = RepairTable.objects.filter(cluster=cluster).values_list("keyspace", "name", "repaired_at", "facts__gc_grace")
    for keyspace, name, repaired_at, gc_grace in rows:
        until = repaired_at and gc_grace is not None and repaired_at + timedelta(seconds=gc_grace)
        found[(keyspace, name)] = {
            "repaired_at": repaired_at,
            "protected_until": until or None,
            "backed_up_at": None,
        }
    for keyspace, name, taken_at in _backed_up(cluster):
        if (keyspace, name) in found:
            found[(keyspace, name)]["backed_up_at"] = taken_at
    return found


def _backed_up(cluster: Cluster) -> Iterable[tuple[str, str, datetime]]:
    """By the newest complete backup of each schedule, which has what older ones have, and the newest made by hand."""
    complete = Backup.objects.filter(cluster=cluster, state=BackupState.COMPLETE, taken_at__isnull=False)
    newest = complete.filter(schedule__isnull=False).order_by("schedule_id", "-taken_at").distinct("schedule_id")
    by_hand = complete.filter(schedule=None).order_by("-taken_at")[:20]
    chosen = [*newest.values_list("id", flat=True), *by_hand.values_list("id", flat=True)]
    rows = BackupTable.objects.filter(backup_id__in=chosen).order_by().values_list("keyspace", "name")
    return rows.annotate(taken_at=Max("backup__taken_at"))


def _is_wanted(name: TableName, wish: TablesWish) -> bool:
    keyspace, table = name
    if wish.keyspace is not None and keyspace != wish.keyspace:
        return False
    if wish.keyspace is None and not wish.system and keyspace in SYSTEM_KEYSPACES:
        return False
    return wish.q.lower() in f"{keyspace}.{table}".lower()


def _value(
    name: TableName,
    wish: TablesWish,
    values: Mapping[TableName, Mapping[str, float]],
    known: Mapping[TableName, Mapping[str, datetime | None]],
) -> float | None:
    """What tables are sorted by, beside their names."""
    if wish.sort in MOMENT_KEYS:
        at = known.get(name, {}).get(wish.sort)
        return None if at is None else at.timestamp()
    return values.get(name, {}).get(wish.sort)


def _key(name: TableName, value: float | None, wish: TablesWish) -> tuple[Any, ...]:
    """Sorts tables; those without a value come last either way, equal ones by name."""
    keyspace, table = name
    if wish.sort in NAME_KEYS:
        first, second = (keyspace, table) if wish.sort == "keyspace" else (table, keyspace)
        return (_reversed(first), _reversed(second)) if wish.descending else (first, second)
    if value is None:
        return (1, 0.0, keyspace, table)
    return (0, -value if wish.descending else value, keyspace, table)


def _reversed(text: str) -> tuple[int, ...]:
    """Sorts the other way round."""
    return (*(-ord(character) for character in text), 1)


@dataclass(frozen=True)
class _Position:
    """The table after which a page begins, with its value at the moment that all pages of the list show."""

    name: TableName
    value: float | None
    at: datetime


def _cursor(position: _Position) -> str:
    return to_cursor(*position.name, position.value, position.at.timestamp())


def _position(cursor: str) -> _Position:
    """Raises Invalid unless the cursor is one of ours."""
    try:
        match from_cursor(cursor):
            case [str(keyspace), str(table), None | int() | float() as value, int() | float() as at]:
                return _Position((keyspace, table), value, datetime.fromtimestamp(at, UTC))
    except (ValueError, OverflowError, OSError):
        pass
    raise foreign_cursor()
