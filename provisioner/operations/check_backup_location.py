"""Tries a backup location. What is found is the result, not a failure: the location says why it cannot be written."""

from backend.backups import progress
from backend.backups.models import BackupLocation
from backend.operations.models import Operation
from provisioner.operations.backup_store import open_store
from provisioner.operations.base import Done, OperationCode, Outcome, StepCode, StepContext
from provisioner.stores.base import StoreError

_ATTEMPTS = 3


def probe_location(context: StepContext) -> Outcome:
    location = BackupLocation.objects.get(id=context.operation.parameters["location"])
    problem = hint = ""
    try:
        store = open_store(location, context.operation.organisation_id)
        if location.object_lock:
            store.check_lock()
        store.probe()
    except StoreError as error:
        if error.retryable and context.step.attempt < _ATTEMPTS:
            raise
        problem, hint = error.message, error.hint
    progress.location_checked(location.id, problem=problem, hint=hint)
    return Done(problem or "it can be written")


def _cancelled(operation: Operation) -> None:
    progress.location_check_cancelled(operation.id)


CODE = OperationCode(
    kind="check_backup_location",
    steps={"probe_location": StepCode(do=probe_location)},
    on_cancelled=_cancelled,
)
