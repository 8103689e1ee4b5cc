"""Findings over HTTP: part of the activity log, beside the operations."""

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from backend.accounts.queries import identity, require
from backend.accounts.states import Permission
from backend.core.pagination import PageQuery, prepared
from backend.findings import queries, schemas

router = Router(tags=["findings"])


@router.get("/findings", operation_id="list_findings", response=schemas.FindingPage)
def list_findings(request: HttpRequest, wanted: Query[schemas.FindingFilter], page: Query[PageQuery]) -> HttpResponse:
    """What the control plane found to be wrong in the organisation's clusters, and what it did, newest first."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.list_findings(who, page, **wanted.dict()))


@router.get("/clusters/{cluster_id}/findings", operation_id="list_cluster_findings", response=schemas.FindingPage)
def list_cluster_findings(
    request: HttpRequest, cluster_id: str, wanted: Query[schemas.FindingFilter], page: Query[PageQuery]
) -> HttpResponse:
    """What the control plane found to be wrong in one cluster, and what it did, newest first."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.list_findings(who, page, cluster_id=cluster_id, **wanted.dict()))
