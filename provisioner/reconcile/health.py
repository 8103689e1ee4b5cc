"""Looks at every node of every cluster that should serve, and writes down what it sees.

Nothing is repaired or replaced from here. An agent that does not answer proves nothing about its database: the node is
`unobserved`, unless most of its neighbours see it down too. Clusters that an operation works on are left to it.
"""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta

import structlog
from django.core.cache import cache
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from backend.clusters import lifecycle
from backend.clusters.models import Cluster, Node
from backend.clusters.states import ClusterState, NodeState
from backend.operations.models import Operation
from backend.operations.states import OPEN
from provisioner.agent.base import AgentClient, AgentRefused, AgentUnreachable, Status
from provisioner.operations.surroundings import surroundings
from provisioner.reconcile.alone import alone

log = structlog.get_logger(__name__)

BUDGET = 2.0  # seconds of new looks per run; a look takes at most 2.5 more
PAGE = 50  # clusters
THREADS = 32
# How stale `observed_at` may be while nothing changes. Writing it at every look would be most of the database's work.
REFRESH = timedelta(seconds=30)
_CURSOR = "reconcile-health-after"


def check_clusters() -> int:
    """Look at as many clusters as the budget allows, going on where the last run stopped. How many it were."""
    with alone("reconcile-health") as mine, ThreadPoolExecutor(THREADS) as threads:
        if not mine:
            return 0
        began, looked_at = time.monotonic(), 0
        after: str = cache.get(_CURSOR, "")
        while time.monotonic() - began < BUDGET:
            page = list(_serving().filter(id__gt=after).order_by("id")[:PAGE])
            _check_page(page, threads)
            looked_at += len(page)
            after = page[-1].id if len(page) == PAGE else ""
            cache.set(_CURSOR, after, timeout=None)
            if not after:
                break
        return looked_at


def _serving() -> QuerySet[Cluster]:
    worked_on = Operation.objects.filter(cluster_id=OuterRef("id"), exclusive=True, state__in=OPEN)
    return Cluster.objects.filter(
        ~Exists(worked_on), deleted_at=None, state__in=[ClusterState.ACTIVE, ClusterState.DEGRADED]
    )


@dataclass(frozen=True)
class _Look:
    """What asking one node's agent gave: a status, or why there is none."""

    node: Node
    status: Status | None
    fault: str = ""


@dataclass(frozen=True)
class Verdict:
    state: NodeState
    reason: str = ""


def _check_page(clusters: Sequence[Cluster], threads: ThreadPoolExecutor) -> None:
    nodes = list(
        Node.objects.filter(cluster__in=clusters, deleted_at=None)
        .annotate(is_stale=Q(observed_at=None) | Q(observed_at__lt=Now() - REFRESH))
        .order_by("position")
    )
    # The clients are made here: only this thread may use the database.
    agents = [surroundings().agent(node) for node in nodes]
    looks = list(threads.map(_look, nodes, agents))
    for cluster in clusters:
        _judge_cluster(cluster, [look for look in looks if look.node.cluster_id == cluster.id])


def _look(node: Node, agent: AgentClient) -> _Look:
    try:
        return _Look(node, agent.status())
    except (AgentUnreachable, AgentRefused) as error:
        return _Look(node, None, str(error))


def _judge_cluster(cluster: Cluster, looks: Sequence[_Look]) -> None:
    verdicts = [judge(look.node, look.status, look.fault, [o.status for o in looks if o.status]) for look in looks]
    for look, verdict in zip(looks, verdicts, strict=True):
        _write_down(look, verdict)
    states = {verdict.state for verdict in verdicts}
    if NodeState.DOWN in states:
        if lifecycle.cluster_degraded(cluster.id):
            log.error("cluster degraded", cluster_id=cluster.id)
    elif NodeState.UP in states and cluster.state == ClusterState.DEGRADED and lifecycle.cluster_recovered(cluster.id):
        log.info("cluster recovered", cluster_id=cluster.id)


def judge(node: Node, status: Status | None, fault: str, views: Sequence[Status]) -> Verdict:
    """The state of a node from its own agent's answer, or, without one, from what its neighbours see.

    A node that most of the answering neighbours see down is down; one observer alone declares nobody dead.
    """
    if status is None:
        opinions = [
            peer.up
            for view in views
            if view.ring is not None
            for peer in view.ring.peers
            if peer.address == node.address
        ]
        if len(opinions) > 1 and opinions.count(False) * 2 > len(opinions):
            return Verdict(NodeState.DOWN, "Its agent does not answer and the other nodes see it down.")
        return Verdict(NodeState.UNOBSERVED, f"Its agent does not answer: {fault}")
    if status.engine_state == "running" and status.cql_ready:
        return Verdict(NodeState.UP)
    words = f"The engine is {status.engine_state}."
    if status.engine_state == "running":
        words = "The engine runs but does not accept CQL."
    return Verdict(NodeState.DOWN, f"{words} {status.last_error}".strip())


def _write_down(look: _Look, verdict: Verdict) -> None:
    node, status = look.node, look.status
    host_id = status.ring.host_id if status is not None and status.ring is not None else ""
    seen = {
        "host_id": host_id,
        "engine_version": "" if status is None else status.engine_version,
        "agent_version": "" if status is None else status.agent_version,
    }
    same = (node.state, node.state_reason) == (verdict.state, verdict.reason)
    same = same and all(not value or getattr(node, name) == value for name, value in seen.items())
    if same and not vars(node)["is_stale"]:
        return
    if lifecycle.node_observed(node.id, state=verdict.state, reason=verdict.reason, **seen):
        log.info(
            "node changed", node_id=node.id, cluster_id=node.cluster_id, state=verdict.state, reason=verdict.reason
        )
