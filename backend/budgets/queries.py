"""Reading budgets, with what was found at the last look."""

from collections import defaultdict
from typing import Any

from django.db.models import F, QuerySet

from backend.accounts.queries import Identity
from backend.accounts.states import Permission
from backend.budgets.models import Budget, BudgetCrossing
from backend.budgets.states import reason_against_writing
from backend.budgets.wording import sentence
from backend.clusters.models import Cluster
from backend.core.errors import NotFound
from backend.core.pagination import PageQuery, cut
from backend.core.schemas import allowed
from backend.prices.states import CURRENCY


def budgets(who: Identity) -> QuerySet[Budget]:
    return Budget.objects.filter(organisation_id=who.organisation_id, deleted_at=None)


def budget_not_found() -> NotFound:
    return NotFound("budget_not_found", "There is no such budget.", hint="list_budgets has all there are.")


def list_budgets(who: Identity, query: PageQuery) -> dict[str, Any]:
    """Newest first. Two statements."""
    rows = budgets(who) if query.cursor is None else budgets(who).filter(id__lt=query.cursor)
    found = list(rows.select_related("cluster").order_by("-id")[: query.limit + 1])
    return cut(_shapes(who, found), query, lambda row: row)


def get_budget(who: Identity, budget_id: str) -> dict[str, Any]:
    """Raises NotFound."""
    row = budgets(who).select_related("cluster").filter(id=budget_id).first()
    if row is None:
        raise budget_not_found()
    return _shapes(who, [row])[0]


def _shapes(who: Identity, rows: list[Budget]) -> list[dict[str, Any]]:
    crossings: dict[str, list[BudgetCrossing]] = defaultdict(list)
    found = BudgetCrossing.objects.filter(budget__in=[row.id for row in rows], month=F("budget__month"))
    for each in found.order_by("-crossed_at", "-measure", "-percent"):
        crossings[each.budget_id].append(each)
    return [_shape(who, row, crossings[row.id]) for row in rows]


def _shape(who: Identity, row: Budget, crossings: list[BudgetCrossing]) -> dict[str, Any]:
    reason = reason_against_writing(may=Permission.BUDGETS_WRITE in who.permissions)
    return {
        "id": row.id,
        "name": row.name,
        "scope": row.scope,
        "cluster": of_cluster(row.cluster),
        "tag": {"key": row.tag_key, "value": row.tag_value} if row.tag_key else None,
        "micros": row.micros,
        "currency": CURRENCY,
        "spent_percents": row.spent_percents,
        "forecast_percents": row.forecast_percents,
        "month": f"{row.month:%Y-%m}",
        "spent": row.spent,
        "forecast": row.forecast,
        "checked_at": row.checked_at,
        "crossings": [
            {
                "measure": each.measure,
                "percent": each.percent,
                "micros": each.micros,
                "budget_micros": each.budget_micros,
                "sentence": sentence(row, each),
                "crossed_at": each.crossed_at,
                "cleared_at": each.cleared_at,
            }
            for each in crossings
        ],
        "created_by": row.created_by,
        "created_at": row.created_at,
        "allowed_actions": [allowed("update_budget", reason), allowed("delete_budget", reason)],
    }


def of_cluster(cluster: Cluster | None) -> dict[str, Any] | None:
    if cluster is None:
        return None
    return {"id": cluster.id, "name": cluster.name, "deleted": cluster.deleted_at is not None}
