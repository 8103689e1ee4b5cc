"""Meters what is used: looks at what backups hold, closes the hours that are over, and shares their cost to tables."""

from backend.costs.closing import close_hours
from backend.costs.observing import observe_backups
from backend.costs.sharing_hours import share_hours
from backend.costs.traffic import close_traffic
from provisioner.reconcile.alone import alone


def meter() -> int:
    """How many usage records were written. A few statements when no hour is due."""
    with alone("reconcile-costs") as mine:
        if not mine:
            return 0
        observe_backups()
        written = close_hours() + close_traffic()
        share_hours()
        return written
