"""Repairs on the wire. Tokens are text: they do not fit into what JavaScript calls a number."""

from datetime import datetime
from typing import Annotated

from ninja import Schema
from pydantic import Field, StringConstraints

from backend.clusters.schemas import MaintenanceWindow, Opening
from backend.core.schemas import AllowedAction, RequestBody
from backend.operations.schemas import Operation
from backend.repairs.planning.modes import RepairMode, RepairWish
from backend.repairs.planning.pace import LEAST, MOST
from backend.repairs.states import RepairPriority, RepairProtection, RepairRunReason, RepairRunState, RepairSegmentState

WINDOWS_LIMIT = 20
TableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_]{1,48}\.[A-Za-z0-9_]{1,222}$")]


class RepairPageQuery(Schema):
    limit: int = Field(50, ge=1, le=200, description="Items per page, 1 to 200")


class RepairTablesQuery(RepairPageQuery):
    keyspace: str | None = Field(None, max_length=48)
    cursor: Annotated[str, StringConstraints(max_length=280)] | None = Field(
        None, description="next_cursor of the page before; opaque"
    )


class RepairSegmentsQuery(RepairPageQuery):
    state: RepairSegmentState | None = None
    cursor: Annotated[str, StringConstraints(pattern=r"^[0-9]{1,18}$")] | None = Field(
        None, description="next_cursor of the page before; opaque"
    )


class RepairScheduleWish(RequestBody):
    """What is left out stays. Intensity and parallelism hold at once, for a run that is going on, too."""

    enabled: bool | None = None
    every_hours: int | None = Field(None, ge=1, le=24 * 28, description="Hours from one run's begin to the next's")
    intensity: int | None = Field(
        None, ge=LEAST, le=MOST, description="Share of its time, in percent, that a node may work for repairs"
    )
    parallelism: int | None = Field(None, ge=0, le=1000, description="Segments at once; 0: as many as the ring allows")
    read_p99_target_ms: float | None = Field(
        None, ge=0, le=60_000, strict=False, description="Repairs slow down above it; 0: there is no target"
    )
    windows: list[MaintenanceWindow] | None = Field(
        None, max_length=WINDOWS_LIMIT, description="In the place of those before; an empty list: at any time"
    )


class RepairSchedule(Schema):
    enabled: bool
    every_hours: int
    intensity: int
    parallelism: int
    read_p99_target_ms: float | None
    windows: list[MaintenanceWindow]
    open_now: bool = Field(description="Always true without windows")
    next_opening: datetime | None
    openings: list[Opening] = Field(description="Of the next two weeks, sorted; empty without windows")
    next_run_at: datetime | None = Field(description="null: runs are only ordered by hand")


class RepairPolicyWish(RequestBody):
    """What is left out stays."""

    mode: Annotated[RepairWish, Field(strict=False)] | None = None
    deadline_hours: int | None = Field(
        None, ge=0, le=24 * 90, description="In which all of it shall be repaired; 0: the usual five days"
    )
    priority: Annotated[RepairPriority, Field(strict=False)] | None = None


class RepairPolicy(Schema):
    mode: RepairWish
    deadline_hours: int | None
    priority: RepairPriority


class RepairTable(Schema):
    keyspace: str
    table: str
    bytes: int = Field(description="Of one copy, when it was looked at last")
    unrepaired_bytes: int
    replicas: int
    gc_grace_seconds: int
    mode: RepairMode = Field(description="How the next run repairs it")
    mode_reason: str
    policy: RepairPolicy
    deadline_seconds: int = Field(description="The policy's, at most half of gc_grace_seconds")
    repaired_at: datetime | None = Field(
        description="Before this, every range was repaired at least once; null: a range never was"
    )
    protected_until: datetime | None = Field(description="repaired_at and gc_grace_seconds")
    protection: RepairProtection
    last_run_id: str | None
    last_mode: str | None


class RepairTablePage(Schema):
    items: list[RepairTable]
    next_cursor: str | None


class RepairAsked(Schema):
    tables: list[str] = Field(description="keyspace.table; none: all")
    mode: RepairWish | None
    node_id: str | None = Field(description="The node that was away, whose ranges are pulled")
    any_time: bool


class RepairBrake(Schema):
    factor: float = Field(description="On the intensity; 1: off")
    reason: str


class RepairRun(Schema):
    id: str
    operation_id: str = Field(description="Pause, resume and stop it by this operation")
    reason: RepairRunReason
    state: RepairRunState
    asked: RepairAsked
    progress: float
    segments_expected: int
    segments_done: int
    segments_given_up: int
    bytes_streamed: int
    brake: RepairBrake
    note: str = Field(description="What it waits for, or why it ended as it did")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class RepairRunPage(Schema):
    items: list[RepairRun]
    next_cursor: str | None


class RepairRunTable(Schema):
    keyspace: str
    table: str
    mode: RepairMode
    bytes: int


class RepairTableWhy(Schema):
    keyspace: str
    table: str
    why: str


class RepairTableName(Schema):
    keyspace: str
    table: str


class RepairForeign(Schema):
    node_id: str
    keyspace: str
    tables: list[str]


class RepairRunDetail(RepairRun):
    tables: list[RepairRunTable]
    skipped: list[RepairTableWhy]
    missing: list[RepairTableName] = Field(description="Dropped since it was planned")
    foreign: list[RepairForeign] = Field(description="Repairs that others began; nothing is started on their nodes")


class RepairSegmentError(Schema):
    code: str
    message: str


class RepairSegment(Schema):
    id: str
    keyspace: str
    tables: list[str]
    mode: RepairMode
    state: RepairSegmentState
    ranges: int = Field(description="How many")
    first_token: str
    last_token: str
    node_ids: list[str]
    coordinator_id: str
    attempt: int
    expected_seconds: float
    started_at: datetime | None
    finished_at: datetime | None
    bytes_streamed: int
    error: RepairSegmentError | None


class RepairSegmentPage(Schema):
    items: list[RepairSegment]
    next_cursor: str | None


class RepairMapTable(Schema):
    keyspace: str
    table: str
    cells: list[dict[RepairSegmentState, float]] = Field(
        description="Equal parts of the ring, in order: which share of each is in which state; the rest is to come"
    )


class RepairMapSegment(Schema):
    segment_id: str
    keyspace: str
    tables: list[str]
    coordinator: bool
    started_at: datetime | None
    expected_seconds: float


class RepairMapNode(Schema):
    id: str
    name: str
    zone: str
    segments: list[RepairMapSegment]


class RepairMap(Schema):
    cells: int
    tables: list[RepairMapTable]
    nodes: list[RepairMapNode]


class Repairs(Schema):
    schedule: RepairSchedule | None = Field(description="null: the cluster has not served yet")
    looked_at: datetime | None = Field(description="When its tables were read; null: not yet")
    tables: dict[RepairProtection, int]
    current_run: RepairRun | None
    allowed_actions: list[AllowedAction]


class RepairOrder(RequestBody):
    tables: list[TableName] = Field(default=[], max_length=1000, description="keyspace.table; none: all")
    mode: Annotated[RepairWish, Field(strict=False)] | None = Field(
        None, description="incremental or full; left out: each table's own. full also does what is skipped otherwise"
    )
    any_time: bool = Field(False, description="Do not wait for a window")


class RepairPlanTable(RepairRunTable):
    segments: int
    seconds: float = Field(description="Of work, without the pauses that the intensity asks for")


class RepairPlan(Schema):
    looked_at: datetime | None
    segments: int
    bytes: int
    seconds: float = Field(description="Of open windows that it would take with the intensity as it is")
    ends_at: datetime | None = Field(description="null: not within a quarter of a year")
    opens_at: datetime | None = Field(description="When the next window begins; null: it can begin now")
    tables: list[RepairPlanTable]
    skipped: list[RepairTableWhy]
    late: list[RepairTableName] = Field(description="Would be repaired after their deadline")
    against: str | None = Field(description="Why no run can be started now")


class RepairStarted(Schema):
    run: RepairRun
    operation: Operation
