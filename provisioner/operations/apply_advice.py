"""Options of a table, set by advice: by the agent of any node that answers, then files anew on node after node.

The agent sets them only if they are what the order knew; a cancel puts them back, unless somebody else changed them.
"""

from typing import Any

from backend.advisor import actions as advisor
from backend.advisor import reviewing
from backend.clusters.models import Cluster
from backend.clusters.states import NodeState
from backend.operations.models import Operation
from provisioner.agent.base import AgentUnreachable, Job
from provisioner.operations import names
from provisioner.operations.base import Blocked, Done, OperationCode, Outcome, StepCode, StepContext, Wait
from provisioner.operations.node_steps import JobFailed, cluster_of, live_nodes, look_at, node_of, run_job
from provisioner.operations.surroundings import surroundings

# What would be refused again.
_REFUSALS = {
    "options-differ": "Cancel it; the advice is worked out anew from the options that the table has now.",
    "options-refused": "Cancel it; what the engine says is the reason.",
    "unknown-table": "Cancel it; the table was dropped.",
    "invalid-parameters": "Cancel it; the agent of this release does not set such options.",
    "not-supported": "Cancel it; the engine of this cluster cannot do it.",
}


def alter_table(context: StepContext) -> Outcome:
    parameters = context.operation.parameters
    try:
        job = _alter(context, "alter", before=parameters["before"], options=parameters["after"])
    except JobFailed as error:
        if error.code in _REFUSALS:
            raise Blocked(error.code, f"{str(error).rstrip('.')}.", _REFUSALS[error.code]) from error
        raise
    if isinstance(job, Wait):
        return job
    return Done("set" if job.result["changed"] else "they were so already", {"options": job.result["options"]})


def alter_back(context: StepContext) -> Outcome:
    parameters = context.operation.parameters
    try:
        job = _alter(context, "alter-back", before=parameters["after"], options=parameters["before"])
    except JobFailed as error:
        if error.code in _REFUSALS:
            return Done(f"left as they are: {error}")
        raise
    return job if isinstance(job, Wait) else Done()


def _alter(context: StepContext, name: str, *, before: dict[str, Any], options: dict[str, Any]) -> Job | Wait:
    parameters = context.operation.parameters
    work = {"keyspace": parameters["keyspace"], "table": parameters["table"], "before": before, "options": options}
    return _on_any_node(cluster_of(context), names.job(context.operation, name), "alter-table", work)


def _on_any_node(cluster: Cluster, name: str, kind: str, parameters: dict[str, Any]) -> Job | Wait:
    """On the first that answers, those last seen up before the others. Done on two nodes it is done once."""
    for node in sorted(live_nodes(cluster), key=lambda node: node.state != NodeState.UP):
        try:
            return look_at(node, surroundings().agent(node).ensure_job(name, kind, parameters, wait_seconds=1))
        except AgentUnreachable:
            continue
        except JobFailed as error:
            if error.code != "engine-not-running":
                raise
    return Wait(2, "a node to answer")


def rewrite_table(context: StepContext) -> Outcome:
    node, parameters = node_of(context), context.operation.parameters
    if node.deleted_at is not None:
        return Done("it has left the ring meanwhile")
    if node.stop_wanted:
        return Done("stopped; its files stay as they are until they are compacted")
    table = {"keyspace": parameters["keyspace"], "table": parameters["table"]}
    name = names.job(context.operation, "rewrite")
    job = run_job(node, name, "rewrite-table", table, final=("unknown-table", "invalid-parameters", "not-supported"))
    return job if isinstance(job, Wait) else Done()


def _succeeded(operation: Operation) -> None:
    parameters = operation.parameters
    advisor.change_applied(operation)
    reviewing.options_set(str(operation.cluster_id), parameters["keyspace"], parameters["table"], parameters["after"])


CODE = OperationCode(
    kind="apply_advice",
    steps={
        "alter_table": StepCode(do=alter_table, undo=alter_back),
        "rewrite_table": StepCode(do=rewrite_table),
    },
    on_succeeded=_succeeded,
    on_cancelled=advisor.change_cancelled,
)
