"""Metrics on the wire. Times are seconds since 1970 where there are many of them, as charts take them."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from ninja import Schema
from pydantic import Field, StringConstraints

from backend.core.schemas import NextCursor
from backend.metrics.charts import Dashboard, Unit
from backend.metrics.federation import FederationScope
from backend.metrics.promql import Resolution
from backend.metrics.ranges import MOST_POINTS
from backend.operations.states import OperationState
from backend.repairs.states import RepairProtection

Word = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]{1,64}$")]


class SplitBy(StrEnum):
    CLUSTER = "cluster"
    ZONE = "zone"
    NODE = "node"


class AnswerFormat(StrEnum):
    JSON = "json"
    CSV = "csv"


class RangeQuery(Schema):
    begins: datetime | None = Field(None, alias="from", description="Left out: an hour before `to`")
    ends: datetime | None = Field(None, alias="to", description="Left out: now")
    step: int | None = Field(
        None,
        ge=1,
        le=86_400 * 30,
        description=f"Seconds between two points; made a multiple of 15 (of 300 beyond 24 hours). Left out: about 240 "
        f"points; never more than {MOST_POINTS}",
    )
    format: AnswerFormat | None = Field(None, description="csv: the same numbers as text; so does Accept: text/csv")


class TableChartsQuery(RangeQuery):
    chart: list[Word] = Field([], max_length=50, description="Ids of get_metrics_catalogue; none: all of a table")


class DashboardQuery(RangeQuery):
    dashboard: Dashboard = Field(
        Dashboard.OVERVIEW,
        description="Whose charts. table: needs keyspace and table, and answers what get_table_metrics does",
    )
    keyspace: str | None = Field(None, max_length=48, description="Of the dashboard table: whose table")
    table: str | None = Field(
        None,
        max_length=48,
        description="Of the dashboard table, which is over all nodes: by, node_id and zone are not for it",
    )
    chart: list[Word] = Field([], max_length=50, description="Some charts of the dashboard; none: all of them")
    by: SplitBy = Field(SplitBy.CLUSTER, description="A line for all of the cluster, for each zone or for each node")
    node_id: str | None = Field(None, max_length=40, description="This node only")
    zone: str | None = Field(None, max_length=64, description="This zone only")


class TablesQuery(Schema):
    limit: int = Field(50, ge=1, le=200, description="Items per page, 1 to 200")
    cursor: Annotated[str, StringConstraints(max_length=800)] | None = Field(
        None,
        description="next_cursor of the page before; opaque. The pages of a list show the same moment. Ten minutes "
        "after it they show the present: a table may then be met twice or not at all",
    )
    sort: Annotated[str, StringConstraints(pattern=r"^-?[a-z0-9_]{1,40}$")] = Field(
        "keyspace",
        description="keyspace, table, repaired_at, protected_until, backed_up_at, or the id of a column; with - before "
        "it downwards. Tables without a value come last",
    )
    q: str = Field("", max_length=280, description="Part of keyspace.table")
    keyspace: str | None = Field(
        None, max_length=48, description="Tables of this keyspace only, also when it is the engine's own"
    )
    system: bool = Field(False, description="The engine's own keyspaces, too")
    sparklines: bool = Field(True, description="false: without sparklines, which is faster; CSV never has them")
    begins: datetime | None = Field(None, alias="from", description="Of the sparklines; left out: an hour before `to`")
    ends: datetime | None = Field(None, alias="to", description="Left out: now")
    format: AnswerFormat | None = Field(None, description="csv: all tables that fit, as text; so does Accept: text/csv")


class ChartAbout(Schema):
    id: str = Field(description="By which the parameter chart asks for it")
    title: str = Field(description="For people, for example CPU in use")
    unit: Unit = Field(description="Of its values. ratio: a share, of which 1 is all")
    stacked: bool = Field(description="Its lines are parts of a whole")


class DashboardAbout(Schema):
    id: Dashboard = Field(description="By which the parameter dashboard asks for it")
    title: str = Field(description="For people, for example Operating system")
    charts: list[ChartAbout] = Field(description="In the order in which to show them")


class TableColumn(Schema):
    id: str = Field(description="By which numbers and sparklines name it, and the parameter sort")
    title: str = Field(description="For people, for example Reads")
    unit: Unit = Field(description="Of its numbers. ratio: a share, of which 1 is all")
    sparkline: bool = Field(description="Its sparklines are told, too")


class MetricsCatalogue(Schema):
    dashboards: list[DashboardAbout] = Field(
        description="In the order in which to show them; table is asked for with keyspace and table"
    )
    table_columns: list[TableColumn] = Field(description="Of list_table_metrics, in the order in which to show them")


class MetricLine(Schema):
    name: str = Field(
        description="For people, what sets it apart: p99, the node's name, the zone; the chart's title where nothing "
        "does"
    )
    labels: dict[str, str] = Field(
        description="What sets it apart, by label: zone, node (its id), kind ...; empty: its name alone does"
    )
    values: list[float | None] = Field(description="One for each of `times`; null: there is none")


class MetricChart(ChartAbout):
    series: list[MetricLine] = Field(description="Its lines, at most 100; empty: there are no numbers of the time")
    series_left_out: int = Field(description="Of very many lines those with the highest values are told")


class MetricEvent(Schema):
    operation_id: str = Field(description="For get_operation")
    kind: str = Field(description="As operations have it, for example rolling_restart")
    title: str = Field(description="For people, for example Restart node by node")
    state: OperationState = Field(description="Of the operation as it is now")
    started_at: datetime = Field(description="When it was started, UTC")
    finished_at: datetime | None = Field(description="When it ended, UTC; null: it goes on")


class Freshness(Schema):
    newest_at: datetime | None = Field(description="When the newest number of any node was taken; null: see `note`")
    age_seconds: float | None = Field(description="Seconds since newest_at, to a tenth; null: see note")
    note: str | None = Field(description="Why there are no numbers, as far as known")


class Metrics(Freshness):
    begins: datetime = Field(
        alias="from",
        description="Moment of the first point, UTC; what was asked for, put back to a multiple of step_seconds",
    )
    ends: datetime = Field(
        alias="to",
        description="Moment of the last point, UTC; what was asked for, put back to a multiple of step_seconds",
    )
    step_seconds: int = Field(description="Seconds between two points")
    resolution: Resolution = Field(
        description="raw: as nodes told, every 15 s, kept three days; rolled-up: every five minutes, for thirty days"
    )
    times: list[int] = Field(description="Seconds since 1970")
    charts: list[MetricChart] = Field(description="Those that were asked for, in that order")
    events: list[MetricEvent] = Field(description="Operations on the cluster that were under way, oldest first")


class TableMetrics(Schema):
    keyspace: str = Field(description="As the engine has it: without quotes, upper and lower case count")
    table: str = Field(description="As the engine has it: without quotes, upper and lower case count")
    system: bool = Field(description="The engine's own")
    numbers: dict[str, float | None] = Field(
        description="By id of the column. Bytes, SSTables and rates are of all copies together"
    )
    sparklines: dict[str, list[float | None]] = Field(description="By id of the column, one for each of spark_times")
    protection: RepairProtection = Field(
        description="How much of the time in which deleted data stays deleted is used up. good: under half, amber: "
        "under four fifths, red: more, over: all of it. unknown: not all of it was repaired yet"
    )
    repaired_at: datetime | None = Field(
        description="Since then all of it was repaired, UTC: the oldest repair of its parts. null: a part never was"
    )
    protected_until: datetime | None = Field(description="Until then deleted data stays deleted")
    backed_up_at: datetime | None = Field(description="The newest complete backup that holds it")


class TableMetricsPage(Freshness):
    columns: list[TableColumn] = Field(
        description="What numbers and sparklines are of, in the order in which to show them"
    )
    spark_times: list[int] = Field(description="Seconds since 1970")
    total: int = Field(description="Tables that fit, on all pages")
    items: list[TableMetrics] = Field(description="In the order that sort asks for")
    next_cursor: NextCursor


class FederationQuery(Schema):
    scope: FederationScope = Field(
        FederationScope.ALL, description="all; node: series of nodes and their agents; table: series of tables"
    )


class MetricsTokenShown(Schema):
    exists: bool = Field(description="The cluster has a token; at most one counts. false: all else is null")
    hint: str | None = Field(description="Its last characters")
    created_by: str | None = Field(
        description="E-mail address of who made it, or a service account's name; with an API token's name in brackets "
        "if one was used"
    )
    created_at: datetime | None = Field(description="When it was made, UTC")


class NewMetricsToken(MetricsTokenShown):
    secret: str = Field(description="Shown this once. Use it as the bearer token of federate_metrics")
