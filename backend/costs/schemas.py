"""Costs on the wire. Amounts are micro-dollars, days are of UTC."""

from datetime import date, datetime
from enum import StrEnum
from typing import Annotated

from ninja import Schema
from pydantic import BeforeValidator, Field, StringConstraints

from backend.core.schemas import Line, NextCursor
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
    group: CostGroup = Field(
        CostGroup.CLUSTER,
        description="What an item is: a cluster, table, engine, day, month, or with tag a value of the tag tag_key",
    )
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
    backups: int = Field(description="Micro-dollars of what backups take in object storage, and of requests to it")
    traffic: int = Field(description="Micro-dollars of bytes sent within zones, across zones and out")
    overhead: int = Field(description="Mark-up and fees")


class SpentAmounts(Schema):
    micros: int = Field(description="Micro-dollars: all parts together. Corrections may make it fall below zero")
    parts: CostParts = Field(description="What it was spent on, in micro-dollars")
    unmeasured: int | None = Field(
        description="Of it: shared, because there were no metrics of the hour. null: of tables it is in what is shared"
    )
    reads: int | None = Field(description="On all replicas; null: not told of this group")
    writes: int | None = Field(description="On all replicas; null: not told of this group")
    per_million_requests: int | None = Field(description="Compute and traffic of a million reads and writes")


class CostCluster(Schema):
    id: str = Field(description="Of the cluster: clu_…")
    name: str = Field(description="As it is called now")
    deleted: bool = Field(description="It does not live any more; what it cost stays")


class CostTableName(Schema):
    keyspace: str = Field(description="Of the table; empty: what is shared")
    name: str = Field(description="Of the table in its keyspace; empty: what is shared")
    shared: bool = Field(description="What no table of the cluster used, or could not be told apart")


class CostItem(SpentAmounts):
    key: str = Field(
        description="Id of the cluster, engine, value of the tag, day, month; empty: none. Of a table opaque"
    )
    cluster: CostCluster | None = Field(description="Of clusters and tables; null: what belongs to no cluster")
    table: CostTableName | None = Field(description="With group=table; null: another group, whose items are no tables")


class Costs(Schema):
    begins: date = Field(alias="from", description="First day, of UTC")
    ends: date = Field(alias="to", description="First day not in it any more, of UTC")
    currency: str = Field(description="USD")
    group: CostGroup = Field(description="What the items are, as it was asked for")
    total: SpentAmounts = Field(description="Of all pages: the sum of all groups")
    groups: int = Field(description="On all pages")
    items: list[CostItem] = Field(description="Dearest first; days and months in their order")
    next_cursor: NextCursor


class ForecastFilter(Schema):
    cluster_id: Id | None = Field(
        None,
        description="This cluster only, also a deleted one; left out: all. "
        "Roles that are only for some clusters must name one",
    )


class CostForecast(Schema):
    month: str = Field(description="The running one, of UTC: 2026-11. In its first hour still the month before")
    until: datetime = Field(description="Until then hours are closed")
    spent: int = Field(description="In the month so far")
    hourly: int = Field(description="Mean of the seven days before, or of as long as there was anything")
    hours_left: int = Field(description="Hours from until to the end of the month")
    forecast: int = Field(description="spent + hourly × hours_left, rounded once")
    last_seven_days: int = Field(description="Whole days")
    seven_days_before: int = Field(description="Micro-dollars of the seven whole days before those")
    trend: float | None = Field(description="Last seven days by those before, less one: 0.1 is a tenth more")


class ChangesFilter(ForecastFilter):
    month: Month | None = Field(None, description="2026-11; left out: the running one")


class CostChange(Schema):
    text: str = Field(description="In words")
    cluster: CostCluster | None = Field(description="Whose cost changed; null: what belongs to no cluster")
    item: Item = Field(description="What changed, as the price book names it")
    micros: int = Field(description="How much more; below zero: less")


class CostChanges(Schema):
    month: str = Field(description="The one that is compared with the month before: 2026-11")
    days: int = Field(description="Whole days that are compared, of this month and of the one before")
    before: int = Field(description="Micro-dollars of those days of the month before")
    now: int = Field(description="Micro-dollars of those days of this month")
    micros: int = Field(description="now - before: the sum of all changes")
    text: str = Field(description="All of it in a sentence")
    items: list[CostChange] = Field(description="The largest first")
    left_out: int = Field(description="What smaller changes come to that are not told")


class InvoiceLine(Schema):
    cluster: CostCluster | None = Field(description="Whose cost it is; null: what belongs to no cluster")
    item: Item = Field(description="What was paid for, as the price book names it")
    provider: str = Field(description="aws, gcp or local")
    region: str = Field(description="Of the provider, for example eu-west-1; empty: of none")
    name: str = Field(description="Machine type or class of storage; empty: the item has neither")
    quantity: str = Field(description="Decimal")
    unit: str = Field(description="Of quantity: hours, GiB-months, months, million requests, GiB; of mark-up dollars")
    price: int | None = Field(description="Micro-dollars per unit; of mark-up millionths. null: none is in the book")
    micros: int = Field(description="Micro-dollars; below zero: a correction took back")


class Invoice(Schema):
    month: str = Field(description="Of UTC, as it was asked for: 2026-11")
    final: bool = Field(description="The month is over and closed; corrections may still come, as lines of days in it")
    currency: str = Field(description="USD")
    micros: int = Field(description="Of all pages")
    lines: int = Field(description="On all pages")
    items: list[InvoiceLine] = Field(
        description="By cluster, item, provider, region, name and price; empty: nothing was spent"
    )
    next_cursor: NextCursor


class InvoicePage(Schema):
    limit: int = Field(100, ge=1, le=200, description="Lines per page, 1 to 200")
    cursor: Annotated[str, StringConstraints(max_length=1000)] | None = Field(
        None, description="next_cursor of the page before; opaque"
    )


class ExportQuery(DayRange):
    cluster_id: Id | None = Field(
        None,
        description="Lines of this cluster only, also a deleted one; left out: all. "
        "Roles that are only for some clusters must name one",
    )
    format: ExportFormat = Field(
        ExportFormat.CSV,
        description="csv; json: an object with currency and lines; focus: CSV with the columns of FOCUS 1.0",
    )


class UsageFilter(DayRange):
    cluster_id: Id | None = Field(
        None,
        description="Records of this cluster only, also a deleted one; left out: all. "
        "Roles that are only for some clusters must name one",
    )
    node_id: Id | None = Field(None, description="Records of this node only, also of a deleted one")
    item: Item | None = Field(None, description="Records of this item of the price book only")


class UsageQuery(UsageFilter):
    limit: int = Field(50, ge=1, le=200, description="Items per page, 1 to 200")
    cursor: Id | None = Field(None, description="next_cursor of the page before")


class Usage(Schema):
    id: str = Field(description="Of the record: usg_…")
    cluster_id: str = Field(description="Empty: what belongs to none")
    node_id: str = Field(description="Of the node that it was used by: nod_…; empty: of none")
    item: Item = Field(description="What was used, as the price book names it")
    provider: str = Field(description="aws, gcp or local")
    region: str = Field(description="Of the provider, for example eu-west-1; empty: of none")
    name: str = Field(description="Machine type or class of storage; empty: the item has neither")
    hour: datetime = Field(description="Beginning of the hour in which it was used, UTC")
    unit_seconds: int = Field(
        description="Machine-seconds or byte-seconds; of traffic bytes, of requests their number. Below zero takes back"
    )
    sequence: int = Field(description="0: as the hour was closed; then corrections")
    created_at: datetime = Field(description="When the record was written, UTC")


class UsagePage(Schema):
    items: list[Usage] = Field(description="In the order of their hours; of one hour those written first come first")
    next_cursor: NextCursor
