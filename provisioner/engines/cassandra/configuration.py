"""The document that a Cassandra node is configured with (PUT /v1/config in docs/agent-api.md)."""

import hashlib
import json
from typing import Any

from provisioner.engines.base import Entry, Replaced, Ring, RingMember, check_startable
from provisioner.engines.cassandra import disks
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

# A node that joins a ring with data is held back by its agent until it knows what the living members know; that is
# what the ring delay is for, so it may be short. A replacement cannot be held back. It waits four ring delays in all
# before it fetches; its agent starts it again with longer ones when it has not seen the whole ring by then.
_JOIN = {"gossip_settle_polls": 0, "ring_delay_ms": 2000, "superuser_setup_delay_ms": 0}
_REPLACE = {"gossip_settle_polls": 0, "ring_delay_ms": 3000, "broadcast_interval_ms": 3000}


def document(
    ring: Ring, member: RingMember, entry: Entry = Entry.FIRST, *, replaces: Replaced | None = None
) -> dict[str, Any]:
    """InvalidOption; ValueError when the ring is not one that could start."""
    check_startable(ring, member)
    written = _written(ring, member)
    # Seeds are taken over by a running engine, and the replication is that of keyspaces made at the first start.
    lasting = {name: value for name, value in written.items() if name not in ("seeds", "system_auth_replication")}
    digest = hashlib.sha256(json.dumps(lasting, sort_keys=True).encode()).hexdigest()
    return written | {"revision": digest[:32], "first_boot": _first_boot(ring, member, entry, replaces)}


def _first_boot(ring: Ring, member: RingMember, entry: Entry, replaces: Replaced | None) -> dict[str, Any]:
    others = [other.address for other in ring.members if other.node_id != member.node_id]
    match entry:
        case Entry.FIRST:
            return dict(FIRST_BOOT)
        # A node of a new data centre, where nothing is replicated yet, bootstraps too: there is nothing to stream, and
        # it is held until it sees the ring like any other.
        case Entry.JOIN | Entry.JOIN_EMPTY:
            return _JOIN | {"auto_bootstrap": True, "join": {"members": others}}
        case Entry.REPLACE:
            if replaces is None:
                raise ValueError(f"{member.name} is to replace a node, but it is not said where that one was")
            return _REPLACE | {"replace_address": replaces.address}
        case Entry.MEMBER:
            return {}


def _written(ring: Ring, member: RingMember) -> dict[str, Any]:
    options = parse_options(ring.options)
    jvm = {"profile": "small" if member.heap_mib <= SMALL_HEAP_MIB else "standard"}
    if options.collector is not None:
        jvm["collector"] = options.collector
    return {
        "engine": "cassandra",
        "version": ring.version,
        "cluster_name": ring.name[:_LONGEST_NAME],
        "datacenter": member.datacenter,
        "rack": member.rack,
        "address": member.address,
        "seeds": [other.address for other in ring.members if other.is_seed],
        "initial_tokens": list(member.tokens),
        "heap_mib": member.heap_mib,
        "system_auth_replication": len(ring.members),
        "jvm": jvm,
        # What is wished for goes before what the disks are good for.
        "settings": _for_disks(member) | options.settings(),
    }


def _for_disks(member: RingMember) -> dict[str, Any]:
    if member.disks is None or member.vcpus is None:
        return {}
    return dict(disks.settings(member.disks, member.vcpus))
