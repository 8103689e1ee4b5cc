"""What became of operations, told to those who want it.

A trigger of the database notes it in the transaction that changes the operation (migration 0002); a worker makes
messages of it, each once, as the deletion of the note and the messages are one transaction.
"""

from typing import Any

from django.conf import settings
from django.db import connection, transaction

from backend.alerts import deliveries
from backend.alerts.states import Topic
from backend.findings.states import Severity
from backend.operations.models import Operation
from backend.operations.states import TITLES, OperationState

AT_MOST = 100
"""In one transaction."""

_TAKE = """
DELETE FROM alerts_operationnews WHERE id IN (
    SELECT id FROM alerts_operationnews ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED
) RETURNING id, operation_id, state, at
"""
_SAID = {
    OperationState.PENDING: "was ordered",
    OperationState.RUNNING: "goes on",
    OperationState.BLOCKED: "is stuck",
    OperationState.PAUSED: "is paused",
    OperationState.CANCELLING: "is being cancelled",
    OperationState.SUCCEEDED: "succeeded",
    OperationState.FAILED: "failed",
    OperationState.CANCELLED: "was cancelled",
}
_WARNS = (OperationState.BLOCKED, OperationState.FAILED)


@transaction.atomic
def pass_on() -> int:
    """How many states were told of. Several workers may do it at once: what they tell may change places."""
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, [AT_MOST])
        taken = sorted(cursor.fetchall())
    operations = Operation.objects.in_bulk([operation_id for _, operation_id, _, _ in taken])
    for _, operation_id, state, at in taken:
        operation = operations[operation_id]
        message = _message(operation, OperationState(state), at)
        deliveries.tell(operation.organisation_id, operation.cluster_id or None, message)
    return len(taken)


def _message(operation: Operation, state: OperationState, at: Any) -> dict[str, Any]:
    """The state is that of the moment, though the operation may be further by now."""
    title = TITLES.get(operation.kind, operation.kind)
    about = f"{operation.cluster_name}: {title[:1].lower()}{title[1:]}" if operation.cluster_name else title
    stuck = state in _WARNS
    said = f"{about} {_SAID[state]}" + (f". {operation.reason}" if stuck and operation.reason else "")
    return deliveries.content(
        topic=Topic.OPERATIONS,
        status=state.value,
        summary=said,
        severity=Severity.WARNING if stuck else Severity.INFO,
        rule=None,
        title=title,
        hint=operation.reason_hint if stuck else "",
        organisation_id=operation.organisation_id,
        cluster={"id": operation.cluster_id, "name": operation.cluster_name} if operation.cluster_id else None,
        url=f"{settings.ENV.ringmaster_public_url}/operations/{operation.id}",
        alerts=[],
    ) | {
        "operation": {
            "id": operation.id,
            "kind": operation.kind,
            "state": state.value,
            "at": at.isoformat(),
            "actor": operation.actor,
            "reason_code": operation.reason_code if stuck else "",
            "created_at": operation.created_at.isoformat(),
        }
    }
