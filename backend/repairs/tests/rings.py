"""Random rings for tests of the planner."""

import random

from backend.repairs.planning.ring import Member, Ring, placed

TOKENS = 2**63


def members(seed: int, *, datacenters: int, nodes: int, vnodes: int, racks: int, first: int = 0) -> list[Member]:
    """`nodes` of them, dealt out to data centres and racks in turn."""
    draw = random.Random(seed)
    return [
        Member(
            id=f"n{first + at}",
            datacenter=f"dc{at % datacenters}",
            rack=f"r{at // datacenters % racks}",
            tokens=[draw.randrange(-TOKENS + 1, TOKENS) for _ in range(vnodes)],
        )
        for at in range(nodes)
    ]


def ring(of: list[Member], factor: int) -> Ring:
    """As many replicas in each data centre, at most as many as it has nodes."""
    counts: dict[str, int] = {}
    for member in of:
        counts[member.datacenter] = counts.get(member.datacenter, 0) + 1
    return placed(of, {name: min(factor, count) for name, count in counts.items()})
