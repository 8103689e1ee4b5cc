"""The document that a ScyllaDB node is configured with (PUT /v1/config in docs/agent-api.md).

Its agent makes scylla.yaml and cassandra-rackdc.properties of it. What depends on the machine (cpuset.conf,
io_properties.yaml, io.conf, perftune.yaml) the agent writes from what it finds there, see docs/node.md.
"""

import hashlib
import json
from dataclasses import asdict
from typing import Any

from provisioner.engines.base import Entry, Replaced, Ring, RingMember, check_startable
from provisioner.engines.scylla.options import parse_options

# The agent takes no longer name for a ring.
_LONGEST_NAME = 100


def document(
    ring: Ring, member: RingMember, entry: Entry = Entry.FIRST, *, replaces: Replaced | None = None
) -> dict[str, Any]:
    """InvalidOption; ValueError when the ring is not one that could start."""
    check_startable(ring, member)
    lasting = _lasting(ring, member)
    digest = hashlib.sha256(json.dumps(lasting, sort_keys=True).encode()).hexdigest()
    return lasting | {
        "seeds": _seeds(ring, member, entry),
        "revision": digest[:32],
        "first_boot": _first_boot(ring, member, entry, replaces),
    }


def _lasting(ring: Ring, member: RingMember) -> dict[str, Any]:
    """What a running engine must be started anew, or told, to have otherwise. Seeds are asked at a start only."""
    options = parse_options(ring.options)
    written: dict[str, Any] = {
        "engine": "scylla",
        "version": ring.version,
        "cluster_name": ring.name[:_LONGEST_NAME],
        "datacenter": member.datacenter,
        "rack": member.rack,
        "address": member.address,
        "initial_tokens": list(member.tokens),
        "settings": options.settings(),
    }
    if options.alternator is not None:
        written["alternator"] = asdict(options.alternator)
    return written


def _seeds(ring: Ring, member: RingMember, entry: Entry) -> list[str]:
    """Whom it asks for the ring. A newcomer that knew but itself would found a ring of its own."""
    seeds = [other.address for other in ring.members if other.is_seed]
    if entry in (Entry.FIRST, Entry.MEMBER):
        return seeds
    others = [address for address in seeds if address != member.address]
    if not others:
        raise ValueError(f"{member.name} is to join a ring of which no other node is a seed")
    return others


def _first_boot(ring: Ring, member: RingMember, entry: Entry, replaces: Replaced | None) -> dict[str, Any]:
    others = [other.address for other in ring.members if other.node_id != member.node_id]
    match entry:
        # The engine agrees on its members by Raft: whoever starts first founds the ring, and it takes in the others
        # one after another, however many ask at once. Nothing is shortened, because nothing of it is a guess.
        case Entry.FIRST | Entry.MEMBER:
            return {}
        case Entry.JOIN | Entry.JOIN_EMPTY:
            return {"join": {"members": others}}
        case Entry.REPLACE:
            if replaces is None:
                raise ValueError(f"{member.name} is to replace a node, but it is not said which")
            return {"join": {"members": others}, "replace_host_id": replaces.host_id}
