"""Renews certificates while they are still good: those of agents, of engines, and the control plane's own.

An agent's is renewed over the connection that it secures. An agent that was cut off until its certificate ran out keeps
its database running; it needs a person. Engines' are renewed by an operation (rotate_certificates), within the
cluster's maintenance windows if it has any.
"""

import time
from datetime import timedelta

import structlog
from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from backend.changes import actions as changes
from backend.changes.schemas import RotateCertificates
from backend.clusters import authorities, enrolment, pki
from backend.clusters.models import Cluster, Node
from backend.clusters.queries import maintenance_windows
from backend.clusters.states import SERVING
from backend.clusters.windows import is_open
from backend.core.errors import DomainError
from provisioner.agent.base import AgentClient, AgentError
from provisioner.operations.surroundings import surroundings
from provisioner.reconcile.alone import alone

log = structlog.get_logger(__name__)

ACTOR = "ringmaster"
BUDGET = 15.0  # seconds of new renewals per run
# With less than a third of its life left, so that some weeks of trying are left.
RENEW_BEFORE_END = timedelta(days=enrolment.AGENT_CERTIFICATE_DAYS) / 3
RENEW_ENGINES_BEFORE_END = timedelta(days=enrolment.ENGINE_CERTIFICATE_DAYS) / 3
CLUSTERS_PER_RUN = 20


def renew_certificates() -> int:
    """Renew what ends soonest first. How many of agents were renewed, and operations for engines' were begun."""
    renewed, began = 0, time.monotonic()
    with alone("reconcile-certificates") as mine:
        if not mine:
            return 0
        authorities.ensure_control_plane_pki()
        if settings.ENV.ringmaster_prometheus_dir is not None:
            authorities.write_prometheus_certificate(settings.ENV.ringmaster_prometheus_dir)
        ending = Node.objects.filter(
            deleted_at=None,
            enrolment__used_at__isnull=False,
            enrolment__agent_certificate_expires_at__lt=Now() + RENEW_BEFORE_END,
        )
        for node in ending.order_by("enrolment__agent_certificate_expires_at")[:500]:
            if time.monotonic() - began > BUDGET:
                break
            renewed += _renew(node)
        for cluster in _with_ending_engines()[:CLUSTERS_PER_RUN]:
            renewed += _renew_engines(cluster)
    return renewed


def _renew(node: Node) -> bool:
    agent = surroundings().agent(node)
    try:
        certificate = _found_renewed(node, agent)
        if certificate is None:
            certificate = enrolment.renew_certificate(node.id, agent.request_certificate())
            agent.put_certificate(certificate)
    except (AgentError, ValueError, LookupError) as error:
        log.warning("certificate not renewed", node_id=node.id, reason=str(error))
        return False
    enrolment.certificate_renewed(node.id, certificate)
    log.info("certificate renewed", node_id=node.id)
    return True


def _found_renewed(node: Node, agent: AgentClient) -> str | None:
    """What the agent serves with, when that is good for longer than we know: the reply to an earlier renewal was lost.

    Asking it for another request would make it a key that it does not need.
    """
    serving = agent.certificate()
    return None if pki.due_for_renewal(serving) else serving


def _with_ending_engines() -> QuerySet[Cluster]:
    ending = Node.objects.filter(
        cluster_id=OuterRef("id"),
        deleted_at=None,
        engine_certificate_expires_at__lt=Now() + RENEW_ENGINES_BEFORE_END,
    )
    return Cluster.objects.filter(Exists(ending), deleted_at=None, state__in=SERVING).order_by("id")


def _renew_engines(cluster: Cluster) -> bool:
    if not is_open(maintenance_windows(cluster.id), timezone.now()):
        return False
    try:
        begun = changes.begin(cluster.id, RotateCertificates(kind="rotate_certificates"), actor=ACTOR)
    except DomainError as error:
        # Something else is at work on the cluster: weeks are left to try again.
        log.info("engines' certificates not renewed yet", cluster_id=cluster.id, reason=error.message)
        return False
    log.info("renewing engines' certificates", cluster_id=cluster.id, operation_id=begun.operation.id)
    return True
