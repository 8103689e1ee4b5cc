"""Metrics on the wire. Times are seconds since 1970 where there are many of them, as charts take them."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from ninja import Schema
from pydantic import Field, StringConstraints

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
    dashboard: Dashboard = Dashboard.OVERVIEW
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
    keyspace: str | None = Field(None, max_length=48)
    system: bool = Field(False, description="The engine's own keyspaces, too")
    sparklines: bool = True
    begins: datetime | None = Field(None, alias="from", description="Of the sparklines; left out: an hour before `to`")
    ends: datetime | None = Field(None, alias="to", description="Left out: now")
    format: AnswerFormat | None = Field(None, description="csv: all tables that fit, as text; so does Accept: text/csv")


class ChartAbout(Schema):
    id: str
    title: str
    unit: Unit
    stacked: bool = Field(description="Its lines are parts of a whole")


class DashboardAbout(Schema):
    id: Dashboard
    title: str
    charts: list[ChartAbout]


class TableColumn(Schema):
    id: str
    title: str
    unit: Unit
    sparkline: bool


class MetricsCatalogue(Schema):
    dashboards: list[DashboardAbout]
    table_columns: list[TableColumn]


class MetricLine(Schema):
    name: str
    labels: dict[str, str]
    values: list[float | None] = Field(description="One for each of `times`; null: there is none")


class MetricChart(ChartAbout):
    series: list[MetricLine]
    series_left_out: int = Field(description="Of very many lines those with the highest values are told")


class MetricEvent(Schema):
    operation_id: str
    kind: str
    title: str
    state: OperationState
    started_at: datetime
    finished_at: datetime | None


class Freshness(Schema):
    newest_at: datetime | None = Field(description="When the newest number of any node was taken; null: see `note`")
    age_seconds: float | None
    note: str | None = Field(description="Why there are no numbers, as far as known")


class Metrics(Freshness):
    begins: datetime = Field(alias="from")
    ends: datetime = Field(alias="to")
    step_seconds: int
    resolution: Resolution = Field(
        description="raw: as nodes told, every 15 s, kept three days; rolled-up: every five minutes, for thirty days"
    )
    times: list[int] = Field(description="Seconds since 1970")
    charts: list[MetricChart]
    events: list[MetricEvent] = Field(description="Operations on the cluster that were under way, oldest first")


class TableMetrics(Schema):
    keyspace: str
    table: str
    system: bool = Field(description="The engine's own")
    numbers: dict[str, float | None] = Field(
        description="By id of the column. Bytes, SSTables and rates are of all copies together"
    )
    sparklines: dict[str, list[float | None]] = Field(description="By id of the column, one for each of spark_times")
    protection: RepairProtection
    repaired_at: datetime | None
    protected_until: datetime | None = Field(description="Until then deleted data stays deleted")
    backed_up_at: datetime | None = Field(description="The newest complete backup that holds it")


class TableMetricsPage(Freshness):
    columns: list[TableColumn]
    spark_times: list[int] = Field(description="Seconds since 1970")
    total: int = Field(description="Tables that fit, on all pages")
    items: list[TableMetrics]
    next_cursor: str | None


class FederationQuery(Schema):
    scope: FederationScope = FederationScope.ALL


class MetricsTokenShown(Schema):
    exists: bool
    hint: str | None = Field(description="Its last characters")
    created_by: str | None
    created_at: datetime | None


class NewMetricsToken(MetricsTokenShown):
    secret: str = Field(description="Shown this once. Use it as the bearer token of federate_metrics")
