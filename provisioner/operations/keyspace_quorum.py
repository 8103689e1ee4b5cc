"""Which keyspaces lose QUORUM when nodes are down, from their real replication. Pure arithmetic.

backend/clusters/quorum.py asks the same before a change is ordered, from zones alone, since only nodes know keyspaces.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where a node is: data centre and rack."""

    node: str
    datacenter: str
    rack: str


@dataclass(frozen=True, kw_only=True)
class Shortage:
    """The rows of a keyspace that are hit worst. `left` of `replicas` stay up, `needed` are a QUORUM.

    `alone`: it would be so with just this one node down, all others up; no order of work can avoid that.
    """

    keyspace: str
    datacenter: str
    replicas: int
    left: int
    needed: int
    alone: bool

    def __str__(self) -> str:
        return (
            f"{self.keyspace} has {self.replicas} replicas in {self.datacenter}: {self.left} would be left for some "
            f"rows, QUORUM needs {self.needed}"
        )


def shortages(
    replication: Mapping[str, Mapping[str, int]], members: Sequence[Place], *, down: Iterable[str], taken: str
) -> list[Shortage]:
    """Keyspaces that some rows of lose QUORUM (LOCAL_QUORUM per data centre) when `taken` goes down as well.

    `replication`: replicas per data centre, by keyspace. `down`: nodes that do not serve now. A rack holds as many
    replicas of a row as there are replicas for each rack, rounded up, on as many nodes.
    """
    mine = next(place for place in members if place.node == taken)
    found = []
    for keyspace, per_datacenter in replication.items():
        replicas = per_datacenter.get(mine.datacenter, 0)
        if not replicas:
            continue
        needed = replicas // 2 + 1
        left = replicas - _lost(replicas, members, mine.datacenter, {*down, taken})
        if left < needed:
            alone = replicas - _lost(replicas, members, mine.datacenter, {taken}) == left
            found.append(
                Shortage(
                    keyspace=keyspace,
                    datacenter=mine.datacenter,
                    replicas=replicas,
                    left=left,
                    needed=needed,
                    alone=alone,
                )
            )
    return found


def _lost(replicas: int, members: Sequence[Place], datacenter: str, down: set[str]) -> int:
    """How many replicas the worst-off row is without."""
    here = [place for place in members if place.datacenter == datacenter]
    racks = {place.rack for place in here}
    per_rack = -(-replicas // len(racks))
    lost = sum(min(per_rack, sum(place.node in down for place in here if place.rack == rack)) for rack in racks)
    return min(replicas, lost)
