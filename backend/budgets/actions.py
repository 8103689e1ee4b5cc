"""Making, changing and deleting budgets. Each is looked at in the transaction that changes it."""

from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from backend.accounts.models import Organisation
from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission
from backend.audit import actions as audit
from backend.budgets.checking import check, clear
from backend.budgets.models import Budget
from backend.budgets.queries import budget_not_found, budgets, get_budget
from backend.budgets.schemas import BudgetOrder, BudgetUpdate
from backend.budgets.states import MOST_BUDGETS, BudgetScope
from backend.clusters.queries import require_cluster
from backend.core.errors import Conflict, Invalid

_NEEDS: dict[BudgetScope, tuple[str, ...]] = {
    BudgetScope.ORGANISATION: (),
    BudgetScope.CLUSTER: ("cluster_id",),
    BudgetScope.TAG: ("tag_key", "tag_value"),
}
_FACTS = ("name", "scope", "cluster_id", "tag_key", "tag_value", "micros", "spent_percents", "forecast_percents")


@transaction.atomic
def create(who: Identity, order: BudgetOrder) -> dict[str, Any]:
    """Raises Forbidden, NotFound, Invalid, Conflict."""
    require(who, Permission.BUDGETS_WRITE)
    _check_scope(order)
    if order.cluster_id is not None:
        require_cluster(who, order.cluster_id)
    # The row keeps two at once from both being the last that there is room for.
    Organisation.objects.select_for_update(no_key=True).get(id=who.organisation_id)
    if budgets(who).count() >= MOST_BUDGETS:
        raise Conflict(
            "too_many_budgets", f"An organisation has {MOST_BUDGETS} budgets at most.", hint="Delete one first."
        )
    row = Budget(
        organisation_id=who.organisation_id,
        name=order.name,
        scope=order.scope,
        cluster_id=order.cluster_id,
        tag_key=order.tag_key or "",
        tag_value=order.tag_value or "",
        micros=order.micros,
        spent_percents=sorted(set(order.spent_percents)),
        forecast_percents=sorted(set(order.forecast_percents)),
        created_by=who.actor,
    )
    _saved(row)
    _record(who, row, "budget.create", after=_facts(row))
    check(row)
    return get_budget(who, row.id)


@transaction.atomic
def update(who: Identity, budget_id: str, wanted: BudgetUpdate) -> dict[str, Any]:
    """Raises Forbidden, NotFound, Conflict."""
    require(who, Permission.BUDGETS_WRITE)
    row = _locked(who, budget_id)
    before = _facts(row)
    for name, value in wanted.model_dump(exclude_unset=True, exclude_none=True).items():
        setattr(row, name, sorted(set(value)) if isinstance(value, list) else value)
    if _facts(row) != before:
        _saved(row, ["name", "micros", "spent_percents", "forecast_percents"])
        _record(who, row, "budget.update", before=before, after=_facts(row))
        check(row)
    return get_budget(who, row.id)


@transaction.atomic
def delete(who: Identity, budget_id: str) -> None:
    """Who was told that it was crossed is told that this is over. Raises Forbidden, NotFound."""
    require(who, Permission.BUDGETS_WRITE)
    row = _locked(who, budget_id)
    Budget.objects.filter(id=row.id).update(deleted_at=Now())
    _record(who, row, "budget.delete", before=_facts(row))
    clear(row)


def _check_scope(order: BudgetOrder) -> None:
    for name in ("cluster_id", "tag_key", "tag_value"):
        given, needed = getattr(order, name) is not None, name in _NEEDS[order.scope]
        if needed and not given:
            raise Invalid(
                "field_missing", f"A budget with the scope {order.scope} needs {name}.", hint="Give it.", field=name
            )
        if given and not needed:
            raise Invalid(
                "field_not_taken",
                f"A budget with the scope {order.scope} has no {name}.",
                hint="Leave it out.",
                field=name,
            )


def _locked(who: Identity, budget_id: str) -> Budget:
    row = budgets(who).select_for_update().filter(id=budget_id).first()
    if row is None:
        raise budget_not_found()
    return row


def _saved(row: Budget, fields: list[str] | None = None) -> None:
    try:
        with transaction.atomic():
            row.save(update_fields=fields) if fields else row.save(force_insert=True)
    except IntegrityError as error:
        raise Conflict(
            "name_taken", f"There is a budget {row.name} already.", hint="Choose another name.", field="name"
        ) from error


def _facts(row: Budget) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _FACTS if getattr(row, name) not in (None, "")}


def _record(who: Identity, row: Budget, action: str, **said: dict[str, Any]) -> None:
    audit.record(who, action=action, target_type="budget", target_id=row.id, target_name=row.name, **said)
