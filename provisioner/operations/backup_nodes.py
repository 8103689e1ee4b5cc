"""The nodes of a backup: asking them, and going on without one that does not answer."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from backend.backups import progress
from backend.backups.models import Backup, BackupNode
from backend.backups.states import NodeBackupState
from backend.clusters.models import Node
from backend.clusters.states import NodeState
from provisioner.agent.base import AgentClient, AgentRefused, AgentUnreachable, Job
from provisioner.operations import names
from provisioner.operations.base import Blocked, Done, Outcome, StepContext, Wait
from provisioner.operations.membership import forget_job
from provisioner.operations.node_steps import JobFailed, look_at
from provisioner.operations.surroundings import surroundings

Answer = TypeVar("Answer")
# Seconds after which a node that does not answer is left out.
PATIENCE = 90.0
MIB = 1 << 20
# What would be refused again.
_FINAL = frozenset({"store-refused", "store-full", "wrong-key", "bundle-changed", "not-supported", "unknown-kind"})
# What means that a node's part of the backup is gone for good.
GONE = frozenset({"engine-not-running", "snapshot-not-found", "snapshot-not-indexed"})


class Lost(Exception):
    """The node has nothing to give, and will not in time."""


def backup_of(context: StepContext) -> Backup:
    rows = Backup.objects.select_related("location", "cluster")
    return rows.get(id=context.operation.parameters["backup"])


def part_of(context: StepContext) -> BackupNode:
    rows = BackupNode.objects.select_related("backup__location", "backup__cluster", "node__cluster", "node__datacenter")
    return rows.get(backup_id=context.operation.parameters["backup"], node_id=context.step.target)


def on_node(
    context: StepContext,
    part: BackupNode,
    name: str,
    kind: str,
    parameters: Mapping[str, Any],
    *,
    whole_name: str = "",
) -> Job | Wait:
    """The job when it has succeeded. Raises Lost when the node will not do it, Blocked when nothing would help."""
    node = part.node
    if node.deleted_at is not None:
        raise Lost("it has left the ring meanwhile")
    try:
        job = (
            surroundings()
            .agent(node)
            .ensure_job(whole_name or names.job(context.operation, name), kind, parameters, wait_seconds=1)
        )
    except AgentUnreachable:
        return silent(part)
    progress.node_answers(part.id)
    try:
        return look_at(node, job)
    except JobFailed as failure:
        if failure.code in GONE:
            raise Lost(str(failure)) from failure
        if failure.code in _FINAL:
            forget_job(node, job.name)
            raise Blocked(failure.code, str(failure), "Correct what is named there, then retry.") from failure
        raise


def silent(part: BackupNode) -> Wait:
    seconds = progress.node_silent(part.id)
    if seconds > PATIENCE:
        raise Lost(f"it has not answered for {seconds:.0f} s")
    return Wait(2, f"{part.name} to answer; after {PATIENCE:.0f} s the backup goes on without it")


def leave_out(part: BackupNode, why: Exception) -> Outcome:
    progress.node_lost(part.id, reason=str(why))
    return Done(f"{part.name} is left out: {why}")


def any_node(backup: Backup, ask: Callable[[AgentClient], Answer]) -> Answer | Wait:
    return ask_any(nodes_of(backup), ask)


def nodes_of(backup: Backup) -> list[Node]:
    nodes = [part.node for part in backup.nodes.select_related("node__cluster", "node__datacenter")]
    return [node for node in nodes if node.deleted_at is None]


def ask_any(nodes: Sequence[Node], ask: Callable[[AgentClient], Answer]) -> Answer | Wait:
    """What the first node says that answers; those last seen up first."""
    for node in sorted(nodes, key=lambda node: node.state != NodeState.UP):
        try:
            return ask(surroundings().agent(node))
        except AgentUnreachable:
            continue
        except AgentRefused as refused:
            if refused.code != "engine-not-running":
                raise
    return Wait(2, "a node to answer")


def describe_schema(context: StepContext, nodes: Sequence[Node]) -> Mapping[str, Any] | Wait:
    """What the job of that name tells now, from the first node that answers."""
    name = names.job(context.operation, f"schema-{context.step.position}")
    job = ask_any(nodes, lambda agent: agent.ensure_job(name, "describe-schema", {}, wait_seconds=1))
    if isinstance(job, Wait):
        return job
    if job.state == "running":
        return Wait(0.5, "a node to tell its schema")
    # So that the next look is a new one.
    ask_any(nodes, lambda agent: agent.delete_job(name))
    if job.state == "failed":
        raise JobFailed(job.error_message, job.error_code)
    result: Mapping[str, Any] = job.result
    return result


def tables_of(description: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Of the job describe-schema: every table but views, which are made anew from their tables."""
    return [
        {
            "keyspace": keyspace["name"],
            "table": table["name"],
            "id": table["id"],
            "columns": [{name: column[name] for name in ("name", "kind", "type")} for column in table["columns"]],
        }
        for keyspace in description["keyspaces"]
        for table in keyspace["tables"]
        if not table.get("view_of")
    ]


def told(part: BackupNode) -> str:
    if part.state == NodeBackupState.LOST:
        return f"{part.name} is left out: {part.reason}"
    return f"{part.bundles:,} files, {size(part.bytes)}, of which {size(part.new_bytes)} are new"


def size(count: int) -> str:
    if count < 1 << 30:
        return f"{count / MIB:,.1f} MiB"
    return f"{count / (1 << 30):,.2f} GiB"
