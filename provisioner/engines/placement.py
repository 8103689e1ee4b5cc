"""How much of the ring each node holds a replica of, by the rules of the engine's replication strategies."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from provisioner.engines.base import Ring, RingMember

SIMPLE_STRATEGY = "replication_factor"
"""What a keyspace of SimpleStrategy, which knows no data centres, has in the place of one."""

_WHOLE = 2**64


def holdings(ring: Ring, replication: Mapping[str, int]) -> dict[str, float]:
    """Share of all rows of which a node holds a replica, 0 to 1, by node id.

    The replicas of a row are found clockwise from its token, in each data centre apart. A rack that has one already is
    passed over, but for as many times as there are more replicas than racks (NetworkTopologyStrategy of Cassandra 4.0
    and later: DatacenterEndpoints.addEndpointAndCheckIfDone). SimpleStrategy takes nodes as they come.
    """
    shares = dict.fromkeys((member.node_id for member in ring.members), 0.0)
    for datacenter, replicas in replication.items():
        simple = datacenter == SIMPLE_STRATEGY
        members = [member for member in ring.members if simple or member.datacenter == datacenter]
        circle = sorted((token, index) for index, member in enumerate(members) for token in member.tokens)
        for position, length in enumerate(_lengths([token for token, _ in circle])):
            clockwise = (circle[(position + step) % len(circle)][1] for step in range(len(circle)))
            for index in _replicas(members, clockwise, replicas, by_rack=not simple):
                shares[members[index].node_id] += length / _WHOLE
    return shares


def _lengths(tokens: Sequence[int]) -> list[int]:
    """Hash values from the token before to each token."""
    if not tokens:
        return []
    between = [later - earlier for earlier, later in pairwise(tokens)]
    return [_WHOLE - sum(between), *between]


def _replicas(members: Sequence[RingMember], clockwise: Iterable[int], replicas: int, *, by_rack: bool) -> list[int]:
    racks = {member.rack for member in members}
    repeats = max(0, replicas - len(racks)) if by_rack else replicas
    chosen: list[int] = []
    seen: set[str] = set()
    for index in clockwise:
        if len(chosen) == min(replicas, len(members)):
            break
        if index in chosen:
            continue
        rack = members[index].rack
        if rack in seen:
            if repeats == 0:
                continue
            repeats -= 1
        seen.add(rack)
        chosen.append(index)
    return chosen
