"""Test drives: told of before their end, deleted at it, and their workload kept running until then.

An agent that was restarted goes on with its workload by itself; a node that is new, or was replaced, is told here. What
was kept as an ordinary cluster has its workload ended on every node.
"""

import time

import structlog

from backend.clusters.models import Cluster, Node
from backend.clusters.states import NodeState
from backend.test_drives import ending
from provisioner.agent.base import AgentError
from provisioner.operations.drive_steps import WORKLOAD_JOB, run_parameters
from provisioner.operations.surroundings import surroundings
from provisioner.reconcile.alone import alone

log = structlog.get_logger(__name__)

BUDGET = 20.0  # seconds of asking agents, per run


def see_to_test_drives() -> int:
    """How many were told of, or brought nearer to their end."""
    with alone("reconcile-drives") as mine:
        if not mine:
            return 0
        done = ending.end_due() + ending.tell_due()
        _see_to_workloads()
        return done


def _see_to_workloads() -> None:
    began = time.monotonic()
    for cluster in ending.workloads():
        if time.monotonic() - began > BUDGET:
            log.warning("no time to see to all workloads", cluster_id=cluster.id)
            break
        nodes = list(Node.objects.filter(cluster=cluster, deleted_at=None).select_related("cluster"))
        if cluster.expires_at is not None:
            for node in nodes:
                if node.state == NodeState.UP:
                    _keep_running(cluster, node)
        elif sum(_stopped(node) for node in nodes) == len(nodes):
            ending.workload_ended(cluster.id)


def _keep_running(cluster: Cluster, node: Node) -> None:
    """One that has succeeded ended at an hour that was put off since: forgotten, it is begun anew at the next look."""
    parameters = run_parameters(cluster)
    assert parameters is not None
    agent = surroundings().agent(node)
    try:
        if agent.ensure_job(WORKLOAD_JOB, "run-workload", parameters).state == "succeeded":
            agent.delete_job(WORKLOAD_JOB)
    except AgentError as error:
        log.info("workload not seen to", cluster_id=cluster.id, node_id=node.id, reason=str(error))


def _stopped(node: Node) -> bool:
    """True too for a node that never ran it. False: it does not answer, and is asked again."""
    if not node.agent_address:
        return True
    try:
        surroundings().agent(node).delete_job(WORKLOAD_JOB)
    except AgentError as error:
        log.info("workload not ended", cluster_id=node.cluster_id, node_id=node.id, reason=str(error))
        return False
    return True
