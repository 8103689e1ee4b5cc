"""Restore drills as the API shows and takes them."""

from datetime import datetime
from typing import Annotated, Self

from ninja import Schema
from pydantic import Field, StringConstraints, model_validator

from backend.backups.drill_checks import DrillVerdict
from backend.backups.schemas import Selection, TableChoice, TimeZone
from backend.backups.states import DrillShape, DrillState
from backend.core.schemas import AllowedAction, RequestBody
from backend.operations.schemas import Operation

Shape = Annotated[DrillShape, Field(strict=False)]


class DrillOrder(RequestBody):
    backup_id: str | None = Field(None, description="null: the newest complete one of the cluster")
    selection: Selection = Field(default=[], description="Empty: all that is in the backup")
    shape: Shape = Field(DrillShape.ZONES, description="zones: one node in each zone of the cluster. one: one node")
    machine_type: str | None = Field(None, description="null: the smallest on which the data fits")
    compare_live: bool = Field(True, description="Read the cluster's own tables too, and compare")


class DrillScheduleOrder(RequestBody):
    cron: Annotated[str, StringConstraints(strip_whitespace=True, min_length=9, max_length=100)] | None = Field(
        None, description="minute hour day-of-month month day-of-week; or an interval"
    )
    interval_minutes: Annotated[int, Field(ge=60, le=366 * 24 * 60)] | None = None
    time_zone: TimeZone = Field("UTC", description="Of cron, for example Europe/Vienna")
    selection: Selection = Field(default=[], description="Empty: all that is in the backup")
    shape: Shape = Field(DrillShape.ZONES, description="zones: one node in each zone of the cluster. one: one node")
    compare_live: bool = Field(True, description="Read the cluster's own tables too, and compare")
    enabled: bool = True

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.cron is None) is (self.interval_minutes is None):
            raise ValueError("Give either cron or interval_minutes")
        return self


class DrillSchedule(Schema):
    cron: str | None
    interval_minutes: int | None
    time_zone: str
    selection: list[TableChoice]
    shape: DrillShape
    compare_live: bool
    enabled: bool
    due_at: datetime | None
    skipped: str | None = Field(description="Why its last turn was passed over; null: it was not")
    created_by: str


class DrillPlan(Schema):
    """A dry run."""

    backup_id: str | None
    taken_at: datetime | None
    bytes: int
    machine_type: str
    zones: list[str]
    expected_seconds: float | None = Field(description="Until the tables answer, by the drills before; null: none")
    steps: list[str]
    compared: list[str] = Field(description="What would be compared, in sentences")
    problems: list[str] = Field(description="Why it cannot be done; empty: it can")


class DrillStage(Schema):
    name: str
    ended_at: datetime
    seconds: float


class DrillTable(Schema):
    keyspace: str
    table: str
    verdict: DrillVerdict
    rows: int = Field(description="Read from the restored cluster")
    live_rows: int | None = Field(description="null: the live table was not read")
    equal_slices: int = Field(description="Of 64 slices of the ring, those that are row for row as live")
    changed_slices: int = Field(description="Those in which the live table was changed since the backup")
    note: str


class Drill(Schema):
    id: str
    cluster_id: str
    cluster_name: str
    backup_id: str
    taken_at: datetime | None = Field(description="Of the backup")
    scratch_id: str | None = Field(description="The cluster that was made for it")
    scratch_gone: bool
    state: DrillState
    reason: str | None
    bytes: int = Field(description="Fetched and verified, of all nodes")
    rto_seconds: float | None = Field(description="From its start until the restored tables answered")
    stages: list[DrillStage]
    tables: list[DrillTable]
    operation_id: str | None
    created_by: str
    created_at: datetime
    finished_at: datetime | None


class DrillPage(Schema):
    items: list[Drill]
    next_cursor: str | None


class DrillStarted(Schema):
    drill: Drill
    operation: Operation


class ClusterDrills(Schema):
    """What a cluster's drills have shown, and what can be done."""

    schedule: DrillSchedule | None
    last_proved: Drill | None = Field(description="The newest drill that has proved something")
    running: Drill | None
    allowed_actions: list[AllowedAction]
