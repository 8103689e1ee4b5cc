"""What a look means: the state of a node, from its own agent, from its neighbours and from the provider. Pure.

An agent that does not answer proves nothing about its database: the node is `unobserved`, unless most of its neighbours
see it down or its provider says that its machine has no power. One observer alone declares nobody dead.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from backend.clusters.models import Node
from backend.clusters.states import NodeState
from provisioner.agent.base import Status
from provisioner.reconcile.looks import Look, MachineFact

# In these a node does not serve, so that its cluster is degraded.
NOT_SERVING = frozenset({NodeState.DOWN, NodeState.DATA_LOST, NodeState.STOPPED})

_MODES = {"JOINING": NodeState.JOINING, "LEAVING": NodeState.LEAVING}
_OFF = {
    MachineFact.STOPPED: "Its machine is off.",
    MachineFact.GONE: "Its provider does not have its machine any more.",
}


@dataclass(frozen=True)
class Verdict:
    state: NodeState
    reason: str = ""


def judge(look: Look, views: Sequence[Status]) -> Verdict:
    """The state of a node. `views`: the statuses of the cluster's nodes that answered, this one's or not."""
    if look.status is None:
        return _judge_silent(look, views)
    status = look.status
    if status.local_data_lost:
        return Verdict(NodeState.DATA_LOST, "Its disks are blank, so its engine is not started.")
    if status.engine_state == "running" and status.cql_ready:
        return Verdict(_MODES.get(status.mode, NodeState.UP))
    if look.node.stop_wanted and status.engine_state in ("stopped", "absent"):
        return Verdict(NodeState.STOPPED, "Someone stopped it.")
    if status.engine_state == "running":
        words = "The engine runs but does not accept CQL."
    else:
        words = f"The engine is {status.engine_state}."
    return Verdict(NodeState.DOWN, f"{words} {status.last_error}".strip())


def _judge_silent(look: Look, views: Sequence[Status]) -> Verdict:
    if reason := _OFF.get(look.machine):
        return Verdict(NodeState.DOWN, reason)
    if seen_down(look.node, views):
        return Verdict(NodeState.DOWN, "Its agent does not answer and the other nodes see it down.")
    return Verdict(NodeState.UNOBSERVED, f"Its agent does not answer: {look.fault}")


def seen_down(node: Node, views: Sequence[Status]) -> bool:
    """Whether most of those nodes that have an opinion, and at least two, see this one down."""
    opinions = [
        peer.up for view in views if view.ring is not None for peer in view.ring.peers if peer.address == node.address
    ]
    down = opinions.count(False)
    return down > 1 and down * 2 > len(opinions)


def all_is_well(look: Look, members: int) -> bool:
    """Whether this one look says that its node serves and sees all of its cluster's `members` up."""
    if look.status is None or judge(look, []).state is not NodeState.UP:
        return False
    ring = look.status.ring
    return ring is not None and len(ring.peers) == members - 1 and all(peer.up for peer in ring.peers)
