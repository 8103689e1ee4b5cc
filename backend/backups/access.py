"""Which cluster a request is about, whether it may change, and selections as they are shown."""

from collections.abc import Mapping
from typing import Any

from backend.accounts.queries import Identity
from backend.accounts.states import Permission
from backend.clusters.models import Cluster
from backend.clusters.queries import cluster_not_found, clusters


def cluster_of(who: Identity, cluster_id: str) -> Cluster:
    found = clusters(who).filter(id=cluster_id).first()
    if found is None:
        raise cluster_not_found()
    return found


def may_change(who: Identity) -> bool:
    return Permission.CLUSTERS_WRITE in who.permissions


def may_export(who: Identity) -> bool:
    return Permission.BACKUPS_EXPORT in who.permissions


def shown(selection: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{"keyspace": one["keyspace"], "table": one["table"] or None} for one in selection]
