"""Reading restore drills: what they have shown, and what can be done."""

from datetime import datetime
from typing import Any

from django.db.models.functions import Now

from backend.accounts.queries import Identity
from backend.backups.access import may_change, shown
from backend.backups.models import Drill, DrillSchedule
from backend.backups.states import DrillState, reason_against_drill
from backend.catalog.queries import makes_backups
from backend.clusters.models import Cluster
from backend.clusters.queries import cluster_not_found, clusters
from backend.clusters.states import SERVING, ClusterState
from backend.core.errors import NotFound
from backend.core.pagination import PageQuery, page
from backend.core.schemas import allowed

STAGES = ("ordered", "served", "restored", "read", "compared", "removed")


def cluster_drills(who: Identity, cluster_id: str) -> dict[str, Any]:
    """Raises NotFound."""
    cluster = _cluster(who, cluster_id)
    rows = Drill.objects.filter(cluster=cluster)
    proved = rows.filter(state=DrillState.PROVED).order_by("-id").first()
    running = rows.filter(state=DrillState.RUNNING).first()
    schedule = DrillSchedule.objects.filter(cluster=cluster).first()
    return {
        "schedule": None if schedule is None else _schedule(schedule),
        "last_proved": None if proved is None else get_drill(who, proved.id),
        "running": None if running is None else get_drill(who, running.id),
        "allowed_actions": [
            allowed("start_drill", reason_against(who, cluster)),
            allowed("set_drill_schedule", reason_against(who, cluster, busy=False)),
        ],
    }


def reason_against(who: Identity, cluster: Cluster, *, busy: bool = True) -> str | None:
    """Why no drill can be started now; `busy` False: or none be scheduled."""
    return reason_against_drill(
        ClusterState(cluster.state),
        may=may_change(who),
        can=makes_backups(cluster.engine),
        busy=busy and Drill.objects.filter(cluster=cluster, state=DrillState.RUNNING).exists(),
    )


def list_drills(who: Identity, query: PageQuery, *, cluster_id: str) -> dict[str, Any]:
    """Of a cluster, newest first. Raises NotFound."""
    rows = Drill.objects.filter(cluster=_cluster(who, cluster_id))
    found = page(rows.values("id"), query, lambda row: row)
    return found | {"items": [get_drill(who, row["id"]) for row in found["items"]]}


def drill_not_found() -> NotFound:
    return NotFound("drill_not_found", "There is no such drill.", hint="List those of the cluster.")


def get_drill(who: Identity, drill_id: str) -> dict[str, Any]:
    """Raises NotFound."""
    rows = Drill.objects.select_related("cluster", "backup", "scratch", "restore")
    row = rows.filter(organisation_id=who.organisation_id, id=drill_id).first()
    if row is None:
        raise drill_not_found()
    return {
        "id": row.id,
        "cluster_id": row.cluster_id,
        "cluster_name": row.cluster.name,
        "backup_id": row.backup_id,
        "taken_at": row.backup.taken_at,
        "scratch_id": row.scratch_id,
        "scratch_gone": row.scratch is None or row.scratch.deleted_at is not None,
        "state": row.state,
        "reason": row.reason or None,
        "bytes": 0 if row.restore is None else row.restore.fetched_bytes,
        "rto_seconds": row.rto_seconds,
        "stages": _stages(row),
        "tables": row.results,
        "operation_id": row.operation_id or None,
        "created_by": row.actor,
        "created_at": row.created_at,
        "finished_at": row.finished_at,
    }


def _stages(row: Drill) -> list[dict[str, Any]]:
    found = []
    before = row.created_at
    for name in STAGES:
        if name in row.stages:
            ended = datetime.fromisoformat(row.stages[name])
            found.append({"name": name, "ended_at": ended, "seconds": (ended - before).total_seconds()})
            before = ended
    return found


def _schedule(row: DrillSchedule) -> dict[str, Any]:
    return {
        "cron": row.cron or None,
        "interval_minutes": row.interval_minutes,
        "time_zone": row.time_zone,
        "selection": shown(row.selection),
        "shape": row.shape,
        "compare_live": row.compare_live,
        "enabled": row.enabled,
        "due_at": row.due_at,
        "skipped": row.skipped or None,
        "created_by": row.created_by,
    }


def expected_seconds(cluster: Cluster) -> float | None:
    """Until the tables answer, by the last drill of the cluster that came so far."""
    last = Drill.objects.filter(cluster=cluster, rto_seconds__isnull=False).order_by("-id").first()
    return None if last is None else last.rto_seconds


def _cluster(who: Identity, cluster_id: str) -> Cluster:
    found = clusters(who).filter(id=cluster_id).first()
    if found is None:
        raise cluster_not_found()
    return found


# For the provisioner


def due_drills(*, at_most: int) -> list[DrillSchedule]:
    """Of clusters that serve, the longest due first."""
    rows = DrillSchedule.objects.filter(due_at__lte=Now(), enabled=True, cluster__state__in=SERVING)
    return list(rows.select_related("cluster").order_by("due_at")[:at_most])


def left_behind(*, at_most: int) -> list[Drill]:
    """Drills that have ended and whose scratch cluster is still there."""
    rows = Drill.objects.filter(scratch__isnull=False, scratch__deleted_at=None).exclude(state=DrillState.RUNNING)
    return list(rows.select_related("scratch").order_by("id")[:at_most])
