"""Asking a node about itself. It ends by itself in any case: that there is no answer is an answer too."""

from backend.diagnostics import actions as diagnostics
from provisioner.agent.base import AgentRefused, AgentUnreachable
from provisioner.operations import names
from provisioner.operations.base import Done, OperationCode, Outcome, StepCode, StepContext, Wait
from provisioner.operations.membership import forget_job
from provisioner.operations.node_steps import JOB_LOOK_SECONDS, node_of
from provisioner.operations.surroundings import surroundings

# So many looks in a row at an agent that does not answer, a second apart.
_PATIENCE = 5


def ask_node(context: StepContext) -> Outcome:
    node = node_of(context)
    if node.deleted_at is not None:
        return _unanswered(context, "node-deleted", "The node has left the cluster.")
    name = _job(context)
    agent = surroundings().agent(node)
    parameters = context.operation.parameters
    try:
        job = agent.ensure_job(
            name,
            "diagnose",
            {"question": parameters["question"], **parameters["parameters"]},
            wait_seconds=JOB_LOOK_SECONDS,
        )
    except AgentUnreachable as error:
        if context.step.attempt < _PATIENCE:
            # An ordinary failure: shown, and tried again.
            raise
        return _unanswered(context, "node-unreachable", f"{node.name} does not answer: {error}")
    except AgentRefused as error:
        return _unanswered(context, error.code, f"{node.name}: {error.message}")
    match job.state:
        case "running":
            return Wait(0, job.message or f"{node.name} to answer", job.progress)
        case "failed":
            outcome = _unanswered(context, job.error_code, f"{node.name}: {job.error_message}")
        case "succeeded":
            problem = diagnostics.answered(parameters["diagnosis"], job.result)
            outcome = Done(f"not answered: {problem}" if problem else "answered")
    # Answers hold data: the node does not keep them. One whose deletion is lost goes when there are 500 younger ones.
    forget_job(node, name)
    return outcome


def forget_question(context: StepContext) -> Outcome:
    """It need not be answered any more."""
    forget_job(node_of(context), _job(context))
    return Done()


def _job(context: StepContext) -> str:
    return names.job(context.operation, "diagnose")


def _unanswered(context: StepContext, code: str, message: str) -> Done:
    diagnostics.not_answered(context.operation.parameters["diagnosis"], code=code, message=message)
    return Done(f"not answered: {message}")


CODE = OperationCode(
    kind="diagnose",
    steps={"ask_node": StepCode(do=ask_node, undo=forget_question)},
    on_cancelled=diagnostics.question_cancelled,
)
