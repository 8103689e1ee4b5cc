"""Making nodes leave a ring. One that lives hands its data over; one that dies meanwhile is fenced and removed.

Fencing: its machine is deleted, and confirmed gone, before the ring is told to forget it. A node that was believed dead
and came back would serve old data.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from backend.clusters import lifecycle
from backend.clusters.models import Node
from provisioner.agent.base import AgentUnreachable, Status
from provisioner.operations import names, removal
from provisioner.operations.base import Blocked, Done, Outcome, StepContext, Wait
from provisioner.operations.inspect_steps import look_at_all, run_fresh
from provisioner.operations.membership import (
    ask_all,
    disagreement,
    forget_job,
    hindrance,
    job_or_none,
    leavers,
    machine_state,
    members,
    rest_of,
    with_estimate,
)
from provisioner.operations.node_steps import (
    datacenter_of,
    node_of,
    provider_of,
    revive,
    ring_of,
    run_job,
)
from provisioner.operations.replication_steps import auth_without
from provisioner.operations.surroundings import surroundings
from provisioner.providers.base import MachineState

FULLEST = 0.8
"""Share of a disk that may be full after nodes have left. Compaction rewrites tables and needs room for both copies."""

_JOINING = ("JOINING", "STARTING", "")
_STARTS = 3


def check_removal(context: StepContext) -> Outcome:
    """All are up and agree, no keyspace wants more replicas than nodes are left, and the data fits on the rest."""
    everybody, datacenter = members(context), datacenter_of(context)
    going = leavers(context)
    here = [node for node in everybody if node.datacenter_id == datacenter.id]
    rest = [node for node in here if node.id not in going]
    if waiting := hindrance(everybody) or disagreement(context, everybody):
        return waiting
    told = run_fresh(context, everybody[0], "keyspaces")
    if isinstance(told, Wait):
        return told
    too_many = {
        keyspace["name"]: keyspace["replication"][datacenter.name]
        for keyspace in told["keyspaces"]
        if keyspace["replication"].get(datacenter.name, 0) > len(rest) and not keyspace["system"]
    }
    if too_many:
        listed = ", ".join(f"{name} ({copies})" for name, copies in sorted(too_many.items()))
        raise Blocked(
            "replication-too-high",
            f"{len(rest)} nodes would be left in {datacenter.name}, fewer than the replicas of {listed}.",
            "Alter these keyspaces to fewer replicas and retry, or cancel.",
        )
    _check_room(rest, here, datacenter.name, len(datacenter.zones))
    system = {k["name"]: k["replication"] for k in told["keyspaces"] if k["system"] and k["replication"]}
    return Done(f"{len(rest)} nodes can hold what {len(here)} hold now", {"system_replication": system})


def _check_room(rest: Sequence[Node], here: Sequence[Node], datacenter: str, zones: int) -> None:
    """Blocked when a disk would be too full. Each zone holds a copy of all data, shared by its nodes' tokens."""
    disks = {look.node.id: look.status.disk for look in look_at_all(here) if look.status and look.status.disk}
    engine = surroundings().engine(here[0].cluster.engine)
    share = engine.holdings(ring_of(here[0].cluster, list(rest)), {datacenter: zones})
    for node in rest:
        disk = disks.get(node.id)
        neighbours = [disks.get(other.id) for other in here if other.zone == node.zone]
        if disk is None or not disk.total_bytes or any(other is None for other in neighbours):
            continue
        # Of a node that does not tell its live data, all that is used counts.
        data = [other.data_bytes or other.total_bytes - other.free_bytes for other in neighbours if other is not None]
        own = disk.data_bytes or disk.total_bytes - disk.free_bytes
        afterwards = disk.total_bytes - disk.free_bytes - own + sum(data) * share[node.id]
        if afterwards > FULLEST * disk.total_bytes:
            raise Blocked(
                "no-room",
                f"{node.name} would hold {_gib(afterwards)} on a disk of {_gib(disk.total_bytes)}; "
                f"at most {FULLEST:.0%} may be used, {_gib(FULLEST * disk.total_bytes)}.",
                "Delete data, or move to machines with larger disks first. Then retry, or cancel.",
            )


def leave_ring(context: StepContext) -> Outcome:
    """All others take over what it holds. From here on there is no way back."""
    node = node_of(context)
    rest = rest_of(context, node)
    if node.address is None:
        return Done()
    if not _has_begun(context, node) and (waiting := _at_rest(context, node, rest)):
        return waiting
    lifecycle.node_leaving(node.id)
    return out_of_ring(context, node, rest) or Done("its data is on the others")


def _has_begun(context: StepContext, node: Node) -> bool:
    """Whether there is a decommission already, or nobody to ask about one."""
    try:
        return job_or_none(node, names.job(context.operation, "decommission")) is not None
    except AgentUnreachable:
        return node.state == "leaving"


def _at_rest(context: StepContext, node: Node, rest: Sequence[Node]) -> Wait | None:
    everybody = [*rest, node]
    return hindrance(everybody) or disagreement(context, everybody)


def confirm_left(context: StepContext) -> Outcome:
    """Nobody lists it any more. If it was a seed, another node of its zone is one from now on."""
    rest = rest_of(context, node_of(context))
    if waiting := hindrance(rest) or disagreement(context, rest):
        return waiting
    lifecycle.seeds_settled([other.id for other in rest])
    return Done(f"all {len(rest)} others agree")


def delete_left_machine(context: StepContext) -> Outcome:
    """With its disks; the node's row ends."""
    outcome = removal.delete_machine(context)
    if isinstance(outcome, Done):
        lifecycle.node_gone(context.step.target)
    return outcome


def fence_machine(context: StepContext) -> Outcome:
    """The dead node's machine is gone for good before anybody takes its place: it cannot come back."""
    node = node_of(context)
    lifecycle.node_leaving(node.id, reason="It is down, and another node takes its place.")
    outcome = removal.delete_machine(context)
    return Done("the machine is gone") if isinstance(outcome, Done) else outcome


def out_of_ring(context: StepContext, node: Node, rest: Sequence[Node]) -> Wait | None:
    """One step on the way out for a node, however far in it is; None when none of the others lists it any more."""
    if waiting := hindrance(rest):
        return waiting
    views = ask_all(context, rest, "describe-ring")
    if isinstance(views, Wait):
        return views
    listed = _listed(node, views)
    try:
        status = surroundings().agent(node).status()
    except AgentUnreachable:
        return _silent(context, node, rest, listed)
    if status.mode == "DECOMMISSIONED" or (listed is None and status.engine_state in ("stopped", "absent")):
        if listed is not None:
            return Wait(0.3, f"all others to forget {node.name}")
        return _stopped_joining(context, node) if _is_to_start(context, node) else None
    if status.mode in ("NORMAL", "LEAVING") and status.cql_ready:
        return _decommissioned(context, node, rest, mode=status.mode)
    if listed is None and status.mode in _JOINING:
        return _stopped_joining(context, node)
    return _broken_member(context, node, rest, listed, status)


def _listed(node: Node, views: Mapping[str, Any]) -> Any:
    """What one of the others says of it; None when none lists it."""
    peers = [peer for view in views.values() for peer in view["peers"]]
    return next((peer for peer in peers if peer["address"] == node.address), None)


def _decommissioned(context: StepContext, node: Node, rest: Sequence[Node], *, mode: str) -> Wait | None:
    if mode != "LEAVING" and (waiting := auth_without(context, node, rest)):
        return waiting
    job = run_job(node, names.job(context.operation, "decommission"), "decommission", {})
    return with_estimate(context, job) if isinstance(job, Wait) else Wait(0, f"all others to forget {node.name}")


def _is_to_start(context: StepContext, node: Node) -> bool:
    """Whether a start goes on whose engine has not come up yet: it would join in a moment."""
    starts = [job_or_none(node, name) for name in _starts(context)]
    return any(start is not None and start.state == "running" for start in starts)


def _starts(context: StepContext) -> list[str]:
    return [names.job(context.operation, f"start-{number}") for number in range(1, _STARTS + 1)]


def _stopped_joining(context: StepContext, node: Node) -> Wait:
    """It has not become a member: what it has begun is broken off, and the others forget it by themselves."""
    for name in _starts(context):
        forget_job(node, name)
    stopped = run_job(node, names.job(context.operation, "stop"), "stop", {})
    return stopped if isinstance(stopped, Wait) else Wait(0.3, f"{node.name} to stop joining")


def _broken_member(context: StepContext, node: Node, rest: Sequence[Node], listed: Any, status: Status) -> Wait | None:
    """Its agent answers, its engine does not serve. It is given time, and fenced when that has passed."""
    if status.engine_state in ("starting", "running", "failed") and not context.step.overdue:
        return Wait(1, f"the engine of {node.name} to serve again: it is {status.mode or status.engine_state}")
    return _fenced(context, node, rest, listed)


def _silent(context: StepContext, node: Node, rest: Sequence[Node], listed: Any) -> Wait | None:
    """Its agent does not answer. No member, without power, or long seen down: it is fenced; else it may well live."""
    seen_down = listed is not None and not listed["up"] and context.step.overdue
    if machine_state(node) is MachineState.RUNNING and listed is not None and not seen_down:
        return revive(node)
    return _fenced(context, node, rest, listed)


def _fenced(context: StepContext, node: Node, rest: Sequence[Node], listed: Any) -> Wait | None:
    """Its machine is gone, and then the ring forgets it: the others copy what it held from one another."""
    state = machine_state(node)
    if state is not None:
        only_copies = _only_copies(context, node, rest) if listed is not None else []
        if isinstance(only_copies, Wait):
            return only_copies
        if only_copies and state is MachineState.STOPPED:
            # What no other node has would be lost with its disks.
            return revive(node)
        if only_copies:
            raise Blocked(
                "only-copy",
                f"{node.name} is down and has the only copy of some rows of {', '.join(only_copies)}.",
                "Bring its engine up again, or alter these keyspaces to two replicas or more. Then retry.",
            )
        region, name = node.datacenter.region, names.machine(node)
        if not provider_of(node.cluster).delete_machine(region=region, name=name):
            return Wait(0.3, f"{node.name} is down: its machine to end before the ring forgets it")
    if listed is None:
        return None
    job = f"{names.job(context.operation, 'remove-node')}-{listed['host_id']}"
    removed = run_job(rest[0], job, "remove-node", {"host_id": listed["host_id"]})
    return removed if isinstance(removed, Wait) else Wait(0.3, f"all others to forget {node.name}")


def _only_copies(context: StepContext, node: Node, rest: Sequence[Node]) -> list[str] | Wait:
    """Keyspaces of the users that have one replica in all: what a node holds of them is nowhere else."""
    told = run_fresh(context, rest[0], "keyspaces")
    if isinstance(told, Wait):
        return told
    return [
        keyspace["name"]
        for keyspace in told["keyspaces"]
        if not keyspace["system"]
        and sum(keyspace["replication"].values()) == 1
        and {node.datacenter.name, "replication_factor"} & keyspace["replication"].keys()
    ]


def _gib(count: float) -> str:
    return f"{count / 2**30:.1f} GiB"
