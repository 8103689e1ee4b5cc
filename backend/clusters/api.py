"""Clusters over HTTP, and the catalogue they are ordered from."""

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from backend.accounts.queries import identity, require
from backend.accounts.states import Permission
from backend.catalog.schemas import Catalog
from backend.clusters import actions, bundle, ordering, queries, schemas, snippets
from backend.core.pagination import PageQuery, prepared

router = Router(tags=["clusters"])


def _file(content_type: str, what: str, *, conflict: bool = False) -> dict[str, object]:
    """The API's description of a download."""
    schema = {"type": "string", "format": "binary"} if content_type == "application/zip" else {"type": "string"}
    responses: dict[int, object] = {200: {"description": what, "content": {content_type: {"schema": schema}}}}
    if conflict:
        responses[409] = {"$ref": "#/components/responses/Error409"}
    return {"responses": responses}


@router.get("/catalog", operation_id="get_catalog", tags=["catalog"], response=Catalog)
def get_catalog(request: HttpRequest) -> HttpResponse:
    """What can be ordered: engines with versions, providers with regions, zones and machine types, and what fits."""
    require(identity(request), Permission.CLUSTERS_READ)
    return prepared(queries.get_catalog())


@router.get("/capacity", operation_id="get_capacity", tags=["catalog"], response=schemas.Capacity)
def get_capacity(request: HttpRequest, wanted: Query[schemas.CapacityQuery]) -> HttpResponse:
    """What an account has room for in a region, as its cloud told at most minutes ago."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.get_capacity(who, **wanted.dict()))


@router.post("/clusters", operation_id="create_cluster", response={202: schemas.ClusterStarted})
def create_cluster(request: HttpRequest, order: schemas.ClusterOrder) -> HttpResponse:
    """Orders a cluster. Follow the operation; the cluster can be used once it is active."""
    return prepared(actions.create(identity(request), order), status=202)


@router.post("/clusters/check", operation_id="check_cluster_order", response=schemas.OrderCheck)
def check_cluster_order(request: HttpRequest, order: schemas.ClusterOrder) -> HttpResponse:
    """Says what an order would come to, or what is wrong with it. Changes nothing."""
    who = identity(request)
    require(who, Permission.CLUSTERS_WRITE)
    return prepared(ordering.check_order(who, order))


@router.get("/clusters", operation_id="list_clusters", response=schemas.ClusterPage)
def list_clusters(request: HttpRequest, wanted: Query[schemas.ClusterFilter], page: Query[PageQuery]) -> HttpResponse:
    """The organisation's clusters, newest first."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.list_clusters(who, page, **wanted.dict()))


@router.get("/clusters/{cluster_id}", operation_id="get_cluster", response=schemas.Cluster)
def get_cluster(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """One cluster. Deleted ones can still be read: state deleted."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.get_cluster(who, cluster_id))


@router.patch("/clusters/{cluster_id}", operation_id="update_cluster", response=schemas.Cluster)
def update_cluster(request: HttpRequest, cluster_id: str, wanted: schemas.ClusterUpdate) -> HttpResponse:
    """Changes what only the control plane knows: name, tags, termination protection, healing. At once."""
    return prepared(actions.update(identity(request), cluster_id, wanted))


@router.get(
    "/clusters/{cluster_id}/maintenance-windows",
    operation_id="get_maintenance_windows",
    response=schemas.MaintenanceWindows,
)
def get_maintenance_windows(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """When automatic work on the cluster that can wait may be done. No windows: at any time."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.get_maintenance_windows(who, cluster_id))


@router.put(
    "/clusters/{cluster_id}/maintenance-windows",
    operation_id="set_maintenance_windows",
    response=schemas.MaintenanceWindows,
)
def set_maintenance_windows(
    request: HttpRequest, cluster_id: str, wanted: schemas.MaintenanceWindowsWish
) -> HttpResponse:
    """Puts these windows in the place of those before. Allowed whenever update_cluster is."""
    return prepared(actions.set_maintenance_windows(identity(request), cluster_id, wanted))


@router.delete("/clusters/{cluster_id}", operation_id="delete_cluster", response={202: schemas.ClusterStarted})
def delete_cluster(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """Deletes a cluster with all its data, for good.

    Where deletes take two people (get_access_settings), a second person has confirmed a deletion request for it first.
    """
    return prepared(actions.delete(identity(request), cluster_id), status=202)


@router.get("/clusters/{cluster_id}/nodes", operation_id="list_cluster_nodes", response=schemas.NodePage)
def list_cluster_nodes(request: HttpRequest, cluster_id: str, page: Query[PageQuery]) -> HttpResponse:
    """The nodes of a cluster and their state, in the order of their position."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.list_nodes(who, cluster_id, page))


@router.get("/clusters/{cluster_id}/nodes/{node_id}", operation_id="get_cluster_node", response=schemas.Node)
def get_cluster_node(request: HttpRequest, cluster_id: str, node_id: str) -> HttpResponse:
    """One node. Those that have ended can still be read: state deleted."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.get_node(who, cluster_id, node_id))


@router.get("/clusters/{cluster_id}/connection", operation_id="get_connection", response=schemas.Connection)
def get_connection(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """How to connect: contact points, data centre, CA, and snippets for common drivers."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(snippets.with_snippets(queries.get_connection(who, cluster_id)))


@router.get(
    "/clusters/{cluster_id}/connection/bundle",
    operation_id="download_connection_bundle",
    response=None,
    openapi_extra=_file(
        "application/zip", "ca.crt, truststore.p12, cqlshrc, connection.json and README.txt", conflict=True
    ),
)
def download_connection_bundle(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """Everything a driver needs except the password, as a zip."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    connection = queries.get_connection(who, cluster_id)
    return _download(bundle.make(connection), "application/zip", f"{connection['name']}-connection.zip")


@router.get(
    "/clusters/{cluster_id}/connection/ca",
    operation_id="download_ca",
    response=None,
    openapi_extra=_file("application/x-pem-file", "The certificate of the cluster's own authority, PEM"),
)
def download_ca(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """The certificate that the cluster's own certificates are checked with."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    connection = queries.get_connection(who, cluster_id)
    return _download(connection["ca_certificate"].encode(), "application/x-pem-file", f"{connection['name']}-ca.crt")


def _download(content: bytes, content_type: str, name: str) -> HttpResponse:
    disposition = f'attachment; filename="{name}"'
    return HttpResponse(content, content_type=content_type, headers={"Content-Disposition": disposition})


@router.post(
    "/clusters/{cluster_id}/credentials/reveal", operation_id="reveal_credentials", response=schemas.Credentials
)
def reveal_credentials(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """The administrator's password, once. Who needs it again sets a new one."""
    answer = prepared(actions.reveal_credentials(identity(request), cluster_id))
    answer["Cache-Control"] = "no-store"
    return answer


@router.post(
    "/clusters/{cluster_id}/credentials/rotate",
    operation_id="rotate_credentials",
    response={202: schemas.OperationStarted},
)
def rotate_credentials(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """Sets a new administrator's password. When the operation has succeeded it can be revealed once."""
    return prepared(actions.rotate_credentials(identity(request), cluster_id), status=202)
