"""Advice, the settings of tables, and changes of them on the wire."""

from datetime import datetime
from typing import Annotated

from ninja import Schema
from pydantic import Field, StringConstraints

from backend.advisor.rules.facts import AdviceSeverity, AdviceUnit
from backend.advisor.states import TableChangeState
from backend.core.schemas import AllowedAction, Line, Moment, RequestBody
from backend.operations.schemas import Operation

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_]{1,222}$")]
OptionValue = str | bool | int | float | dict[str, str] | None


class AdviceFilter(Schema):
    """The query parameters of the list."""

    keyspace: Name | None = None
    table: Name | None = Field(None, description="With its keyspace")
    severity: AdviceSeverity | None = None
    dismissed: bool = Field(False, description="Those that were dismissed, instead of the others")


class Evidence(Schema):
    label: str
    value: str | float
    unit: AdviceUnit
    chart: str = Field(description="Id of the chart that shows it (get_metrics_catalogue); empty: there is none")


class Figure(Schema):
    says: str
    source: str
    url: str


class OptionChange(Schema):
    before: dict[str, OptionValue]
    after: dict[str, OptionValue]
    rewrite: bool = Field(description="Files on disk stay as they are until they are compacted or rewritten")


class Dismissal(Schema):
    at: datetime
    by: str
    reason: str
    until: datetime | None = Field(description="null: for good")


class Advice(Schema):
    """Something that could be better, by a rule of docs/advisor.md."""

    id: str
    rule: str = Field(description="Stable, for programs: chunk-length, tombstones ...")
    title: str
    keyspace: str | None = Field(description="null: it is about the cluster")
    table: str | None
    severity: AdviceSeverity
    finding: str
    evidence: list[Evidence]
    gain: str = Field(description="What is to be expected")
    figure: Figure | None = Field(description="What that rests on")
    cost: str
    saving_micros: int = Field(description="Micro-dollars a month that it would save; 0: it is not about money")
    formula: str = Field(description="How that was worked out; empty: it is not about money")
    statement: str = Field(description="The CQL, or what to do; may be empty")
    change: OptionChange | None = Field(description="What apply_advice does; null: it is left to people")
    first_seen_at: datetime
    last_seen_at: datetime
    over_at: datetime | None = Field(description="Since when it is not true any more; null: it is")
    dismissal: Dismissal | None
    allowed_actions: list[AllowedAction]


class ReviewFacts(Schema):
    """When a cluster was looked at."""

    computed_at: datetime | None = Field(description="null: never")
    schema_read_at: datetime | None
    window_seconds: int | None = Field(description="The time that the numbers are of")
    waiting: bool = Field(description="Somebody asked for a look that has not been yet")
    problem: str | None = Field(description="Why the last look came to nothing; what is listed is older then")


class AdvicePage(Schema):
    items: list[Advice]
    next_cursor: str | None
    counts: dict[AdviceSeverity, int] = Field(description="Of all that is not dismissed, whatever was asked for")
    dismissed: int
    review: ReviewFacts
    allowed_actions: list[AllowedAction]


class SavingCluster(Schema):
    id: str
    name: str
    deleted: bool


class Saving(Schema):
    """Advice that would save money, by a rule of docs/costs.md, Savings."""

    id: str = Field(description="Of the advice: get_advice, dismiss_advice")
    rule: str
    title: str
    cluster: SavingCluster
    keyspace: str | None = Field(description="null: it is about the cluster")
    table: str | None
    severity: AdviceSeverity
    micros: int = Field(description="Micro-dollars a month")
    finding: str
    evidence: list[Evidence]
    formula: str = Field(description="How it was worked out")
    figure: Figure | None
    gain: str
    cost: str
    statement: str
    first_seen_at: datetime
    last_seen_at: datetime


class Savings(Schema):
    currency: str
    micros: int = Field(
        description="A month, of all pages: what can be saved together. Of a cluster either what is said about its "
        "machines counts, the largest of each data centre, or its cold tables; and its backups"
    )
    count: int = Field(description="On all pages")
    items: list[Saving] = Field(description="The largest first")
    next_cursor: str | None


class SavingsPage(Schema):
    limit: int = Field(50, ge=1, le=200, description="Items per page, 1 to 200")
    cursor: Annotated[str, StringConstraints(max_length=400)] | None = Field(
        None, description="next_cursor of the page before; opaque"
    )


class DismissalOrder(RequestBody):
    reason: Annotated[Line, StringConstraints(min_length=3, max_length=500)]
    until: Moment | None = Field(None, strict=False, description="null: for good")


class ApplyOrder(RequestBody):
    """One body for plan_advice and apply_advice."""

    rewrite: bool = Field(False, description="Write the table's files anew afterwards, node by node")


class UndoOrder(RequestBody):
    """One body for plan_table_change_undo and undo_table_change."""

    rewrite: bool = Field(False, description="Write the table's files anew afterwards, node by node")


class TablePlan(Schema):
    """What a change of a table's options would come to."""

    possible: bool
    reason: str | None = Field(description="Why not; null when it is possible")
    keyspace: str
    table: str
    before: dict[str, OptionValue]
    after: dict[str, OptionValue]
    statement: str = Field(description="The CQL that is run")
    way_back: str = Field(description="The CQL that undo_table_change runs")
    steps: list[str]
    notes: list[str]
    expected_seconds: int


class TableChange(Schema):
    id: str
    rule: str
    title: str
    keyspace: str
    table: str
    before: dict[str, OptionValue]
    after: dict[str, OptionValue]
    rewrite: bool
    state: TableChangeState
    undoes: str | None = Field(description="The change that this one takes back")
    operation_id: str
    ordered_by: str
    ordered_at: datetime
    ended_at: datetime | None
    allowed_actions: list[AllowedAction]


class TableChangePage(Schema):
    items: list[TableChange]
    next_cursor: str | None


class TableChangeStarted(Schema):
    change: TableChange
    operation: Operation


class TableFilter(Schema):
    keyspace: Name | None = None
    table: Name | None = None


class SchemaColumn(Schema):
    name: str
    kind: str = Field(description="partition_key, clustering, static or regular")
    position: int
    type: str
    order: str


class SchemaIndex(Schema):
    name: str
    kind: str = Field(description="The engine's word: COMPOSITES, KEYS or CUSTOM")
    target: str
    values: int | None = Field(description="Different ones on one node, as the engine estimates; null: it does not")


class TableOption(Schema):
    name: str
    value: OptionValue
    usual: OptionValue = Field(description="What a table has where nobody says otherwise; null: not known")
    is_usual: bool


class TableSchema(Schema):
    keyspace: str
    table: str
    view_of: str | None
    statement: str = Field(description="Makes it anew, with its indexes")
    columns: list[SchemaColumn]
    indexes: list[SchemaIndex]
    options: list[TableOption]
    read_at: datetime
