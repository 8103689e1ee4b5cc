"""Advice, the settings of tables, and changes of them on the wire."""

from datetime import datetime
from typing import Annotated

from ninja import Schema
from pydantic import Field, StringConstraints

from backend.advisor.rules.facts import AdviceSeverity, AdviceUnit
from backend.advisor.states import TableChangeState
from backend.core.schemas import AllowedAction, Line, Moment, NextCursor, RequestBody
from backend.operations.schemas import Operation

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_]{1,222}$")]
OptionValue = str | bool | int | float | dict[str, str] | None


class AdviceFilter(Schema):
    """The query parameters of the list."""

    keyspace: Name | None = Field(
        None, description="Only about this keyspace and its tables, written as it is in the database"
    )
    table: Name | None = Field(None, description="With its keyspace")
    severity: AdviceSeverity | None = Field(None, description="Of this severity exactly, not of higher ones")
    dismissed: bool = Field(False, description="Those that were dismissed, instead of the others")


class Evidence(Schema):
    label: str = Field(description="What it is, in words: SSTables per read")
    value: str | float = Field(description="A number in the unit, or a text where the unit is text")
    unit: AdviceUnit = Field(description="ratio: a share, 0.8 is 80 %. micro-dollars: millionths of a US dollar")
    chart: str = Field(description="Id of the chart that shows it (get_metrics_catalogue); empty: there is none")


class Figure(Schema):
    says: str = Field(description="The figure itself, a sentence")
    source: str = Field(description="Who measured or wrote it")
    url: str = Field(description="Where it is published")


class OptionChange(Schema):
    before: dict[str, OptionValue] = Field(
        description="Options of the table by name, as they must be for it to be applied"
    )
    after: dict[str, OptionValue] = Field(description="The same options, as they shall be")
    rewrite: bool = Field(description="Files on disk stay as they are until they are compacted or rewritten")


class Dismissal(Schema):
    at: datetime = Field(description="When it was dismissed, UTC")
    by: str = Field(
        description="Who dismissed it: e-mail address or service account, with the API token's name in brackets "
        "if one was used"
    )
    reason: str = Field(description="Why, in their words")
    until: datetime | None = Field(description="null: for good")


class Advice(Schema):
    """Something that could be better, by a rule of docs/advisor.md."""

    id: str = Field(description="adv_…; the same when it becomes true again within 90 days")
    rule: str = Field(description="Stable, for programs: chunk-length, tombstones ...")
    title: str = Field(description="The rule in words: Chunks too long for small reads")
    keyspace: str | None = Field(description="null: it is about the cluster")
    table: str | None = Field(description="null: it is about the cluster or the keyspace")
    severity: AdviceSeverity = Field(
        description="critical: data or service are at stake. warning: it costs something now. hint: it can be better"
    )
    finding: str = Field(description="What was found, in sentences with numbers")
    evidence: list[Evidence] = Field(description="The numbers that it rests on")
    gain: str = Field(description="What is to be expected")
    figure: Figure | None = Field(description="What that rests on")
    cost: str = Field(description="What doing it costs or risks, in sentences")
    saving_micros: int = Field(description="Micro-dollars a month that it would save; 0: it is not about money")
    formula: str = Field(description="How that was worked out; empty: it is not about money")
    statement: str = Field(description="The CQL, or what to do; may be empty")
    change: OptionChange | None = Field(description="What apply_advice does; null: it is left to people")
    first_seen_at: datetime = Field(description="Since when it is true, UTC; anew when it became true again")
    last_seen_at: datetime = Field(description="When it was found to be true last, UTC")
    over_at: datetime | None = Field(description="Since when it is not true any more; null: it is")
    dismissal: Dismissal | None = Field(description="null: it is not dismissed, or not any more")
    allowed_actions: list[AllowedAction] = Field(
        description="Whether the caller may apply_advice and dismiss_advice, and why not"
    )


class ReviewFacts(Schema):
    """When a cluster was looked at."""

    computed_at: datetime | None = Field(description="null: never")
    schema_read_at: datetime | None = Field(description="When a node described its tables last, UTC; null: never")
    window_seconds: int | None = Field(description="The time that the numbers are of")
    waiting: bool = Field(description="Somebody asked for a look that has not been yet")
    problem: str | None = Field(description="Why the last look came to nothing; what is listed is older then")


class AdvicePage(Schema):
    items: list[Advice] = Field(description="What is true now, newest first")
    next_cursor: NextCursor
    counts: dict[AdviceSeverity, int] = Field(description="Of all that is not dismissed, whatever was asked for")
    dismissed: int = Field(description="How many are dismissed now, whatever was asked for")
    review: ReviewFacts = Field(description="When this was worked out, and from what")
    allowed_actions: list[AllowedAction] = Field(description="Whether the caller may review_cluster, and why not")


class SavingCluster(Schema):
    id: str = Field(description="clu_…; get_cluster takes it")
    name: str = Field(description="As it is called now")
    deleted: bool = Field(
        description="Whether the cluster is deleted: then it is about its backups, which are still there"
    )


class Saving(Schema):
    """Advice that would save money, by a rule of docs/costs.md, Savings."""

    id: str = Field(description="Of the advice: get_advice, dismiss_advice")
    rule: str = Field(
        description="Stable, for programs: idle-cluster, under-used, newer-machines, reservation, cold-table, "
        "overdue-backups ..."
    )
    title: str = Field(description="The rule in words")
    cluster: SavingCluster = Field(description="Whose costs it is about")
    keyspace: str | None = Field(description="null: it is about the cluster")
    table: str | None = Field(description="null: it is about the cluster")
    severity: AdviceSeverity = Field(
        description="critical: data or service are at stake. warning: it costs something now. hint: it can be better"
    )
    micros: int = Field(description="Micro-dollars a month")
    finding: str = Field(description="What was found, in sentences with numbers")
    evidence: list[Evidence] = Field(description="The numbers that it rests on")
    formula: str = Field(description="How it was worked out")
    figure: Figure | None = Field(description="Who measured or wrote what it rests on; null: nobody else did")
    gain: str = Field(description="What is to be expected, in sentences")
    cost: str = Field(description="What doing it costs or risks, in sentences")
    statement: str = Field(description="The CQL, or what to do; may be empty")
    first_seen_at: datetime = Field(description="Since when it is true, UTC; anew when it became true again")
    last_seen_at: datetime = Field(description="When it was found to be true last, UTC")


class Savings(Schema):
    currency: str = Field(description="Of all amounts: USD")
    micros: int = Field(
        description="Micro-dollars a month, of all pages: what can be saved together. Of a cluster either what is "
        "said about its machines counts, the largest of each data centre, or its cold tables; and its backups"
    )
    count: int = Field(description="On all pages")
    items: list[Saving] = Field(description="The largest first")
    next_cursor: NextCursor


class SavingsPage(Schema):
    limit: int = Field(50, ge=1, le=200, description="Items per page, 1 to 200")
    cursor: Annotated[str, StringConstraints(max_length=400)] | None = Field(
        None, description="next_cursor of the page before; opaque"
    )


class DismissalOrder(RequestBody):
    reason: Annotated[Line, StringConstraints(min_length=3, max_length=500)] = Field(
        description="Why, one line of 3 to 500 characters; shown with the advice and in the audit log",
        examples=["The table is dropped next month"],
    )
    until: Moment | None = Field(
        None,
        strict=False,
        description="A time to come with its time zone, RFC 3339; null: for good",
        examples=["2026-01-31T00:00:00Z"],
    )


class ApplyOrder(RequestBody):
    """One body for plan_advice and apply_advice."""

    rewrite: bool = Field(False, description="Write the table's files anew afterwards, node by node")


class UndoOrder(RequestBody):
    """One body for plan_table_change_undo and undo_table_change."""

    rewrite: bool = Field(False, description="Write the table's files anew afterwards, node by node")


class TablePlan(Schema):
    """What a change of a table's options would come to."""

    possible: bool = Field(description="Whether the caller could order it now")
    reason: str | None = Field(description="Why not; null when it is possible")
    keyspace: str = Field(description="Of the table, written as it is in the database")
    table: str = Field(description="Written as it is in the database")
    before: dict[str, OptionValue] = Field(
        description="Options of the table by name, as they must be for it to be carried out"
    )
    after: dict[str, OptionValue] = Field(description="The same options, as they shall be")
    statement: str = Field(description="The CQL that is run")
    way_back: str = Field(description="The CQL that undo_table_change runs")
    steps: list[str] = Field(description="What would be done, in words and in order")
    notes: list[str] = Field(description="What is good to know about it, a sentence each")
    expected_seconds: int = Field(
        description="How long it would take. Of a rewrite by how large the table is on each node and how fast "
        "compactions may write there; notes say when its size is not known, which then counts for nothing"
    )


class TableChange(Schema):
    id: str = Field(description="tch_…; undo_table_change takes it")
    rule: str = Field(description="By whose advice: chunk-length, tombstones ...")
    title: str = Field(description="The rule in words: Chunks too long for small reads")
    keyspace: str = Field(description="Of the table, written as it is in the database")
    table: str = Field(description="Written as it is in the database")
    before: dict[str, OptionValue] = Field(description="Options of the table by name, as they were")
    after: dict[str, OptionValue] = Field(description="The same options, as they were set")
    rewrite: bool = Field(description="The table's files are written anew afterwards, node by node")
    state: TableChangeState = Field(
        description="applying: under way. applied: done. undone: another change took it back. cancelled: it was "
        "not done, or taken back at once"
    )
    undoes: str | None = Field(description="The change that this one takes back")
    operation_id: str = Field(description="op_…, that carries it out; get_operation takes it")
    ordered_by: str = Field(
        description="Who ordered it: e-mail address or service account, with the API token's name in brackets if "
        "one was used"
    )
    ordered_at: datetime = Field(description="When it was ordered, UTC")
    ended_at: datetime | None = Field(description="When it was done or cancelled, UTC; null: under way")
    allowed_actions: list[AllowedAction] = Field(description="Whether the caller may undo_table_change, and why not")


class TableChangePage(Schema):
    items: list[TableChange] = Field(description="Newest first")
    next_cursor: NextCursor


class TableChangeStarted(Schema):
    change: TableChange = Field(description="What was ordered")
    operation: Operation = Field(description="What carries it out: follow it with get_operation or stream_events")


class TableFilter(Schema):
    keyspace: Name | None = Field(None, description="Only tables of this keyspace, written as it is in the database")
    table: Name | None = Field(None, description="Only tables of this name, written as it is in the database")


class SchemaColumn(Schema):
    name: str = Field(description="Written as it is in the database")
    kind: str = Field(description="partition_key, clustering, static or regular")
    position: int = Field(
        description="From 0, among the columns of the partition key or the clustering columns; -1: it is neither"
    )
    type: str = Field(description="As CQL writes it: map<text, int>")
    order: str = Field(description="asc or desc, of clustering columns; else none")


class SchemaIndex(Schema):
    name: str = Field(description="Written as it is in the database")
    kind: str = Field(description="The engine's word: COMPOSITES, KEYS or CUSTOM")
    target: str = Field(
        description="What is indexed, in the engine's words: a column, or keys(column) and the like of a collection"
    )
    values: int | None = Field(description="Different ones on one node, as the engine estimates; null: it does not")


class TableOption(Schema):
    name: str = Field(description="As CREATE TABLE names it: gc_grace_seconds")
    value: OptionValue = Field(description="A number, text, boolean, or a map of text, as the engine has it")
    usual: OptionValue = Field(description="What a table has where nobody says otherwise; null: not known")
    is_usual: bool = Field(description="Whether it is the usual one; false where that is not known, too")


class TableSchema(Schema):
    keyspace: str = Field(description="Written as it is in the database")
    table: str = Field(description="Written as it is in the database; a materialized view is told as a table")
    view_of: str | None = Field(description="Table that it is a materialized view of; null: it is a table")
    statement: str = Field(description="Makes it anew, with its indexes")
    columns: list[SchemaColumn] = Field(description="Keys first, in their order")
    indexes: list[SchemaIndex] = Field(description="Of the engine's own kinds and custom ones; empty: none")
    options: list[TableOption] = Field(description="All that the engine tells, by name")
    read_at: datetime = Field(description="When a node described it, UTC")
