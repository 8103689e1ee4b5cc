"""Imports as they are shown."""

from typing import Any

from backend.accounts.queries import Identity
from backend.backups.access import cluster_of, may_change
from backend.catalog.queries import imports_sstables
from backend.clusters.models import Cluster
from backend.clusters.states import ClusterState
from backend.core.errors import NotFound
from backend.core.schemas import allowed
from backend.imports.models import Import
from backend.imports.states import ImportState, reason_against_importing

_LAST = 100


def against_importing(cluster: Cluster, *, may: bool) -> str | None:
    return reason_against_importing(ClusterState(cluster.state), may=may, can=imports_sstables(cluster.engine))


def list_imports(who: Identity, cluster_id: str) -> dict[str, Any]:
    """Into a cluster, newest first. Raises NotFound."""
    cluster = cluster_of(who, cluster_id)
    rows = Import.objects.filter(organisation_id=who.organisation_id, cluster=cluster).order_by("-id")
    reason = against_importing(cluster, may=may_change(who))
    return {
        "items": [_shown(row) for row in rows.select_related("cluster").prefetch_related("nodes__node")[:_LAST]],
        "allowed_actions": [allowed(action, reason) for action in ("plan_import", "create_import")],
    }


def import_not_found() -> NotFound:
    return NotFound("import_not_found", "There is no such import.", hint="list_imports lists those of a cluster.")


def get_import(who: Identity, import_id: str) -> dict[str, Any]:
    """Raises NotFound."""
    rows = Import.objects.filter(organisation_id=who.organisation_id, id=import_id)
    found = rows.select_related("cluster").prefetch_related("nodes__node").first()
    if found is None:
        raise import_not_found()
    return _shown(found)


def _shown(row: Import) -> dict[str, Any]:
    return {
        "id": row.id,
        "cluster_id": row.cluster_id,
        "cluster_name": row.cluster.name,
        "location_id": row.location_id,
        "path": row.path,
        "layout": row.layout,
        "backup_name": row.backup_name or None,
        "dry_run": row.dry_run,
        "state": row.state,
        "tables": row.tables,
        "nodes": [
            {
                "name": part.node.name,
                "source": part.source or None,
                "bytes": part.bytes,
                "fetched_bytes": part.fetched_bytes,
            }
            for part in sorted(row.nodes.all(), key=lambda part: part.node.position)
        ],
        "problems": row.problems,
        "warnings": row.warnings,
        "same_shape": row.same_shape,
        "bytes": row.bytes,
        "fetched_bytes": row.fetched_bytes,
        "repair_wanted": row.repair_wanted,
        "repair_operation_id": row.repair_operation_id or None,
        "operation_id": row.operation_id or None,
        "created_by": row.created_by,
        "created_at": row.created_at,
        "finished_at": row.finished_at,
    }


# For the provisioner


def to_repair(*, at_most: int) -> list[Import]:
    """Imports that have ended and whose tables are still to be repaired, the longest ended first."""
    rows = Import.objects.filter(state=ImportState.SUCCEEDED, repair_wanted=True, repair_operation_id="")
    return list(rows.filter(dry_run=False, cluster__deleted_at=None).order_by("finished_at")[:at_most])


def table_names(row: Import) -> list[str]:
    """keyspace.table of what it wrote."""
    return [f"{one['keyspace']}.{one['table']}" for one in row.tables]
