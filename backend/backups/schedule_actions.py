"""Schedules of backups: what people order."""

from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission
from backend.backups import timing
from backend.backups.location_queries import location_for
from backend.backups.models import BackupSchedule
from backend.backups.ordering import PLEASE_LOOK, chosen, locked_cluster, named, record
from backend.backups.schedule_queries import get_schedule, schedule_not_found
from backend.backups.schemas import (
    BackupScheduleOrder,
)
from backend.backups.states import (
    reason_against_scheduling,
)
from backend.catalog.queries import makes_backups
from backend.clusters.models import Cluster
from backend.clusters.states import ClusterState
from backend.core.errors import Conflict, Invalid


@transaction.atomic
def create_schedule(who: Identity, cluster_id: str, order: BackupScheduleOrder) -> dict[str, Any]:
    """Raises NotFound, Forbidden, Invalid, Conflict."""
    cluster = _schedulable(who, cluster_id)
    columns = _schedule_columns(who, cluster, order)
    row = named(
        f"The cluster has a schedule {order.name} already.",
        lambda: BackupSchedule.objects.create(cluster=cluster, created_by=who.actor, **columns),
    )
    record(who, "backup_schedule.create", "cluster", cluster.id, cluster.name, after=order.model_dump(mode="json"))
    return get_schedule(who, cluster_id, row.id)


@transaction.atomic
def replace_schedule(who: Identity, cluster_id: str, schedule_id: str, order: BackupScheduleOrder) -> dict[str, Any]:
    """Puts another in its place; its backups stay its own. Raises NotFound, Forbidden, Invalid, Conflict."""
    cluster = _schedulable(who, cluster_id)
    row = _locked_schedule(cluster, schedule_id)
    before = get_schedule(who, cluster_id, row.id)
    columns = _schedule_columns(who, cluster, order)
    named(
        f"The cluster has a schedule {order.name} already.",
        lambda: BackupSchedule.objects.filter(id=row.id).update(**columns),
    )
    kept = {name: before[name] for name in order.model_dump() if name in before}
    record(
        who,
        "backup_schedule.replace",
        "cluster",
        cluster.id,
        cluster.name,
        before=kept,
        after=order.model_dump(mode="json"),
    )
    return get_schedule(who, cluster_id, row.id)


@transaction.atomic
def delete_schedule(who: Identity, cluster_id: str, schedule_id: str) -> None:
    """Its backups stay, and are kept as it said. Raises NotFound, Forbidden, Conflict."""
    cluster = _schedulable(who, cluster_id)
    row = _locked_schedule(cluster, schedule_id)
    BackupSchedule.objects.filter(id=row.id).update(deleted_at=Now(), enabled=False, due_at=None)
    record(who, "backup_schedule.delete", "cluster", cluster.id, cluster.name, before={"name": row.name})


def _schedulable(who: Identity, cluster_id: str) -> Cluster:
    require(who, Permission.CLUSTERS_WRITE)
    cluster = locked_cluster(who, cluster_id)
    can = makes_backups(cluster.engine)
    if reason := reason_against_scheduling(ClusterState(cluster.state), may=True, can=can):
        raise Conflict("cannot_schedule_backups", reason, hint=PLEASE_LOOK)
    return cluster


def _locked_schedule(cluster: Cluster, schedule_id: str) -> BackupSchedule:
    rows = BackupSchedule.objects.select_for_update().filter(cluster=cluster, deleted_at=None)
    row = rows.filter(id=schedule_id).first()
    if row is None:
        raise schedule_not_found()
    return row


def _schedule_columns(who: Identity, cluster: Cluster, order: BackupScheduleOrder) -> dict[str, Any]:
    location = location_for(who, order.location_id)
    second = None if order.second_location_id is None else location_for(who, order.second_location_id)
    if second is not None and second.id == location.id:
        raise Invalid(
            "same_location",
            "The second location is the first.",
            hint="Name one in another region or account, or none.",
            field="second_location_id",
        )
    try:
        due = timing.next_due(
            cron=order.cron or "",
            interval_minutes=order.interval_minutes,
            time_zone=order.time_zone,
            after=datetime.now(UTC),
        )
    except timing.NeverFires as error:
        raise Invalid(
            "cron_never_fires", str(error), hint="For example 30 2 * * *: every night at half past two.", field="cron"
        ) from error
    return order.model_dump(exclude={"cron", "selection", "location_id", "second_location_id"}) | {
        "cron": order.cron or "",
        "selection": chosen(cluster, order.selection),
        "location": location,
        "second_location": second,
        "due_at": due if order.enabled else None,
    }
