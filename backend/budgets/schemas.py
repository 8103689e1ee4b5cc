"""Budgets and ceilings on the wire. Amounts are micro-dollars, months are of UTC."""

from datetime import datetime
from typing import Annotated

from ninja import Schema
from pydantic import Field, StringConstraints

from backend.budgets.states import FORECAST_PERCENTS, SPENT_PERCENTS, BudgetScope, Measure
from backend.clusters.schemas import TagKey, TagValue
from backend.core.schemas import AllowedAction, Line, RequestBody

Name = Annotated[Line, StringConstraints(strip_whitespace=True, min_length=1, max_length=63)]
Id = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}_[0-9a-hjkmnp-tv-z]{26}$")]
Micros = Annotated[int, Field(ge=1, le=10**15)]
Percents = Annotated[list[Annotated[int, Field(ge=1, le=1000)]], Field(max_length=10)]

_SPENT = "Told when so many percent are spent"
_FORECAST = "Told when the month will come to so many percent by the forecast"


class BudgetOrder(RequestBody):
    """Of the organisation, of a cluster (`cluster_id`), or of clusters with a tag (`tag_key`, `tag_value`)."""

    name: Name
    scope: BudgetScope = Field(BudgetScope.ORGANISATION, strict=False)
    cluster_id: Id | None = None
    tag_key: TagKey | None = None
    tag_value: TagValue | None = None
    micros: Micros = Field(description="For each month")
    spent_percents: Percents = Field(list(SPENT_PERCENTS), description=_SPENT)
    forecast_percents: Percents = Field(list(FORECAST_PERCENTS), description=_FORECAST)


class BudgetUpdate(RequestBody):
    """What is left out stays. For another scope make another budget."""

    name: Name | None = None
    micros: Micros | None = None
    spent_percents: Percents | None = Field(None, description=_SPENT)
    forecast_percents: Percents | None = Field(None, description=_FORECAST)


class OfCluster(Schema):
    id: str
    name: str = Field(description="As it is called now")
    deleted: bool


class OfTag(Schema):
    key: str
    value: str


class BudgetCrossing(Schema):
    """A threshold that was reached; receivers of alerts were told once."""

    measure: Measure
    percent: int
    micros: int = Field(description="What it had come to, or was to come to, when it was found")
    budget_micros: int = Field(description="The budget then")
    sentence: str
    crossed_at: datetime
    cleared_at: datetime | None = Field(description="When the budget was changed so that it is not crossed any more")


class Budget(Schema):
    id: str
    name: str
    scope: BudgetScope
    cluster: OfCluster | None
    tag: OfTag | None = Field(description="Tags count as they are now")
    micros: int
    currency: str
    spent_percents: list[int]
    forecast_percents: list[int]
    month: str = Field(description="2026-11: of what follows")
    spent: int = Field(description="As it was at `checked_at`; costs are added once an hour")
    forecast: int = Field(description="What the month will come to: as get_cost_forecast")
    checked_at: datetime = Field(description="Looked at every five minutes, and when it is changed")
    crossings: list[BudgetCrossing] = Field(description="Of the month, the latest first")
    created_by: str
    created_at: datetime
    allowed_actions: list[AllowedAction]


class BudgetPage(Schema):
    items: list[Budget]
    next_cursor: str | None


class CeilingOrder(RequestBody):
    """Of the organisation, or of one of its clusters, in the place of the one before. At least one of both."""

    cluster_id: Id | None = Field(None, description="null: all of the organisation")
    nodes: Annotated[int, Field(ge=0, le=100_000)] | None = Field(None, description="At most; null: any number")
    micros_per_month: Annotated[int, Field(ge=0, le=10**15)] | None = Field(
        None, description="Of machines on demand with mark-up and fees, by 730 hours; null: any amount"
    )


class Held(Schema):
    """What there is, or will be when what has begun is done."""

    nodes: int
    micros_per_month: int
    unpriced_nodes: int = Field(description="Not in the amount: their machine type has no price")


class Ceiling(Schema):
    id: str
    cluster: OfCluster | None = Field(description="null: all of the organisation")
    nodes: int | None
    micros_per_month: int | None
    held: Held
    changed_by: str
    changed_at: datetime
    allowed_actions: list[AllowedAction]


class CeilingPage(Schema):
    items: list[Ceiling]
    next_cursor: str | None
    held: Held = Field(description="Of all of the organisation, whether it has a ceiling or not")
