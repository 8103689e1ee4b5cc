"""What is said of a budget, in words."""

from datetime import date

from backend.budgets.models import Budget, BudgetCrossing
from backend.budgets.states import BudgetScope, Measure
from backend.prices.money import spoken

HINT = "See under Costs what it was spent on; raise the budget if it is right."


def sentence(budget: Budget, crossing: BudgetCrossing) -> str:
    """As it was when the threshold was crossed."""
    month = month_name(crossing.month)
    part = f"{crossing.percent} % of {spoken(crossing.budget_micros)} dollars"
    match Measure(crossing.measure):
        case Measure.SPENT:
            return f"{budget.name}: {spoken(crossing.micros)} dollars spent in {month}, which is past {part}."
        case Measure.FORECAST:
            return f"{budget.name}: {month} will come to {spoken(crossing.micros)} dollars, which is past {part}."


def whose(budget: Budget) -> str:
    match BudgetScope(budget.scope):
        case BudgetScope.ORGANISATION:
            return "the organisation"
        case BudgetScope.TAG:
            return f"clusters with the tag {budget.tag_key}={budget.tag_value}"
        case BudgetScope.CLUSTER:
            return f"the cluster {budget.cluster.name if budget.cluster else ''}".rstrip()


def month_name(month: date) -> str:
    return f"{month:%B %Y}"
