"""The index of objects: what a location holds, and who needs it. Every write of it is here.

What must hold at any moment: an object that a bundle refers to is not being deleted. Whoever refers to objects locks
their rows first and refuses those that are doomed; whoever dooms locks them first too, and looks for references
after that. So one of the two always sees the other.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Now

from backend.backups.models import (
    ArchivePiece,
    Backup,
    BackupBundle,
    BackupCopyEntry,
    BackupLocation,
    BackupNode,
    BackupObject,
    BackupTable,
)
from backend.backups.states import CopyState, NodeBackupState

GRACE = timedelta(hours=24)
"""How long what nobody needs any more stays: a backup that is cancelled and made again finds it."""
DELETE_AT_ONCE = 1000
_FORGET_AT_ONCE = 20_000
# What an archive of commit logs needs, of the object that is asked about.
_PIECES = ArchivePiece.objects.filter(object=OuterRef("pk"))


class BeingDeleted(Exception):
    """An object that is needed again is just being deleted: in a moment it is gone and can be stored anew."""


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """An SSTable as a node tells of it. Sizes in bytes, tokens 64-bit, `repaired_at` in milliseconds since 1970."""

    key: str
    keyspace: str
    table: str
    table_id: str
    sstable: str
    bytes: int
    min_token: int
    max_token: int
    level: int = 0
    repaired_at: int = 0


@dataclass(frozen=True, kw_only=True)
class StoredObject:
    key: str
    stored_bytes: int
    sha256: str


def of_backup(backup: Backup) -> QuerySet[BackupObject]:
    return BackupObject.objects.filter(entries__node__backup=backup).distinct()


def everywhere(backup: Backup) -> QuerySet[BackupObject]:
    """Its objects in its location and in those that it was copied to."""
    first = BackupBundle.objects.filter(object=OuterRef("pk"), node__backup=backup)
    copied = BackupCopyEntry.objects.filter(object=OuterRef("pk"), copy__backup=backup, copy__state=CopyState.COMPLETE)
    return BackupObject.objects.filter(Q(Exists(first)) | Q(Exists(copied)), organisation_id=backup.organisation_id)


@transaction.atomic
def refer(node_id: int, bundles: Sequence[Bundle], *, after: str, cursor: str) -> None:
    """A page of a node's bundles, read after `after`; `cursor`: where the next begins, empty: this was the last one.

    Repeating one changes nothing.

    Raises BeingDeleted; then nothing was written, and it is to be tried again.
    """
    node = BackupNode.objects.select_for_update().select_related("backup").get(id=node_id)
    if node.cursor != after or node.state != NodeBackupState.SNAPSHOT:
        return
    backup = node.backup
    tables = _tables(backup, bundles)
    objects = _locked(backup, {bundle.key: bundle.bytes for bundle in bundles})
    fresh = {found.key for found in objects.values() if found.stored_at is None}
    BackupBundle.objects.bulk_create(
        [
            BackupBundle(
                node=node,
                table=tables[bundle.keyspace, bundle.table],
                object=objects[bundle.key],
                sstable=bundle.sstable,
                min_token=bundle.min_token,
                max_token=bundle.max_token,
                level=bundle.level,
                repaired_at=bundle.repaired_at,
            )
            for bundle in bundles
        ],
        batch_size=1000,
    )
    node.cursor = cursor
    node.bundles += len(bundles)
    node.bytes += sum(bundle.bytes for bundle in bundles)
    node.new_bytes += sum(objects[key].bytes for key in fresh)
    node.state = node.state if cursor else NodeBackupState.INDEXED
    node.save(update_fields=["cursor", "bundles", "bytes", "new_bytes", "state"])


def _tables(backup: Backup, bundles: Sequence[Bundle]) -> dict[tuple[str, str], BackupTable]:
    wanted = {(bundle.keyspace, bundle.table): bundle.table_id for bundle in bundles}
    BackupTable.objects.bulk_create(
        [
            BackupTable(backup=backup, keyspace=keyspace, name=name, table_id=table_id)
            for (keyspace, name), table_id in sorted(wanted.items())
        ],
        ignore_conflicts=True,
    )
    return {(table.keyspace, table.name): table for table in BackupTable.objects.filter(backup=backup)}


def _locked(backup: Backup, sizes: Mapping[str, int]) -> dict[str, BackupObject]:
    """The objects, made where there are none, and kept from being doomed until this transaction ends."""
    place = {"location_id": backup.location_id, "organisation_id": backup.organisation_id}
    BackupObject.objects.bulk_create(
        [BackupObject(**place, key=key, bytes=size) for key, size in sorted(sizes.items())],
        batch_size=1000,
        ignore_conflicts=True,
    )
    rows = BackupObject.objects.select_for_update().filter(**place, key__in=sizes).order_by("id")
    found = {row.key: row for row in rows}
    if any(row.doomed_at is not None for row in found.values()) or len(found) < len(sizes):
        raise BeingDeleted
    BackupObject.objects.filter(id__in=[r.id for r in found.values() if r.unneeded_since is not None]).update(
        unneeded_since=None
    )
    # What is known to be damaged is stored anew, which makes the older backups whole again too.
    damaged = [row for row in found.values() if row.bad and row.stored_at is not None]
    BackupObject.objects.filter(id__in=[row.id for row in damaged]).update(stored_at=None)
    for row in damaged:
        row.stored_at = None
    return found


def to_check(node_id: int, *, older_than: timedelta, at_most: int) -> list[BackupObject]:
    """Objects of a node's bundles that are said to be stored, and that nobody has looked at for a while."""
    rows = BackupObject.objects.filter(
        Q(verified_at=None) | Q(verified_at__lt=Now() - older_than),
        Exists(BackupBundle.objects.filter(node_id=node_id, object=OuterRef("pk"))),
        stored_at__isnull=False,
    )
    return list(rows.order_by("id")[:at_most])


def to_upload(node_id: int, *, at_most: int, most_bytes: int) -> list[BackupObject]:
    """Objects of a node's bundles that are not stored; at least one, and then not more bytes than `most_bytes`."""
    rows = BackupObject.objects.filter(
        Exists(BackupBundle.objects.filter(node_id=node_id, object=OuterRef("pk"))), stored_at=None
    )
    chosen: list[BackupObject] = []
    total = 0
    for row in rows.order_by("id")[:at_most]:
        total += row.bytes
        if chosen and total > most_bytes:
            break
        chosen.append(row)
    return chosen


@transaction.atomic
def stored(node_id: int, found: Sequence[StoredObject]) -> None:
    """A node has uploaded these."""
    node = BackupNode.objects.select_for_update().select_related("backup").get(id=node_id)
    by_key = {one.key: one for one in found}
    rows = BackupObject.objects.select_for_update().filter(
        location_id=node.backup.location_id, organisation_id=node.backup.organisation_id, key__in=by_key, stored_at=None
    )
    changed = list(rows.order_by("id"))
    for row in changed:
        one = by_key[row.key]
        row.stored_bytes, row.sha256, row.bad = one.stored_bytes, one.sha256, ""
    BackupObject.objects.bulk_update(changed, ["stored_bytes", "sha256", "bad"], batch_size=1000)
    BackupObject.objects.filter(id__in=[row.id for row in changed]).update(stored_at=Now(), verified_at=Now())
    node.uploaded_bytes += sum(row.bytes for row in changed)
    node.save(update_fields=["uploaded_bytes"])


def looked_at(ids: Collection[int], *, bad: Mapping[str, str], contents: bool) -> None:
    """Objects were looked at. `bad`: by key, what is wrong with them. `contents`: they were read, not only measured."""
    rows = BackupObject.objects.filter(id__in=ids)
    now = {"verified_at": Now()} | ({"read_at": Now()} if contents else {})
    well = rows.exclude(key__in=bad)
    # What was found to be changed inside is not made well by having the right size.
    (well if contents else well.exclude(bad="content")).update(**now, bad="")
    for reason in set(bad.values()):
        rows.filter(key__in=[key for key, why in bad.items() if why == reason]).update(**now, bad=reason)


def to_store_again(ids: Collection[int], *, bad: Mapping[str, str]) -> None:
    """These are said to be stored, but are missing or cut: the node that has them uploads them anew."""
    looked_at(ids, bad=bad, contents=False)
    BackupObject.objects.filter(id__in=ids, key__in=bad).update(stored_at=None)


# Taking away


def forget_bundles(backup: Backup) -> bool:
    """Takes some of a backup's references away; True when none is left. Its manifests must be gone before."""
    chosen = BackupBundle.objects.filter(node__backup=backup).values("id")[:_FORGET_AT_ONCE]
    gone, _ = BackupBundle.objects.filter(id__in=chosen).delete()
    return gone < _FORGET_AT_ONCE


def mark(location: BackupLocation, organisation_id: str) -> int:
    """Notes since when objects are needed by nobody; how many that are now."""
    rows = _unneeded(location, organisation_id)
    rows.filter(unneeded_since=None).update(unneeded_since=Now())
    return rows.count()


def _unneeded(location: BackupLocation, organisation_id: str) -> QuerySet[BackupObject]:
    needed = BackupBundle.objects.filter(object=OuterRef("pk"))
    copied = BackupCopyEntry.objects.filter(object=OuterRef("pk"))
    return BackupObject.objects.filter(
        ~Exists(needed), ~Exists(copied), ~Exists(_PIECES), location=location, organisation_id=organisation_id
    )


@transaction.atomic
def doom(location: BackupLocation, organisation_id: str, *, grace: timedelta) -> list[str]:
    """Keys to delete now: from here on nobody refers to them. Those that were doomed before come first, and again."""
    rows = BackupObject.objects.filter(location=location, organisation_id=organisation_id)
    before = list(rows.exclude(doomed_at=None).order_by("id").values_list("key", flat=True)[:DELETE_AT_ONCE])
    if before:
        return before
    locked_now = Q(locked_until__gt=Now())
    over = rows.filter(~locked_now, unneeded_since__lt=Now() - grace, doomed_at=None).order_by("id")
    locked = list(over.select_for_update(skip_locked=True).values_list("id", flat=True)[:DELETE_AT_ONCE])
    # A statement of its own, after the locks: what was referred to in between is seen.
    needed = set(BackupBundle.objects.filter(object_id__in=locked).values_list("object_id", flat=True))
    needed |= set(ArchivePiece.objects.filter(object_id__in=locked).values_list("object_id", flat=True))
    needed |= set(BackupCopyEntry.objects.filter(object_id__in=locked).values_list("object_id", flat=True))
    BackupObject.objects.filter(id__in=needed).update(unneeded_since=None)
    chosen = BackupObject.objects.filter(id__in=[one for one in locked if one not in needed])
    chosen.update(doomed_at=Now())
    return list(chosen.order_by("id").values_list("key", flat=True))


def gone(location: BackupLocation, organisation_id: str, keys: Collection[str]) -> int:
    """The store has confirmed that they are not there any more; how many bytes that freed."""
    rows = BackupObject.objects.filter(
        location=location, organisation_id=organisation_id, key__in=keys, doomed_at__isnull=False
    )
    freed = rows.aggregate(freed=Sum("stored_bytes"))["freed"] or 0
    rows.delete()
    return int(freed)


def to_lock(location: BackupLocation, backup: Backup, *, at_most: int) -> list[BackupObject]:
    """Objects of a backup in a location that the store does not keep as long as the backup is locked."""
    less = Q(locked_until=None) | Q(locked_until__lt=backup.locked_until)
    needed = Exists(BackupBundle.objects.filter(object=OuterRef("pk"), node__backup=backup))
    copied = Exists(BackupCopyEntry.objects.filter(object=OuterRef("pk"), copy__backup=backup))
    rows = BackupObject.objects.filter(less, Q(needed) | Q(copied), location=location, stored_at__isnull=False)
    return list(rows.order_by("id")[:at_most])


def locked(ids: Collection[int], *, until: datetime) -> None:
    """The store keeps these so long."""
    BackupObject.objects.filter(id__in=ids).update(locked_until=until)


def _kept_by_locks(rows: QuerySet[BackupObject]) -> dict[str, Any]:
    kept = rows.filter(locked_until__gt=Now()).aggregate(count=Count("id"), until=Max("locked_until"))
    return {"locked_objects": kept["count"], "locked_until": kept["until"]}


def kept_by_locks(location: BackupLocation, organisation_id: str) -> dict[str, Any]:
    """Of what no backup needs: how many the store keeps, and when the last of them is free."""
    return _kept_by_locks(_unneeded(location, organisation_id))


def would_free(location: BackupLocation, organisation_id: str, *, without: Collection[str]) -> dict[str, Any]:
    """What no backup would need any more if those `without` (ids) were gone: objects and bytes as they are stored."""
    needed = BackupBundle.objects.filter(object=OuterRef("pk")).exclude(node__backup_id__in=without)
    copied = BackupCopyEntry.objects.filter(object=OuterRef("pk")).exclude(copy__backup_id__in=without)
    rows = BackupObject.objects.filter(
        ~Exists(needed), ~Exists(copied), ~Exists(_PIECES), location=location, organisation_id=organisation_id
    )
    over = rows.filter(unneeded_since__lt=Now() - GRACE)
    return {
        "objects": rows.count(),
        "bytes": rows.aggregate(total=Sum("stored_bytes"))["total"] or 0,
        "waiting_objects": rows.count() - over.count(),
        **_kept_by_locks(rows),
        "grace_seconds": int(GRACE.total_seconds()),
    }
