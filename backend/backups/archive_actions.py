"""Archiving commit logs: what people order. A reconciler tells the nodes (provisioner/reconcile/archives.py)."""

from typing import Any

from django.db import transaction
from django.db.models import F

from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission
from backend.backups import vault_keys
from backend.backups.archive_queries import get_archive
from backend.backups.location_queries import location_for
from backend.backups.models import LogArchive
from backend.backups.ordering import PLEASE_LOOK, locked_cluster, record
from backend.backups.schemas import LogArchiveOrder
from backend.backups.states import reason_against_archiving
from backend.catalog.queries import archives_logs
from backend.clusters.states import ClusterState
from backend.core.errors import Conflict
from backend.operations import actions as operations


@transaction.atomic
def set_archive(who: Identity, cluster_id: str, order: LogArchiveOrder) -> dict[str, Any]:
    """Turns it on, off, or changes it; the nodes follow within a minute. Raises NotFound, Forbidden, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    cluster = locked_cluster(who, cluster_id)
    can = archives_logs(cluster.engine)
    reason = reason_against_archiving(ClusterState(cluster.state), may=True, can=can)
    if reason is not None:
        raise Conflict("cannot_archive_logs", reason, hint=PLEASE_LOOK)
    before = LogArchive.objects.filter(cluster=cluster).first()
    location = location_for(who, order.location_id or (before.location_id if before is not None else None))
    vault_keys.ensure_key(who.organisation_id)
    wanted = {
        "enabled": order.enabled,
        "keep_days": order.keep_days,
        "interval_seconds": order.interval_seconds,
        "location": location,
    }
    LogArchive.objects.update_or_create(
        cluster=cluster,
        defaults=wanted | {"looked_at": None, "revision": 1 if before is None else F("revision") + 1},
        create_defaults=wanted | {"organisation_id": who.organisation_id, "created_by": who.actor},
    )
    record(
        who,
        "log_archive.set",
        "cluster",
        cluster.id,
        cluster.name,
        before=None if before is None else {"enabled": before.enabled, "keep_days": before.keep_days},
        after=order.model_dump(mode="json"),
    )
    operations.notify(who.organisation_id, "cluster", cluster.id, cluster.id)
    return get_archive(who, cluster_id)
