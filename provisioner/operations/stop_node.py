"""One node is drained and stopped, and stays so until somebody starts it (start_node)."""

from backend.clusters import lifecycle
from provisioner.operations import names
from provisioner.operations.base import Blocked, Done, OperationCode, Outcome, StepCode, StepContext, Wait
from provisioner.operations.inspect_steps import check_quorum, quorum_shortages
from provisioner.operations.node_steps import done_or_wait, live_nodes, node_of, run_job
from provisioner.operations.restart_steps import bring_back, status_of


def drain_node(context: StepContext) -> Outcome:
    """Others may be down, as long as QUORUM holds without this one."""
    node = node_of(context)
    status = status_of(node)
    if isinstance(status, Wait):
        return status
    if status.engine_state not in ("running", "starting"):
        return Done("its engine was not running")
    if status.mode == "DRAINED":
        return Done()
    # Once more: hours may have passed since the check, in which another node went down.
    short = quorum_shortages(context, node, live_nodes(node.cluster))
    if isinstance(short, Wait):
        return short
    if risks := [shortage for shortage in short if not shortage.alone]:
        raise Blocked(
            "quorum-at-risk",
            f"{node.name} cannot be taken down: {risks[0]}.",
            "Start the nodes that are down first, then retry.",
        )
    return done_or_wait(run_job(node, names.job(context.operation, "drain"), "drain", {}), "")


def stop_engine(context: StepContext) -> Outcome:
    """First it is noted that it is wanted, so that nothing that sees the stopped engine starts it."""
    node = node_of(context)
    lifecycle.node_stop_wanted(node.id, True)
    stopped = run_job(node, names.job(context.operation, "stop"), "stop", {})
    if isinstance(stopped, Wait):
        return stopped
    lifecycle.node_taken_down(node.id, reason="Stopped on request.", for_good=True)
    return Done()


def start_again(context: StepContext) -> Outcome:
    lifecycle.node_stop_wanted(node_of(context).id, False)
    return bring_back(context)


CODE = OperationCode(
    kind="stop_node",
    steps={
        "check_quorum": StepCode(do=check_quorum),
        "drain_node": StepCode(do=drain_node, undo=bring_back),
        "stop_engine": StepCode(do=stop_engine, undo=start_again),
    },
)
