"""Ties audit records to their organisations' chains, and has those told who want them (docs/audit.md)."""

import time

from backend.alerts import audit_news
from provisioner.reconcile.alone import alone

AT_MOST_SECONDS = 20.0
"""After which a run begins no further piece; the next run goes on."""


def link_records() -> int:
    """How many records were linked: all that are committed, unless there are very many."""
    begun = time.monotonic()
    linked = 0
    with alone("reconcile-audit") as mine:
        while mine and time.monotonic() - begun < AT_MOST_SECONDS and (some := audit_news.link_and_tell()):
            linked += some
    return linked
