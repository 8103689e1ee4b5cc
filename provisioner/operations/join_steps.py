"""Letting nodes into a ring that holds data: one after another, and each only when all members agree about the ring.

A node that is lost on its way in, or cannot be brought in by three tries, gets another machine: the old one is deleted
first, and what the ring has kept of it is removed, so that nothing of it can come back.
"""

from collections.abc import Sequence
from typing import Any

from django.utils import timezone

from backend.access import queries as access
from backend.clusters import lifecycle
from backend.clusters.models import Node
from backend.operations.models import Operation
from provisioner.agent.base import AgentUnreachable, Job
from provisioner.engines.base import Entry, Replaced, tokens_digest
from provisioner.operations import names
from provisioner.operations.base import Blocked, Done, Outcome, StepContext, Wait
from provisioner.operations.leave_steps import out_of_ring
from provisioner.operations.machine_steps import ensure_machine, put_config
from provisioner.operations.membership import (
    ask_all,
    disagreement,
    forget_job,
    hindrance,
    job_or_none,
    machine_state,
    members,
    rest_of,
    with_estimate,
)
from provisioner.operations.node_steps import (
    JobFailed,
    done_or_wait,
    node_of,
    prove_parameters,
    provider_of,
    revive,
    run_job,
)
from provisioner.operations.replication_steps import auth_for_newcomer
from provisioner.operations.surroundings import surroundings
from provisioner.providers.base import MachineState

# On one machine. Most failures pass by themselves: a neighbour that restarts, a view of the ring that is late.
_TRIES = 3

# So long a node that others still see up is waited for to go down. Engines notice a death within some 20 s.
_SEEN_UP_SECONDS = 90.0

# Failures after which nobody knows what the node has: it is made anew at once.
_HOPELESS = frozenset({"join-unwatched", "local-data-lost"})


def check_ring(context: StepContext) -> Outcome:
    """All agree, before anything is begun. Rows are planted that a node's data can be checked by later."""
    ring = members(context)
    if waiting := hindrance(ring) or disagreement(context, ring):
        return waiting
    return _planted(context, ring, "all nodes agree about the ring")


def check_ring_without(context: StepContext) -> Outcome:
    """The others agree with each other, and that this one is down."""
    dead, ring = node_of(context), members(context)
    if waiting := hindrance(ring) or disagreement(context, ring, without=[dead]):
        return waiting
    views = ask_all(context, ring, "describe-ring")
    if isinstance(views, Wait):
        return views
    up = [other.name for other in ring if _sees_up(views[other.id], dead)]
    if up and _has_run_for(context, _SEEN_UP_SECONDS):
        raise Blocked(
            "node-lives",
            f"{dead.name} was thought to be down, but {', '.join(up)} sees it up: it is not replaced like this.",
            "Cancel and order it anew: a living node is replaced by other steps, without losing a copy.",
        )
    if up:
        return Wait(1, f"{', '.join(up)} to see {dead.name} down; a node that lives is not replaced like this")
    try:
        return _planted(context, ring, f"{len(ring)} nodes see {dead.name} down")
    except JobFailed:
        # Without a quorum nothing can be written; the replacement is then checked by its tables alone.
        return Done("no rows could be written to check by", {"canary": False})


def _has_run_for(context: StepContext, seconds: float) -> bool:
    """By the clock of this process, which may be a little off: it only decides when a person is asked."""
    started = context.step.started_at
    return started is not None and (timezone.now() - started).total_seconds() > seconds


def _sees_up(view: Any, node: Node) -> bool:
    return any(peer["address"] == node.address and peer["up"] for peer in view["peers"])


def _planted(context: StepContext, ring: Sequence[Node], message: str) -> Outcome:
    job = run_job(ring[0], names.job(context.operation, "plant-canary"), "plant-canary", {})
    return job if isinstance(job, Wait) else Done(message, {"canary": True})


def lift_stream_limit(context: StepContext) -> Outcome:
    """Data of this operation is streamed as fast as it goes. A start of the engine puts the limit back by itself."""
    job = run_job(node_of(context), names.job(context.operation, "lift-limit"), "stream-limit", {"mib_per_second": 0})
    return done_or_wait(job, "no limit during this operation")


def restore_stream_limit(context: StepContext) -> Outcome:
    """What the configuration says, again. An engine that does not run has it when it starts."""
    node = node_of(context)
    name = names.job(context.operation, "restore-limit")
    try:
        if not surroundings().agent(node).status().cql_ready:
            return Done("its engine does not run; it starts with the limit")
        job = run_job(node, name, "stream-limit", {"mib_per_second": None})
    except AgentUnreachable:
        if machine_state(node) is MachineState.RUNNING:
            return revive(node)
        return Done("its machine is off; it starts with the limit")
    return done_or_wait(job, "")


def join_ring(context: StepContext) -> Outcome:
    """It takes over its ranges from those that hold them."""
    return _enter(context, Entry.JOIN)


def join_empty(context: StepContext) -> Outcome:
    """The first nodes of a data centre: nothing is replicated there yet, so there is nothing to fetch."""
    return _enter(context, Entry.JOIN_EMPTY)


def take_over(context: StepContext) -> Outcome:
    """It gets the tokens of a dead node, whose machine is gone."""
    return _enter(context, Entry.REPLACE)


def leave_again(context: StepContext) -> Outcome:
    """Undo: whether it is a member, is joining or never came so far, it is none of these afterwards."""
    node = node_of(context)
    if node.address is None:
        return Done()
    ring = members(context)
    if waiting := out_of_ring(context, node, ring):
        return waiting
    return disagreement(context, ring) or Done("the others agree that it is no member")


def _enter(context: StepContext, entry: Entry) -> Outcome:
    node = node_of(context)
    ring = members(context)
    if waiting := _machine_made_anew(context, node) or hindrance(ring):
        return waiting
    node.refresh_from_db()
    try:
        started = _start_job(context, node)
        if started is None:
            return _make_anew(node, f"{node.name} could not be brought into the ring by {_TRIES} tries.")
        name, job = started
        if job is None and (waiting := _prepare(context, node, ring, entry)):
            return waiting
        running = run_job(node, name, "start", {})
    except AgentUnreachable:
        return _lost_or_silent(node)
    except JobFailed as failure:
        if failure.code in _HOPELESS:
            return _make_anew(node, str(failure))
        raise
    lifecycle.node_joining(node.id)
    if isinstance(running, Wait):
        return with_estimate(context, running)
    return _met(context, node, ring, running)


def _start_job(context: StepContext, node: Node) -> tuple[str, Job | None] | None:
    """The start that counts, and its name: the first that has not failed. None when all have. AgentUnreachable."""
    for number in range(1, _TRIES + 1):
        name = names.job(context.operation, f"start-{number}")
        job = job_or_none(node, name)
        if job is not None and job.state == "failed" and job.error_code in _HOPELESS:
            return None
        if job is None or job.state != "failed":
            return name, job
    return None


def _prepare(context: StepContext, node: Node, ring: Sequence[Node], entry: Entry) -> Wait | None:
    """Everything that must hold right before a node joins, and its configuration. AgentUnreachable."""
    version = node.cluster.engine_version
    installed = run_job(
        node,
        names.job(context.operation, "install"),
        "install",
        {"engine": node.cluster.engine, "version": version},
    )
    if isinstance(installed, Wait):
        return installed
    views = ask_all(context, ring, "describe-ring")
    if isinstance(views, Wait):
        return views
    ghost = _ghost(node, views)
    if entry is Entry.REPLACE and ghost is None:
        # The ring has forgotten the dead node, so its tokens are free.
        entry = Entry.JOIN
    elif entry is not Entry.REPLACE and ghost is not None:
        return _without_ghost(context, node, ring, ghost)
    left_out = [] if ghost is None else [Node(id=ghost["host_id"], address=ghost["address"])]
    if waiting := disagreement(context, ring, without=left_out):
        return waiting
    if entry is not Entry.REPLACE and (waiting := auth_for_newcomer(context, node, ring)):
        return waiting
    if not any(other.is_seed for other in ring):
        # The only seed is the one that is dead.
        for other in ring:
            other.is_seed = True
    replaces = None if ghost is None else Replaced(address=ghost["address"], host_id=ghost["host_id"])
    return put_config(node, [*ring, node], entry, replaces=replaces)


def _ghost(node: Node, views: dict[str, Any]) -> Any:
    """A member with this node's tokens that is none of ours: the dead one, or what a lost machine of it has left."""
    digest = tokens_digest(node.tokens)
    peers = [peer for view in views.values() for peer in view["peers"]]
    ghosts = [peer for peer in peers if peer["tokens_digest"] == digest and peer["address"] != node.address]
    return ghosts[0] if ghosts else None


def _without_ghost(context: StepContext, node: Node, ring: Sequence[Node], ghost: Any) -> Wait:
    """Its machine is gone, so the ring may forget it. The next look finds whether it has."""
    name = f"{names.job(context.operation, 'remove-node')}-{ghost['host_id']}"
    removed = run_job(ring[0], name, "remove-node", {"host_id": ghost["host_id"]})
    if isinstance(removed, Wait):
        return with_estimate(context, removed)
    forget_job(ring[0], name)
    return Wait(0.3, f"the ring to forget the lost machine of {node.name}")


def _met(context: StepContext, node: Node, ring: Sequence[Node], started: Job) -> Outcome:
    """It has joined: its agent learns the control account, and all must agree before anything else is done."""
    parameters = prove_parameters(context, node.cluster) | {
        "members": [other.address for other in [*ring, node]],
        "write": False,
    }
    met = run_job(node, names.job(context.operation, "meet"), "prove", parameters)
    if isinstance(met, Wait):
        return met
    if waiting := disagreement(context, [*ring, node]):
        return waiting
    streamed = int(started.result.get("bytes_streamed", 0))
    message = f"{streamed / 2**20:.1f} MiB streamed; all {len(ring) + 1} nodes agree"
    return Done(message, {"bytes_streamed": streamed})


# A machine that is lost on the way


def _lost_or_silent(node: Node) -> Wait:
    if machine_state(node) is None:
        return _make_anew(node, "Its machine was lost while it joined.")
    return revive(node)


def _make_anew(node: Node, reason: str) -> Wait:
    lifecycle.node_starts_anew(node.id, reason=reason)
    return Wait(0, f"{node.name} to get another machine: {reason}")


def _machine_made_anew(context: StepContext, node: Node) -> Wait | None:
    """The row says how far this is: without a machine's id the old one must go, without an address a new one is due."""
    if node.machine_id and node.address is not None:
        return None
    if not node.machine_id and node.address is not None:
        if not provider_of(node.cluster).delete_machine(region=node.datacenter.region, name=names.machine(node)):
            return Wait(0.3, f"{node.name}: its old machine to end")
        lifecycle.node_without_machine(node.id)
    made = ensure_machine(context)
    return made if isinstance(made, Wait) else None


# Afterwards


def prove_member(context: StepContext) -> Outcome:
    """It serves reads and writes at ALL. Whose place it takes is no node of the cluster any more."""
    node = node_of(context)
    ring = [*rest_of(context, node), node]
    if waiting := _allowlist_taken_over(context, node):
        return waiting
    parameters = prove_parameters(context, node.cluster) | {"members": [other.address for other in ring]}
    job = run_job(node, names.job(context.operation, "prove"), "prove", parameters)
    if isinstance(job, Wait):
        return job
    lifecycle.node_proved(node.id, host_id=str(job.result["host_id"]), engine_version=node.cluster.engine_version)
    lifecycle.node_runs(node.id, revision=node.config_revision)
    if node.replaces_id in {step.target for step in context.plan if step.name == "fence_machine"}:
        lifecycle.node_gone(node.replaces_id)
    lifecycle.seeds_settled([other.id for other in ring])
    return Done("ring and schema agreed; written at ALL, read at ALL")


def _allowlist_taken_over(context: StepContext, node: Node) -> Wait | None:
    """A change of the list while the node joined did not know of it."""
    cidrs = access.engine_cidrs(node.cluster_id)
    if not cidrs:
        return None
    job = run_job(node, names.job(context.operation, "allowlist"), "allowlist", {"cidrs": cidrs})
    return job if isinstance(job, Wait) else None


def clean_up(context: StepContext) -> Outcome:
    """What others have taken over is removed from its disks."""
    job = run_job(node_of(context), names.job(context.operation, "cleanup"), "cleanup", {})
    return with_estimate(context, job) if isinstance(job, Wait) else Done()


def publish_configuration(context: StepContext) -> Outcome:
    """The seeds as they are now, for its next start and for gossip; the running engine takes them over."""
    return put_config(node_of(context), members(context), Entry.MEMBER) or Done()


def nodes_not_taken(operation: Operation) -> None:
    """It was cancelled: the nodes that were ordered for it end. For `on_cancelled`."""
    for node_id in operation.steps.filter(name="ensure_machine").values_list("target", flat=True):
        lifecycle.node_gone(node_id)
