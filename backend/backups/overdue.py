"""Complete backups that are there longer than anybody asked for, and what they alone take up."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Exists, OuterRef, Sum

from backend.backups import retention
from backend.backups.location_queries import as_kept
from backend.backups.models import (
    ArchivePiece,
    Backup,
    BackupBundle,
    BackupCopyEntry,
    BackupLocation,
    BackupObject,
    BackupSchedule,
    Restore,
)
from backend.backups.states import BackupState, RestoreState
from backend.clusters.models import Cluster

SWEPT_WITHIN = timedelta(days=2)
"""Locations are looked through every day: what is over for less goes by itself."""
AFTER_DELETION_DAYS = 30
"""Where no schedule says how long backups of a deleted cluster stay: what a schedule says unless told otherwise."""


@dataclass(frozen=True, kw_only=True)
class OverdueBackups:
    """Of a cluster, in one location."""

    location: BackupLocation
    expired: tuple[str, ...]
    """Ids of those whose own time is over."""
    endless: tuple[str, ...]
    """Made by hand without an end, older than the cluster's schedules keep theirs."""
    oldest: datetime
    bytes: int
    """Stored, of objects that no other backup, copy or archive needs."""


def overdue_backups(cluster: Cluster) -> list[OverdueBackups]:
    """By location. What is locked or being restored is not told."""
    rows = list(
        Backup.objects.filter(cluster=cluster, state=BackupState.COMPLETE).select_related("schedule", "location")
    )
    now = datetime.now(UTC)
    restoring = set(
        Restore.objects.filter(backup__in=rows, state=RestoreState.RUNNING).values_list("backup_id", flat=True)
    )
    free = [row for row in rows if row.id not in restoring and (row.locked_until is None or row.locked_until <= now)]
    over = set(
        retention.expired([as_kept(row) for row in rows], now=now - SWEPT_WITHIN, cluster_deleted_at=cluster.deleted_at)
    )
    newest = max(rows, key=_made, default=None)
    until = _end_for(cluster)
    endless = {
        row.id
        for row in free
        if until is not None and row.schedule_id is None and row.expires_at is None and until(row) <= now
    }
    if newest is not None and cluster.deleted_at is None:
        endless.discard(newest.id)
    found = []
    for location in {row.location_id: row.location for row in free}.values():
        here = [row for row in free if row.location_id == location.id and row.id in over | endless]
        if here:
            ids = [row.id for row in here]
            found.append(
                OverdueBackups(
                    location=location,
                    expired=tuple(one for one in ids if one in over),
                    endless=tuple(one for one in ids if one not in over),
                    oldest=min(_made(row) for row in here),
                    bytes=_held_by(cluster.organisation_id, location, ids),
                )
            )
    return sorted(found, key=lambda each: each.location.id)


def _made(row: Backup) -> datetime:
    return row.taken_at or row.created_at


def _end_for(cluster: Cluster) -> Callable[[Backup], datetime] | None:
    """Until when the schedules would keep a backup that has no end; None: nothing says for how many days."""
    schedules = list(BackupSchedule.objects.filter(cluster=cluster))
    if (deleted_at := cluster.deleted_at) is not None:
        after = max((one.keep_after_deletion_days for one in schedules), default=AFTER_DELETION_DAYS)
        return lambda row: deleted_at + timedelta(days=after)
    days = [one.keep_days for one in schedules if one.deleted_at is None]
    known = [each for each in days if each is not None]
    # One that counts backups instead may keep any for years.
    if not known or len(known) < len(days):
        return None
    return lambda row: _made(row) + timedelta(days=max(known))


def _held_by(organisation_id: str, location: BackupLocation, ids: Collection[str]) -> int:
    """Bytes in the location that would be needed no more if these backups were gone."""
    of_them = BackupBundle.objects.filter(object=OuterRef("pk"), node__backup_id__in=ids)
    others = BackupBundle.objects.filter(object=OuterRef("pk")).exclude(node__backup_id__in=ids)
    rows = BackupObject.objects.filter(
        Exists(of_them),
        ~Exists(others),
        ~Exists(BackupCopyEntry.objects.filter(object=OuterRef("pk")).exclude(copy__backup_id__in=ids)),
        ~Exists(ArchivePiece.objects.filter(object=OuterRef("pk"))),
        location=location,
        organisation_id=organisation_id,
        doomed_at=None,
    )
    return int(rows.aggregate(total=Sum("stored_bytes"))["total"] or 0)
