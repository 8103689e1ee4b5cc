"""Jobs of a restore on one node, and how they are told of."""

from typing import Any

from backend.backups.models import Restore, RestoreNode
from backend.clusters.models import Node
from provisioner.agent.base import AgentUnreachable, Job
from provisioner.operations.base import StepContext, Wait
from provisioner.operations.membership import job_or_none
from provisioner.operations.node_steps import look_at, run_job

_FINAL = frozenset(
    {
        "store-refused",
        "object-damaged",
        "wrong-key",
        "no-space",
        "schema-differs",
        "schema-refused",
        "import-failed",
        "table-not-found",
        "not-supported",
        "unknown-kind",
        "table-emptied",
        "archive-unreadable",
    }
)


def part_of(context: StepContext) -> RestoreNode:
    rows = RestoreNode.objects.select_related(
        "restore__backup__location", "source", "node__cluster", "node__datacenter"
    )
    return rows.get(restore_id=context.operation.parameters["restore"], node_id=context.step.target)


def folder_of(restore: Restore) -> str:
    return restore.id.replace("_", "-")


def run_on(node: Node, name: str, kind: str, parameters: dict[str, Any]) -> Job | Wait:
    return run_job(node, name, kind, parameters, final=_FINAL)


def looked_at(node: Node, job: Job) -> Job | Wait:
    return look_at(node, job, final=_FINAL)


def is_running(node: Node, name: str) -> bool:
    try:
        job = job_or_none(node, name)
    except AgentUnreachable:
        return False
    return job is not None and job.state == "running"


def share(done: float, total: int) -> float:
    return min(1.0, done / max(total, 1))
