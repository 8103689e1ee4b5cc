"""Operations on the wire."""

from datetime import datetime
from typing import Annotated

from ninja import Schema
from pydantic import Field, StringConstraints

from backend.core.schemas import AllowedAction, NextCursor
from backend.operations.states import OperationState, StepState

Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_]{1,40}$")]


class OperationFilter(Schema):
    """The query parameters of list_operations."""

    cluster_id: Id | None = Field(None, description="Only operations on this cluster")
    state: OperationState | None = Field(None, description="Only operations in this state; none is failed today")
    kind: Id | None = Field(None, description="Only this kind: create_cluster, delete_cluster, rotate_credentials")


class OperationReason(Schema):
    code: str = Field(description="Stable, for programs")
    message: str = Field(description="What happened and what it means")
    hint: str = Field(description="What to do about it; may be empty")


class OperationWait(Schema):
    """What it waits for; it then goes on by itself."""

    id: str = Field(description="The operation that is waited for")
    title: str = Field(description="Its kind in words")
    reason: str = Field(description="Why the two do not go together")


class OperationStep(Schema):
    position: int = Field(description="From 0, in the order of the plan")
    group: int = Field(description="Steps of one group run side by side; groups run in order")
    name: str = Field(description="Stable, for programs: ensure_machine")
    title: str = Field(description="For people: Start the machine")
    target: str = Field(description="Id of the node or data centre it is about; empty: the cluster")
    target_title: str = Field(
        description="Name of what it is about, of a node for example; empty: the cluster as a whole"
    )
    state: StepState = Field(
        description="pending: not begun. undoing and undone: taken back, as the operation is cancelled. skipped: "
        "it will not be begun for the same reason"
    )
    attempt: int = Field(description="Failed tries in a row")
    overdue: bool = Field(description="It takes longer than it should; it is still tried")
    progress: float = Field(description="0 to 1")
    message: str = Field(description="What is going on, or why it is tried again")
    started_at: datetime | None = Field(description="When it was begun, UTC; null: not begun")
    finished_at: datetime | None = Field(description="When it was done, UTC; null: it is not")
    duration_seconds: float | None = Field(description="Seconds so far, or in all; null: not started")


class Operation(Schema):
    id: str = Field(description="op_…; get_operation takes it")
    kind: str = Field(description="Stable, for programs: create_cluster, backup, repair ...")
    title: str = Field(description="The kind in words: Create cluster")
    cluster_id: str | None = Field(description="clu_…; null: it is not about one cluster")
    cluster_name: str | None = Field(
        description="As the cluster was called when it was ordered; null: it is not about one cluster"
    )
    state: OperationState = Field(
        description="pending: not begun, or waits for another. blocked: stands still until somebody retries or "
        "cancels it. paused: until somebody resumes it. cancelling: is being taken back. succeeded, "
        "cancelled: ended. failed is reserved: no operation ends so today, what cannot go on is blocked"
    )
    progress: float = Field(description="0 to 1; only grows")
    actor: str = Field(description="Who asked for it")
    reason: OperationReason | None = Field(description="Why it does not move on, if something is wrong")
    expected_seconds: int = Field(description="What it usually takes, in seconds")
    elapsed_seconds: float = Field(description="Since it was asked for, in seconds")
    eta_seconds: float | None = Field(description="What is probably left, in seconds; null: finished or not known")
    created_at: datetime = Field(description="When it was asked for, UTC")
    started_at: datetime | None = Field(description="When its work began, UTC; null: not begun")
    finished_at: datetime | None = Field(description="When it ended, UTC; null: it has not")
    current: str | None = Field(description="What is being done now: Start the engine on demo-local-1a-1")
    steps_done: int = Field(description="Steps in the state done: fewer again while it is being taken back")
    steps_total: int = Field(description="Steps of its plan")
    cancel_requested: bool = Field(description="A cancel was asked for and is being, or will be, carried out")
    pause_requested: bool = Field(description="It is paused, or will be when what it has begun is finished")
    waits_for: OperationWait | None = Field(
        description="The operation for which it waits or makes way; it then goes on"
    )
    allowed_actions: list[AllowedAction] = Field(
        description="Whether the caller may cancel_operation, retry_operation, pause_operation and "
        "resume_operation, and why not"
    )


class OperationDetail(Operation):
    steps: list[OperationStep] = Field(description="The whole plan, in order of position")


class OperationPage(Schema):
    items: list[Operation] = Field(description="Newest first")
    next_cursor: NextCursor
