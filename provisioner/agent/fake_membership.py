"""Simulated nodes that join a ring, leave it and copy its data: the jobs of the agent that change who is a member.

The simulated engine is as strict as the real one and stricter: it refuses a second change of the ring beside another,
and to forget a node that lives or whose machine still has power, so an operation that does such a thing fails its test.
"""

import json
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from provisioner.agent.base import AgentRefused
from provisioner.agent.fake_ring import POSITIONS, FakeRing, Member, Table, new_host_id

CANARY = "ringmaster"
"""The keyspace of the table `canary`."""

_ROWS = 256
"""So many rows it has; each position stands for some of them."""

_ROW_BYTES = 400


@dataclass(kw_only=True)
class Membership:
    """One node's view of its ring during one call. `is_up`: whether the engine at an agent's address serves.

    `has_power`: whether there is a running machine at it. `streams_nothing`: a joining node gets no data, as measured
    of the real engine when it joins before it knows the schema.
    """

    database: sqlite3.Connection
    cluster_name: str
    node_id: str
    agent_address: str
    config: dict[str, Any]
    replication: dict[str, dict[str, int]]
    is_up: Callable[[Member], bool]
    has_power: Callable[[str], bool]
    streams_nothing: bool = False

    def __post_init__(self) -> None:
        row = self.database.execute("SELECT body FROM document WHERE id = ?", (self._document_id,)).fetchone()
        self.ring = FakeRing(replication=self.replication)
        if row is not None:
            self.ring = FakeRing.stored(json.loads(row["body"]), self.replication)

    @property
    def _document_id(self) -> str:
        return f"membership {self.cluster_name}"

    def store(self) -> None:
        self.database.execute(
            "INSERT OR REPLACE INTO document VALUES (?, NULL, ?)", (self._document_id, json.dumps(self.ring.document()))
        )

    @property
    def host_id(self) -> str | None:
        return self.ring.host_id_of(self.node_id, self.agent_address)

    def mode(self) -> str:
        """Of an engine that runs."""
        host_id = self.host_id
        return "DECOMMISSIONED" if host_id is None else self.ring.members[host_id].state

    def seen(self) -> dict[str, Member]:
        """Who gossip tells of: a node that joins is forgotten as soon as it is gone."""
        return {h: m for h, m in self.ring.members.items() if m.state != "JOINING" or self.has_power(m.agent_address)}

    # Starting

    def begins_to_start(self) -> None:
        """The first look at a start: a node that is to join with data shows itself as joining. AgentRefused."""
        first_boot = self.config.get("first_boot", {})
        if self.host_id is not None or not ({"join", "replace_address", "replace_host_id"} & first_boot.keys()):
            return
        self._refuse_beside_another()
        if self._replaces(first_boot):
            self._replaced(first_boot)
        else:
            expected, found = sorted(first_boot["join"]["members"]), sorted(m.address for m in self.seen().values())
            if expected != found:
                raise AgentRefused("join-held", f"the ring is {found}, not {expected}")
        self._enter(new_host_id(self.node_id, self.agent_address), "JOINING")

    def starts(self) -> dict[str, Any]:
        """The end of a start: from now on it is a member that owns its tokens. AgentRefused."""
        host_id, first_boot = self.host_id, self.config.get("first_boot", {})
        if host_id is None:
            host_id = new_host_id(self.node_id, self.agent_address)
            self._enter(host_id, "NORMAL")
        member = self.ring.members[host_id]
        if member.state != "JOINING":
            return {"first_boot": False, "bytes_streamed": 0}
        if self._replaces(first_boot):
            replaced = self._replaced(first_boot)
            del self.ring.members[host_id], self.ring.members[replaced]
            host_id = replaced
            self.ring.members[host_id] = member
        member.state = "NORMAL"
        if first_boot.get("auto_bootstrap", True) and not self.streams_nothing:
            self.ring.stream_to(host_id, self._up())
        self.store()
        return {"first_boot": True, "bytes_streamed": self.held_bytes(host_id)}

    def gives_up_joining(self) -> None:
        host_id = self.host_id
        if host_id is not None and self.ring.members[host_id].state == "JOINING":
            del self.ring.members[host_id]
            self.store()

    def _enter(self, host_id: str, state: str) -> None:
        self.ring.members[host_id] = Member(
            node_id=self.node_id,
            agent_address=self.agent_address,
            datacenter=str(self.config.get("datacenter", "")),
            rack=str(self.config.get("rack", "")),
            tokens=[int(token) for token in self.config.get("initial_tokens", ())],
            state=state,
        )
        self.store()

    @staticmethod
    def _replaces(first_boot: Mapping[str, Any]) -> bool:
        return bool({"replace_address", "replace_host_id"} & first_boot.keys())

    def _replaced(self, first_boot: Mapping[str, Any]) -> str:
        """Host id of the dead member, which an engine is told by its address or by that id."""
        told = first_boot.get("replace_host_id") or self.ring.host_id_at(first_boot["replace_address"])
        if told not in self.ring.members:
            raise AgentRefused("engine-exited", f"cannot replace {told}: it is not in the ring")
        if self.has_power(self.ring.members[told].agent_address):
            raise AgentRefused("engine-exited", f"cannot replace {told}: it is alive")
        return str(told)

    def _refuse_beside_another(self) -> None:
        busy = [m.address for m in self.seen().values() if m.state != "NORMAL" and m.node_id != self.node_id]
        if busy or self.ring.moving:
            raise AgentRefused("engine-exited", f"another change of the ring is going on: {busy + self.ring.moving}")

    # Leaving

    def begins_to_leave(self) -> None:
        """The first look at a decommission. AgentRefused."""
        host_id = self.host_id
        if host_id is None:
            return
        self._refuse_beside_another()
        member = self.ring.members[host_id]
        left = [m for h, m in self.ring.owners().items() if h != host_id and m.datacenter == member.datacenter]
        for keyspace, replication in self.ring.replication.items():
            if replication.get(member.datacenter, 0) > len(left):
                raise AgentRefused("decommission-failed", f"{len(left)} nodes are too few for {keyspace}")
        member.state = "LEAVING"
        self.store()

    def leaves(self) -> dict[str, Any]:
        host_id = self.host_id
        if host_id is None:
            return {"bytes_streamed": 0}
        streamed = self.held_bytes(host_id)
        self._hand_over(host_id, sources=self._up())
        return {"bytes_streamed": streamed}

    def remove_node(self, host_id: str) -> dict[str, Any]:
        gone = self.ring.members.get(host_id)
        if gone is None:
            return {}
        if self.has_power(gone.agent_address):
            raise AgentRefused("node-alive", f"{gone.address} lives, or its machine does")
        self._hand_over(host_id, sources=self._up() - {host_id})
        return {}

    def _hand_over(self, host_id: str, *, sources: set[str]) -> None:
        """The others get what becomes theirs, while the one that goes can still be asked if it is up."""
        gone = self.ring.members.pop(host_id)
        leaving = {host_id: gone} if host_id in sources else {}
        owners = set(self.ring.owners())
        # It gives, but is no replica of anything any more.
        self.ring.members |= {h: Member(**vars(m) | {"tokens": []}) for h, m in leaving.items()}
        for other in owners & sources:
            self.ring.stream_to(other, sources)
        self.ring.members.pop(host_id, None)
        self.store()

    # Data

    def fill(self, keyspace: str, tables: dict[str, Table]) -> None:
        """Rows at every position, on every replica."""
        self.ring.tables.setdefault(keyspace, {}).update(tables)
        self.ring.write(keyspace, set(self.ring.members))
        self.store()

    def plant_canary(self) -> dict[str, Any]:
        self.ring.tables.setdefault(CANARY, {})["canary"] = Table(_ROWS * _ROW_BYTES, _ROWS)
        self.ring.write(CANARY, self._up())
        self.store()
        return {}

    def read_canary(self) -> dict[str, Any]:
        host_id = self._own()
        mine = [p for p, replicas in enumerate(self.ring.replicas(CANARY)) if host_id in replicas]
        held = self.ring.members[host_id].holds.get(CANARY, [])
        rows = _ROWS // POSITIONS
        return {"checked": rows * len(mine), "missing": rows * len(set(mine) - set(held))}

    def describe_data(self) -> dict[str, Any]:
        held = self.ring.members[self._own()].holds
        return {
            "tables": [
                {
                    "keyspace": keyspace,
                    "table": name,
                    "bytes": table.bytes * len(held.get(keyspace, ())) // POSITIONS,
                    "partitions": table.partitions * len(held.get(keyspace, ())) // POSITIONS,
                }
                for keyspace, tables in sorted(self.ring.tables.items())
                for name, table in sorted(tables.items())
            ]
        }

    def rebuild(self, datacenter: str) -> dict[str, Any]:
        host_id = self._own()
        before = self.held_bytes(host_id)
        if not self.streams_nothing:
            self.ring.stream_to(host_id, self._up(), datacenter=datacenter)
        self.store()
        return {"bytes_streamed": self.held_bytes(host_id) - before}

    def clean_up(self) -> dict[str, Any]:
        self.ring.clean_up(self._own())
        self.store()
        return {}

    def _own(self) -> str:
        host_id = self.host_id
        if host_id is None:
            raise AgentRefused("engine-not-running", "it is not a member of the ring")
        return host_id

    def _up(self) -> set[str]:
        return {h for h, member in self.ring.members.items() if self._is_self(member) or self.is_up(member)}

    def _is_self(self, member: Member) -> bool:
        return (member.node_id, member.agent_address) == (self.node_id, self.agent_address)

    def held_bytes(self, host_id: str) -> int:
        holds = self.ring.members[host_id].holds
        return sum(
            table.bytes * len(holds.get(keyspace, ())) // POSITIONS
            for keyspace, tables in self.ring.tables.items()
            for table in tables.values()
        )
