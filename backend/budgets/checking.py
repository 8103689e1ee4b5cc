"""Holding budgets against what was spent: what is crossed is told once, and over when month or budget say so.

Everything that is remembered is in the rows, and a look may be repeated: what it tells is written in the transaction
that writes down that it was told.
"""

from collections.abc import Sequence
from datetime import date, datetime
from time import monotonic
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from backend.accounts.queries import Identity
from backend.accounts.states import Role
from backend.alerts import deliveries
from backend.alerts.states import AlertState, Topic, at_least
from backend.audit import actions as audit
from backend.budgets.models import Budget, BudgetCrossing
from backend.budgets.states import BudgetScope, Measure, is_crossed, severity_of
from backend.budgets.wording import HINT, sentence, whose
from backend.costs.forecasting import Forecast, forecast, of_cluster, of_tag
from backend.findings.states import Severity

ACTOR = "ringmaster"
"""Who the control plane is in the audit log when it acts by itself."""
RULE = "budget"
AT_MOST_SECONDS = 40.0
"""After which a run looks at no budget any more; the next one begins with those that were looked at longest ago."""


def check_budgets(now: datetime | None = None) -> int:
    """Looks at all budgets, each in a transaction of its own. How many."""
    begun, looked = monotonic(), 0
    living = Budget.objects.filter(deleted_at=None).order_by(F("checked_at").asc(nulls_first=True), "id")
    for budget_id in list(living.values_list("id", flat=True)):
        if monotonic() - begun > AT_MOST_SECONDS:
            break
        with transaction.atomic():
            budget = Budget.objects.select_for_update(of=("self",)).filter(id=budget_id, deleted_at=None).first()
            if budget is not None:
                check(budget, now)
                looked += 1
    return looked


def check(budget: Budget, now: datetime | None = None) -> None:
    """Looks at one, whose row this transaction has locked, and tells what is new."""
    found = forecast(rows_of(budget), now)
    month = date.fromisoformat(f"{found.month}-01")
    if budget.month is not None and month < budget.month:
        return  # A clock was put back: what is over stays over.
    budget.month = month
    budget.spent, budget.forecast, budget.checked_at = found.spent, found.forecast, now or timezone.now()
    budget.save(update_fields=["month", "spent", "forecast", "checked_at"])
    clear(budget, [each for each in _open(budget) if _is_over(budget, each)])
    standing = {(each.measure, each.percent) for each in _open(budget)}
    crossed = [each for each in _crossed(budget, found) if (each.measure, each.percent) not in standing]
    BudgetCrossing.objects.bulk_create(crossed)
    if crossed:
        _tell(budget, crossed, AlertState.FIRING)


def clear(budget: Budget, over: Sequence[BudgetCrossing] | None = None) -> None:
    """Ends these crossings, or all that stand, and says so to whom they were told."""
    over = _open(budget) if over is None else over
    if not over:
        return
    BudgetCrossing.objects.filter(id__in=[each.id for each in over]).update(cleared_at=Now())
    _tell(budget, over, AlertState.RESOLVED)


def rows_of(budget: Budget) -> Q:
    """What of costs is held against it."""
    match BudgetScope(budget.scope):
        case BudgetScope.ORGANISATION:
            return Q(organisation_id=budget.organisation_id)
        case BudgetScope.TAG:
            return of_tag(budget.organisation_id, budget.tag_key, budget.tag_value)
        case BudgetScope.CLUSTER:
            return of_cluster(budget.organisation_id, budget.cluster_id or "")


def _open(budget: Budget) -> list[BudgetCrossing]:
    return list(BudgetCrossing.objects.filter(budget=budget, cleared_at=None).order_by("-measure", "-percent"))


def _is_over(budget: Budget, crossing: BudgetCrossing) -> bool:
    """Not because a forecast went down a little: it would be told again and again."""
    measure = Measure(crossing.measure)
    percents = budget.spent_percents if measure is Measure.SPENT else budget.forecast_percents
    if crossing.month != budget.month or crossing.percent not in percents:
        return True
    amount = budget.spent if measure is Measure.SPENT else budget.forecast
    return budget.micros > crossing.budget_micros and not is_crossed(amount, crossing.percent, budget.micros)


def _crossed(budget: Budget, found: Forecast) -> list[BudgetCrossing]:
    amounts = {
        Measure.SPENT: (found.spent, budget.spent_percents),
        Measure.FORECAST: (found.forecast, budget.forecast_percents),
    }
    assert budget.month is not None
    assert budget.checked_at is not None
    return [
        BudgetCrossing(
            budget=budget,
            month=budget.month,
            measure=measure,
            percent=percent,
            micros=amount,
            budget_micros=budget.micros,
            crossed_at=budget.checked_at,
        )
        for measure, (amount, percents) in amounts.items()
        for percent in sorted(percents, reverse=True)
        if is_crossed(amount, percent, budget.micros)
    ]


def _tell(budget: Budget, crossings: Sequence[BudgetCrossing], state: AlertState) -> None:
    """One message for all of them, and a record each for the audit log."""
    severities = [severity_of(Measure(each.measure), each.percent) for each in crossings]
    severity = next(one for one in _WORST_FIRST if any(at_least(each, one) for each in severities))
    deliveries.tell(budget.organisation_id, budget.cluster_id, _message(budget, crossings, state, severity))
    who = Identity(
        organisation_id=budget.organisation_id,
        user_id="",
        user_email=ACTOR,
        role=Role.OWNER,
        permissions=frozenset(),
    )
    for each in crossings:
        audit.record(
            who,
            action="budget.cross" if state is AlertState.FIRING else "budget.clear",
            target_type="budget",
            target_id=budget.id,
            target_name=budget.name,
            after={
                "month": f"{each.month:%Y-%m}",
                "measure": each.measure,
                "percent": each.percent,
                "micros": each.micros,
                "budget_micros": each.budget_micros,
            },
        )


_WORST_FIRST = (Severity.CRITICAL, Severity.WARNING, Severity.INFO)


def _message(
    budget: Budget, crossings: Sequence[BudgetCrossing], state: AlertState, severity: Severity
) -> dict[str, Any]:
    first = sentence(budget, crossings[0])
    more = f" And {len(crossings) - 1} more." if len(crossings) > 1 else ""
    cluster = budget.cluster
    return deliveries.content(
        topic=Topic.BUDGETS,
        status=state.value,
        summary=f"{'' if state is AlertState.FIRING else 'Over: '}{first}{more}",
        severity=severity,
        rule=RULE,
        title=f"Budget of {whose(budget)}",
        hint=HINT,
        organisation_id=budget.organisation_id,
        cluster=None if cluster is None else {"id": cluster.id, "name": cluster.name},
        url=f"{settings.ENV.ringmaster_public_url}/budgets",
        alerts=[
            {
                "fingerprint": each.id,
                "status": state.value,
                "sentence": sentence(budget, each),
                "value": each.micros / 1_000_000,
                "labels": {
                    "budget": budget.name,
                    "month": f"{each.month:%Y-%m}",
                    "measure": str(each.measure),
                    "percent": str(each.percent),
                },
                "starts_at": each.crossed_at.isoformat(),
                "ends_at": None if state is AlertState.FIRING else timezone.now().isoformat(),
            }
            for each in crossings
        ],
    )
