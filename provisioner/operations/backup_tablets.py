"""Keeping tablets where they are while the snapshots of a backup are taken.

A tablet that moves between two snapshots could be in neither. The agent that was asked lets them go by itself when the
time is over, whatever became of the control plane.
"""

from datetime import UTC, datetime, timedelta

from backend.backups import progress
from backend.backups.states import NodeBackupState
from provisioner.agent.base import AgentUnreachable
from provisioner.operations import names
from provisioner.operations.backup_nodes import ask_any, backup_of, nodes_of
from provisioner.operations.base import Done, Outcome, StepContext, Wait
from provisioner.operations.node_steps import JobFailed, look_at
from provisioner.operations.surroundings import surroundings

HELD = timedelta(minutes=15)
"""Longer than snapshots of nodes that answer may take."""


def hold_tablets(context: StepContext) -> Outcome:
    backup = backup_of(context)
    nodes = nodes_of(backup)
    name = names.job(context.operation, "hold-tablets")
    parameters = {"name": backup.tag, "seconds": round(HELD.total_seconds())}
    job = ask_any(nodes, lambda agent: agent.ensure_job(name, "hold-tablets", parameters, wait_seconds=1))
    if isinstance(job, Wait):
        return job
    looked = look_at(nodes[0], job)
    if isinstance(looked, Wait):
        return looked
    return Done("no tablet moves", {"until": looked.result["until"]})


def release_tablets(context: StepContext) -> Outcome:
    """Every node is asked: which of them holds is only sure when all have answered."""
    backup = backup_of(context)
    name = names.job(context.operation, "release-tablets")
    silent, answering = False, []
    for node in nodes_of(backup):
        try:
            job = surroundings().agent(node).ensure_job(name, "release-tablets", {"name": backup.tag}, wait_seconds=1)
            looked = look_at(node, job)
        except AgentUnreachable:
            silent = True
            continue
        except JobFailed as failure:
            if failure.code != "engine-not-running":
                raise
            silent = True
            continue
        if isinstance(looked, Wait):
            return looked
        answering.append(node)
    if not answering:
        return Wait(2, "a node to answer; else tablets move again by themselves when the time is over")
    if silent:
        parameters = {"name": backup.tag, "anyway": True}
        anyway = surroundings().agent(answering[0])
        job = anyway.ensure_job(f"{name}-anyway", "release-tablets", parameters, wait_seconds=1)
        looked = look_at(answering[0], job)
        if isinstance(looked, Wait):
            return looked
    return Done(_leave_out_late(context))


def _leave_out_late(context: StepContext) -> str:
    """What was taken when tablets might move again is not part of one picture with the others."""
    until = context.output("hold_tablets").get("until")
    if until is None:
        return ""
    late = [
        part
        for part in backup_of(context).nodes.filter(state=NodeBackupState.SNAPSHOT)
        if part.taken_at is not None and part.taken_at > min(datetime.fromisoformat(until), datetime.now(UTC))
    ]
    for part in late:
        progress.node_lost(part.id, reason="its snapshot was taken after tablets had been let go")
    return "" if not late else f"{len(late)} snapshots came too late"
