"""Whose turn it is on a cluster: the table of coordination.py applied to the open operations of one cluster.

Everything here runs inside a transaction and under one lock per cluster, so that two orders cannot each find the other
absent. Under that lock nobody waits for a row: a row that is held at this moment is left for the next look, which the
sweep takes within two seconds. So the lock cannot be part of a deadlock, whatever its holder has locked before.
"""

from dataclasses import dataclass

from django.db import connection
from django.db.models import Case, F, Q, When
from django.db.models.functions import Now

from backend.operations import coordination
from backend.operations.coordination import Standing, Verdict
from backend.operations.models import Operation, OperationStep
from backend.operations.states import OPEN, OperationState, StepState

_NOT_WAITING = {"waits_for": "", "waits_for_kind": "", "waits_reason": ""}


@dataclass(frozen=True)
class Turn:
    """What a wanted operation is told. Neither: it may begin at once."""

    refused_by: Operation | None = None
    waits_for: Operation | None = None
    reason: str = ""

    def columns(self) -> dict[str, str]:
        """The columns of an operation that waits for its turn, or does not."""
        if self.waits_for is None:
            return dict(_NOT_WAITING)
        return {
            "waits_for": self.waits_for.id,
            "waits_for_kind": self.waits_for.kind,
            "waits_reason": self.reason,
        }


def lock(cluster_id: str) -> None:
    """Holds the cluster's turns until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"turns {cluster_id}"])


def turn_of(wanted: Operation) -> Turn:
    """Whether `wanted`, stored or not, may begin or go on now on its cluster, waits, or is refused. Takes the lock."""
    lock(wanted.cluster_id)
    rows = {row.id: row for row in _open_rows(wanted.cluster_id) if row.id != wanted.id}
    others = [standing(row) for row in rows.values()]
    me = standing(wanted)
    for other in others:
        found = coordination.between(other, me)
        if found.verdict is Verdict.REFUSE:
            return Turn(refused_by=rows[other.id], reason=found.reason)
    first = coordination.in_the_way(me, others)
    if first is None:
        return Turn()
    return Turn(waits_for=rows[first.id], reason=coordination.between(first, me).reason)


def settle(cluster_id: str) -> list[str]:
    """Asks those that must make way, and lets those go on whose turn has come. Ids to nudge after the commit."""
    lock(cluster_id)
    rows = _open_rows(cluster_id)
    if not any(row.waits_for for row in rows):
        return []
    for row in rows:
        _forget_whom_it_made_way_for(row, rows)
    woken: list[str] = []
    for wanted in rows:
        if _is_queued(wanted):
            woken += [row.id for row in rows if row.id != wanted.id and _ask_to_make_way(row, wanted)]
    for row in rows:
        if _is_queued(row) and _let_go_on(row, rows):
            woken.append(row.id)
    return woken


def end_the_others(operation: Operation) -> None:
    """Ends what is still open on a cluster that is gone. None of it runs: a deletion begins when all else stands still.

    There is nothing left to undo it on, so no undo step is called.
    """
    lock(operation.cluster_id)
    idle = (OperationState.PENDING, OperationState.PAUSED, OperationState.BLOCKED)
    ended = list(
        Operation.objects.filter(~Q(id=operation.id), cluster_id=operation.cluster_id, state__in=idle).values_list(
            "id", flat=True
        )
    )
    Operation.objects.filter(id__in=ended).update(
        **_NOT_WAITING,
        state=OperationState.CANCELLED,
        due_at=None,
        finished_at=Now(),
        reason_code="cluster-deleted",
        reason="The cluster was deleted.",
        reason_hint="",
    )
    OperationStep.objects.filter(operation_id__in=ended, state=StepState.PENDING).update(state=StepState.SKIPPED)


def clusters_that_wait(at_most: int) -> list[str]:
    """Clusters on which an operation waits for another, in no order."""
    found = Operation.objects.filter(~Q(waits_for=""), ~Q(cluster_id=""), state__in=OPEN).order_by("?")
    return list(dict.fromkeys(found.values_list("cluster_id", flat=True)[:at_most]))


def standing(row: Operation) -> Standing:
    """The row in the coordinator's words."""
    queued = row.state in (OperationState.PENDING, OperationState.PAUSED) and row.waits_for != ""
    return Standing(
        id=row.id,
        kind=row.kind,
        exclusive=row.exclusive,
        pausable=row.pausable,
        going=row.state != OperationState.PAUSED and not queued,
        wants_a_turn=queued,
    )


def _open_rows(cluster_id: str) -> list[Operation]:
    return list(Operation.objects.filter(cluster_id=cluster_id, state__in=OPEN).order_by("id"))


def _is_queued(row: Operation) -> bool:
    return standing(row).wants_a_turn and row.cancel_requested_at is None


def _change(row: Operation, **columns: object) -> bool:
    """Writes if the row is as it was read and nobody holds it at this moment; `row` then mirrors it."""
    free = Operation.objects.select_for_update(skip_locked=True).filter(
        id=row.id, state=row.state, waits_for=row.waits_for, cancel_requested_at=None
    )
    if not Operation.objects.filter(id__in=free.values("id")).update(**columns):
        return False
    for name, value in columns.items():
        if isinstance(value, str):
            setattr(row, name, value)
    return True


def _forget_whom_it_made_way_for(row: Operation, rows: list[Operation]) -> None:
    """One that was asked to make way and has not come to it, while the other ended, simply goes on."""
    asked = row.waits_for != "" and not standing(row).wants_a_turn
    if asked and not any(other.id == row.waits_for and _is_queued(other) for other in rows):
        _change(row, pause_requested_at=None, **_NOT_WAITING)


def _ask_to_make_way(row: Operation, wanted: Operation) -> bool:
    """True when `row` was asked and somebody must look at it for that."""
    me, other = standing(wanted), standing(row)
    found = coordination.between(other, me)
    if not other.going or found.verdict is not Verdict.MAKE_WAY or row.pause_requested_at is not None:
        return False
    way = {"waits_for": wanted.id, "waits_for_kind": wanted.kind, "waits_reason": found.reason}
    match row.state:
        case OperationState.PENDING:
            _change(row, due_at=None, **way)
            return False
        case OperationState.BLOCKED:
            # Nothing of it runs. Going on later is a retry.
            _change(row, state=OperationState.PAUSED.value, pause_requested_at=Now(), **way)
            return False
        case OperationState.RUNNING:
            return _change(row, pause_requested_at=Now(), **due_now(), **way)
        case _:
            return False


def _let_go_on(row: Operation, rows: list[Operation]) -> bool:
    """True when its turn has come."""
    me, by_id = standing(row), {other.id: other for other in rows if other.id != row.id}
    first = coordination.in_the_way(me, [standing(other) for other in by_id.values()])
    if first is None:
        return _change(row, **going_on(row))
    found = Turn(waits_for=by_id[first.id], reason=coordination.between(first, me).reason).columns()
    if any(getattr(row, name) != value for name, value in found.items()):
        _change(row, **found)
    return False


def going_on(row: Operation) -> dict[str, object]:
    """The columns of an operation that begins, or goes on, after it waited or was paused."""
    return {
        **_NOT_WAITING,
        "state": (OperationState.PENDING if row.started_at is None else OperationState.RUNNING).value,
        "pause_requested_at": None,
        "due_at": Now(),
        "nudged_at": Now(),
    }


def due_now() -> dict[str, object]:
    """Due at once, unless a worker holds it: that one sees the request itself, and its booked retry stays."""
    held = Q(lease_until__gt=Now(), state__in=OPEN)
    return {"due_at": Case(When(held, then=F("due_at")), default=Now()), "nudged_at": Now()}
