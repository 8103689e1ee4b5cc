"""Holds budgets against what was spent and tells those who want to know: backend/budgets/checking.py."""

from backend.budgets.checking import check_budgets
from provisioner.reconcile.alone import alone


def look() -> int:
    """How many budgets were looked at. Six statements each."""
    with alone("reconcile-budgets") as mine:
        return check_budgets() if mine else 0
