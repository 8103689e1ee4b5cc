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
    keyspace: str | None = Field(None, max_length=48, description="Only tables of this keyspace")
    cursor: Annotated[str, StringConstraints(max_length=280)] | None = Field(
        None, description="next_cursor of the page before; opaque"
    )


class RepairSegmentsQuery(RepairPageQuery):
    state: RepairSegmentState | None = Field(None, description="Only segments in this state")
    cursor: Annotated[str, StringConstraints(pattern=r"^[0-9]{1,18}$")] | None = Field(
        None, description="next_cursor of the page before; opaque"
    )


class RepairScheduleWish(RequestBody):
    """What is left out stays. Intensity and parallelism hold at once, for a run that is going on, too."""

    enabled: bool | None = Field(None, description="false: runs are only ordered by hand")
    every_hours: int | None = Field(None, ge=1, le=24 * 28, description="Hours from one run's begin to the next's")
    intensity: int | None = Field(
        None, ge=LEAST, le=MOST, description="Share of its time, in percent, that a node may work for repairs: 1 to 100"
    )
    parallelism: int | None = Field(None, ge=0, le=1000, description="Segments at once; 0: as many as the ring allows")
    read_p99_target_ms: float | None = Field(
        None,
        ge=0,
        le=60_000,
        strict=False,
        description=(
            "Milliseconds of the slowest hundredth of reads on a node: repairs slow down above it; 0: there is "
            "no target"
        ),
    )
    windows: list[MaintenanceWindow] | None = Field(
        None,
        max_length=WINDOWS_LIMIT,
        description="In the place of those before; an empty list: at any time",
        examples=[
            [{"weekdays": ["saturday", "sunday"], "starts_at": "01:00", "minutes": 240, "time_zone": "Europe/Vienna"}]
        ],
    )


class RepairSchedule(Schema):
    enabled: bool = Field(description="false: runs are only ordered by hand")
    every_hours: int = Field(description="Hours from one run's begin to the next's")
    intensity: int = Field(description="Share of its time, in percent, that a node may work for repairs: 1 to 100")
    parallelism: int = Field(description="Segments at once; 0: as many as the ring allows")
    read_p99_target_ms: float | None = Field(
        description=(
            "Milliseconds of the slowest hundredth of reads on a node, above which repairs slow down; null: "
            "there is no target"
        )
    )
    windows: list[MaintenanceWindow] = Field(description="In which segments may be started; empty: at any time")
    open_now: bool = Field(description="Always true without windows")
    next_opening: datetime | None = Field(
        description=(
            "When the next window begins, also while one is open; null: there are no windows, or none begins again"
        )
    )
    openings: list[Opening] = Field(description="Of the next two weeks, sorted; empty without windows")
    next_run_at: datetime | None = Field(description="null: runs are only ordered by hand")


class RepairPolicyWish(RequestBody):
    """What is left out stays."""

    mode: Annotated[RepairWish, Field(strict=False)] | None = Field(
        None,
        description=(
            "auto: as fits the table. incremental, full: always so, as far as its engine can. skip: not at all"
        ),
    )
    deadline_hours: int | None = Field(
        None, ge=0, le=24 * 90, description="In which all of it shall be repaired; 0: the usual five days"
    )
    priority: Annotated[RepairPriority, Field(strict=False)] | None = Field(
        None, description="high: it counts four times when the next table is chosen. low: a quarter"
    )


class RepairPolicy(Schema):
    mode: RepairWish = Field(
        description=(
            "auto: as fits the table. incremental, full: always so, as far as its engine can. skip: not at all"
        )
    )
    deadline_hours: int | None = Field(
        description="Hours in which all of it shall be repaired; null: the usual five days"
    )
    priority: RepairPriority = Field(
        description="high: it counts four times when the next table is chosen. low: a quarter"
    )


class RepairTable(Schema):
    keyspace: str = Field(description="Keyspace of the table")
    table: str = Field(description="Name of the table, without its keyspace")
    bytes: int = Field(description="Of one copy, when it was looked at last")
    unrepaired_bytes: int = Field(
        description=(
            "Bytes of one copy that no incremental repair has compared yet; of tablets all, as the engine does not tell"
        )
    )
    replicas: int = Field(description="Copies of each row, of all data centres together")
    gc_grace_seconds: int = Field(description="Seconds that replicas remember a deletion: the table's own setting")
    mode: RepairMode = Field(description="How the next run repairs it")
    mode_reason: str = Field(description="Why so, in a sentence")
    policy: RepairPolicy = Field(description="What people want for it")
    deadline_seconds: int = Field(description="The policy's, at most half of gc_grace_seconds")
    repaired_at: datetime | None = Field(
        description="Before this, every range was repaired at least once; null: a range never was"
    )
    protected_until: datetime | None = Field(description="repaired_at and gc_grace_seconds")
    protection: RepairProtection = Field(
        description=(
            "How much of gc_grace_seconds is used up: good (under half), amber, red (four fifths), over. "
            "unknown: a range was never repaired. not-needed: nothing to repair"
        )
    )
    last_run_id: str | None = Field(description="Id of the last run that repaired some of it; null: none did")
    last_mode: str | None = Field(description="incremental or full: how that run did it; null: none did")


class RepairTablePage(Schema):
    items: list[RepairTable] = Field(description="By keyspace and name")
    next_cursor: str | None = Field(description="For the next page: send it as cursor; null: this was the last")


class RepairAsked(Schema):
    tables: list[str] = Field(description="keyspace.table; none: all")
    mode: RepairWish | None = Field(description="For all tables of the run; null: each table's own")
    node_id: str | None = Field(description="The node that was away, whose ranges are pulled")
    any_time: bool = Field(description="true: it does not wait for a window")


class RepairBrake(Schema):
    factor: float = Field(description="On the intensity; 1: off")
    reason: str = Field(description="What a node suffers from, in words; empty: the brake is off")


class RepairRun(Schema):
    id: str = Field(description="Id of the run: rep_…")
    operation_id: str = Field(description="Pause, resume and stop it by this operation")
    reason: RepairRunReason = Field(
        description=(
            "schedule, order (somebody asked), catch-up (a node was away too long), restore, import (what was "
            "brought is compared)"
        )
    )
    state: RepairRunState = Field(
        description=("running (also paused), done, partial (some ranges could not be repaired), stopped (somebody did)")
    )
    asked: RepairAsked = Field(description="What was ordered")
    progress: float = Field(description="0 to 1, by bytes; only grows")
    segments_expected: int = Field(
        description=(
            "How many segments there are by the first plan; failures and changes of the ring make more of them. "
            "0: not planned yet"
        )
    )
    segments_done: int = Field(description="How many segments are repaired so far")
    segments_given_up: int = Field(
        description="How many segments could not be repaired, however they were cut; their ranges are named"
    )
    bytes_streamed: int = Field(
        description="Bytes received and sent by the nodes that coordinated its segments, so far"
    )
    brake: RepairBrake = Field(description="What slows it down because nodes are in trouble")
    note: str = Field(description="What it waits for, or why it ended as it did")
    created_at: datetime = Field(description="When it was ordered")
    started_at: datetime | None = Field(description="When its plan was made; null: not yet")
    finished_at: datetime | None = Field(description="When it ended; null: it is running")


class RepairRunPage(Schema):
    items: list[RepairRun] = Field(description="Newest first")
    next_cursor: str | None = Field(description="For the next page: send it as cursor; null: this was the last")


class RepairRunTable(Schema):
    keyspace: str = Field(description="Keyspace of the table")
    table: str = Field(description="Name of the table, without its keyspace")
    mode: RepairMode = Field(
        description="How it is repaired: incremental, full, or pull (a node fetches what it missed)"
    )
    bytes: int = Field(description="Bytes to compare, of one copy")


class RepairTableWhy(Schema):
    keyspace: str = Field(description="Keyspace of the table")
    table: str = Field(description="Name of the table, without its keyspace")
    why: str = Field(description="Why it is left out, in a sentence")


class RepairTableName(Schema):
    keyspace: str = Field(description="Keyspace of the table")
    table: str = Field(description="Name of the table, without its keyspace")


class RepairForeign(Schema):
    node_id: str = Field(description="Id of the node that takes part in it")
    keyspace: str = Field(description="Keyspace that is repaired")
    tables: list[str] = Field(description="Names of tables, without their keyspace")


class RepairRunDetail(RepairRun):
    tables: list[RepairRunTable] = Field(description="What it repairs, by its plan; empty: not planned yet")
    skipped: list[RepairTableWhy] = Field(description="What it leaves out, and why")
    missing: list[RepairTableName] = Field(description="Dropped since it was planned")
    foreign: list[RepairForeign] = Field(description="Repairs that others began; nothing is started on their nodes")


class RepairSegmentError(Schema):
    code: str = Field(
        description="Stable, for programs: the agent's; or gone: the coordinator does not answer or is no member"
    )
    message: str = Field(description="What happened, for people")


class RepairSegment(Schema):
    id: str = Field(description="Id of the segment: a number, as text")
    keyspace: str = Field(description="Keyspace of its tables")
    tables: list[str] = Field(description="Names of tables, without their keyspace")
    mode: RepairMode = Field(
        description="How it is repaired: incremental, full, or pull (a node fetches what it missed)"
    )
    state: RepairSegmentState = Field(
        description=(
            "running, done, waiting (it failed and is tried again), replaced (others stand in its place, or its "
            "tables are gone), given-up"
        )
    )
    ranges: int = Field(description="How many")
    first_token: str = Field(description="After which its first range begins: a number of 64 bits, as text")
    last_token: str = Field(description="With which its last range ends: a number of 64 bits, as text")
    node_ids: list[str] = Field(description="Ids of the nodes that take part; empty while it waits")
    coordinator_id: str = Field(description="Id of the node that was asked to repair it; may be empty while it waits")
    attempt: int = Field(description="1: the first try. What came of one that failed has one more")
    expected_seconds: float = Field(
        description="Seconds that it should take, by the table's rate so far; 0 while it waits"
    )
    started_at: datetime | None = Field(description="When it was begun; null: it waits")
    finished_at: datetime | None = Field(description="When it ended, well or not; null: it waits or runs")
    bytes_streamed: int = Field(description="Bytes received and sent by its coordinator; 0 until it is done")
    error: RepairSegmentError | None = Field(description="Why it failed, or what came before it did; null: nothing did")


class RepairSegmentPage(Schema):
    items: list[RepairSegment] = Field(description="Newest first")
    next_cursor: str | None = Field(description="For the next page: send it as cursor; null: this was the last")


class RepairMapTable(Schema):
    keyspace: str = Field(description="Keyspace of the table")
    table: str = Field(description="Name of the table, without its keyspace")
    cells: list[dict[RepairSegmentState, float]] = Field(
        description="Equal parts of the ring, in order: which share of each is in which state; the rest is to come"
    )


class RepairMapSegment(Schema):
    segment_id: str = Field(description="Id of a segment that runs now")
    keyspace: str = Field(description="Keyspace of its tables")
    tables: list[str] = Field(description="Names of tables, without their keyspace")
    coordinator: bool = Field(description="true: this node was asked to repair it; false: it takes part")
    started_at: datetime | None = Field(description="When it was begun")
    expected_seconds: float = Field(description="Seconds that it should take, by the table's rate so far")


class RepairMapNode(Schema):
    id: str = Field(description="Id of the node: nod_…")
    name: str = Field(description="Name of the node")
    zone: str = Field(description="Zone in which it is")
    segments: list[RepairMapSegment] = Field(description="The segments that it takes part in now; empty: it rests")


class RepairMap(Schema):
    cells: int = Field(description="Into how many equal parts the ring is cut for each table: 96")
    tables: list[RepairMapTable] = Field(description="Those of the run's plan, by name")
    nodes: list[RepairMapNode] = Field(description="The cluster's, in its order, with what they do now")


class Repairs(Schema):
    schedule: RepairSchedule | None = Field(description="null: the cluster has not served yet")
    looked_at: datetime | None = Field(description="When its tables were read; null: not yet")
    tables: dict[RepairProtection, int] = Field(
        description="How many are protected how well; every word is there, also with 0"
    )
    current_run: RepairRun | None = Field(description="The one that is going on or paused; null: none")
    allowed_actions: list[AllowedAction] = Field(description="What the caller may do now: run_repair")


class RepairOrder(RequestBody):
    tables: list[TableName] = Field(
        default=[],
        max_length=1000,
        description="keyspace.table; none: all",
        examples=[["shop.orders", "shop.customers"]],
    )
    mode: Annotated[RepairWish, Field(strict=False)] | None = Field(
        None, description="incremental or full; left out: each table's own. full also does what is skipped otherwise"
    )
    any_time: bool = Field(False, description="Do not wait for a window")


class RepairPlanTable(RepairRunTable):
    segments: int = Field(description="How many segments it would be cut into; small tables of a keyspace share them")
    seconds: float = Field(description="Of work, without the pauses that the intensity asks for")


class RepairPlan(Schema):
    looked_at: datetime | None = Field(
        description="When the sizes that it rests on were read; null: not yet, so nothing is known"
    )
    segments: int = Field(description="How many segments all would be cut into")
    bytes: int = Field(description="Bytes to compare, of one copy")
    seconds: float = Field(description="Of open windows that it would take with the intensity as it is")
    ends_at: datetime | None = Field(description="null: not within a quarter of a year")
    opens_at: datetime | None = Field(description="When the next window begins; null: it can begin now")
    tables: list[RepairPlanTable] = Field(description="What would be repaired, by keyspace and name")
    skipped: list[RepairTableWhy] = Field(description="What would be left out, and why")
    late: list[RepairTableName] = Field(description="Would be repaired after their deadline")
    against: str | None = Field(description="Why no run can be started now")


class RepairStarted(Schema):
    run: RepairRun = Field(description="As it was ordered")
    operation: Operation = Field(description="The operation that does it: pause, resume and cancel this one")
