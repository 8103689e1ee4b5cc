"""Taking one node down and bringing it back, so that drivers see at most one node down.

The order for every kind: drain (only while all others are up), stop, perhaps change something, start, prove. Undone in
reverse: `take_down_again` for a node that came back changed, then the change is taken back, then `bring_back`.
"""

from backend.clusters import lifecycle
from backend.clusters.models import Node
from provisioner.agent.base import AgentUnreachable, Status
from provisioner.operations import names
from provisioner.operations.base import Done, Outcome, StepContext, Wait
from provisioner.operations.inspect_steps import (
    Look,
    look_at_all,
    others_trouble,
    seen_down_by,
    serves,
    wait_or_block,
)
from provisioner.operations.node_steps import done_or_wait, live_nodes, node_of, prove_parameters, revive, run_job
from provisioner.operations.surroundings import surroundings

DRAINING = ("DRAINING", "DRAINED")
_ONE_AT_A_TIME = "Only one node at a time may be down. Start or replace the other one, then retry."


def drain_node(context: StepContext) -> Outcome:
    """Only while every other node serves and sees all others up."""
    node = node_of(context)
    status = status_of(node)
    if isinstance(status, Wait):
        return status
    if status.engine_state not in ("running", "starting"):
        return Done("its engine was not running")
    if status.mode == "DRAINED":
        return Done()
    if waiting := _until_others_are_up(context, node):
        return waiting
    return done_or_wait(run_job(node, names.job(context.operation, "drain"), "drain", {}), "")


def _until_others_are_up(context: StepContext, node: Node) -> Wait | None:
    trouble = others_trouble(context, node)
    if isinstance(trouble, Wait):
        return trouble
    if not trouble:
        return None
    return wait_or_block(
        context, f"{node.name} is not taken down: {trouble}", hint=_ONE_AT_A_TIME, code="another-node-is-down"
    )


def stop_engine(context: StepContext) -> Outcome:
    """To be started again in a moment."""
    node = node_of(context)
    stopped = run_job(node, names.job(context.operation, "stop"), "stop", {})
    if isinstance(stopped, Wait):
        return stopped
    lifecycle.node_taken_down(node.id, reason=f"{context.operation.kind.replace('_', ' ').capitalize()}.")
    return Done()


def start_engine(context: StepContext) -> Outcome:
    return done_or_wait(
        run_job(node_of(context), names.job(context.operation, "start"), "start", {}), "accepts CQL over TLS"
    )


def prove_node(context: StepContext) -> Outcome:
    """It serves, and every other node sees it up. With all others up it also shows it with a row at ALL.

    Its engine's version is the one in the operation's parameters, else the cluster's.
    """
    node = node_of(context)
    others = [other for other in live_nodes(node.cluster) if other.id != node.id]
    looks = look_at_all(others)
    (mine,) = look_at_all([node])
    if mine.status is None:
        return revive(node)
    if not serves(mine):
        return Wait(0.5, f"{node.name} to accept CQL")
    message = "serves"
    if all(serves(look) for look in looks):
        proof = run_job(node, names.job(context.operation, "prove"), "prove", prove_parameters(context, node.cluster))
        if isinstance(proof, Wait):
            return proof
        message = "ring and schema agreed; written at ALL, read at ALL"
    if blind := seen_down_by(node, others):
        return Wait(0.3, f"{', '.join(blind)} to see it up")
    _note_back(context, mine)
    return Done(f"{message}; seen up by all others")


def _note_back(context: StepContext, look: Look) -> None:
    status, node = look.status, look.node
    assert status is not None
    version = context.operation.parameters.get("engine_version") or node.cluster.engine_version
    host_id = status.ring.host_id if status.ring is not None else node.host_id
    lifecycle.node_proved(node.id, host_id=host_id, engine_version=version)
    lifecycle.node_runs(node.id, revision=status.running_revision)


def bring_back(context: StepContext) -> Outcome:
    """Undo of draining and stopping: the engine serves again, with the configuration that is stored."""
    node = node_of(context)
    (look,) = look_at_all([node])
    status = look.status
    if status is None:
        return revive(node)
    if status.mode == "DRAINING":
        return Wait(0.5, f"{node.name} to end draining")
    if status.mode == "DRAINED":
        stopped = run_job(node, names.job(context.operation, "back-stop"), "stop", {})
        if isinstance(stopped, Wait):
            return stopped
    if status.mode == "DRAINED" or status.engine_state in ("stopped", "failed"):
        started = run_job(node, names.job(context.operation, "back-start"), "start", {})
        if isinstance(started, Wait):
            return started
        return Wait(0, f"{node.name} to serve again")
    if not serves(look):
        return Wait(0.5, f"{node.name} to serve again")
    lifecycle.node_back(node.id, engine_version=node.cluster.engine_version)
    lifecycle.node_runs(node.id, revision=status.running_revision)
    return Done("serves again")


def take_down_again(context: StepContext, *, revision_before: str) -> Outcome:
    """Undo of a start after a change: a node that runs with it is drained and stopped, with the same care.

    `revision_before`: of the configuration that the node had before the change.
    """
    node = node_of(context)
    status = status_of(node)
    if isinstance(status, Wait):
        return status
    if status.engine_state not in ("running", "starting"):
        return Done()
    if status.running_revision == revision_before:
        return Done("runs as before")
    if status.mode != "DRAINED":
        if waiting := _until_others_are_up(context, node):
            return waiting
        if status.cql_ready:
            drained = run_job(node, names.job(context.operation, "back-drain"), "drain", {})
            if isinstance(drained, Wait):
                return drained
    stopped = run_job(node, names.job(context.operation, "back-stop"), "stop", {})
    if isinstance(stopped, Wait):
        return stopped
    lifecycle.node_taken_down(node.id, reason="What was changed is being taken back.")
    return Done()


def status_of(node: Node) -> Status | Wait:
    """If the agent does not answer, its machine is seen to."""
    try:
        return surroundings().agent(node).status()
    except AgentUnreachable:
        return revive(node)
