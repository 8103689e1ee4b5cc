"""Looks at connections of clusters' networks: those that wait for somebody every minute, the others now and then.

To look is to ask for them again, because what is left of our part (a route) is done when the other side has done its.
"""

import time
from datetime import timedelta

import structlog

from backend.connections import actions
from backend.connections.models import NetworkConnection
from backend.connections.queries import to_check
from provisioner.operations.network_connections import note, spec_of
from provisioner.operations.node_steps import provider_of
from provisioner.providers.base import ProviderError
from provisioner.reconcile.alone import alone

log = structlog.get_logger(__name__)

WAITING_EVERY = timedelta(seconds=30)
OTHERS_EVERY = timedelta(minutes=30)
AT_MOST = 50
BUDGET = 20.0  # seconds of looks per run


def check_connections() -> int:
    """How many were looked at."""
    looked = 0
    with alone("reconcile-connections") as mine:
        if not mine:
            return 0
        began = time.monotonic()
        for row in to_check(waiting_every=WAITING_EVERY, others_every=OTHERS_EVERY, at_most=AT_MOST):
            if time.monotonic() - began > BUDGET:
                break
            looked += _check(row)
    return looked


def _check(row: NetworkConnection) -> bool:
    try:
        found = provider_of(row.cluster).ensure_connection(spec_of(row))
    except ProviderError as error:
        log.warning("connection not known", connection_id=row.id, code=error.code, reason=error.message)
        actions.not_looked_at(row.id)
        return False
    if note(row, found) is None:
        actions.not_looked_at(row.id)
    return True
