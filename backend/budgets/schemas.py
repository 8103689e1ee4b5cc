"""Budgets and ceilings on the wire. Amounts are micro-dollars, months are of UTC."""

from datetime import datetime
from typing import Annotated

from ninja import Schema
from pydantic import Field, StringConstraints

from backend.budgets.states import FORECAST_PERCENTS, SPENT_PERCENTS, BudgetScope, Measure
from backend.clusters.schemas import TagKey, TagValue
from backend.core.schemas import AllowedAction, Line, NextCursor, RequestBody

Name = Annotated[Line, StringConstraints(strip_whitespace=True, min_length=1, max_length=63)]
Id = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}_[0-9a-hjkmnp-tv-z]{26}$")]
Micros = Annotated[int, Field(ge=1, le=10**15)]
Percents = Annotated[list[Annotated[int, Field(ge=1, le=1000)]], Field(max_length=10)]

_SPENT = "Told when so many percent are spent"
_FORECAST = "Told when the month will come to so many percent by the forecast"


class BudgetOrder(RequestBody):
    """Of the organisation, of a cluster (`cluster_id`), or of clusters with a tag (`tag_key`, `tag_value`)."""

    name: Name = Field(description="Unique in the organisation, whatever its case", examples=["shop"])
    scope: BudgetScope = Field(
        BudgetScope.ORGANISATION,
        strict=False,
        description="What counts: all of the organisation, one cluster (cluster_id), or the clusters that have a "
        "tag (tag_key and tag_value)",
    )
    cluster_id: Id | None = Field(
        None, description="Needed for the scope cluster, and only for it", examples=["clu_01hzy6q3v8k2m4n5p7r9s0t1w2"]
    )
    tag_key: TagKey | None = Field(None, description="Needed for the scope tag, and only for it", examples=["team"])
    tag_value: TagValue | None = Field(None, description="Needed for the scope tag, and only for it", examples=["shop"])
    micros: Micros = Field(
        description="For each month of UTC, in micro-dollars (1,000,000 are a US dollar)", examples=[500000000]
    )
    spent_percents: Percents = Field(list(SPENT_PERCENTS), description=_SPENT, examples=[[50, 80, 100]])
    forecast_percents: Percents = Field(list(FORECAST_PERCENTS), description=_FORECAST, examples=[[100]])


class BudgetUpdate(RequestBody):
    """What is left out stays. For another scope make another budget."""

    name: Name | None = Field(None, description="Unique in the organisation, whatever its case; null: stays")
    micros: Micros | None = Field(
        None,
        description="For each month of UTC, in micro-dollars (1,000,000 are a US dollar); null: stays",
        examples=[750000000],
    )
    spent_percents: Percents | None = Field(
        None,
        description="Told when so many percent are spent; in the place of those before; null: stays",
        examples=[[50, 80, 100]],
    )
    forecast_percents: Percents | None = Field(
        None,
        description="Told when the month will come to so many percent by the forecast; in the place of those "
        "before; null: stays",
        examples=[[100]],
    )


class OfCluster(Schema):
    id: str = Field(description="clu_…; get_cluster takes it")
    name: str = Field(description="As it is called now")
    deleted: bool = Field(description="Whether the cluster is deleted; what it cost this month still counts")


class OfTag(Schema):
    key: str = Field(description="As clusters carry it: team")
    value: str = Field(description="As clusters carry it: shop")


class BudgetCrossing(Schema):
    """A threshold that was reached; receivers of alerts were told once."""

    measure: Measure = Field(description="spent: what the month came to by then. forecast: what it was to come to")
    percent: int = Field(description="The threshold that was reached, percent of the budget: 80")
    micros: int = Field(description="What it had come to, or was to come to, when it was found; micro-dollars")
    budget_micros: int = Field(description="The budget then, micro-dollars")
    sentence: str = Field(
        description="What people were told: shop: 401.20 dollars spent in January 2026, which is past "
        "80 % of 500.00 dollars"
    )
    crossed_at: datetime = Field(description="When it was found, UTC")
    cleared_at: datetime | None = Field(description="When the budget was changed so that it is not crossed any more")


class Budget(Schema):
    id: str = Field(description="bud_…; get_budget takes it")
    name: str = Field(description="Unique in the organisation")
    scope: BudgetScope = Field(
        description="What counts: all of the organisation, one cluster, or the clusters that have a tag"
    )
    cluster: OfCluster | None = Field(description="Which one, of the scope cluster; else null")
    tag: OfTag | None = Field(description="Which one, of the scope tag; else null. Tags count as they are now")
    micros: int = Field(description="For each month of UTC, in micro-dollars (1,000,000 are a US dollar)")
    currency: str = Field(description="Of all its amounts: USD")
    spent_percents: list[int] = Field(description="Told when so many percent are spent; rising; empty: never")
    forecast_percents: list[int] = Field(
        description="Told when the month will come to so many percent by the forecast; rising; empty: never"
    )
    month: str = Field(description="2026-11: of what follows")
    spent: int = Field(description="Micro-dollars, as it was at `checked_at`; costs are added once an hour")
    forecast: int = Field(description="Micro-dollars that the month will come to: as get_cost_forecast")
    checked_at: datetime = Field(description="Looked at every five minutes, and when it is changed")
    crossings: list[BudgetCrossing] = Field(description="Of the month, the latest first")
    created_by: str = Field(
        description="Who made it: e-mail address or service account, with the API token's name in brackets if "
        "one was used"
    )
    created_at: datetime = Field(description="When it was made, UTC")
    allowed_actions: list[AllowedAction] = Field(
        description="Whether the caller may update_budget and delete_budget, and why not"
    )


class BudgetPage(Schema):
    items: list[Budget] = Field(description="Newest first")
    next_cursor: NextCursor


class CeilingOrder(RequestBody):
    """Of the organisation, or of one of its clusters, in the place of the one before. At least one of both."""

    cluster_id: Id | None = Field(
        None, description="null: all of the organisation", examples=["clu_01hzy6q3v8k2m4n5p7r9s0t1w2"]
    )
    nodes: Annotated[int, Field(ge=0, le=100_000)] | None = Field(
        None, description="At most; null: any number", examples=[12]
    )
    micros_per_month: Annotated[int, Field(ge=0, le=10**15)] | None = Field(
        None,
        description="Micro-dollars, at most, of machines on demand with mark-up and fees, by 730 hours; null: "
        "any amount",
        examples=[2000000000],
    )


class Held(Schema):
    """What there is, or will be when what has begun is done."""

    nodes: int = Field(description="Living nodes; one that gives its place to another counts once")
    micros_per_month: int = Field(description="Micro-dollars of machines on demand with mark-up and fees, by 730 hours")
    unpriced_nodes: int = Field(description="Not in the amount: their machine type has no price")


class Ceiling(Schema):
    id: str = Field(description="cei_…; remove_ceiling takes it")
    cluster: OfCluster | None = Field(description="null: all of the organisation")
    nodes: int | None = Field(description="At most; null: any number")
    micros_per_month: int | None = Field(
        description="Micro-dollars, at most, of machines on demand with mark-up and fees, by 730 hours; null: "
        "any amount"
    )
    held: Held = Field(description="What it is compared with: of all of the organisation, or of the cluster")
    changed_by: str = Field(
        description="Who set it last: e-mail address or service account, with the API token's name in brackets "
        "if one was used"
    )
    changed_at: datetime = Field(description="When it was set last, UTC")
    allowed_actions: list[AllowedAction] = Field(
        description="Whether the caller may set_ceiling and remove_ceiling, and why not"
    )


class CeilingPage(Schema):
    items: list[Ceiling] = Field(description="Newest first, without those of deleted clusters")
    next_cursor: NextCursor
    held: Held = Field(description="Of all of the organisation, whether it has a ceiling or not")
