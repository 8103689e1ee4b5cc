"""The words of budgets, and when a threshold of one is crossed."""

from enum import StrEnum

from backend.findings.states import Severity


class BudgetScope(StrEnum):
    """What a budget is of."""

    ORGANISATION = "organisation"
    TAG = "tag"
    CLUSTER = "cluster"


class Measure(StrEnum):
    """What is held against the budget: what the month came to so far, or what it will come to."""

    SPENT = "spent"
    FORECAST = "forecast"


SPENT_PERCENTS = (50, 80, 100)
FORECAST_PERCENTS = (100,)
"""Unless somebody says otherwise."""
MOST_BUDGETS = 200
"""Of an organisation."""
MAY_NOT_WRITE = "Your role or token may not change budgets."


def is_crossed(amount: int, percent: int, budget: int) -> bool:
    """Micro-dollars: at the threshold is crossed."""
    return amount * 100 >= percent * budget


def severity_of(measure: Measure, percent: int) -> Severity:
    """All of the budget is gone: critical. Soon, or by the forecast: warning."""
    if percent >= 100:
        return Severity.CRITICAL if measure is Measure.SPENT else Severity.WARNING
    return Severity.WARNING if measure is Measure.SPENT and percent >= 80 else Severity.INFO


def reason_against_writing(*, may: bool) -> str | None:
    return None if may else MAY_NOT_WRITE
