"""Restore drills as the API shows and takes them."""

from datetime import datetime
from typing import Annotated, Self

from ninja import Schema
from pydantic import Field, StringConstraints, model_validator

from backend.backups.drill_checks import DrillVerdict
from backend.backups.schemas import Selection, TableChoice, TimeZone
from backend.backups.states import DrillShape, DrillState
from backend.clusters.schemas import Word
from backend.core.schemas import AllowedAction, RequestBody
from backend.operations.schemas import Operation

Shape = Annotated[DrillShape, Field(strict=False)]


class DrillOrder(RequestBody):
    backup_id: str | None = Field(
        None, description="null: the newest complete one of the cluster", examples=["bkp_01jd3k6m9x4t7v2w8y5z0a1b2c"]
    )
    selection: Selection = Field(
        default=[],
        description="Empty: all that is in the backup",
        examples=[[{"keyspace": "shop", "table": "orders"}, {"keyspace": "users"}]],
    )
    shape: Shape = Field(DrillShape.ZONES, description="zones: one node in each zone of the cluster. one: one node")
    machine_type: Word | None = Field(
        None, description="null: the smallest on which the data fits", examples=["i4i.xlarge"]
    )
    compare_live: bool = Field(True, description="Read the cluster's own tables too, and compare")


class DrillScheduleOrder(RequestBody):
    cron: Annotated[str, StringConstraints(strip_whitespace=True, min_length=9, max_length=100)] | None = Field(
        None, description="minute hour day-of-month month day-of-week; or an interval", examples=["0 4 * * 0"]
    )
    interval_minutes: Annotated[int, Field(ge=60, le=366 * 24 * 60)] | None = Field(
        None,
        description=(
            "Elapsed minutes from one turn to the next, 60 to 527040 (366 days); instead of cron, one of the two"
        ),
        examples=[10080],
    )
    time_zone: TimeZone = Field("UTC", description="Of cron, for example Europe/Vienna", examples=["Europe/Vienna"])
    selection: Selection = Field(
        default=[],
        description="Empty: all that is in the backup",
        examples=[[{"keyspace": "shop", "table": "orders"}, {"keyspace": "users"}]],
    )
    shape: Shape = Field(DrillShape.ZONES, description="zones: one node in each zone of the cluster. one: one node")
    compare_live: bool = Field(True, description="Read the cluster's own tables too, and compare")
    enabled: bool = Field(True, description="false: no further drills by itself")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.cron is None) is (self.interval_minutes is None):
            raise ValueError("Give either cron or interval_minutes")
        return self


class DrillSchedule(Schema):
    cron: str | None = Field(
        description="minute hour day-of-month month day-of-week; null: it goes by interval_minutes"
    )
    interval_minutes: int | None = Field(description="Elapsed minutes from one turn to the next; null: it goes by cron")
    time_zone: str = Field(description="Of cron: IANA name")
    selection: list[TableChoice] = Field(description="What is restored; empty: all that is in the backup")
    shape: DrillShape = Field(description="zones: one node in each zone of the cluster. one: one node")
    compare_live: bool = Field(description="Whether the cluster's own tables are read too, and compared")
    enabled: bool = Field(description="false: it makes no drills, and due_at is null")
    due_at: datetime | None = Field(description="When it makes the next drill; null: it does not")
    skipped: str | None = Field(description="Why its last turn was passed over; null: it was not")
    created_by: str = Field(
        description=(
            "Who set it last: e-mail address or name of a service account, with the API token's name in brackets "
            "if one was used"
        )
    )


class DrillPlan(Schema):
    """A dry run."""

    backup_id: str | None = Field(description="Id of the backup that would be restored; null: there is no complete one")
    taken_at: datetime | None = Field(description="When that backup was taken; null: there is no complete one")
    bytes: int = Field(
        description="Bytes that each node would fetch: the chosen tables' files of all nodes of the backup"
    )
    machine_type: str = Field(description="Of each node that would be ordered; empty: there is no backup")
    zones: list[str] = Field(description="One node would be ordered in each; empty: there is no backup")
    expected_seconds: float | None = Field(description="Until the tables answer, by the drills before; null: none")
    steps: list[str] = Field(description="What would be done, in order; empty: there is no backup")
    compared: list[str] = Field(description="What would be compared, in sentences")
    problems: list[str] = Field(description="Why it cannot be done; empty: it can")


class DrillStage(Schema):
    name: str = Field(description="ordered, served, restored, read, compared or removed")
    ended_at: datetime = Field(description="When it was done")
    seconds: float = Field(
        description="Seconds since the stage before it had ended; of the first one since the drill was ordered"
    )


class DrillTable(Schema):
    keyspace: str = Field(description="Keyspace of the table")
    table: str = Field(description="Name of the table, without its keyspace")
    verdict: DrillVerdict = Field(
        description=(
            "equal: row for row as live. changed: so where nothing was written since. read: every row, but not "
            "compared. lacks, differs: not as it was, which fails the drill"
        )
    )
    rows: int = Field(description="Read from the restored cluster")
    live_rows: int | None = Field(description="null: the live table was not read")
    equal_slices: int = Field(description="Of 64 slices of the ring, those that are row for row as live")
    changed_slices: int = Field(description="Those in which the live table was changed since the backup")
    note: str = Field(description="The verdict in a sentence; empty: there is nothing to say")


class Drill(Schema):
    id: str = Field(description="Id of the drill: drl_…")
    cluster_id: str = Field(description="Id of the cluster whose backup is tried, not of the one that was made for it")
    cluster_name: str = Field(description="Name of that cluster")
    backup_id: str = Field(description="Id of the backup that is restored")
    taken_at: datetime | None = Field(description="Of the backup")
    scratch_id: str | None = Field(description="The cluster that was made for it")
    scratch_gone: bool = Field(description="true: the cluster that was made for it is removed, or was never ordered")
    state: DrillState = Field(
        description=(
            "running, proved (all was brought back, read, and is as it should be), failed (see reason), cancelled"
        )
    )
    reason: str | None = Field(description="Why it proves nothing, for people; null: nothing was found against it")
    bytes: int = Field(description="Fetched and verified, of all nodes")
    rto_seconds: float | None = Field(description="From its start until the restored tables answered")
    stages: list[DrillStage] = Field(description="Those that have ended, in order")
    tables: list[DrillTable] = Field(description="What was found of each table; empty until all are compared")
    operation_id: str | None = Field(description="Id of the operation that does it, or did; null: not known")
    created_by: str = Field(
        description=(
            "Who ordered it: e-mail address or name of a service account, with the API token's name in brackets "
            "if one was used; Ringmaster: drill schedule"
        )
    )
    created_at: datetime = Field(description="When it was ordered")
    finished_at: datetime | None = Field(description="When it ended, with its cluster removed; null: it is running")


class DrillPage(Schema):
    items: list[Drill] = Field(description="Newest first")
    next_cursor: str | None = Field(description="For the next page: send it as cursor; null: this was the last")


class DrillStarted(Schema):
    drill: Drill = Field(description="As it was ordered")
    operation: Operation = Field(description="The operation that does it")


class ClusterDrills(Schema):
    """What a cluster's drills have shown, and what can be done."""

    schedule: DrillSchedule | None = Field(description="When drills are made; null: only by hand")
    last_proved: Drill | None = Field(description="The newest drill that has proved something")
    running: Drill | None = Field(description="The one that is going on; null: none")
    allowed_actions: list[AllowedAction] = Field(
        description="What the caller may do now: start_drill and set_drill_schedule"
    )
