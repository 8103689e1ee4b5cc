"""Reading operations: rows turned into what a person wants to know, in a fixed number of queries."""

from datetime import datetime
from functools import cache
from typing import Any

from django.db.models import Count, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import JSONObject, Now

from backend.accounts.models import Membership
from backend.accounts.queries import Identity, member_identity
from backend.accounts.states import Permission
from backend.core.errors import NotFound
from backend.core.pagination import PageQuery, page
from backend.core.schemas import allowed
from backend.operations.models import Operation, OperationStep
from backend.operations.states import (
    FINISHED,
    MAY_NOT,
    OPEN,
    OperationState,
    StepState,
    reason_against_cancelling,
    reason_against_retrying,
    title,
)

_ACTIVE = (StepState.RUNNING, StepState.UNDOING)
_COLUMNS = (
    "id",
    "kind",
    "cluster_id",
    "cluster_name",
    "state",
    "progress",
    "actor",
    "reason_code",
    "reason",
    "reason_hint",
    "expected_seconds",
    "created_at",
    "started_at",
    "finished_at",
    "cancel_requested_at",
    "cancellable_until",
    "attempt",
)
_STEP_COLUMNS = (
    "position",
    "group",
    "name",
    "title",
    "target",
    "target_title",
    "state",
    "attempt",
    "overdue",
    "progress",
    "message",
    "started_at",
    "finished_at",
)


def _about_steps() -> QuerySet[OperationStep, Any]:
    """One JSON object per operation about its steps, for use as a subquery."""
    return (
        OperationStep.objects.filter(operation_id=OuterRef("id"))
        .order_by()
        .values("operation_id")
        .annotate(
            about=JSONObject(
                total=Count("id"),
                done=Count("id", filter=Q(state=StepState.DONE)),
                active=Count("id", filter=Q(state__in=_ACTIVE)),
                furthest=Max("position", filter=~Q(state__in=[StepState.PENDING, StepState.SKIPPED])),
            )
        )
        .values("about")
    )


def _current_step() -> QuerySet[OperationStep, Any]:
    return (
        OperationStep.objects.filter(operation_id=OuterRef("id"), state__in=_ACTIVE)
        .order_by("position")
        .values(about=JSONObject(title="title", target_title="target_title", state="state"))[:1]
    )


@cache
def _all_rows() -> QuerySet[Operation, dict[str, Any]]:
    """What is read of an operation. Built once: building costs as much as reading the rows of a page."""
    annotated: QuerySet[Operation, Any] = Operation.objects.annotate(
        now=Now(), steps_about=Subquery(_about_steps()), step_now=Subquery(_current_step())
    )
    rows: QuerySet[Operation, dict[str, Any]] = annotated.values(*_COLUMNS, "now", "steps_about", "step_now")
    return rows


def _rows(who: Identity) -> QuerySet[Operation, dict[str, Any]]:
    return _all_rows().filter(organisation_id=who.organisation_id)


def list_operations(
    who: Identity, query: PageQuery, *, cluster_id: str | None, state: OperationState | None, kind: str | None
) -> dict[str, Any]:
    found = _rows(who)
    if cluster_id is not None:
        found = found.filter(cluster_id=cluster_id)
    if state is not None:
        found = found.filter(state=state)
    if kind is not None:
        found = found.filter(kind=kind)
    return page(found, query, lambda row: _operation(who, row))


def get_operation(who: Identity, operation_id: str) -> dict[str, Any]:
    """One operation without its steps. Raises NotFound."""
    row = _rows(who).filter(id=operation_id).first()
    if row is None:
        raise operation_not_found()
    return _operation(who, row)


def get_operation_with_steps(who: Identity, operation_id: str) -> dict[str, Any]:
    """One operation with every step of its plan. Raises NotFound."""
    found = get_operation(who, operation_id)
    steps = OperationStep.objects.filter(operation_id=operation_id).order_by("position")
    return found | {"steps": [_step(row) for row in steps.annotate(now=Now()).values(*_STEP_COLUMNS, "now")]}


def open_operation(cluster_id: str) -> Operation | None:
    """The exclusive operation that works on a cluster now, if there is one. At most one can be open."""
    return Operation.objects.filter(cluster_id=cluster_id, exclusive=True, state__in=OPEN).first()


def listener(who: Identity, organisation_id: str | None) -> Identity:
    """The same person for the organisation they want to listen to. Raises NotFound if it is not theirs."""
    if organisation_id is None or organisation_id == who.organisation_id:
        return who
    membership = (
        Membership.objects.select_related("user").filter(organisation_id=organisation_id, user_id=who.user_id).first()
    )
    if membership is None or who.token_id is not None:
        raise NotFound(
            "organisation_not_found",
            "This organisation does not exist or is not yours.",
            hint="GET /api/v1/session lists your organisations.",
        )
    return member_identity(membership, source_address=who.source_address, request_id=who.request_id)


def operation_not_found() -> NotFound:
    return NotFound("operation_not_found", "There is no such operation.", hint="List the operations to see their ids.")


def _operation(who: Identity, row: dict[str, Any]) -> dict[str, Any]:
    state = OperationState(row["state"])
    steps = row["steps_about"] or {"total": 0, "done": 0, "active": 0, "furthest": None}
    finished = state in FINISHED
    return {
        "id": row["id"],
        "kind": row["kind"],
        "title": title(row["kind"]),
        "cluster_id": row["cluster_id"] or None,
        "cluster_name": row["cluster_name"] or None,
        "state": state,
        "progress": row["progress"],
        "actor": row["actor"],
        "reason": _reason(row),
        "expected_seconds": row["expected_seconds"],
        "elapsed_seconds": _seconds(row["created_at"], row["finished_at"] or row["now"]),
        "eta_seconds": _seconds_left(state, row["progress"], row["expected_seconds"]),
        "created_at": row["created_at"],
        "started_at": row["started_at"],
        "finished_at": row["finished_at"],
        "current": None if finished else _current(row["step_now"], steps["active"]),
        "steps_done": steps["done"],
        "steps_total": steps["total"],
        "cancel_requested": row["cancel_requested_at"] is not None,
        "allowed_actions": _allowed_actions(who, row, state, steps["furthest"]),
    }


def _allowed_actions(
    who: Identity, row: dict[str, Any], state: OperationState, furthest: int | None
) -> list[dict[str, object]]:
    if Permission.OPERATIONS_WRITE not in who.permissions:
        return [allowed("cancel_operation", MAY_NOT), allowed("retry_operation", MAY_NOT)]
    against_cancelling = reason_against_cancelling(
        state,
        cancel_requested=row["cancel_requested_at"] is not None,
        cancellable_until=row["cancellable_until"],
        furthest=furthest,
    )
    return [
        allowed("cancel_operation", against_cancelling),
        allowed("retry_operation", reason_against_retrying(state, attempt=row["attempt"])),
    ]


def _reason(row: dict[str, Any]) -> dict[str, str] | None:
    if not row["reason_code"]:
        return None
    return {"code": row["reason_code"], "message": row["reason"], "hint": row["reason_hint"]}


def _seconds_left(state: OperationState, progress: float, expected_seconds: int) -> float | None:
    """What is left of the work at the usual pace. Unknown while a person must decide or it is being undone."""
    if state not in (OperationState.PENDING, OperationState.RUNNING):
        return None
    return round(expected_seconds * (1 - progress), 1)


def _current(step: dict[str, str] | None, active: int) -> str | None:
    """Start the engine on demo-local-1a-1; with "and 2 more" when steps run side by side."""
    if step is None:
        return None
    words = f"Undo: {step['title']}" if step["state"] == StepState.UNDOING else step["title"]
    if step["target_title"]:
        words += f" on {step['target_title']}"
    return words if active <= 1 else f"{words} and {active - 1} more"


def _step(row: dict[str, Any]) -> dict[str, Any]:
    now, started, finished = row.pop("now"), row["started_at"], row["finished_at"]
    stopped = row["state"] in (StepState.UNDONE, StepState.SKIPPED)
    running_until = finished or (None if stopped else now)
    duration = _seconds(started, running_until) if started and running_until else None
    return row | {"duration_seconds": duration}


def _seconds(start: datetime, end: datetime) -> float:
    """Never negative: the row's first time is this process' clock, the others are the database's."""
    return max(0.0, round((end - start).total_seconds(), 3))
