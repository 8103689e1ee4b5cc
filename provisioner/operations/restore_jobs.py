"""Jobs of a restore on one node, and how they are told of."""

from typing import Any

from backend.backups.models import Restore, RestoreNode
from backend.clusters.models import Node
from provisioner.agent.base import AgentUnreachable, Job
from provisioner.operations.base import Blocked, StepContext, Wait
from provisioner.operations.membership import job_or_none
from provisioner.operations.node_steps import JobFailed, look_at, run_job

_MIB = 1 << 20
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
        "unsupported",
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
    try:
        return run_job(node, name, kind, parameters)
    except JobFailed as failure:
        raise _blocked_or(failure) from failure


def looked_at(node: Node, job: Job) -> Job | Wait:
    try:
        return look_at(node, job)
    except JobFailed as failure:
        raise _blocked_or(failure) from failure


def _blocked_or(failure: JobFailed) -> Exception:
    if failure.code not in _FINAL:
        return failure
    return Blocked(failure.code, str(failure), "Correct what is named there and retry, or cancel.")


def is_running(node: Node, name: str) -> bool:
    try:
        job = job_or_none(node, name)
    except AgentUnreachable:
        return False
    return job is not None and job.state == "running"


def share(done: float, total: int) -> float:
    return min(1.0, done / max(total, 1))


def size_of(count: float) -> str:
    return f"{count / (1 << 30):,.2f} GiB" if count >= 1 << 30 else f"{count / _MIB:,.1f} MiB"
