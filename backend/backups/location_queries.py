"""Reading backup locations, and what a purge of one would take away."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Now

from backend.accounts.queries import Identity
from backend.accounts.states import Permission
from backend.backups import objects, retention
from backend.backups.models import (
    ArchivePiece,
    Backup,
    BackupLocation,
    BackupObject,
    LogArchive,
    Restore,
)
from backend.backups.retention import Kept, Policy
from backend.backups.states import (
    KEPT,
    BackupState,
    RestoreState,
    reason_against_location_change,
    reason_against_location_check,
    reason_against_location_delete,
)
from backend.core.errors import Conflict, NotFound
from backend.core.pagination import PageQuery, page
from backend.core.schemas import allowed
from backend.operations.models import Operation
from backend.operations.states import OPEN

_IN_PLACE = [
    state.value
    for state in BackupState
    if state not in (BackupState.RUNNING, BackupState.DELETED, BackupState.FAILED, BackupState.CANCELLED)
]


def locations(who: Identity) -> QuerySet[BackupLocation]:
    """The organisation's and the operator's."""
    mine = Q(organisation_id=who.organisation_id) | Q(organisation=None)
    return BackupLocation.objects.filter(mine, deleted_at=None)


def list_locations(who: Identity, query: PageQuery) -> dict[str, Any]:
    """Newest first."""
    found = page(locations(who).values("id"), query, lambda row: row)
    return found | {"items": [get_location(who, row["id"]) for row in found["items"]]}


def get_location(who: Identity, location_id: str) -> dict[str, Any]:
    """Raises NotFound."""
    row = locations(who).filter(id=location_id).first()
    if row is None:
        raise location_not_found()
    may = Permission.CLOUD_ACCOUNTS_WRITE in who.permissions
    operators = row.organisation_id is None
    mine = {"organisation_id": who.organisation_id}
    backups = row.backups.filter(**mine, state__in=_IN_PLACE).count()
    schedules = row.schedules.filter(
        cluster__organisation_id=who.organisation_id, deleted_at=None, cluster__deleted_at=None
    ).count()
    schedules += row.second_schedules.filter(
        cluster__organisation_id=who.organisation_id, deleted_at=None, cluster__deleted_at=None
    ).count()
    stored = BackupObject.objects.filter(**mine, location=row).aggregate(total=Sum("stored_bytes"))["total"]
    change = reason_against_location_change(may=may, operators=operators)
    against_delete = reason_against_location_delete(may=may, operators=operators, backups=backups, schedules=schedules)
    return {
        "id": row.id,
        "name": row.name,
        "kind": row.kind,
        "object_lock": row.object_lock or None,
        "operators": operators,
        "address": _address(row, operators=operators),
        "region": row.region or None,
        "endpoint": row.endpoint or None,
        "problem": row.problem or None,
        "problem_hint": row.problem_hint or None,
        "checked_at": row.checked_at,
        "check_operation_id": row.check_operation_id or None,
        "backups": backups,
        "schedules": schedules,
        "stored_bytes": stored or 0,
        "created_by": row.created_by,
        "created_at": row.created_at,
        "allowed_actions": [
            allowed("update_backup_location", change),
            allowed(
                "check_backup_location",
                reason_against_location_check(may=may, checking=bool(row.check_operation_id)),
            ),
            allowed("delete_backup_location", against_delete),
            allowed(
                "purge_backup_location",
                None if Permission.CLUSTERS_WRITE in who.permissions else "Your role or token may not change clusters.",
            ),
        ],
    }


def _address(row: BackupLocation, *, operators: bool) -> str:
    """Of the operator's, only of what kind it is: where it lies is none of a tenant's business."""
    if operators:
        return {"folder": "A folder", "s3": "A bucket", "gcs": "A bucket"}[row.kind] + " of this installation"
    scheme = {"s3": "s3", "gcs": "gs"}[row.kind]
    return f"{scheme}://{row.bucket}/{row.prefix}".rstrip("/")


def location_not_found() -> NotFound:
    return NotFound(
        "backup_location_not_found", "There is no such backup location.", hint="List them to see their ids."
    )


def location_for(who: Identity, location_id: str | None) -> BackupLocation:
    """The named one, or the operator's. Raises NotFound, Conflict."""
    if location_id is not None:
        found = locations(who).filter(id=location_id).first()
        if found is None:
            raise location_not_found()
        return found
    default = locations(who).filter(organisation=None).first() or locations(who).order_by("id").first()
    if default is None:
        raise Conflict(
            "no_backup_location",
            "There is no place for backups yet.",
            hint="Bring a bucket: create_backup_location.",
            field="location_id",
        )
    return default


def open_work(kind: str, *, organisation_id: str = "", **parameters: str) -> Operation | None:
    """The open operation of a kind that is about this."""
    rows = Operation.objects.filter(kind=kind, state__in=OPEN, parameters__contains=parameters)
    return (rows.filter(organisation_id=organisation_id) if organisation_id else rows).first()


# Purging


def purge_plan(who: Identity, location_id: str) -> dict[str, Any]:
    """A dry run. Raises NotFound."""
    row = locations(who).filter(id=location_id).first()
    if row is None:
        raise location_not_found()
    over = expired(row.id, who.organisation_id)
    deleting = Backup.objects.filter(
        location=row, organisation_id=who.organisation_id, state=BackupState.DELETING
    ).values_list("id", flat=True)
    ids = sorted({*over, *deleting})
    return {"backups": ids} | objects.would_free(row, who.organisation_id, without=ids)


def expired(location_id: str, organisation_id: str) -> list[str]:
    """Ids of an organisation's backups in a location that are kept no longer, and are not being restored."""
    rows = list(
        Backup.objects.filter(
            location_id=location_id,
            organisation_id=organisation_id,
            state__in=[*KEPT, BackupState.FAILED, BackupState.CANCELLED],
        ).select_related("schedule", "cluster")
    )
    restoring = set(
        Restore.objects.filter(backup__in=rows, state=RestoreState.RUNNING).values_list("backup_id", flat=True)
    )
    now = datetime.now(UTC)
    found: list[str] = []
    for cluster in {row.cluster_id: row.cluster for row in rows}.values():
        of_cluster = [as_kept(row) for row in rows if row.cluster_id == cluster.id]
        found += retention.expired(of_cluster, now=now, cluster_deleted_at=cluster.deleted_at)
    return [one for one in found if one not in restoring]


def as_kept(row: Backup) -> Kept:
    """A backup as retention looks at it."""
    schedule = row.schedule
    policy = None
    if schedule is not None:
        policy = Policy(
            keep_days=schedule.keep_days,
            keep_count=schedule.keep_count,
            keep_after_deletion_days=schedule.keep_after_deletion_days,
        )
    return Kept(
        id=row.id,
        made_at=row.taken_at or row.created_at,
        complete=row.state == BackupState.COMPLETE,
        policy=policy,
        group=row.schedule_id or "",
        expires_at=row.expires_at,
        locked_until=row.locked_until,
    )


def to_purge(*, every: timedelta, at_most: int) -> list[tuple[str, str]]:
    """Location and organisation, where backups wait to be deleted or that nobody has looked through for so long."""
    old = Q(location__swept_at=None) | Q(location__swept_at__lt=Now() - every)
    rows = Backup.objects.filter(Q(state=BackupState.DELETING) | old)
    rows = rows.exclude(state__in=[BackupState.DELETED, BackupState.RUNNING])
    # Of clusters whose last backup is gone, pieces of commit logs may be left.
    logs = LogArchive.objects.filter(old, Exists(ArchivePiece.objects.filter(stream__archive=OuterRef("pk"))))
    place = ("location_id", "organisation_id")
    return list(rows.values_list(*place).union(logs.values_list(*place))[:at_most])
