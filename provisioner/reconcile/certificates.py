"""Renews the certificates of agents while they are still good, over the connection that they secure.

An agent that was cut off until its certificate ran out keeps its database running; it needs a person.
"""

import time
from datetime import timedelta

import structlog
from django.db.models.functions import Now

from backend.clusters import enrolment
from backend.clusters.models import Node
from backend.clusters.pki import RequestRefused
from provisioner.agent.base import AgentError
from provisioner.operations.surroundings import surroundings
from provisioner.reconcile.alone import alone

log = structlog.get_logger(__name__)

BUDGET = 15.0  # seconds of new renewals per run
# With less than a third of its life left, so that some weeks of trying are left.
RENEW_BEFORE_END = timedelta(days=enrolment.AGENT_CERTIFICATE_DAYS) / 3


def renew_certificates() -> int:
    """Renew what ends soonest first. How many were renewed."""
    renewed, began = 0, time.monotonic()
    with alone("reconcile-certificates") as mine:
        ending = Node.objects.filter(
            deleted_at=None,
            enrolment__used_at__isnull=False,
            enrolment__agent_certificate_expires_at__lt=Now() + RENEW_BEFORE_END,
        )
        for node in ending.order_by("enrolment__agent_certificate_expires_at")[:500] if mine else []:
            if time.monotonic() - began > BUDGET:
                break
            renewed += _renew(node)
    return renewed


def _renew(node: Node) -> bool:
    agent = surroundings().agent(node)
    try:
        certificate = enrolment.renew_certificate(node.id, agent.request_certificate())
        agent.put_certificate(certificate)
    except (AgentError, RequestRefused, LookupError) as error:
        log.warning("certificate not renewed", node_id=node.id, reason=str(error))
        return False
    enrolment.certificate_renewed(node.id, certificate)
    log.info("certificate renewed", node_id=node.id)
    return True
