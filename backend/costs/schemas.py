"""Costs on the wire. Amounts are micro-dollars, days are of UTC."""

from datetime import date, datetime
from enum import StrEnum
from typing import Annotated

from ninja import Schema
from pydantic import BeforeValidator, Field, StringConstraints

from backend.core.schemas import Line
from backend.costs.reports import CostGroup
from backend.prices.states import Item


def _day(value: object) -> object:
    """2026-11-01, and no number or moment that could be taken for a day."""
    return date.fromisoformat(value) if isinstance(value, str) and len(value) == len("2026-11-01") else "not a day"


Day = Annotated[date, BeforeValidator(_day)]
Id = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}_[0-9a-hjkmnp-tv-z]{26}$")]
Word = Annotated[Line, StringConstraints(min_length=1, max_length=222)]
Month = Annotated[str, StringConstraints(pattern=r"^20[0-9]{2}-(0[1-9]|1[0-2])$")]


class ExportFormat(StrEnum):
    CSV = "csv"
    JSON = "json"
    FOCUS = "focus"


class DayRange(Schema):
    begins: Day | None = Field(
        None, alias="from", description="First day, 2026-11-01; left out: the first of the month"
    )
    ends: Day | None = Field(None, alias="to", description="First day not in it any more; left out: tomorrow")


class CostFilter(DayRange):
    cluster_id: Id | None = Field(None, description="Also of a deleted one")
    tag: Annotated[Line, StringConstraints(pattern=r"^[^=]+=", max_length=400)] | None = Field(
        None, description="Clusters with this tag, as key=value. Tags count as they are now"
    )
    keyspace: Word | None = Field(None, description="Of tables of this keyspace only")
    table: Word | None = Field(None, description="Of this table of the keyspace only")


class CostQuery(CostFilter):
    group: CostGroup = CostGroup.CLUSTER
    tag_key: Annotated[Line, StringConstraints(max_length=128)] = Field(
        "", description="With group=tag: whose values are the groups; team, say"
    )
    limit: int = Field(50, ge=1, le=200, description="Items per page, 1 to 200")
    cursor: Annotated[str, StringConstraints(max_length=400)] | None = Field(
        None, description="next_cursor of the page before; opaque. When an hour is closed in between, order may change"
    )


class CostParts(Schema):
    """They sum to `micros`."""

    compute: int = Field(description="70 % of the machines")
    storage: int = Field(description="30 % of the machines, and disks bought beside them")
    backups: int
    traffic: int
    overhead: int = Field(description="Mark-up and fees")


class SpentAmounts(Schema):
    micros: int
    parts: CostParts
    unmeasured: int | None = Field(
        description="Of it: shared, because there were no metrics of the hour. null: of tables it is in what is shared"
    )
    reads: int | None = Field(description="On all replicas; null: not told of this group")
    writes: int | None
    per_million_requests: int | None = Field(description="Compute and traffic of a million reads and writes")


class CostCluster(Schema):
    id: str
    name: str = Field(description="As it is called now")
    deleted: bool


class CostTableName(Schema):
    keyspace: str
    name: str
    shared: bool = Field(description="What no table of the cluster used, or could not be told apart")


class CostItem(SpentAmounts):
    key: str = Field(
        description="Id of the cluster, engine, value of the tag, day, month; empty: none. Of a table opaque"
    )
    cluster: CostCluster | None = Field(description="Of clusters and tables; null: what belongs to no cluster")
    table: CostTableName | None


class Costs(Schema):
    begins: date = Field(alias="from")
    ends: date = Field(alias="to")
    currency: str
    group: CostGroup
    total: SpentAmounts = Field(description="Of all pages: the sum of all groups")
    groups: int = Field(description="On all pages")
    items: list[CostItem] = Field(description="Dearest first; days and months in their order")
    next_cursor: str | None


class ForecastFilter(Schema):
    cluster_id: Id | None = None


class CostForecast(Schema):
    month: str
    until: datetime = Field(description="Until then hours are closed")
    spent: int = Field(description="In the month so far")
    hourly: int = Field(description="Mean of the seven days before, or of as long as there was anything")
    hours_left: int
    forecast: int = Field(description="spent + hourly × hours_left, rounded once")
    last_seven_days: int = Field(description="Whole days")
    seven_days_before: int
    trend: float | None = Field(description="Last seven days by those before, less one: 0.1 is a tenth more")


class ChangesFilter(ForecastFilter):
    month: Month | None = Field(None, description="2026-11; left out: the running one")


class CostChange(Schema):
    text: str = Field(description="In words")
    cluster: CostCluster | None
    item: Item
    micros: int = Field(description="How much more; below zero: less")


class CostChanges(Schema):
    month: str
    days: int = Field(description="Whole days that are compared, of this month and of the one before")
    before: int
    now: int
    micros: int = Field(description="now - before: the sum of all changes")
    text: str = Field(description="All of it in a sentence")
    items: list[CostChange] = Field(description="The largest first")
    left_out: int = Field(description="What smaller changes come to that are not told")


class InvoiceLine(Schema):
    cluster: CostCluster | None
    item: Item
    provider: str
    region: str
    name: str
    quantity: str = Field(description="Decimal")
    unit: str
    price: int | None = Field(description="Micro-dollars per unit; of mark-up millionths. null: none is in the book")
    micros: int


class Invoice(Schema):
    month: str
    final: bool = Field(description="The month is over and closed; corrections may still come, as lines of days in it")
    currency: str
    micros: int = Field(description="Of all pages")
    lines: int = Field(description="On all pages")
    items: list[InvoiceLine]
    next_cursor: str | None


class InvoicePage(Schema):
    limit: int = Field(100, ge=1, le=200)
    cursor: Annotated[str, StringConstraints(max_length=1000)] | None = Field(
        None, description="next_cursor of the page before; opaque"
    )


class ExportQuery(DayRange):
    cluster_id: Id | None = None
    format: ExportFormat = ExportFormat.CSV


class UsageFilter(DayRange):
    cluster_id: Id | None = None
    node_id: Id | None = None
    item: Item | None = None


class UsageQuery(UsageFilter):
    limit: int = Field(50, ge=1, le=200)
    cursor: Id | None = Field(None, description="next_cursor of the page before")


class Usage(Schema):
    id: str
    cluster_id: str = Field(description="Empty: what belongs to none")
    node_id: str
    item: Item
    provider: str
    region: str
    name: str
    hour: datetime
    unit_seconds: int = Field(
        description="Machine-seconds or byte-seconds; of traffic bytes, of requests their number. Below zero takes back"
    )
    sequence: int = Field(description="0: as the hour was closed; then corrections")
    created_at: datetime


class UsagePage(Schema):
    items: list[Usage]
    next_cursor: str | None
