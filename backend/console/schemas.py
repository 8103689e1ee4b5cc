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
from backend.core.schemas import AllowedAction, Line, RequestBody

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
    id: str
    role: str
    opened_at: datetime
    expires_at: datetime = Field(description="When it ends unless it is used before; at the latest 8 h after its start")


class CqlOrder(RequestBody):
    session_id: Annotated[str, StringConstraints(max_length=40)]
    statement: str = Field(
        min_length=1, max_length=LONGEST_STATEMENT, description="One statement, with or without a semicolon"
    )
    keyspace: Keyspace | None = Field(None, description="Of names without one; null: none")
    consistency: Consistency = Field(Consistency.LOCAL_QUORUM, strict=False)
    page_size: int = Field(100, ge=1, le=LARGEST_PAGE, description="Rows; fewer come when they are large")
    timeout_seconds: int = Field(10, ge=1, le=LONGEST_TIMEOUT)
    tracing: bool = False
    allow_writes: bool = Field(
        False, description="Without it only SELECT, DESCRIBE and LIST are run. Needs the permission cql:write"
    )


class CqlPageOrder(RequestBody):
    page_size: int | None = Field(None, ge=1, le=LARGEST_PAGE, description="null: as before")


class CqlSchemaOrder(RequestBody):
    session_id: Annotated[str, StringConstraints(max_length=40)]


class CqlColumn(Schema):
    keyspace: str
    table: str
    name: str
    type: str = Field(description="As CQL writes it: map<text, int>")


class CqlCutCell(Schema):
    row: int
    column: int
    bytes: int = Field(description="How long the whole text is")


class CqlTraceEvent(Schema):
    source: str = Field(description="Address of the node")
    activity: str
    thread: str
    offset_microseconds: int = Field(description="Since the first event, by the nodes' clocks")
    elapsed_microseconds: int | None = Field(description="Since this node began with the statement")


class CqlTrace(Schema):
    id: str
    coordinator: str
    started_at: datetime | None
    microseconds: int | None = Field(description="Of the whole; null: not written down in time, events may be missing")
    events: list[CqlTraceEvent] = Field(description="In the order in which they happened, 500 at most")


class CqlAnswer(Schema):
    """One page of what a statement gave."""

    has_rows: bool = Field(description="The statement gives rows, even if there are none")
    columns: list[CqlColumn]
    rows: list[list[str | None]] = Field(
        description="Text as it is, all else as CQL writes it, times in UTC; null is null"
    )
    cut: list[CqlCutCell] = Field(description="Cells of which only the beginning is told")
    warnings: list[str]
    outcome: str = Field(description="What became of the schema: CREATED TABLE shop.orders; else empty")
    microseconds: int = Field(description="Until the engine's answer, as the node saw it")
    trace: CqlTrace | None


class CqlSchemaColumn(Schema):
    name: str
    type: str
    kind: Literal["partition_key", "clustering", "static", "regular"]
    position: int
    order: str = Field(description="asc, desc or none")


class CqlSchemaIndex(Schema):
    name: str
    kind: str
    target: str
    using: str = Field(description="Class of a custom index; else empty")


class CqlSchemaTable(Schema):
    name: str
    view_of: str = Field(description="Table that it is a materialized view of; empty: it is a table")
    comment: str
    columns: list[CqlSchemaColumn] = Field(description="Keys first, in their order")
    indexes: list[CqlSchemaIndex]


class CqlSchemaField(Schema):
    name: str
    type: str


class CqlSchemaType(Schema):
    name: str
    fields: list[CqlSchemaField]


class CqlSchemaFunction(Schema):
    name: str
    aggregate: bool
    arguments: list[str]
    returns: str
    language: str


class CqlSchemaKeyspace(Schema):
    name: str
    system: bool = Field(description="The engine's own")
    replication: dict[str, str]
    tables: list[CqlSchemaTable]
    types: list[CqlSchemaType]
    functions: list[CqlSchemaFunction]


class CqlSchemaTree(Schema):
    keyspaces: list[CqlSchemaKeyspace]
    left: int = Field(description="How many columns were not told: there are too many")


class CqlProblem(Schema):
    code: str = Field(description="Stable, for programs: syntax-error, unauthorized, bad-credentials, timed-out ...")
    message: str = Field(description="In the engine's own words, where it said some")
    line: int | None = Field(description="From 1; null: the engine does not say where")
    column: int | None = Field(description="From 0")


class CqlStatement(Schema):
    id: str
    kind: StatementKind
    session_id: str
    role: str
    verb: str
    reads: bool
    statement: str = Field(description="Without passwords")
    keyspace: str | None
    consistency: Consistency
    page_size: int
    timeout_seconds: int
    tracing: bool
    state: StatementState
    page: int = Field(description="From 1: which one is asked for, or is there")
    more: bool = Field(description="There is a next page")
    node_id: str | None
    asked_at: datetime
    ended_at: datetime | None
    microseconds: int | None
    rows: int = Field(description="Of all pages fetched so far")
    problem: CqlProblem | None


class CqlStatementDetail(CqlStatement):
    answer: CqlAnswer | None = Field(description="null: not yet, not any more, or there is none. Kept for 15 minutes")
    tree: CqlSchemaTree | None = Field(description="What there is; of a statement of the kind schema")


class CqlStatementList(Schema):
    items: list[CqlStatement]
    next_cursor: str | None


class CqlConsole(Schema):
    sessions: list[CqlSession] = Field(description="The caller's own")
    allowed_actions: list[AllowedAction] = Field(description="run_cql, and write_cql for allow_writes")
