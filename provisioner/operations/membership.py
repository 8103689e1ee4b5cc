"""Who is a member of the ring while an operation changes it, and whether all members tell the same story about that.

The plan says who is in: a node that joins is a member when its step is done, one that leaves until its step is done.
Rows cannot tell, because those of new nodes are there from the order on.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from django.utils import timezone

from backend.clusters.models import Node
from backend.operations.states import StepState
from provisioner.agent.base import AgentClient, AgentError, AgentRefused, AgentUnreachable, Job
from provisioner.operations import names
from provisioner.operations.base import StepContext, Wait
from provisioner.operations.inspect_steps import look_at_all, ring_trouble, serves
from provisioner.operations.node_steps import JOB_LOOK_SECONDS, cluster_of, live_nodes, look_at, provider_of, revive
from provisioner.operations.surroundings import surroundings
from provisioner.providers.base import MachineState

_JOINS = ("join_ring", "take_over")
_LEAVES = ("leave_ring", "fence_machine")
_THREADS = 16
_AGAIN = 0.3

Answer = TypeVar("Answer")


def newcomers(context: StepContext) -> set[str]:
    """Ids of the nodes that this operation lets in."""
    return {step.target for step in context.plan if step.name in _JOINS}


def leavers(context: StepContext) -> set[str]:
    """Ids of the nodes that this operation makes go, dead ones too."""
    return {step.target for step in context.plan if step.name in _LEAVES}


def members(context: StepContext) -> list[Node]:
    """Who is in the ring now, apart from the node that the step at hand lets in, takes back or holds for dead."""
    out = {context.step.target} if context.step.name in (*_JOINS, "check_ring_without", "fence_machine") else set()
    for step in context.plan:
        entered = step.state == StepState.DONE
        if (step.name in _JOINS and not entered) or (step.name in _LEAVES and entered):
            out.add(step.target)
    return [node for node in live_nodes(cluster_of(context)) if node.id not in out]


def rest_of(context: StepContext, node: Node) -> list[Node]:
    """The other members."""
    return [other for other in members(context) if other.id != node.id]


def disagreement(context: StepContext, nodes: Sequence[Node], *, without: Sequence[Node] = ()) -> Wait | None:
    """None when these nodes see each other up and nobody else, with the same tokens and one schema, and all at rest.

    `without`: nodes that may be listed and do not count, such as one that is down. Looks that agents have kept could be
    two seconds old, so all are made to look now.
    """
    views = ask_all(context, nodes, "describe-ring")
    if isinstance(views, Wait):
        return views
    trouble = ring_trouble(context, nodes, without=without)
    if isinstance(trouble, Wait):
        return trouble
    return Wait(_AGAIN, f"all nodes to agree: {trouble}") if trouble else None


def hindrance(nodes: Sequence[Node]) -> Wait | None:
    """Nodes that do not serve, with what that means; None when all do. Machines of theirs that are off are started."""
    looks = look_at_all(nodes)
    down = [look for look in looks if not serves(look)]
    if not down:
        return None
    for look in down:
        if look.status is None:
            revive(look.node)
    return Wait(1, f"{', '.join(look.node.name for look in down)} to serve again: {_arithmetic(looks, down)}")


def _arithmetic(looks: Sequence[Any], down: Sequence[Any]) -> str:
    """Each zone holds a replica of every row: how many zones of the data centres that suffer are whole."""
    sentences = []
    for datacenter in sorted({look.node.datacenter.name for look in down}):
        here = [look for look in looks if look.node.datacenter.name == datacenter]
        zones = {look.node.zone for look in here}
        whole = len(zones - {look.node.zone for look in down})
        sentences.append(f"{whole} of {len(zones)} zones of {datacenter} are whole, QUORUM needs {len(zones) // 2 + 1}")
    return "; ".join(sentences)


def ask_all(context: StepContext, nodes: Sequence[Node], kind: str) -> dict[str, Mapping[str, Any]] | Wait:
    """The results of a job that only reads, by node id, made now and side by side. Names who does not answer."""
    name = f"{names.job(context.operation, kind)}-{context.step.position}"

    def ask(node: Node, agent: AgentClient) -> Job | AgentUnreachable:
        try:
            # What an earlier look has left behind is no news.
            agent.delete_job(name)
            return agent.ensure_job(name, kind, {}, wait_seconds=JOB_LOOK_SECONDS)
        except AgentUnreachable as error:
            return error

    answers = side_by_side(nodes, ask)
    silent = [node for node, answer in zip(nodes, answers, strict=True) if isinstance(answer, AgentUnreachable)]
    if silent:
        waits = [revive(node) for node in silent]
        return Wait(max(wait.seconds for wait in waits), "; ".join(wait.what_for for wait in waits))
    found = {}
    for node, answer in zip(nodes, answers, strict=True):
        assert isinstance(answer, Job)
        looked = look_at(node, answer)
        if isinstance(looked, Wait):
            return Wait(_AGAIN, f"{node.name} to tell ({kind})")
        found[node.id] = looked.result
    return found


def side_by_side(nodes: Sequence[Node], ask: Callable[[Node, AgentClient], Answer]) -> list[Answer]:
    # The clients are made here: only this thread may use the database.
    agents = [surroundings().agent(node) for node in nodes]
    if len(nodes) == 1:
        return [ask(nodes[0], agents[0])]
    with ThreadPoolExecutor(min(_THREADS, max(1, len(nodes)))) as threads:
        return list(threads.map(ask, nodes, agents))


def job_or_none(node: Node, name: str) -> Job | None:
    """The job as it is, None when the agent knows none of the name. AgentUnreachable."""
    try:
        return surroundings().agent(node).job(name)
    except AgentRefused as refused:
        if refused.code == "job-not-found":
            return None
        raise


def forget_job(node: Node, name: str) -> None:
    # When it fails the next look at worst finds what this one found.
    with suppress(AgentError):
        surroundings().agent(node).delete_job(name)


def machine_state(node: Node) -> MachineState | None:
    """None: there is no such machine (any more)."""
    machine = provider_of(node.cluster).find_machine(region=node.datacenter.region, name=names.machine(node))
    return None if machine is None else machine.state


def with_estimate(context: StepContext, waiting: Wait) -> Wait:
    """Seconds left at the pace so far, once there is enough of it to judge by."""
    began, progress = context.step.started_at, waiting.progress
    if began is None or progress is None or not 0.25 <= progress < 1:
        return waiting
    elapsed = (timezone.now() - began).total_seconds()
    return replace(waiting, eta_seconds=max(0.0, elapsed * (1 - progress) / progress))
