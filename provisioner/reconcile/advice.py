"""Looks at clusters for the advisor: a node describes the schema, and the advice is worked out from it and the metrics.

Each cluster every fifteen minutes, one that a person waits for within ten seconds.
"""

import time

import structlog

from backend.advisor import queries, reviewing
from backend.catalog.queries import answers_questions
from backend.clusters.models import Cluster, Node
from backend.clusters.states import NodeState
from provisioner.agent.base import AgentError
from provisioner.operations.surroundings import surroundings
from provisioner.reconcile.alone import alone

log = structlog.get_logger(__name__)

AT_MOST = 20
BUDGET = 30.0
_JOB = "describe-tables"


def review_clusters() -> int:
    """How many were looked at. Two statements when none is due."""
    with alone("reconcile-advice") as mine:
        if not mine:
            return 0
        reviewing.make_missing_reviews()
        began, done = time.monotonic(), 0
        for review in queries.due_reviews(AT_MOST):
            if time.monotonic() - began > BUDGET:
                break
            _review(review.cluster)
            done += 1
        return done


def _review(cluster: Cluster) -> None:
    if cluster.deleted_at is not None:
        reviewing.review_or_tell(cluster.id)
        return
    if not answers_questions(cluster.engine):
        reviewing.review_or_tell(cluster.id, without_schema="Tables of this engine cannot be described yet.")
        return
    problem = _read_schema(cluster)
    if problem:
        reviewing.not_reviewed(cluster.id, problem)
        return
    reviewing.review_or_tell(cluster.id)


def _read_schema(cluster: Cluster) -> str:
    """From the first node that answers; empty, or why none did."""
    up = Node.objects.filter(cluster=cluster, deleted_at=None, state=NodeState.UP).select_related("cluster")
    said = "No node of the cluster is up."
    for node in up.order_by("position"):
        agent = surroundings().agent(node)
        try:
            job = agent.ensure_job(_JOB, "describe-tables", {}, wait_seconds=2)
            if job.state != "running":
                agent.delete_job(_JOB)
        except AgentError as error:
            said = f"{node.name} did not describe its tables: {error}"
            log.info("tables not described", cluster_id=cluster.id, node_id=node.id, reason=str(error))
            continue
        if job.state == "succeeded":
            reviewing.schema_read(cluster.id, job.result)
            return ""
        said = f"{node.name} did not describe its tables: {job.error_message or 'it takes its time'}"
    return said
