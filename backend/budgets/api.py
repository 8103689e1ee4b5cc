"""Budgets and ceilings over HTTP: who may read clusters sees them, admins and owners change them."""

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from backend.accounts.queries import identity, require
from backend.accounts.states import Permission
from backend.budgets import actions, ceilings, queries, schemas
from backend.core.pagination import PageQuery, prepared

router = Router(tags=["budgets"])


@router.get("/budgets", operation_id="list_budgets", response=schemas.BudgetPage)
def list_budgets(request: HttpRequest, page: Query[PageQuery]) -> HttpResponse:
    """The organisation's budgets, newest first: what is spent of them this month, and what was crossed when."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.list_budgets(who, page))


@router.post("/budgets", operation_id="create_budget", response={201: schemas.Budget})
def create_budget(request: HttpRequest, order: schemas.BudgetOrder) -> HttpResponse:
    """Makes a budget. Receivers of alerts are told once a month of each threshold that is crossed."""
    return prepared(actions.create(identity(request), order), status=201)


@router.get("/budgets/{budget_id}", operation_id="get_budget", response=schemas.Budget)
def get_budget(request: HttpRequest, budget_id: str) -> HttpResponse:
    """One budget."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.get_budget(who, budget_id))


@router.patch("/budgets/{budget_id}", operation_id="update_budget", response=schemas.Budget)
def update_budget(request: HttpRequest, budget_id: str, wanted: schemas.BudgetUpdate) -> HttpResponse:
    """Changes name, amount or thresholds. What is not crossed any more when it is raised is over."""
    return prepared(actions.update(identity(request), budget_id, wanted))


@router.delete("/budgets/{budget_id}", operation_id="delete_budget", response={204: None})
def delete_budget(request: HttpRequest, budget_id: str) -> HttpResponse:
    """Takes a budget away."""
    actions.delete(identity(request), budget_id)
    return HttpResponse(status=204)


@router.get("/ceilings", operation_id="list_ceilings", response=schemas.CeilingPage)
def list_ceilings(request: HttpRequest, page: Query[PageQuery]) -> HttpResponse:
    """The most that the organisation and its clusters may have, beside what they have."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(ceilings.list_ceilings(who, page))


@router.put("/ceilings", operation_id="set_ceiling", response=schemas.Ceiling)
def set_ceiling(request: HttpRequest, order: schemas.CeilingOrder) -> HttpResponse:
    """Orders, scale-outs and changes of machines that would go beyond it are refused. Nothing is taken away."""
    return prepared(ceilings.set_ceiling(identity(request), order))


@router.delete("/ceilings/{ceiling_id}", operation_id="remove_ceiling", response={204: None})
def remove_ceiling(request: HttpRequest, ceiling_id: str) -> HttpResponse:
    """Takes a ceiling away."""
    ceilings.remove_ceiling(identity(request), ceiling_id)
    return HttpResponse(status=204)
