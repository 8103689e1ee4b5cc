"""The sizing planner over HTTP. It changes nothing."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from backend.accounts.queries import identity, require
from backend.accounts.states import Permission
from backend.core.pagination import prepared
from backend.sizing import queries, schemas

router = Router(tags=["costs"])


@router.get("/sizing", operation_id="get_sizing_choices", response=schemas.SizingChoices)
def get_sizing_choices(request: HttpRequest) -> HttpResponse:
    """Providers, regions and engines that a cluster can be planned for, and the figures plans go by."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.choices(who))


@router.post("/sizing", operation_id="plan_size", response=schemas.SizingAnswer)
def plan_size(request: HttpRequest, order: schemas.SizingOrder) -> HttpResponse:
    """Which clusters are large enough for a workload: limits, prices and the reasoning. Changes nothing."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.plan(who, order))
