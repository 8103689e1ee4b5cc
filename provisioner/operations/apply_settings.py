"""Engine settings, taken over by running engines where all of them can be, else with a restart of node after node.

The cluster's row says the new settings when every node has them; a cancel gives every node the old ones back.
"""

from backend.access import queries as access
from backend.clusters import lifecycle
from backend.operations.models import Operation
from provisioner.operations import names
from provisioner.operations.base import Blocked, Done, OperationCode, Outcome, StepCode, StepContext, Wait
from provisioner.operations.client_access import let_in
from provisioner.operations.inspect_steps import check_ring
from provisioner.operations.node_steps import node_of, run_job
from provisioner.operations.reconfigure_steps import Wanted, configure, revision_of
from provisioner.operations.restart_steps import (
    bring_back,
    drain_node,
    prove_node,
    start_engine,
    status_of,
    stop_engine,
    take_down_again,
)


def _wanted(context: StepContext) -> Wanted:
    return Wanted(settings=context.operation.parameters["settings"])


def _before(context: StepContext) -> Wanted:
    return Wanted(settings=context.operation.parameters["before"])


def configure_node(context: StepContext) -> Outcome:
    return configure(node_of(context), _wanted(context)) or Done()


def configure_back(context: StepContext) -> Outcome:
    """A running engine that was told the new settings is told the old ones."""
    node = node_of(context)
    if waiting := configure(node, _before(context)):
        return waiting
    if context.operation.parameters["restart"]:
        return Done()
    status = status_of(node)
    if isinstance(status, Wait):
        return status
    if not status.cql_ready:
        return Done("it has them from its next start on")
    applied = run_job(node, names.job(context.operation, "apply-back"), "apply-settings", {})
    return applied if isinstance(applied, Wait) else Done()


def apply_live(context: StepContext) -> Outcome:
    """Blocked when the engine wants a restart for what the catalogue says it takes while running."""
    node = node_of(context)
    job = run_job(node, names.job(context.operation, "apply"), "apply-settings", {})
    if isinstance(job, Wait):
        return job
    if lacking := job.result["needs_restart"]:
        raise Blocked(
            "needs-restart",
            f"{node.name} does not take {', '.join(lacking)} while it runs.",
            "Cancel, and restart the cluster node by node with the settings instead.",
        )
    lifecycle.node_runs(node.id, revision=revision_of(node, _wanted(context)))
    return Done(f"in effect: {', '.join(job.result['applied'])}" if job.result["applied"] else "nothing to change")


def stop_again(context: StepContext) -> Outcome:
    return take_down_again(context, revision_before=revision_of(node_of(context), _before(context)))


def open_ports(context: StepContext) -> Outcome:
    """The firewall follows the ports that the settings open and close."""
    allowed = access.wanted_cidrs(context.operation.cluster_id)
    return let_in(context, allowed, settings=context.operation.parameters["settings"])


def put_back_ports(context: StepContext) -> Outcome:
    allowed = access.wanted_cidrs(context.operation.cluster_id)
    return let_in(context, allowed, settings=context.operation.parameters["before"])


def _succeeded(operation: Operation) -> None:
    lifecycle.cluster_settings(operation.cluster_id, operation.parameters["settings"])


def _cancelled(operation: Operation) -> None:
    lifecycle.cluster_settings(operation.cluster_id, operation.parameters["before"])


CODE = OperationCode(
    kind="apply_settings",
    steps={
        "check_ring": StepCode(do=check_ring),
        "allow_clients": StepCode(do=open_ports, undo=put_back_ports),
        "drain_node": StepCode(do=drain_node, undo=bring_back),
        "stop_engine": StepCode(do=stop_engine, undo=bring_back),
        "configure_node": StepCode(do=configure_node, undo=configure_back),
        "apply_live": StepCode(do=apply_live),
        "start_engine": StepCode(do=start_engine, undo=stop_again),
        "prove_node": StepCode(do=prove_node),
    },
    on_succeeded=_succeeded,
    on_cancelled=_cancelled,
)
