"""Clusters' networks and their connections over HTTP."""

from django.http import HttpRequest, HttpResponse
from ninja import Body, Query, Router

from backend.accounts.queries import identity, require
from backend.accounts.states import Permission
from backend.connections import actions, queries, schemas
from backend.core.pagination import PageQuery, prepared

router = Router(tags=["network"])
STARTED = {202: schemas.NetworkConnectionStarted}


@router.get("/clusters/{cluster_id}/network", operation_id="get_cluster_network", response=schemas.ClusterNetwork)
def get_cluster_network(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """The networks of a cluster's data centres, and what they can be connected with."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.get_network(who, cluster_id))


@router.get(
    "/clusters/{cluster_id}/network-connections",
    operation_id="list_network_connections",
    response=schemas.NetworkConnectionPage,
)
def list_network_connections(request: HttpRequest, cluster_id: str, page: Query[PageQuery]) -> HttpResponse:
    """Peerings and endpoints of a cluster's networks, newest first."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.list_connections(who, cluster_id, page))


@router.post("/clusters/{cluster_id}/network-connections", operation_id=queries.CREATE, response=STARTED)
def create_network_connection(
    request: HttpRequest, cluster_id: str, order: Body[schemas.ConnectionOrder]
) -> HttpResponse:
    """Asks the provider for a peering or an endpoint. Its message says what is left to do at the other end."""
    return prepared(actions.create(identity(request), cluster_id, order), status=202)


@router.get(
    "/clusters/{cluster_id}/network-connections/{connection_id}",
    operation_id="get_network_connection",
    response=schemas.NetworkConnection,
)
def get_network_connection(request: HttpRequest, cluster_id: str, connection_id: str) -> HttpResponse:
    """One connection. Those that were deleted can still be read."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.get_connection(who, cluster_id, connection_id))


@router.delete(
    "/clusters/{cluster_id}/network-connections/{connection_id}", operation_id=queries.DELETE, response=STARTED
)
def delete_network_connection(request: HttpRequest, cluster_id: str, connection_id: str) -> HttpResponse:
    """Takes a connection away; who came through it does not any more."""
    return prepared(actions.delete(identity(request), cluster_id, connection_id), status=202)
