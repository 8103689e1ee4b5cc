"""The document that a Cassandra node is configured with (PUT /v1/config in docs/agent-api.md)."""

from typing import Any

from provisioner.engines.base import Ring, RingMember
from provisioner.engines.cassandra.options import parse_options

# Up to this heap a node is one of several on a small computer: a collector and a compiler that start cheaply suit it.
SMALL_HEAP_MIB = 1024

# The agent takes no longer name for a ring.
_LONGEST_NAME = 100

# What the first start of an empty ring need not wait for: every node has tokens of its own, balanced and disjoint, and
# the cluster is proved before anyone uses it. Later starts wait as the engine does. See docs/engine-start.md.
FIRST_BOOT = {
    "auto_bootstrap": False,
    "ring_delay_ms": 500,
    "gossip_settle_polls": 0,
    "superuser_setup_delay_ms": 0,
}


def document(ring: Ring, member: RingMember) -> dict[str, Any]:
    """InvalidOption; ValueError when the ring is not one that could start."""
    _check(ring, member)
    return {
        "engine": "cassandra",
        "version": ring.version,
        # With the id, because two clusters may have the same name at different times, and nodes refuse to gossip with
        # a ring of another name.
        "cluster_name": f"{ring.cluster_name} {ring.cluster_id}"[:_LONGEST_NAME],
        "datacenter": ring.datacenter,
        "rack": member.rack,
        "address": member.address,
        "seeds": [other.address for other in ring.members if other.is_seed],
        "initial_tokens": list(member.tokens),
        "heap_mib": ring.heap_mib,
        "system_auth_replication": len(ring.members),
        "first_boot": dict(FIRST_BOOT),
        "jvm": {"profile": "small" if ring.heap_mib <= SMALL_HEAP_MIB else "standard"},
        "settings": parse_options(ring.options).settings(),
    }


def _check(ring: Ring, member: RingMember) -> None:
    if member not in ring.members:
        raise ValueError(f"{member.name} is not a member of {ring.cluster_name}")
    if not any(other.is_seed for other in ring.members):
        raise ValueError(f"{ring.cluster_name} has no seed")
    owners: dict[int, str] = {}
    for other in ring.members:
        if not other.tokens:
            raise ValueError(f"{other.name} has no tokens")
        for token in other.tokens:
            if owners.setdefault(token, other.node_id) != other.node_id:
                raise ValueError(f"{other.name} has a token that another node has: {token}")
