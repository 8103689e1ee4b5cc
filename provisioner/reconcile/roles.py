"""Roles that were made for a while are ended, and the reading of roles is kept fresh where somebody looks.

The database is the truth, and may be changed with CQL.
"""

import time
from datetime import timedelta

import structlog

from backend.access import actions, ending, queries
from backend.clusters.models import Cluster, Node
from backend.clusters.states import NodeState
from provisioner.agent.base import AgentError
from provisioner.operations.surroundings import surroundings
from provisioner.reconcile.alone import alone

log = structlog.get_logger(__name__)

BUDGET = 10.0  # seconds of new readings per run
EVERY = timedelta(minutes=10)
AT_MOST = 50  # clusters per run
_JOB = "reading-roles"


def read_roles() -> int:
    """How many clusters were read."""
    read, began = 0, time.monotonic()
    with alone("reconcile-roles") as mine:
        for cluster in queries.clusters_to_read(older_than=EVERY, at_most=AT_MOST) if mine else []:
            if time.monotonic() - began > BUDGET:
                break
            read += _read(cluster)
    return read


def end_roles() -> int:
    """How many roles whose time is over were ordered away, or were gone."""
    with alone("reconcile-role-ends") as mine:
        return ending.end_due() if mine else 0


def _read(cluster: Cluster) -> bool:
    """From the first node that answers."""
    up = Node.objects.filter(cluster=cluster, deleted_at=None, state=NodeState.UP).select_related("cluster")
    for node in up.order_by("position"):
        agent = surroundings().agent(node)
        try:
            job = agent.ensure_job(_JOB, "roles", {}, wait_seconds=2)
            if job.state != "running":
                agent.delete_job(_JOB)
        except AgentError as error:
            log.info("roles not read", cluster_id=cluster.id, node_id=node.id, reason=str(error))
            continue
        if job.state == "succeeded":
            actions.roles_read(cluster.id, job.result)
            return True
    return False
