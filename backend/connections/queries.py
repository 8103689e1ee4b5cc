"""Reading connections of clusters' networks."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from backend.accounts.queries import Identity
from backend.accounts.states import Permission
from backend.catalog.queries import connection_kinds, has_firewall
from backend.clusters.models import Cluster
from backend.clusters.queries import cluster_not_found, clusters
from backend.clusters.states import SERVING, ClusterState
from backend.connections.models import NetworkConnection
from backend.connections.states import (
    SETTLED,
    ConnectionState,
    reason_against_creating,
    reason_against_deleting,
)
from backend.core.errors import NotFound
from backend.core.pagination import PageQuery, page
from backend.core.schemas import allowed
from backend.operations.models import Operation
from backend.operations.states import OPEN

_COLUMNS = (
    "id",
    "kind",
    "name",
    "datacenter__name",
    "peer_network",
    "peer_owner",
    "peer_region",
    "cidrs",
    "service",
    "state",
    "message",
    "provider_id",
    "addresses",
    "created_by",
    "created_at",
    "checked_at",
    "deleted_at",
)
CREATE, DELETE = "create_network_connection", "delete_network_connection"


def get_network(who: Identity, cluster_id: str) -> dict[str, Any]:
    """What a cluster's networks are, and what they can be connected with. Raises NotFound."""
    cluster = _cluster(who, cluster_id)
    kinds = connection_kinds(cluster.provider)
    living = cluster.datacenters.filter(deleted_at=None).order_by("position")
    reason = reason_against_creating(ClusterState(cluster.state), may=_may_change(who), kinds=kinds)
    return {
        "provider": cluster.provider,
        "firewall": has_firewall(cluster.provider),
        "connection_kinds": kinds,
        "datacenters": [
            {
                "datacenter": datacenter.name,
                "region": datacenter.region,
                "zones": datacenter.zones,
                "network_id": datacenter.network_id or None,
                "cidr": datacenter.network_cidr or None,
            }
            for datacenter in living
        ],
        "allowed_actions": [allowed(CREATE, reason)],
    }


def list_connections(who: Identity, cluster_id: str, query: PageQuery) -> dict[str, Any]:
    """The living ones, newest first. Raises NotFound."""
    cluster = _cluster(who, cluster_id)
    rows = NetworkConnection.objects.filter(cluster=cluster, deleted_at=None).values(*_COLUMNS)
    return page(rows, query, lambda row: _connection(who, cluster, row))


def get_connection(who: Identity, cluster_id: str, connection_id: str) -> dict[str, Any]:
    """One, also one that was deleted. Raises NotFound."""
    cluster = _cluster(who, cluster_id)
    row = NetworkConnection.objects.filter(cluster=cluster, id=connection_id).values(*_COLUMNS).first()
    if row is None:
        raise connection_not_found()
    return _connection(who, cluster, row)


def connection_not_found() -> NotFound:
    return NotFound(
        "network_connection_not_found", "There is no such connection.", hint="List the cluster's to see their ids."
    )


def _cluster(who: Identity, cluster_id: str) -> Cluster:
    found = clusters(who).filter(id=cluster_id).first()
    if found is None:
        raise cluster_not_found()
    return found


def _may_change(who: Identity) -> bool:
    return Permission.CLUSTERS_WRITE in who.permissions


def _connection(who: Identity, cluster: Cluster, row: dict[str, Any]) -> dict[str, Any]:
    reason = reason_against_deleting(ConnectionState(row["state"]), ClusterState(cluster.state), may=_may_change(who))
    row["datacenter"] = row.pop("datacenter__name")
    row["provider_id"] = row["provider_id"] or None
    return row | {"allowed_actions": [allowed(DELETE, reason)]}


# For the provisioner


def living(cluster_id: str, *, datacenter_id: str = "") -> list[NetworkConnection]:
    """Those of a cluster, or of one data centre of it, the oldest first."""
    rows = NetworkConnection.objects.filter(cluster_id=cluster_id, deleted_at=None).select_related("datacenter")
    return list(rows.filter(Q(datacenter_id=datacenter_id) if datacenter_id else Q()).order_by("id"))


def client_cidrs(datacenter_id: str, *, without: Collection[str] = ()) -> list[str]:
    """From where clients come through the peerings of a data centre's network. `without`: ids of connections."""
    rows = NetworkConnection.objects.filter(datacenter_id=datacenter_id, deleted_at=None)
    counted = rows.exclude(state=ConnectionState.DELETING).exclude(id__in=without)
    return sorted({cidr for cidrs in counted.values_list("cidrs", flat=True) for cidr in cidrs})


def to_check(*, waiting_every: timedelta, others_every: timedelta, at_most: int) -> list[NetworkConnection]:
    """Whose provider is to be asked again, and on which no operation works; the longest unasked first."""
    due = Q(checked_at__lt=Now() - others_every) | Q(
        state=ConnectionState.WAITING_FOR_YOU, checked_at__lt=Now() - waiting_every
    )
    worked_on = Operation.objects.filter(
        cluster_id=OuterRef("cluster_id"), kind__in=["delete_connection", "delete_cluster"], state__in=OPEN
    )
    rows = NetworkConnection.objects.filter(
        due, ~Exists(worked_on), state__in=SETTLED, deleted_at=None, cluster__state__in=SERVING
    )
    return list(rows.select_related("cluster", "datacenter").order_by("checked_at")[:at_most])
