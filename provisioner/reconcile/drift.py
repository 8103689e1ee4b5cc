"""Compares what running engines go by with what they should, and writes the differences down. Changes nothing else.

Only clusters that no operation works on, a few nodes per run: those that were not compared for longest come first.
"""

import time
from collections.abc import Mapping
from typing import Any

import structlog
from django.core.cache import cache
from django.db.models import Exists, OuterRef

from backend.clusters import lifecycle
from backend.clusters.models import Node
from backend.clusters.states import ClusterState, NodeState
from backend.operations.models import Operation
from backend.operations.states import OPEN
from provisioner.agent.base import AgentError, Status
from provisioner.operations.surroundings import surroundings
from provisioner.reconcile.alone import alone

log = structlog.get_logger(__name__)

BUDGET = 10.0  # seconds of new looks per run
NODES_PER_RUN = 20
_CURSOR = "reconcile-drift-after"
_JOB = "drift-settings"
# What stands in place of a setting when the whole configuration is another.
CONFIGURATION = "configuration"


def compare_settings() -> int:
    """Go on where the last run stopped. How many nodes were compared."""
    with alone("reconcile-drift") as mine:
        if not mine:
            return 0
        began, compared = time.monotonic(), 0
        after: str = cache.get(_CURSOR, "")
        nodes = list(_quiet().filter(id__gt=after).order_by("id")[:NODES_PER_RUN])
        cache.set(_CURSOR, nodes[-1].id if len(nodes) == NODES_PER_RUN else "", timeout=None)
        for node in nodes:
            if time.monotonic() - began > BUDGET:
                cache.set(_CURSOR, node.id, timeout=None)
                break
            compared += _compare(node)
        return compared


def _quiet() -> Any:
    worked_on = Operation.objects.filter(cluster_id=OuterRef("cluster_id"), exclusive=True, state__in=OPEN)
    return Node.objects.filter(
        ~Exists(worked_on),
        deleted_at=None,
        state=NodeState.UP,
        cluster__state__in=[ClusterState.ACTIVE, ClusterState.DEGRADED],
    ).select_related("cluster")


def _compare(node: Node) -> bool:
    agent = surroundings().agent(node)
    try:
        status = agent.status()
        job = agent.ensure_job(_JOB, "settings", {}, wait_seconds=1)
        if job.state != "running":
            agent.delete_job(_JOB)  # the next look must be a new one
    except AgentError as error:
        log.info("settings not compared", node_id=node.id, reason=str(error))
        return False
    if job.state != "succeeded":
        return False
    drift = differences(node, status, job.result["settings"])
    # Not even asked of the database while nothing changes: that is nearly always.
    if drift != node.drift and lifecycle.node_drift(node.id, drift):
        log.info("drift changed", node_id=node.id, cluster_id=node.cluster_id, settings=[d["setting"] for d in drift])
    return True


def differences(node: Node, status: Status, in_effect: Mapping[str, str]) -> list[dict[str, str]]:
    """What the engine has otherwise than it should, in the order of the catalogue."""
    engine = surroundings().engine(node.cluster.engine)
    found = [
        {"setting": each.setting, "wanted": each.wanted, "found": each.found}
        for each in engine.settings_disagreement(node.cluster.settings, in_effect)
    ]
    if node.config_revision and status.config_revision and status.config_revision != node.config_revision:
        found.append({"setting": CONFIGURATION, "wanted": node.config_revision, "found": status.config_revision})
    elif status.running_revision and status.running_revision != status.config_revision:
        found.append({"setting": CONFIGURATION, "wanted": status.config_revision, "found": status.running_revision})
    return found
