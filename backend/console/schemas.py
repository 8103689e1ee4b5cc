"""The CQL console on the wire."""

from datetime import datetime
from typing import Annotated, Literal

from ninja import Schema
from pydantic import Field, SecretStr, StringConstraints, field_validator

from backend.console.states import (
    LARGEST_PAGE,
    LONGEST_STATEMENT,
    LONGEST_TIMEOUT,
    Consistency,
    StatementKind,
    StatementState,
)
from backend.core.schemas import AllowedAction, Line, NextCursor, RequestBody

RoleName = Annotated[Line, StringConstraints(min_length=1, max_length=128)]
Keyspace = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_]{1,48}$")]


class CqlSessionOrder(RequestBody):
    role: RoleName = Field(description="A role of the database that may log in")
    password: SecretStr = Field(
        min_length=1, max_length=128, strict=False, description="Its password. Kept encrypted, until the session ends"
    )

    @field_validator("password")
    @classmethod
    def _without_nul(cls, password: SecretStr) -> SecretStr:
        # It ends the password in the protocol.
        if "\0" in password.get_secret_value():
            raise ValueError("it holds a NUL")
        return password


class CqlSession(Schema):
    id: str = Field(description="cqs_…; run_cql and close_cql_session take it")
    role: str = Field(description="Of the database, as whose statements are run")
    opened_at: datetime = Field(description="When it was opened, UTC")
    expires_at: datetime = Field(description="When it ends unless it is used before; at the latest 8 h after its start")


class CqlOrder(RequestBody):
    session_id: Annotated[str, StringConstraints(max_length=40)] = Field(
        description="cqs_…, of a session that the caller has on this cluster (open_cql_session): it is run as its role",
        examples=["cqs_01hzy6q3v8k2m4n5p7r9s0t1w2"],
    )
    statement: str = Field(
        min_length=1,
        max_length=LONGEST_STATEMENT,
        description="One statement, with or without a semicolon",
        examples=["SELECT * FROM orders LIMIT 10"],
    )
    keyspace: Keyspace | None = Field(None, description="Of names without one; null: none", examples=["shop"])
    consistency: Consistency = Field(
        Consistency.LOCAL_QUORUM, strict=False, description="Consistency level, of reads as of writes"
    )
    page_size: int = Field(100, ge=1, le=LARGEST_PAGE, description="Rows; fewer come when they are large")
    timeout_seconds: int = Field(
        10,
        ge=1,
        le=LONGEST_TIMEOUT,
        description="How long the engine is waited for: 1 to 60; what a write has done by then stays done",
    )
    tracing: bool = Field(
        False, description="The nodes write down what they do for it: `trace` of its answer. It makes it slower"
    )
    allow_writes: bool = Field(
        False, description="Without it only SELECT, DESCRIBE and LIST are run. Needs the permission cql:write"
    )


class CqlPageOrder(RequestBody):
    page_size: int | None = Field(None, ge=1, le=LARGEST_PAGE, description="null: as before")


class CqlSchemaOrder(RequestBody):
    session_id: Annotated[str, StringConstraints(max_length=40)] = Field(
        description="cqs_…, of a session that the caller has on this cluster (open_cql_session): it is run as its role",
        examples=["cqs_01hzy6q3v8k2m4n5p7r9s0t1w2"],
    )


class CqlColumn(Schema):
    keyspace: str = Field(description="Of the table that it is of, as the engine tells it")
    table: str = Field(description="That it is of, as the engine tells it")
    name: str = Field(description="As the engine tells it: a column's, an alias, or a call such as count(*)")
    type: str = Field(description="As CQL writes it: map<text, int>")


class CqlCutCell(Schema):
    row: int = Field(description="From 0, of this page")
    column: int = Field(description="From 0, in the order of columns")
    bytes: int = Field(description="How long the whole text is")


class CqlTraceEvent(Schema):
    source: str = Field(description="Address of the node")
    activity: str = Field(description="What was done, in the engine's own words")
    thread: str = Field(description="The engine's thread that did it")
    offset_microseconds: int = Field(description="Since the first event, by the nodes' clocks")
    elapsed_microseconds: int | None = Field(description="Since this node began with the statement")


class CqlTrace(Schema):
    id: str = Field(description="A UUID, of the session in system_traces")
    coordinator: str = Field(
        description="Address of the node that ran it for the client; empty: not written down in time"
    )
    started_at: datetime | None = Field(
        description="When it began, UTC, by that node's clock; null: not written down in time"
    )
    microseconds: int | None = Field(description="Of the whole; null: not written down in time, events may be missing")
    events: list[CqlTraceEvent] = Field(description="In the order in which they happened, 500 at most")


class CqlAnswer(Schema):
    """One page of what a statement gave."""

    has_rows: bool = Field(description="The statement gives rows, even if there are none")
    columns: list[CqlColumn] = Field(
        description="In the order of the cells of each row; empty: the statement gives no rows"
    )
    rows: list[list[str | None]] = Field(
        description="Text as it is, all else as CQL writes it, times in UTC; null is null"
    )
    cut: list[CqlCutCell] = Field(description="Cells of which only the beginning is told")
    warnings: list[str] = Field(description="The engine's own, and that a trace could not be read; empty: none")
    outcome: str = Field(description="What became of the schema: CREATED TABLE shop.orders; else empty")
    microseconds: int = Field(description="Until the engine's answer, as the node saw it")
    trace: CqlTrace | None = Field(description="null: tracing was not asked for, or the trace could not be read")


class CqlSchemaColumn(Schema):
    name: str = Field(description="Written as it is in the database")
    type: str = Field(description="As CQL writes it: map<text, int>")
    kind: Literal["partition_key", "clustering", "static", "regular"] = Field(
        description="partition_key, clustering, static or regular"
    )
    position: int = Field(
        description="From 0, among the columns of the partition key or the clustering columns; -1: it is neither"
    )
    order: str = Field(description="asc, desc or none")


class CqlSchemaIndex(Schema):
    name: str = Field(description="Written as it is in the database")
    kind: str = Field(description="The engine's word: COMPOSITES, KEYS or CUSTOM")
    target: str = Field(
        description="What is indexed, in the engine's words: a column, or keys(column) and the like of a collection"
    )
    using: str = Field(description="Class of a custom index; else empty")


class CqlSchemaTable(Schema):
    name: str = Field(description="Written as it is in the database")
    view_of: str = Field(description="Table that it is a materialized view of; empty: it is a table")
    comment: str = Field(description="Of the table's options; may be empty")
    columns: list[CqlSchemaColumn] = Field(description="Keys first, in their order")
    indexes: list[CqlSchemaIndex] = Field(description="Empty: none")


class CqlSchemaField(Schema):
    name: str = Field(description="Written as it is in the database")
    type: str = Field(description="As CQL writes it: frozen<list<text>>")


class CqlSchemaType(Schema):
    name: str = Field(description="Of a user-defined type")
    fields: list[CqlSchemaField] = Field(description="In the order of the type")


class CqlSchemaFunction(Schema):
    name: str = Field(description="Several may share it with other arguments")
    aggregate: bool = Field(description="true: an aggregate over rows. false: a function of values")
    arguments: list[str] = Field(description="Their types, in order, as CQL writes them")
    returns: str = Field(description="Type of what it gives, as CQL writes it")
    language: str = Field(description="That it is written in: java; of aggregates empty")


class CqlSchemaKeyspace(Schema):
    name: str = Field(description="Written as it is in the database")
    system: bool = Field(description="The engine's own")
    replication: dict[str, str] = Field(
        description='Class and replicas by data centre, as the engine tells them: {"class": ..., "local-local-1": "3"}'
    )
    tables: list[CqlSchemaTable] = Field(description="Materialized views, too")
    types: list[CqlSchemaType] = Field(description="User-defined ones; empty: none")
    functions: list[CqlSchemaFunction] = Field(description="User-defined functions and aggregates; empty: none")


class CqlSchemaTree(Schema):
    keyspaces: list[CqlSchemaKeyspace] = Field(description="The engine's own ones, too")
    left: int = Field(description="How many columns were not told: there are too many")


class CqlProblem(Schema):
    code: str = Field(description="Stable, for programs: syntax-error, unauthorized, bad-credentials, timed-out ...")
    message: str = Field(description="In the engine's own words, where it said some")
    line: int | None = Field(description="From 1; null: the engine does not say where")
    column: int | None = Field(description="From 0")


class CqlStatement(Schema):
    id: str = Field(description="cql_…; get_cql_statement takes it")
    kind: StatementKind = Field(description="statement: of run_cql. schema: of read_cql_schema")
    session_id: str = Field(description="cqs_…, of the session in which it was run")
    role: str = Field(description="Of the database, as which it was run")
    verb: str = Field(description="Its first word in capitals, BATCH for a batch; empty for the kind schema")
    reads: bool = Field(description="It changes nothing: SELECT, DESCRIBE or LIST")
    statement: str = Field(description="Without passwords")
    keyspace: str | None = Field(description="Of names without one; null: none")
    consistency: Consistency = Field(description="Consistency level, of reads as of writes")
    page_size: int = Field(description="Rows at most of the page that is there or asked for")
    timeout_seconds: int = Field(description="How long the engine is waited for")
    tracing: bool = Field(description="Whether the nodes write down what they do for it")
    state: StatementState = Field(
        description="waiting: no worker has it yet. running: a node does. answered, failed and cancelled: it has "
        "ended. Asking for its next page begins anew with waiting"
    )
    page: int = Field(description="From 1: which one is asked for, or is there")
    more: bool = Field(description="There is a next page")
    node_id: str | None = Field(description="nod_…, of the node that runs or ran it; null: none yet")
    asked_at: datetime = Field(description="When it was ordered, UTC")
    ended_at: datetime | None = Field(description="When it, or its last page, ended, UTC; null: it has not")
    microseconds: int | None = Field(
        description="Until the engine's answer, of the last page, as the node saw it; null: there was none"
    )
    rows: int = Field(description="Of all pages fetched so far")
    problem: CqlProblem | None = Field(description="Why it failed; null: it has not")


class CqlStatementDetail(CqlStatement):
    answer: CqlAnswer | None = Field(description="null: not yet, not any more, or there is none. Kept for 15 minutes")
    tree: CqlSchemaTree | None = Field(description="What there is; of a statement of the kind schema")


class CqlStatementList(Schema):
    items: list[CqlStatement] = Field(description="The caller's own of the last 30 days, newest first")
    next_cursor: NextCursor


class CqlConsole(Schema):
    sessions: list[CqlSession] = Field(description="The caller's own")
    allowed_actions: list[AllowedAction] = Field(description="run_cql, and write_cql for allow_writes")
