"""Taking away what is kept no longer: manifests first, then references, then objects that nobody refers to.

An organisation's place in one location. Mark and sweep over the index (backend/backups/objects.py); the store is
asked for nothing but deletions.
"""

from datetime import UTC, datetime

from backend.backups import archive_progress, archive_queries, copies, objects, progress
from backend.backups.location_queries import expired
from backend.backups.models import Backup, BackupLocation
from provisioner.operations.backup_store import folder_of, in_words, manifest_name, open_store
from provisioner.operations.base import Done, OperationCode, Outcome, StepCode, StepContext, Wait
from provisioner.operations.copy_backup import delete_manifests_of
from provisioner.operations.verify_backup import object_name

_MANIFESTS_AT_ONCE = 500


def expire_backups(context: StepContext) -> Outcome:
    location = _location(context)
    over = expired(location.id, context.operation.organisation_id)
    progress.expire(over)
    pieces = 0
    for archive in archive_queries.archives_in(location.id, context.operation.organisation_id):
        before = archive_queries.over(archive, now=datetime.now(UTC))
        while before is not None and (gone := archive_progress.forget_pieces(archive, before=before)):
            pieces += gone
    return Done(f"{len(over)} are kept no longer" + (f", and {pieces:,} pieces of commit logs" if pieces else ""))


def delete_manifests(context: StepContext) -> Outcome:
    """Of one backup after the other: without its manifests it cannot be restored, so nothing half is ever offered."""
    location = _location(context)
    left = progress.to_delete(location.id, context.operation.organisation_id)
    copied = copies.to_delete(location.id, context.operation.organisation_id)
    if not left and not copied:
        return Done()
    if not left:
        with in_words():
            delete_manifests_of(copied[0])
        copies.forget(copied[0])
        return Wait(0, f"{len(copied)} copies to be deleted")
    backup = left[0]
    with in_words():
        _delete_manifests_of(location, backup)
    progress.forgotten(backup)
    return Wait(0, f"{len(left)} backups to be deleted")


def _delete_manifests_of(location: BackupLocation, backup: Backup) -> None:
    store = open_store(location, backup.organisation_id)
    # The one that says what the backup is goes first.
    store.delete([manifest_name(backup)])
    nodes = [f"{folder_of(backup)}/nodes/{node_id}" for node_id in backup.nodes.values_list("node_id", flat=True)]
    rest = [f"{folder_of(backup)}/schema", *nodes]
    for first in range(0, len(rest), _MANIFESTS_AT_ONCE):
        store.delete(rest[first : first + _MANIFESTS_AT_ONCE])


def mark_objects(context: StepContext) -> Outcome:
    marked = objects.mark(_location(context), context.operation.organisation_id)
    return Done(f"{marked:,} objects are needed by no backup")


def sweep_objects(context: StepContext) -> Outcome:
    location, organisation = _location(context), context.operation.organisation_id
    keys = objects.doom(location, organisation, grace=objects.GRACE)
    if not keys:
        kept = objects.kept_by_locks(location, organisation)
        if kept["locked_objects"]:
            until = f"{kept['locked_until']:%Y-%m-%d %H:%M} UTC"
            return Done(f"{kept['locked_objects']:,} objects are locked in the store, the last until {until}")
        return Done()
    with in_words():
        open_store(location, organisation).delete([object_name(key) for key in keys])
    freed = objects.gone(location, organisation, keys)
    return Wait(0, f"{len(keys):,} objects deleted, {freed / (1 << 20):,.1f} MiB")


def _location(context: StepContext) -> BackupLocation:
    return BackupLocation.objects.get(id=context.operation.parameters["location"])


CODE = OperationCode(
    kind="purge_backups",
    steps={
        "expire_backups": StepCode(do=expire_backups),
        "delete_manifests": StepCode(do=delete_manifests),
        "mark_objects": StepCode(do=mark_objects),
        "sweep_objects": StepCode(do=sweep_objects),
    },
)
