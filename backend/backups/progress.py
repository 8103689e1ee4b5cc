"""What the provisioner finds out about backups, written down: each can be repeated, or come late."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.db.models import F, Q, Sum
from django.db.models.functions import Coalesce, Now

from backend.accounts import second_person
from backend.accounts.states import DeletionTarget
from backend.backups import objects, timing
from backend.backups.models import (
    Backup,
    BackupLocation,
    BackupNode,
    BackupSchedule,
    BackupTable,
    Restore,
    RestoreNode,
    TableReading,
)
from backend.backups.states import BackupState, NodeBackupState, RestoreState
from backend.operations import actions as operations
from backend.operations.models import Operation
from backend.operations.states import FINISHED


def _tell(backup_id: str) -> None:
    row = Backup.objects.only("organisation_id", "cluster_id").get(id=backup_id)
    operations.notify(row.organisation_id, "cluster", row.cluster_id, row.cluster_id)


# Locations


def location_checked(location_id: str, *, problem: str, hint: str) -> None:
    """What trying it has shown. `problem` empty: it can be written."""
    BackupLocation.objects.filter(id=location_id).update(
        problem=problem, problem_hint=hint, checked_at=Now(), check_operation_id=""
    )


def location_looked_at(location_id: str, *, problem: str, hint: str) -> None:
    """As `location_checked`, when nobody has ordered it; a check that is open says it itself."""
    BackupLocation.objects.filter(id=location_id, check_operation_id="").update(
        problem=problem, problem_hint=hint, checked_at=Now()
    )


def location_check_cancelled(operation_id: str) -> None:
    BackupLocation.objects.filter(check_operation_id=operation_id).update(check_operation_id="")


# Schedules


@transaction.atomic
def schedule_took_its_turn(schedule: BackupSchedule) -> bool:
    """Its next turn is after now: what was missed is made up once. False: somebody else was first."""
    due = timing.next_due(
        cron=schedule.cron,
        interval_minutes=schedule.interval_minutes,
        time_zone=schedule.time_zone,
        after=datetime.now(UTC),
    )
    rows = BackupSchedule.objects.filter(id=schedule.id, due_at=schedule.due_at, enabled=True, deleted_at=None)
    return bool(rows.update(due_at=due))


# Backups


def snapshot_taken(node_id: int, *, taken_at: datetime) -> None:
    """`taken_at`: by the node's clock, when it began. All that is in it was written before now."""
    BackupNode.objects.filter(id=node_id, state=NodeBackupState.PENDING).update(
        state=NodeBackupState.SNAPSHOT, taken_at=taken_at, silent_since=None
    )
    Backup.objects.filter(nodes__id=node_id).update(settled_at=Now())


def node_silent(node_id: int) -> float:
    """Its agent does not answer; for how many seconds that has been so."""
    BackupNode.objects.filter(id=node_id).update(silent_since=Coalesce("silent_since", Now()))
    since = BackupNode.objects.values_list("silent_since", flat=True).get(id=node_id)
    return 0.0 if since is None else (datetime.now(UTC) - since).total_seconds()


def node_answers(node_id: int) -> None:
    BackupNode.objects.filter(id=node_id, silent_since__isnull=False).update(silent_since=None)


def node_lost(node_id: int, *, reason: str) -> None:
    """Nothing of it will be in the backup: what was noted of its bundles is forgotten."""
    row = BackupNode.objects.get(id=node_id)
    row.entries.all().delete()
    BackupNode.objects.filter(id=node_id).update(
        state=NodeBackupState.LOST, reason=reason, bundles=0, bytes=0, new_bytes=0, cursor="", manifest_sha256=""
    )


@transaction.atomic
def schema_read(
    backup_id: str, *, tables: Sequence[Mapping[str, Any]], replication: Mapping[str, Mapping[str, int]], sha256: str
) -> None:
    """The chosen tables, also those without a single file. `tables`: keyspace, table, id, columns.

    `replication`: copies by keyspace and data centre.
    """
    for table in tables:
        BackupTable.objects.update_or_create(
            backup_id=backup_id,
            keyspace=table["keyspace"],
            name=table["table"],
            defaults={"table_id": table["id"], "columns": table["columns"]},
        )
    Backup.objects.filter(id=backup_id).update(schema_sha256=sha256, replication=replication)


def tables_read(cluster_id: str, tables: Sequence[Mapping[str, Any]]) -> None:
    """All of a cluster's tables but the engine's own. `tables`: keyspace, table, id, columns."""
    TableReading.objects.update_or_create(cluster_id=cluster_id, defaults={"tables": list(tables), "read_at": Now()})


def manifest_written(node_id: int, *, sha256: str) -> None:
    BackupNode.objects.filter(~Q(state=NodeBackupState.LOST), id=node_id).update(
        state=NodeBackupState.WRITTEN, manifest_sha256=sha256
    )


def manifest_taken_back(node_id: int) -> None:
    BackupNode.objects.filter(id=node_id, state=NodeBackupState.WRITTEN).update(
        state=NodeBackupState.INDEXED, manifest_sha256=""
    )


@transaction.atomic
def finished(backup_id: str, *, complete: bool, missing: Sequence[str], note: str, sha256: str) -> None:
    """All manifests are written. `note`: what to know of it although it is complete."""
    sums = BackupNode.objects.filter(backup_id=backup_id).aggregate(
        bundles=Sum("bundles"), bytes=Sum("bytes"), new_bytes=Sum("uploaded_bytes")
    )
    taken = BackupNode.objects.filter(backup_id=backup_id, taken_at__isnull=False).order_by("-taken_at").first()
    changed = Backup.objects.filter(id=backup_id, state=BackupState.RUNNING).update(
        state=BackupState.COMPLETE if complete else BackupState.INCOMPLETE,
        missing=list(missing),
        reason=note,
        manifest_sha256=sha256,
        taken_at=None if taken is None else taken.taken_at,
        finished_at=Now(),
        **{name: value or 0 for name, value in sums.items()},
    )
    if changed:
        _tell(backup_id)


def taken_back(backup_id: str) -> None:
    """Its manifest is gone again, so it is none that could be restored; what follows ends it."""
    Backup.objects.filter(id=backup_id, state__in=[BackupState.COMPLETE, BackupState.INCOMPLETE]).update(
        state=BackupState.RUNNING, manifest_sha256="", reason="", missing=[], finished_at=None
    )


def refused(backup_id: str, reason: str) -> None:
    Backup.objects.filter(id=backup_id, state=BackupState.RUNNING).update(reason=reason)


def give_up(operation: Operation) -> None:
    """Nobody waits for this one: it takes itself back, and the backup says why."""
    Operation.objects.filter(id=operation.id, cancel_requested_at=None).update(cancel_requested_at=Now())


@transaction.atomic
def cancelled(backup_id: str) -> None:
    """Nothing of it is left but its row, and objects that the next one may find stored."""
    row = Backup.objects.get(id=backup_id)
    while not objects.forget_bundles(row):
        pass
    failed = bool(row.reason)
    Backup.objects.filter(id=backup_id, state=BackupState.RUNNING).update(
        state=BackupState.FAILED if failed else BackupState.CANCELLED, finished_at=Now()
    )
    _tell(backup_id)


@transaction.atomic
def end_what_was_left() -> int:
    """Backups and restores whose operation ended without them, as a cluster's deletion ends it; how many there were.

    What a backup has stored by then goes with the next purge.
    """
    over = Operation.objects.filter(state__in=FINISHED)
    left = Backup.objects.filter(state=BackupState.RUNNING, operation_id__in=over.values("id"))
    count = left.update(
        state=BackupState.DELETING, reason="The cluster was deleted while it was made.", finished_at=Now()
    )
    restores = Restore.objects.filter(state=RestoreState.RUNNING, operation_id__in=over.values("id"))
    return count + restores.update(state=RestoreState.CANCELLED, finished_at=Now())


# Verifying and taking away


def manifests_verified(backup_id: str, *, damaged: str) -> None:
    """`damaged`: name of a manifest that is missing or changed; empty: all are well."""
    Backup.objects.filter(id=backup_id).update(damaged_manifest=damaged)


def verified(backup_id: str, *, contents: bool) -> None:
    columns = {"contents_verified_at": Now()} if contents else {"verified_at": Now()}
    Backup.objects.filter(id=backup_id).update(**columns)
    _tell(backup_id)


def expire(backup_ids: Sequence[str]) -> None:
    """They are kept no longer."""
    Backup.objects.filter(id__in=backup_ids).exclude(state__in=[BackupState.RUNNING, BackupState.DELETED]).update(
        state=BackupState.DELETING
    )
    second_person.gone(DeletionTarget.BACKUP, backup_ids)


def to_delete(location_id: str, organisation_id: str) -> list[Backup]:
    rows = Backup.objects.filter(location_id=location_id, organisation_id=organisation_id, state=BackupState.DELETING)
    return list(rows.order_by("id"))


@transaction.atomic
def forgotten(backup: Backup) -> bool:
    """Its manifests are gone: its references go, some thousands at a time. True when nothing is left."""
    if not objects.forget_bundles(backup):
        return False
    Backup.objects.filter(id=backup.id, state=BackupState.DELETING).update(state=BackupState.DELETED, deleted_at=Now())
    _tell(backup.id)
    return True


# Restoring


def repair_ordered(restore_id: str, *, operation_id: str) -> None:
    Restore.objects.filter(id=restore_id).update(repair_operation_id=operation_id)


@transaction.atomic
def fetched(node_id: int, *, after: int, cursor: int, count: int) -> None:
    """A node has verified files up to `cursor`; `count` in bytes. Told twice it is written once."""
    if RestoreNode.objects.filter(id=node_id, cursor=after).update(
        cursor=cursor, fetched_bytes=F("fetched_bytes") + count
    ):
        restore = Restore.objects.filter(nodes__id=node_id)
        restore.update(fetched_bytes=F("fetched_bytes") + count)


@transaction.atomic
def pieces_fetched(node_id: int, *, after: int, cursor: int, count: int) -> None:
    """As `fetched`, of pieces of commit logs."""
    if RestoreNode.objects.filter(id=node_id, piece_cursor=after).update(
        piece_cursor=cursor, fetched_bytes=F("fetched_bytes") + count
    ):
        Restore.objects.filter(nodes__id=node_id).update(fetched_bytes=F("fetched_bytes") + count)


def turned_to(restore_id: str, location_id: str) -> None:
    """It goes on from another location, where what is damaged in this one is well."""
    Restore.objects.filter(id=restore_id, state=RestoreState.RUNNING).update(location_id=location_id)


@transaction.atomic
def fetch_taken_back(node_id: int) -> None:
    part = RestoreNode.objects.get(id=node_id)
    Restore.objects.filter(id=part.restore_id).update(fetched_bytes=F("fetched_bytes") - part.fetched_bytes)
    RestoreNode.objects.filter(id=node_id).update(cursor=0, piece_cursor=0, fetched_bytes=0)


def restored(restore_id: str, *, cancelled: bool) -> None:
    Restore.objects.filter(id=restore_id, state=RestoreState.RUNNING).update(
        state=RestoreState.CANCELLED if cancelled else RestoreState.SUCCEEDED, finished_at=Now()
    )
