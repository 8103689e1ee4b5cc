"""Reading operations: rows turned into what a person wants to know, in a fixed number of queries."""

from datetime import datetime
from functools import cache
from typing import Any

from django.apps import apps
from django.db.models import Count, F, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Extract, JSONObject, Now

from backend.accounts.limits import tagged
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
    reason_against_pausing,
    reason_against_resuming,
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
    "pause_requested_at",
    "pausable",
    "waits_for",
    "waits_for_kind",
    "waits_reason",
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
                pending=Count("id", filter=Q(state=StepState.PENDING)),
                furthest=Max("position", filter=~Q(state__in=[StepState.PENDING, StepState.SKIPPED])),
                # Seconds until the slowest of those that can tell is done; a step that is late will be done at once.
                eta=Max(Extract(F("eta_at") - Now(), "epoch"), filter=Q(state=StepState.RUNNING)),
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
    return _all_rows().filter(reached(who), organisation_id=who.organisation_id)


def reached(who: Identity) -> Q:
    """Of rows of operations: those of clusters that the role reaches.

    Clones and drills are operations of no cluster; those that somebody started themselves are theirs to see.
    """
    if who.tags is None:
        return Q()
    own = Q(actor=who.user_email) | Q(actor__startswith=f"{who.user_email} [")
    # By name: clusters know operations, never the other way round.
    clusters = apps.get_model("clusters", "Cluster")._default_manager
    mine = clusters.filter(tagged(who), organisation_id=who.organisation_id).order_by().values("id")
    return Q(cluster_id__in=mine) | (Q(cluster_id="") & own)


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
    """The operation that changes a cluster now, if there is one: the exclusive one, else one that sets a password.

    What may be ordered beside it is said by coordination.py.
    """
    changes = Q(exclusive=True) | Q(kind="rotate_credentials")
    return Operation.objects.filter(changes, cluster_id=cluster_id, state__in=OPEN).order_by("-exclusive", "id").first()


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
    return member_identity(
        membership, source_address=who.source_address, request_id=who.request_id, session_id=who.session_id
    )


def operation_not_found() -> NotFound:
    return NotFound("operation_not_found", "There is no such operation.", hint="List the operations to see their ids.")


def _operation(who: Identity, row: dict[str, Any]) -> dict[str, Any]:
    state = OperationState(row["state"])
    steps = row["steps_about"] or {"total": 0, "done": 0, "active": 0, "pending": 0, "furthest": None, "eta": None}
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
        "eta_seconds": _seconds_left(state, row, steps),
        "created_at": row["created_at"],
        "started_at": row["started_at"],
        "finished_at": row["finished_at"],
        "current": None if finished else _current(row["step_now"], steps["active"]),
        "steps_done": steps["done"],
        "steps_total": steps["total"],
        "cancel_requested": row["cancel_requested_at"] is not None,
        "pause_requested": row["pause_requested_at"] is not None,
        "waits_for": _waits_for(row, finished=finished),
        "allowed_actions": _allowed_actions(who, row, state, steps["furthest"]),
    }


def _allowed_actions(
    who: Identity, row: dict[str, Any], state: OperationState, furthest: int | None
) -> list[dict[str, object]]:
    if Permission.OPERATIONS_WRITE not in who.permissions:
        return [allowed(f"{verb}_operation", MAY_NOT) for verb in ("cancel", "retry", "pause", "resume")]
    cancel_requested = row["cancel_requested_at"] is not None
    pause_requested, waits = row["pause_requested_at"] is not None, row["waits_for"] != ""
    against_cancelling = reason_against_cancelling(
        state, cancel_requested=cancel_requested, cancellable_until=row["cancellable_until"], furthest=furthest
    )
    against_pausing = reason_against_pausing(
        state,
        pausable=row["pausable"],
        cancel_requested=cancel_requested,
        pause_requested=pause_requested,
        waits=waits,
    )
    against_resuming = reason_against_resuming(
        state, cancel_requested=cancel_requested, pause_requested=pause_requested, waits=waits
    )
    return [
        allowed("cancel_operation", against_cancelling),
        allowed("retry_operation", reason_against_retrying(state, attempt=row["attempt"])),
        allowed("pause_operation", against_pausing),
        allowed("resume_operation", against_resuming),
    ]


def _waits_for(row: dict[str, Any], *, finished: bool) -> dict[str, str] | None:
    if not row["waits_for"] or finished or row["cancel_requested_at"] is not None:
        return None
    return {"id": row["waits_for"], "title": title(row["waits_for_kind"]), "reason": row["waits_reason"]}


def _reason(row: dict[str, Any]) -> dict[str, str] | None:
    if not row["reason_code"]:
        return None
    return {"code": row["reason_code"], "message": row["reason"], "hint": row["reason_hint"]}


def _seconds_left(state: OperationState, row: dict[str, Any], steps: dict[str, Any]) -> float | None:
    """What is left of the work. Unknown while it waits or is paused, a person must decide, or it is being undone.

    What the step at hand tells of itself counts, and for those after it the usual pace; else the usual pace alone.
    """
    if state not in (OperationState.PENDING, OperationState.RUNNING):
        return None
    if state is OperationState.PENDING and row["waits_for"]:
        return None
    expected: float = row["expected_seconds"]
    if steps["eta"] is not None:
        told, after = max(0.0, float(steps["eta"])), expected * int(steps["pending"]) / int(steps["total"])
        return round(told + after, 1)
    return round(expected * (1 - float(row["progress"])), 1)


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
