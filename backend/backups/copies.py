"""Backups in a second location: what is copied there, and which place a restore reads from.

A copy refers to the objects of its location by rows of its own, under the same rule as bundles (objects.py): whoever
refers locks the objects and refuses those that are being deleted.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Now

from backend.backups import objects, plans
from backend.backups.models import (
    Backup,
    BackupBundle,
    BackupCopy,
    BackupCopyEntry,
    BackupLocation,
    BackupObject,
)
from backend.backups.objects import BeingDeleted
from backend.backups.states import KEPT, BackupState, CopyState
from backend.operations import actions as operations
from backend.operations.models import Operation

_PAGE = 1000


def to_copy(*, at_most: int) -> list[Backup]:
    """Complete backups of schedules with a second location that nobody has begun to copy there, the newest first."""
    begun = BackupCopy.objects.filter(backup=OuterRef("pk"), location=OuterRef("schedule__second_location"))
    rows = Backup.objects.filter(
        ~Exists(begun),
        state=BackupState.COMPLETE,
        schedule__second_location__isnull=False,
        schedule__second_location__deleted_at=None,
        schedule__deleted_at=None,
    )
    return list(rows.select_related("schedule__second_location").order_by("-id")[:at_most])


@transaction.atomic
def start(backup: Backup, location: BackupLocation, *, actor: str) -> Operation | None:
    """None: it is there, or being copied."""
    copy, is_new = BackupCopy.objects.get_or_create(backup=backup, location=location)
    if not is_new:
        return None
    operation = operations.start(
        organisation_id=backup.organisation_id,
        kind="copy_backup",
        cluster_id="",
        cluster_name=backup.cluster_name,
        actor=actor,
        parameters={"backup": backup.id, "location": location.id, "copy": copy.id},
        groups=plans.copy(lock=bool(location.object_lock and backup.locked_until)),
        expected_seconds=plans.COPY_SECONDS,
        pausable=True,
    )
    BackupCopy.objects.filter(id=copy.id).update(operation_id=operation.id)
    return operation


@transaction.atomic
def refer(copy_id: int) -> bool:
    """The next objects of the backup get a row in the second location; False: all have one. Raises BeingDeleted."""
    copy = BackupCopy.objects.select_for_update().select_related("backup").get(id=copy_id)
    first = list(objects.of_backup(copy.backup).filter(id__gt=copy.cursor).order_by("id")[:_PAGE])
    if not first:
        return False
    place = {"location_id": copy.location_id, "organisation_id": copy.backup.organisation_id}
    BackupObject.objects.bulk_create(
        [BackupObject(**place, key=one.key, bytes=one.bytes) for one in sorted(first, key=lambda o: o.key)],
        ignore_conflicts=True,
    )
    keys = [one.key for one in first]
    found = list(BackupObject.objects.select_for_update().filter(**place, key__in=keys).order_by("id"))
    if len(found) < len(keys) or any(one.doomed_at is not None for one in found):
        raise BeingDeleted
    ids = [one.id for one in found]
    BackupObject.objects.filter(id__in=ids, unneeded_since__isnull=False).update(unneeded_since=None)
    # What is known to be damaged there is stored anew.
    BackupObject.objects.filter(~Q(bad=""), id__in=ids).update(stored_at=None)
    BackupCopyEntry.objects.bulk_create(
        [BackupCopyEntry(copy=copy, object=one) for one in found], ignore_conflicts=True
    )
    BackupCopy.objects.filter(id=copy.id).update(
        cursor=first[-1].id, bytes=F("bytes") + sum(one.stored_bytes or 0 for one in first)
    )
    return True


def to_store(copy: BackupCopy, *, at_most: int) -> list[tuple[BackupObject, BackupObject]]:
    """Objects that are not there yet, each with the one that it is a copy of."""
    rows = BackupObject.objects.filter(copy_entries__copy=copy, stored_at=None).order_by("id")[:at_most]
    found = {row.key: row for row in rows}
    sources = BackupObject.objects.filter(
        location_id=copy.backup.location_id, organisation_id=copy.backup.organisation_id, key__in=found
    )
    return [(found[source.key], source) for source in sources.order_by("key")]


def left(copy: BackupCopy) -> int:
    return BackupObject.objects.filter(copy_entries__copy=copy, stored_at=None).count()


@transaction.atomic
def stored(copy_id: int, pairs: Sequence[tuple[BackupObject, BackupObject]]) -> None:
    """These are there, and are what their sources are."""
    total = 0
    for there, source in pairs:
        changed = BackupObject.objects.filter(id=there.id, stored_at=None).update(
            stored_at=Now(), verified_at=Now(), bad="", stored_bytes=source.stored_bytes, sha256=source.sha256
        )
        total += (source.stored_bytes or 0) if changed else 0
    BackupCopy.objects.filter(id=copy_id).update(copied_bytes=F("copied_bytes") + total, transfer={})


def transferred(copy_id: int, transfer: Mapping[str, Any]) -> None:
    """How far an object in parts is: what a worker that takes over goes on from."""
    BackupCopy.objects.filter(id=copy_id).update(transfer=dict(transfer))


def finished(copy_id: int) -> None:
    BackupCopy.objects.filter(id=copy_id, state=CopyState.RUNNING).update(state=CopyState.COMPLETE, finished_at=Now())


@transaction.atomic
def cancelled(copy_id: int) -> None:
    """The row stays, so that it does not begin by itself again; what it has stored goes with a purge."""
    BackupCopyEntry.objects.filter(copy_id=copy_id).delete()
    BackupCopy.objects.filter(id=copy_id).update(state=CopyState.CANCELLED, transfer={}, finished_at=Now())


def forget_entries(copy_id: int) -> None:
    BackupCopyEntry.objects.filter(copy_id=copy_id).delete()
    BackupCopy.objects.filter(id=copy_id).update(cursor=0, bytes=0)


def manifests_verified(copy_id: int, *, damaged: str) -> None:
    BackupCopy.objects.filter(id=copy_id).update(damaged_manifest=damaged)


# Taking away


def to_delete(location_id: str, organisation_id: str) -> list[BackupCopy]:
    """Copies in a location whose backup goes or is gone. One that is just being made takes itself back."""
    rows = BackupCopy.objects.exclude(backup__state__in=KEPT).exclude(state=CopyState.RUNNING)
    return list(
        rows.filter(location_id=location_id, backup__organisation_id=organisation_id)
        .select_related("backup__cluster")
        .order_by("id")
    )


def forget(copy: BackupCopy) -> None:
    """Its manifests are gone."""
    copy.delete()


def to_purge(*, at_most: int) -> list[tuple[str, str]]:
    """Location and organisation, where there are copies of backups that are gone."""
    rows = BackupCopy.objects.filter(backup__state=BackupState.DELETED).exclude(state=CopyState.RUNNING)
    return list(rows.values_list("location_id", "backup__organisation_id").distinct()[:at_most])


# Choosing


def healthy(backup: Backup) -> BackupLocation | None:
    """Where nothing of it is known to be missing or changed, its own location first. None: nowhere."""
    if not backup.damaged_manifest and not objects.of_backup(backup).exclude(bad="").exists():
        return backup.location
    for copy in backup.copies.filter(state=CopyState.COMPLETE, damaged_manifest="").select_related("location"):
        if not BackupObject.objects.exclude(bad="").filter(copy_entries__copy=copy).exists():
            return copy.location
    return None


def with_healthy_copy(backup_ids: Sequence[str]) -> set[str]:
    """Of these backups, those that a restore can read from a second location."""
    bad = BackupCopyEntry.objects.filter(copy=OuterRef("pk"), object__in=BackupObject.objects.exclude(bad=""))
    rows = BackupCopy.objects.filter(
        ~Exists(bad), backup_id__in=backup_ids, state=CopyState.COMPLETE, damaged_manifest=""
    )
    return set(rows.values_list("backup_id", flat=True))


def object_in(location: BackupLocation, backup: Backup, bundle: BackupBundle) -> BackupObject:
    """The object of a bundle as it lies in a location."""
    if bundle.object.location_id == location.id:
        return bundle.object
    return BackupObject.objects.get(location=location, organisation_id=backup.organisation_id, key=bundle.object.key)


def of_backups(backup_ids: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """By backup, its copies as they are shown."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in BackupCopy.objects.filter(backup_id__in=backup_ids).select_related("location").order_by("id"):
        found.setdefault(row.backup_id, []).append(
            {
                "location_id": row.location_id,
                "location_name": row.location.name,
                "state": row.state,
                "bytes": row.bytes,
                "copied_bytes": row.copied_bytes,
                "operation_id": row.operation_id or None,
                "finished_at": row.finished_at,
            }
        )
    return found
