"""Reading restores: what was brought back, how far it is, and what may follow."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Max

from backend.accounts.queries import Identity
from backend.backups.access import may_change
from backend.backups.models import Restore
from backend.backups.states import BackupState, RestoreMode, RestoreState, reason_against_taking_over
from backend.clusters.models import Cluster
from backend.clusters.queries import require_cluster
from backend.core.errors import NotFound
from backend.core.pagination import PageQuery, page
from backend.core.schemas import allowed

# What a restore does beside fetching: less tells nothing of a rate.
_LEAST_TELLING = timedelta(seconds=3)
_COLUMNS = (
    "id",
    "backup_id",
    "backup__state",
    "cluster_id",
    "cluster__name",
    "mode",
    "point_in_time",
    "tables",
    "state",
    "bytes",
    "fetched_bytes",
    "repair_wanted",
    "repair_operation_id",
    "way_back_id",
    "operation_id",
    "created_by",
    "created_at",
    "finished_at",
)


def list_restores(who: Identity, query: PageQuery, *, cluster_id: str) -> dict[str, Any]:
    """Into a cluster, newest first. Raises NotFound."""
    require_cluster(who, cluster_id)
    rows = Restore.objects.filter(organisation_id=who.organisation_id, cluster_id=cluster_id)
    return page(rows.values(*_COLUMNS), query, lambda row: _shown(who, row))


def find_restore(who: Identity, restore_id: str) -> Restore:
    """Raises NotFound."""
    rows = Restore.objects.select_related("backup__location", "cluster")
    found = rows.filter(organisation_id=who.organisation_id, id=restore_id).first()
    if found is None:
        raise restore_not_found()
    return found


def restore_not_found() -> NotFound:
    return NotFound("restore_not_found", "There is no such restore.", hint="List those of the cluster.")


def get_restore(who: Identity, restore_id: str) -> dict[str, Any]:
    """Raises NotFound."""
    find_restore(who, restore_id)
    return _shown(who, Restore.objects.values(*_COLUMNS).get(id=restore_id))


def get_restore_progress(who: Identity, restore_id: str) -> dict[str, Any]:
    """With what each node has, and when all will have all. Raises NotFound."""
    row = find_restore(who, restore_id)
    rate = None
    if row.fetched_bytes:
        ended = row.finished_at or datetime.now(UTC)
        rate = row.fetched_bytes / max((ended - row.created_at).total_seconds(), 1.0)
    left = max(row.bytes - row.fetched_bytes, 0)
    running = row.state == RestoreState.RUNNING
    nodes = row.nodes.select_related("node").order_by("node__position")
    return get_restore(who, restore_id) | {
        "nodes": [{"name": part.node.name, "bytes": part.bytes, "fetched_bytes": part.fetched_bytes} for part in nodes],
        "bytes_per_second": rate,
        "remaining_seconds": left / rate if rate and running else None,
    }


def _shown(who: Identity, row: dict[str, Any]) -> dict[str, Any]:
    row["cluster_name"] = row.pop("cluster__name")
    backup = BackupState(row.pop("backup__state"))
    row["operation_id"] = row["operation_id"] or None
    row["repair_operation_id"] = row["repair_operation_id"] or None
    against = reason_against_taking_over(
        RestoreMode(row["mode"]), RestoreState(row["state"]), backup, may=may_change(who)
    )
    return row | {"allowed_actions": [allowed("take_over", against)]}


def estimated_seconds(cluster: Cluster | None, *, most: int) -> float | None:
    """How long a restore would take of which one node has `most` bytes to fetch: by the last into the cluster."""
    rows = Restore.objects.filter(cluster=cluster, state=RestoreState.SUCCEEDED, fetched_bytes__gt=0)
    before = rows.annotate(most=Max("nodes__bytes")).order_by("-id").first() if cluster is not None else None
    if before is None or before.finished_at is None or not before.most:
        return None
    took = before.finished_at - before.created_at
    return float(max(took, _LEAST_TELLING).total_seconds() * max(most / before.most, 1.0))


def to_repair(*, at_most: int) -> list[Restore]:
    """Restores that have ended and whose tables are still to be repaired, the longest ended first."""
    rows = Restore.objects.filter(state=RestoreState.SUCCEEDED, repair_wanted=True, repair_operation_id="")
    return list(rows.filter(cluster__deleted_at=None).order_by("finished_at")[:at_most])


def table_names(restore: Restore) -> list[str]:
    """keyspace.table of what it wrote."""
    return [f"{one['as_keyspace']}.{one['as_table']}" for one in restore.tables]
