"""Reading the schedules of backups."""

from datetime import datetime
from typing import Any

from django.db.models.functions import Now

from backend.accounts.queries import Identity
from backend.backups import timing
from backend.backups.access import cluster_of, may_change, shown
from backend.backups.models import (
    BackupSchedule,
)
from backend.backups.states import (
    BackupState,
    reason_against_scheduling,
)
from backend.catalog.queries import makes_backups
from backend.clusters.models import Cluster
from backend.clusters.states import SERVING, ClusterState
from backend.core.errors import NotFound
from backend.core.schemas import allowed

_NEXT_SHOWN = 3


def list_schedules(who: Identity, cluster_id: str) -> dict[str, Any]:
    """By name. Raises NotFound."""
    cluster = cluster_of(who, cluster_id)
    rows = BackupSchedule.objects.filter(cluster=cluster, deleted_at=None).select_related("location", "second_location")
    against = against_scheduling(who, cluster)
    return {
        "items": [_schedule(row, against) for row in rows.order_by("name")],
        "allowed_actions": [allowed("create_backup_schedule", against)],
    }


def get_schedule(who: Identity, cluster_id: str, schedule_id: str) -> dict[str, Any]:
    """Raises NotFound."""
    cluster = cluster_of(who, cluster_id)
    rows = BackupSchedule.objects.filter(cluster=cluster, deleted_at=None).select_related("location", "second_location")
    row = rows.filter(id=schedule_id).first()
    if row is None:
        raise schedule_not_found()
    return _schedule(row, against_scheduling(who, cluster))


def schedule_not_found() -> NotFound:
    return NotFound("backup_schedule_not_found", "There is no such schedule.", hint="List those of the cluster.")


def against_scheduling(who: Identity, cluster: Cluster) -> str | None:
    return reason_against_scheduling(
        ClusterState(cluster.state), may=may_change(who), can=makes_backups(cluster.engine)
    )


def _schedule(row: BackupSchedule, against: str | None) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "cron": row.cron or None,
        "interval_minutes": row.interval_minutes,
        "time_zone": row.time_zone,
        "selection": shown(row.selection),
        "location_id": row.location_id,
        "location_name": row.location.name,
        "second_location_id": row.second_location_id,
        "second_location_name": None if row.second_location is None else row.second_location.name,
        "keep_days": row.keep_days,
        "keep_count": row.keep_count,
        "keep_after_deletion_days": row.keep_after_deletion_days,
        "lock_days": row.lock_days,
        "rate_mib_per_second": row.rate_mib_per_second,
        "enabled": row.enabled,
        "due_at": row.due_at,
        "next": _next(row),
        "created_by": row.created_by,
        "created_at": row.created_at,
        "allowed_actions": [
            allowed("replace_backup_schedule", against),
            allowed("delete_backup_schedule", against),
        ],
    }


def _next(row: BackupSchedule) -> list[datetime]:
    found: list[datetime] = [] if row.due_at is None else [row.due_at]
    while found and len(found) < _NEXT_SHOWN:
        found.append(
            timing.next_due(
                cron=row.cron, interval_minutes=row.interval_minutes, time_zone=row.time_zone, after=found[-1]
            )
        )
    return found


# For the provisioner


def due_schedules(*, at_most: int) -> list[BackupSchedule]:
    """Of clusters that serve, the longest due first: one query over all clusters."""
    rows = BackupSchedule.objects.filter(due_at__lte=Now(), enabled=True, deleted_at=None, cluster__state__in=SERVING)
    return list(rows.select_related("cluster", "location").order_by("due_at")[:at_most])


def is_backed_up(schedule: BackupSchedule) -> bool:
    """Whether a backup that the schedule ordered is still being made."""
    return schedule.backups.filter(state=BackupState.RUNNING).exists()
