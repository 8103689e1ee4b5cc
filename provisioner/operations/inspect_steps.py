"""Looking at a whole ring before anything is done to one of its nodes.

All nodes are asked side by side. What is found wrong is waited for, because right after a change views differ for a
second or two; what stays wrong is for a person to decide.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from django.utils import timezone

from backend.clusters.models import Node
from provisioner.agent.base import AgentClient, AgentError, AgentUnreachable, Job, Status
from provisioner.engines.base import NodeView, PeerView
from provisioner.operations import names
from provisioner.operations.base import Blocked, Done, Outcome, StepContext, Wait
from provisioner.operations.keyspace_quorum import Place, Shortage, shortages
from provisioner.operations.node_steps import (
    JOB_LOOK_SECONDS,
    cluster_of,
    live_nodes,
    look_at,
    node_of,
    ring_of,
    run_job,
)
from provisioner.operations.surroundings import surroundings

# How long a ring may look wrong before a person is asked.
PATIENCE = timedelta(seconds=45)
_THREADS = 16
_AGAIN = 0.5

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Look:
    """A node and what its agent said, or why it said nothing."""

    node: Node
    status: Status | None
    fault: str = ""


def check_ring(context: StepContext) -> Outcome:
    """Every node sees all others up, with their tokens and one schema, and nobody joins or leaves."""
    cluster = cluster_of(context)
    trouble = ring_trouble(context, live_nodes(cluster))
    if isinstance(trouble, Wait):
        return trouble
    if trouble:
        return wait_or_block(
            context,
            trouble,
            hint="Start or replace the node that is down, or wait until the ring is at rest; then retry.",
        )
    return Done("every node sees all others up, with one schema")


def check_ring_but_one(context: StepContext) -> Outcome:
    """As `check_ring`, apart from the node in the operation's parameters: that one may be in any state."""
    node = Node.objects.select_related("cluster", "datacenter").get(id=context.operation.parameters["node"])
    trouble = others_trouble(context, node)
    if isinstance(trouble, Wait):
        return trouble
    if trouble:
        return wait_or_block(
            context,
            f"{node.name} is not restarted: {trouble}",
            hint="Start or replace the other node that is down, or wait until the ring is at rest; then retry.",
            code="another-node-is-down",
        )
    return Done("every other node sees all others up, with one schema")


def check_quorum(context: StepContext) -> Outcome:
    """The rows of every keyspace keep QUORUM without the node. What no order of work could avoid is only told."""
    node = node_of(context)
    members = live_nodes(node.cluster)
    found = quorum_shortages(context, node, members)
    if isinstance(found, Wait):
        return found
    if short := [shortage for shortage in found if not shortage.alone]:
        raise Blocked(
            "quorum-at-risk",
            f"{node.name} cannot be taken down: {'; '.join(str(shortage) for shortage in short)}.",
            "Start the nodes that are down first, then retry.",
        )
    return Done(_told(found) or "QUORUM holds without it")


def _told(found: Sequence[Shortage]) -> str:
    if not found:
        return ""
    return f"Warning: {'; '.join(str(shortage) for shortage in found)}"


def quorum_shortages(context: StepContext, node: Node, members: Sequence[Node]) -> list[Shortage] | Wait:
    """Keyspaces that would be without QUORUM, with those nodes counted as down that do not serve now."""
    looks = look_at_all(members)
    serving = [look.node for look in looks if serves(look)]
    asked = next((other for other in serving if other.id != node.id), serving[0] if serving else None)
    if asked is None:
        return Wait(_AGAIN, "a node that serves, to ask how keyspaces are replicated")
    told = run_fresh(context, asked, "keyspaces")
    if isinstance(told, Wait):
        return told
    replication = {keyspace["name"]: keyspace["replication"] for keyspace in told["keyspaces"]}
    return shortages(
        replication,
        [Place(member.id, member.datacenter.name, member.zone) for member in members],
        down=[look.node.id for look in looks if not serves(look) and look.node.id != node.id],
        taken=node.id,
    )


def others_trouble(context: StepContext, node: Node) -> str | Wait:
    """What is wrong with the ring apart from this node; empty when every other node sees all others up."""
    return ring_trouble(context, [other for other in live_nodes(node.cluster) if other.id != node.id], without=[node])


def ring_trouble(context: StepContext, members: Sequence[Node], *, without: Sequence[Node] = ()) -> str | Wait:
    """The first thing that is wrong with a ring; empty when nothing is, Wait while some node has not told yet.

    `without`: nodes of it that do not count and may be down.
    """
    if not members:
        return ""
    if trouble := view_trouble(members, without=without):
        return trouble
    inspected = inspect_all(context, members)
    if isinstance(inspected, Wait):
        return inspected
    # Gossip remembers nodes that have left for days. Whether a stranger is a member the views have told.
    counted = {str(node.address) for node in members}
    for member in members:
        told = inspected[member.id]
        for moving in ("joining", "leaving", "moving"):
            if told[moving]:
                return f"{member.name} sees a node {moving}: {', '.join(told[moving])}"
        if gone := sorted(set(told["unreachable"]) & counted):
            return f"{member.name} does not reach {', '.join(gone)}"
    return ""


def view_trouble(members: Sequence[Node], *, without: Sequence[Node] = ()) -> str:
    """What is wrong with the ring as its agents see it at this moment. Cheaper than to ask the engines."""
    looks = look_at_all(members)
    for look in looks:
        if look.status is None:
            return f"{look.node.name} does not answer: {look.fault}"
        if not serves(look):
            return f"{look.node.name} does not serve: its engine is {look.status.mode or look.status.engine_state}"
        if look.status.ring is None:
            return f"{look.node.name} does not tell how it sees the ring"
    left_out = {str(node.address) for node in without}
    cluster = members[0].cluster
    ring = ring_of(cluster, list(members))
    views = [_view(look, left_out) for look in looks]
    return surroundings().engine(cluster.engine).ring_disagreement(ring, views)


def _view(look: Look, left_out: set[str]) -> NodeView:
    assert look.status is not None
    told = look.status.ring
    assert told is not None
    return NodeView(
        node_id=look.node.id,
        host_id=told.host_id,
        schema_version=told.schema_version,
        tokens=frozenset(told.tokens),
        peers=tuple(
            PeerView(
                address=peer.address,
                host_id=peer.host_id,
                schema_version=peer.schema_version,
                rack=peer.rack,
                up=peer.up,
            )
            for peer in told.peers
            if peer.address not in left_out
        ),
    )


def serves(look: Look) -> bool:
    """Whether drivers can use the node."""
    return look.status is not None and look.status.engine_state == "running" and look.status.cql_ready


def seen_down_by(node: Node, others: Sequence[Node]) -> list[str]:
    """Names of the other serving nodes that do not see this one up."""
    looks = [look for look in look_at_all(others) if serves(look)]
    return [look.node.name for look in looks if not _sees_up(look, node)]


def _sees_up(look: Look, node: Node) -> bool:
    ring = look.status.ring if look.status is not None else None
    return ring is not None and any(peer.address == node.address and peer.up for peer in ring.peers)


def look_at_all(nodes: Sequence[Node]) -> list[Look]:
    def look(node: Node, agent: AgentClient) -> Look:
        try:
            return Look(node, agent.status())
        except AgentError as error:
            return Look(node, None, str(error))

    return _side_by_side(nodes, look)


def inspect_all(context: StepContext, nodes: Sequence[Node]) -> dict[str, Mapping[str, Any]] | Wait:
    """The figures of the job inspect of every node, by node id, all taken now."""
    name = _fresh_name(context, "inspect")

    def inspect(node: Node, agent: AgentClient) -> Job | AgentError:
        try:
            return agent.ensure_job(name, "inspect", {}, wait_seconds=JOB_LOOK_SECONDS)
        except AgentError as error:
            return error

    found: dict[str, Mapping[str, Any]] = {}
    waits: list[Wait] = []
    for node, answer in zip(nodes, _side_by_side(nodes, inspect), strict=True):
        if isinstance(answer, AgentUnreachable):
            waits.append(Wait(_AGAIN, f"{node.name} to answer"))
            continue
        if isinstance(answer, AgentError):
            raise answer
        looked = look_at(node, answer)
        if isinstance(looked, Wait):
            waits.append(looked)
        else:
            found[node.id] = looked.result
    if waits:
        return waits[0]
    _side_by_side(nodes, lambda node, agent: _forget(agent, name))
    return found


def run_fresh(context: StepContext, node: Node, kind: str) -> Mapping[str, Any] | Wait:
    """The result of a job that only reads, as it is now: it is forgotten once read, so that the next look is new."""
    name = _fresh_name(context, kind)
    job = run_job(node, name, kind, {})
    if isinstance(job, Wait):
        return job
    _forget(surroundings().agent(node), name)
    return job.result


def _fresh_name(context: StepContext, kind: str) -> str:
    """One per step, so that what another step has left behind unread is not taken for news."""
    return f"{names.job(context.operation, kind)}-{context.step.position}"


def _forget(agent: AgentClient, name: str) -> None:
    # If it cannot be reached, the next look finds, at worst, what this one found.
    with suppress(AgentUnreachable):
        agent.delete_job(name)


def wait_or_block(context: StepContext, trouble: str, *, hint: str, code: str = "ring-not-at-rest") -> Wait:
    """Wait for what is wrong to pass; Blocked when it has lasted since the step began."""
    if has_lasted(context, PATIENCE):
        raise Blocked(code, f"{trouble}.", hint)
    return Wait(_AGAIN, trouble)


def has_lasted(context: StepContext, time: timedelta) -> bool:
    """Whether the step began longer ago than that."""
    began = context.step.started_at
    return began is not None and timezone.now() - began > time


def _side_by_side(nodes: Sequence[Node], ask: Callable[[Node, AgentClient], Answer]) -> list[Answer]:
    # The clients are made here: only this thread may use the database.
    agents = [surroundings().agent(node) for node in nodes]
    with ThreadPoolExecutor(min(_THREADS, max(1, len(nodes)))) as threads:
        return list(threads.map(ask, nodes, agents))
