"""Tuning reports over HTTP."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from backend.accounts.queries import identity, require
from backend.accounts.states import Permission
from backend.core.pagination import prepared
from backend.tuning import queries, schemas

router = Router(tags=["clusters"])


@router.get(
    "/clusters/{cluster_id}/nodes/{node_id}/tuning", operation_id="get_node_tuning", response=schemas.NodeTuning
)
def get_node_tuning(request: HttpRequest, cluster_id: str, node_id: str) -> HttpResponse:
    """How a node's machine was made ready and how it is tuned: asked at first boot, then about once an hour."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.get_tuning(who, cluster_id, node_id))
