"""Starting operations, and what people may do to them. Running them is the provisioner's business."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from celery import current_app
from django.db import IntegrityError, connection, transaction
from django.db.models import Max, Q
from django.db.models.functions import Coalesce, Now
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission
from backend.audit import actions as audit
from backend.core.errors import Conflict
from backend.operations import coordination, traces, turns
from backend.operations.models import Operation, OperationStep
from backend.operations.queries import get_operation, open_operation, operation_not_found
from backend.operations.states import (
    OperationState,
    StepState,
    reason_against_cancelling,
    reason_against_pausing,
    reason_against_resuming,
    reason_against_retrying,
    title,
)

EVENTS_CHANNEL = "ringmaster_events"
RUN_OPERATION = "provisioner.run_operation"

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class PlannedStep:
    """One line of a plan. `name` is what the provisioner looks the step up by, `title` what the customer reads."""

    name: str
    title: str
    target: str = ""
    target_title: str = ""
    deadline_seconds: int = 60
    # The steps before it have left something half done (a node that is drained): no pause falls before this one.
    mid_way: bool = False


def start(
    *,
    organisation_id: str,
    kind: str,
    cluster_id: str,
    cluster_name: str,
    actor: str,
    parameters: dict[str, Any],
    groups: Sequence[Sequence[PlannedStep]],
    expected_seconds: int,
    exclusive: bool = True,
    cancellable_until: str | None = None,
    pausable: bool = False,
) -> Operation:
    """Writes an operation with its whole plan, due when its turn comes, and rings the doorbell on commit.

    To be called inside the transaction that changes what the operation is about. `cancellable_until` names the step
    from which on it cannot be cancelled; None: it always can. `pausable`: between any two of its groups it may stop
    for hours. `exclusive` counts for kinds that coordination.py does not list. Raises Conflict when that table refuses
    it beside what is open on the cluster; it may also make it wait (`waits_for`), and ask others to make way.
    """
    steps = [(number, step) for number, group in enumerate(groups) for step in group]
    wanted = Operation(
        organisation_id=organisation_id,
        kind=kind,
        cluster_id=cluster_id,
        cluster_name=cluster_name,
        parameters=parameters,
        exclusive=coordination.is_exclusive(kind, otherwise=exclusive),
        pausable=pausable,
        actor=actor,
        expected_seconds=expected_seconds,
        cancellable_until=_position(steps, cancellable_until),
    )
    turn = turns.turn_of(wanted) if cluster_id else turns.Turn()
    if turn.refused_by is not None:
        raise in_progress(turn.refused_by, turn.reason)
    for column, value in turn.columns().items():
        setattr(wanted, column, value)
    wanted.traceparent = traces.order(wanted)
    try:
        # A savepoint, so that the caller's transaction can still be asked who was first.
        with transaction.atomic():
            operation = _insert(wanted)
    except IntegrityError as error:
        # Only rows that were written past the coordinator come to this.
        busy = open_operation(cluster_id)
        if busy is None:
            raise
        raise in_progress(busy) from error
    OperationStep.objects.bulk_create(
        OperationStep(
            operation=operation,
            position=position,
            group=group,
            name=step.name,
            title=step.title,
            target=step.target,
            target_title=step.target_title[:64],
            deadline_seconds=step.deadline_seconds,
            mid_way=step.mid_way,
        )
        for position, (group, step) in enumerate(steps)
    )
    notify(organisation_id, "operation", operation.id, cluster_id)
    if turn.waits_for is None:
        nudge(operation.id)
    else:
        for woken in turns.settle(cluster_id):
            nudge(woken)
    return operation


def _insert(wanted: Operation) -> Operation:
    """Stores it. Not due while it waits for its turn: turns.py makes it due."""
    if not wanted.waits_for:
        wanted.due_at = wanted.nudged_at = Now()
    wanted.save(force_insert=True)
    return wanted


def in_progress(busy: Operation, reason: str = "") -> Conflict:
    """The answer to whoever wants a cluster that an operation is working on; `reason` says why both cannot be."""
    return Conflict(
        "operation_in_progress",
        f"The operation {busy.id} ({title(busy.kind).lower()}) is working on this cluster. {reason}".strip(),
        hint="Wait until it has finished, or cancel it first.",
    )


def _position(steps: Sequence[tuple[int, PlannedStep]], name: str | None) -> int | None:
    if name is None:
        return None
    return next(position for position, (_, step) in enumerate(steps) if step.name == name)


def nudge(operation_id: str) -> None:
    """Tells the workers to look at an operation, once the transaction at hand is committed.

    Never fails and takes a second at most: with the broker away the sweep finds the row.
    """
    transaction.on_commit(lambda: _ring(operation_id))


def _ring(operation_id: str) -> None:
    try:
        current_app.send_task(RUN_OPERATION, [operation_id], ignore_result=True, retry=False)
    except (OperationalError, RedisError, OSError) as error:
        log.warning("nudge not sent", operation_id=operation_id, error=str(error))


def notify(organisation_id: str, about: str, changed_id: str, cluster_id: str) -> None:
    """Tells listeners that something changed, when the transaction at hand commits. `about`: operation or cluster."""
    payload = {"org": organisation_id, "type": about, "id": changed_id, "cluster_id": cluster_id}
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [EVENTS_CHANNEL, json.dumps(payload)])


@transaction.atomic
def cancel(who: Identity, operation_id: str) -> dict[str, Any]:
    """Asks for an operation to be undone; the worker sees it between two steps. NotFound, Forbidden, Conflict."""
    operation = _locked(who, operation_id)
    furthest = OperationStep.objects.filter(
        ~Q(state__in=[StepState.PENDING, StepState.SKIPPED]), operation_id=operation_id
    ).aggregate(last=Max("position"))["last"]
    reason = reason_against_cancelling(
        OperationState(operation.state),
        cancel_requested=operation.cancel_requested_at is not None,
        cancellable_until=operation.cancellable_until,
        furthest=furthest,
    )
    if reason is not None:
        raise Conflict("not_cancellable", reason, hint="Look at the operation to see how it goes on.")
    Operation.objects.filter(id=operation_id).update(cancel_requested_at=Now(), **turns.due_now())
    return _written(who, operation, "operation.cancel")


@transaction.atomic
def pause(who: Identity, operation_id: str) -> dict[str, Any]:
    """Asks an operation to stop between two groups of steps until it is resumed. NotFound, Forbidden, Conflict."""
    operation = _locked(who, operation_id)
    turns.lock(operation.cluster_id)
    reason = reason_against_pausing(
        OperationState(operation.state),
        pausable=operation.pausable,
        cancel_requested=operation.cancel_requested_at is not None,
        pause_requested=operation.pause_requested_at is not None,
        waits=operation.waits_for != "",
    )
    if reason is not None:
        raise Conflict("not_pausable", reason, hint="Look at the operation to see how it goes on.")
    Operation.objects.filter(id=operation_id).update(pause_requested_at=Now(), **turns.due_now())
    return _written(who, operation, "operation.pause")


@transaction.atomic
def resume(who: Identity, operation_id: str) -> dict[str, Any]:
    """Lets a paused operation go on, at once or when its turn comes. Raises NotFound, Forbidden, Conflict."""
    operation = _locked(who, operation_id)
    reason = reason_against_resuming(
        OperationState(operation.state),
        cancel_requested=operation.cancel_requested_at is not None,
        pause_requested=operation.pause_requested_at is not None,
        waits=operation.waits_for != "",
    )
    if reason is not None:
        raise Conflict("not_resumable", reason, hint="Look at the operation to see how it goes on.")
    let_go_on(operation)
    return _written(who, operation, "operation.resume")


def let_go_on(operation: Operation) -> None:
    """Ends a pause of a row that the caller has locked: it goes on at once, or waits for whoever is in its way now."""
    columns: dict[str, Any] = {"pause_requested_at": None}
    if operation.state == OperationState.PAUSED:
        turn = turns.turn_of(operation)
        # Nobody refuses it any more: it was accepted long ago.
        before_it = turn.waits_for or turn.refused_by
        if before_it is None:
            columns = turns.going_on(operation)
        else:
            columns |= turns.Turn(waits_for=before_it, reason=turn.reason).columns()
    Operation.objects.filter(id=operation.id).update(**columns)


@transaction.atomic
def retry(who: Identity, operation_id: str) -> dict[str, Any]:
    """Tries again at once what is blocked or waits after a failure. Raises NotFound, Forbidden, Conflict."""
    operation = _locked(who, operation_id)
    reason = reason_against_retrying(OperationState(operation.state), attempt=operation.attempt)
    if reason is not None:
        raise Conflict("not_retryable", reason, hint="Look at the operation to see how it goes on.")
    Operation.objects.filter(id=operation_id).update(
        retry_requested_at=Coalesce("retry_requested_at", Now()), **turns.due_now()
    )
    return _written(who, operation, "operation.retry")


def _locked(who: Identity, operation_id: str) -> Operation:
    """The row, held until the transaction ends: the runner's next record waits, so neither misses the other."""
    require(who, Permission.OPERATIONS_WRITE)
    found = Operation.objects.select_for_update().filter(organisation_id=who.organisation_id, id=operation_id).first()
    if found is None:
        raise operation_not_found()
    return found


def _written(who: Identity, operation: Operation, action: str) -> dict[str, Any]:
    audit.record(
        who,
        action=action,
        target_type="operation",
        target_id=operation.id,
        target_name=f"{title(operation.kind)} {operation.cluster_name}".strip(),
        before={"state": operation.state},
    )
    notify(who.organisation_id, "operation", operation.id, operation.cluster_id)
    nudge(operation.id)
    return get_operation(who, operation.id)
