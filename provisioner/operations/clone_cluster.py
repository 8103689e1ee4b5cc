"""The kind clone_cluster: a backup and an order of a cluster side by side, then a restore of the one into the other.

Each is an operation of its own, ordered once and waited for. Cancelled, the new cluster is removed again; a backup that
is complete by then is kept as it was ordered.
"""

from backend.backups import cloning
from backend.backups.models import Backup
from backend.backups.states import BackupState
from backend.backups.taking_away import take_away
from backend.core.errors import DomainError
from backend.operations import actions as operations
from backend.operations.models import Operation
from backend.operations.states import OPEN, OperationState, title
from provisioner.operations.base import Blocked, Done, OperationCode, Outcome, StepCode, StepContext, Wait

_LOOK_EVERY = 1.0


def _ended(operation_id: str) -> Outcome:
    """Waits for a part of the clone. Raises Blocked when it stands still or has ended otherwise than well."""
    part = Operation.objects.get(id=operation_id)
    match part.state:
        case OperationState.SUCCEEDED:
            return Done(part.id)
        case OperationState.BLOCKED:
            raise Blocked(
                "part-blocked",
                f"{title(part.kind)}: {part.reason}",
                f"Do what {part.id} says and retry that operation, then this one; or cancel this one.",
            )
        case OperationState.CANCELLED | OperationState.FAILED:
            raise Blocked(
                "part-ended",
                f"{title(part.kind)} was {part.state}. {part.reason}".strip(),
                "Cancel this operation, and clone again.",
            )
        case _:
            return Wait(_LOOK_EVERY, f"{title(part.kind).lower()} ({part.id})", part.progress)


def back_up(context: StepContext) -> Outcome:
    backup = _backup(context)
    outcome = _ended(backup.operation_id)
    if isinstance(outcome, Done) and backup.state != BackupState.COMPLETE:
        raise Blocked(
            "backup-incomplete",
            f"The backup is {backup.state}: {' '.join(backup.missing)}".strip(),
            "Cancel, see that all nodes are up, and clone again.",
        )
    return outcome


def give_up_backup(context: StepContext) -> Outcome:
    """Only while it is being made."""
    backup = _backup(context)
    if Operation.objects.get(id=backup.operation_id).state not in OPEN:
        return Done(f"{backup.id} is {backup.state}")
    try:
        operations.cancel(cloning.acting_for(context.operation), backup.operation_id)
    except DomainError as refused:
        return Wait(_LOOK_EVERY, refused.message)
    return Wait(_LOOK_EVERY, "the end of the backup")


def order_cluster(context: StepContext) -> Outcome:
    try:
        ordered = cloning.order_cluster(context.operation)
    except DomainError as refused:
        raise Blocked("cannot-order", refused.message, refused.hint) from refused
    return _ended(ordered)


def remove_cluster(context: StepContext) -> Outcome:
    made = cloning.cluster_made(context.operation)
    if made is None:
        return Done()
    try:
        waiting = take_away(cloning.acting_for(context.operation), made.id)
    except DomainError as refused:
        waiting = refused.message
    return Wait(_LOOK_EVERY, waiting) if waiting else Done()


def restore_backup(context: StepContext) -> Outcome:
    try:
        ordered = cloning.restore_into_it(context.operation)
    except DomainError as refused:
        raise Blocked("cannot-restore", refused.message, refused.hint) from refused
    return _ended(ordered)


def _backup(context: StepContext) -> Backup:
    return Backup.objects.get(id=context.operation.parameters["backup"])


CODE = OperationCode(
    kind="clone_cluster",
    steps={
        "back_up": StepCode(do=back_up, undo=give_up_backup),
        "order_cluster": StepCode(do=order_cluster, undo=remove_cluster),
        "restore_backup": StepCode(do=restore_backup),
    },
)
