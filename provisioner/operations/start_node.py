"""The engine of a stopped node is started. Cancelled, one that somebody had stopped is stopped again."""

from backend.clusters import lifecycle
from provisioner.operations import names, restart_steps
from provisioner.operations.base import Done, OperationCode, Outcome, StepCode, StepContext, Wait
from provisioner.operations.node_steps import node_of, run_job
from provisioner.operations.restart_steps import prove_node


def start_engine(context: StepContext) -> Outcome:
    lifecycle.node_stop_wanted(node_of(context).id, False)
    return restart_steps.start_engine(context)


def stop_again(context: StepContext) -> Outcome:
    node = node_of(context)
    if not context.operation.parameters.get("was_stopped"):
        return Done("it runs")
    lifecycle.node_stop_wanted(node.id, True)
    stopped = run_job(node, names.job(context.operation, "back-stop"), "stop", {})
    if isinstance(stopped, Wait):
        return stopped
    lifecycle.node_taken_down(node.id, reason="Stopped on request.", for_good=True)
    return Done()


CODE = OperationCode(
    kind="start_node",
    steps={"start_engine": StepCode(do=start_engine, undo=stop_again), "prove_node": StepCode(do=prove_node)},
)
