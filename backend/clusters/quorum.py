"""Whether a node can be done without. Pure arithmetic.

Each zone of a data centre holds one replica of every row. So there are as many replicas as zones, and a zone in which
any node is down is a replica that some rows do without.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where a node is."""

    node: str
    datacenter: str
    zone: str


def needed(replicas: int) -> int:
    """How many of the replicas a read or write at QUORUM waits for."""
    return replicas // 2 + 1


def left_without(place: Place, *, replicas: int, down: Iterable[Place]) -> int:
    """How many replicas of the worst-off rows stay up without this node. `down`: nodes that do not serve now."""
    zones = {other.zone for other in down if other.datacenter == place.datacenter}
    return replicas - len(zones | {place.zone})


def reason_against_taking_down(
    place: Place, name: str, *, replicas: int, down: Sequence[Place], for_good: bool
) -> str | None:
    """Why the node cannot be taken down, with the arithmetic. `for_good`: not only for the seconds of a restart.

    A node that is down already can be restarted. A data centre of one or two zones never keeps QUORUM without one of
    its nodes; so that it can be upgraded at all, its nodes may be restarted as long as all others are up.
    """
    others = [other for other in down if other.datacenter == place.datacenter and other.node != place.node]
    if not for_good and any(other.node == place.node for other in down):
        return None
    left, quorum = left_without(place, replicas=replicas, down=others), needed(replicas)
    if left >= quorum:
        return None
    if not for_good and not others and replicas < 3:
        return None
    verb = "Stopping" if for_good else "Restarting"
    return f"{verb} {name} would leave {left} of {replicas} replicas; QUORUM needs {quorum}."
