"""Has the store itself keep a locked backup: its objects, also those that earlier backups stored, and its manifests.

Until a lock is over nobody deletes the object, not with the control plane's own key either.
"""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

from backend.backups import objects
from backend.backups.models import Backup, BackupLocation
from provisioner.operations.backup_store import in_words, manifests_of, open_store
from provisioner.operations.base import Done, Outcome, StepContext, Wait
from provisioner.operations.verify_backup import object_name

_AT_ONCE = 100
_THREADS = 16


def lock_objects(context: StepContext) -> Outcome:
    """Of the operations backup and copy_backup: in the location that they write to."""
    backup = Backup.objects.select_related("location", "cluster").get(id=context.operation.parameters["backup"])
    elsewhere = context.operation.parameters.get("location")
    location = BackupLocation.objects.get(id=elsewhere) if elsewhere else backup.location
    if backup.locked_until is None:
        return Done("it is not locked")
    return _lock(backup, location, backup.locked_until)


def _lock(backup: Backup, location: BackupLocation, until: datetime) -> Outcome:
    wanted = objects.to_lock(location, backup, at_most=_AT_ONCE)
    with in_words():
        store = open_store(location, backup.organisation_id)
        if not wanted:
            for name in manifests_of(backup):
                store.lock(name, until)
            return Done(f"kept by the store until {until:%Y-%m-%d %H:%M} UTC")
        with ThreadPoolExecutor(_THREADS) as threads:
            list(threads.map(lambda one: store.lock(object_name(one.key), until), wanted))
    objects.locked([one.id for one in wanted], until=until)
    return Wait(0, "the objects to be locked in the store")
