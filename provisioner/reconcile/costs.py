"""Meters what is used: looks at what backups hold, and closes the hours that are over."""

from backend.costs.closing import close_hours
from backend.costs.observing import observe_backups
from provisioner.reconcile.alone import alone


def meter() -> int:
    """How many usage records were written. A few statements when no hour is due."""
    with alone("reconcile-costs") as mine:
        if not mine:
            return 0
        observe_backups()
        return close_hours()
