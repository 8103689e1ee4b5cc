"""The data set and the workload of a test drive: docs/test-drives.md.

Every node runs the workload as a job of one name, so that asking again is asking once; reconcile/drives.py asks again.
"""

from typing import Any

from backend.clusters.models import Cluster
from provisioner.agent.base import AgentUnreachable
from provisioner.operations import names
from provisioner.operations.base import Done, Outcome, StepContext, Wait
from provisioner.operations.node_steps import cluster_of, live_nodes, node_of, revive, run_job
from provisioner.operations.surroundings import surroundings

WORKLOAD_JOB = "test-drive"


def load_data_set(context: StepContext) -> Outcome:
    """Through the first node; a replica in every zone."""
    cluster = cluster_of(context)
    about, nodes = cluster.test_drive, live_nodes(cluster)
    if about is None:
        return Done("it is no test drive any more")
    parameters = {
        "workload": about["workload"],
        "rows": about["rows"],
        "replication": {nodes[0].datacenter.name: len(nodes[0].datacenter.zones)},
    }
    job = run_job(nodes[0], names.job(context.operation, "load-workload"), "load-workload", parameters)
    return job if isinstance(job, Wait) else Done(f"{job.result['rows']} rows")


def start_workload(context: StepContext) -> Outcome:
    node = node_of(context)
    parameters = run_parameters(node.cluster)
    if parameters is None:
        return Done("it is no test drive any more")
    try:
        surroundings().agent(node).ensure_job(WORKLOAD_JOB, "run-workload", parameters)
    except AgentUnreachable:
        return revive(node)
    return Done(f"at most {parameters['operations_per_second']} reads and writes a second")


def run_parameters(cluster: Cluster) -> dict[str, Any] | None:
    """Of the job run-workload. None: the cluster is no test drive, or not any more."""
    if cluster.test_drive is None or cluster.expires_at is None:
        return None
    return {name: cluster.test_drive[name] for name in ("workload", "rows", "operations_per_second")} | {
        "until": cluster.expires_at.isoformat()
    }
