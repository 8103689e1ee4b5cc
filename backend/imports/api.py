"""Imports over HTTP."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from backend.accounts.queries import Identity, identity, require
from backend.accounts.states import Permission
from backend.core.pagination import prepared
from backend.imports import actions, queries, schemas

router = Router(tags=["imports"])
STARTED = {202: schemas.ImportStarted}


def _reader(request: HttpRequest) -> Identity:
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return who


@router.get("/clusters/{cluster_id}/imports", operation_id="list_imports", response=schemas.ImportList)
def list_imports(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """What was brought into a cluster from elsewhere, and what was looked at for that."""
    return prepared(queries.list_imports(_reader(request), cluster_id))


@router.post("/clusters/{cluster_id}/imports/plan", operation_id="plan_import", response=STARTED)
def plan_import(request: HttpRequest, cluster_id: str, order: schemas.ImportOrder) -> HttpResponse:
    """Looks at SSTables in a location and says what an import would do, and all that is against it. Changes nothing."""
    return prepared(actions.plan(identity(request), cluster_id, order), status=202)


@router.post("/clusters/{cluster_id}/imports", operation_id="create_import", response=STARTED)
def create_import(request: HttpRequest, cluster_id: str, order: schemas.ImportOrder) -> HttpResponse:
    """Brings SSTables of another cluster into this one: fetched and verified first, changed afterwards."""
    return prepared(actions.create(identity(request), cluster_id, order), status=202)


@router.get("/imports/{import_id}", operation_id="get_import", response=schemas.Import)
def get_import(request: HttpRequest, import_id: str) -> HttpResponse:
    """One import: what was found, what is against it, how far it is."""
    return prepared(queries.get_import(_reader(request), import_id))
