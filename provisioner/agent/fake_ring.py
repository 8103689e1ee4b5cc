"""What the nodes of a simulated ring share: who is a member, and which node holds which data.

Data is 64 positions evenly spread over the ring. A row at a position belongs to as many nodes as its keyspace says,
found as the engine finds them: clockwise, one per rack as long as there are racks left. What a node really holds is
kept apart from that, so that a node that joined without its data, or a removal that lost some, can be seen.
"""

import hashlib
import uuid
from dataclasses import dataclass, field
from typing import Any

POSITIONS = 64

_LOWEST = -(2**63)
_STEP = 2**64 // POSITIONS
# Tokens are even fractions of the ring, and a row should not be at one: of twins the old node keeps those.
_OFFSET = _STEP // 3

SIMPLE = "replication_factor"
"""What stands for a data centre in the replication of a keyspace that knows none."""


@dataclass
class Table:
    """One full copy of it. `facts`: what differs from the usual of what the agent tells of a table (TableFacts)."""

    bytes: int
    partitions: int
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass
class Member:
    """`state` is NORMAL, JOINING or LEAVING. `holds`: positions per keyspace."""

    node_id: str
    agent_address: str
    datacenter: str
    rack: str
    tokens: list[int]
    state: str
    holds: dict[str, list[int]] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return self.agent_address.rpartition(":")[0]


@dataclass
class FakeRing:
    """`members` by host id. `tables` by keyspace and name. `moving`: addresses at which somebody else moves tokens.
    `tablets`: keyspaces whose tables are cut into tablets, one for each position.

    `replication`: copies per data centre, by keyspace; the agents' ring has it, and it is not stored here.
    """

    members: dict[str, Member] = field(default_factory=dict)
    tables: dict[str, dict[str, Table]] = field(default_factory=dict)
    moving: list[str] = field(default_factory=list)
    tablets: list[str] = field(default_factory=list)
    replication: dict[str, dict[str, int]] = field(default_factory=dict)

    @classmethod
    def stored(cls, document: dict[str, Any], replication: dict[str, dict[str, int]]) -> "FakeRing":
        return cls(
            members={host_id: Member(**member) for host_id, member in document["members"].items()},
            tables={
                keyspace: {name: Table(**table) for name, table in tables.items()}
                for keyspace, tables in document["tables"].items()
            },
            moving=document["moving"],
            tablets=document["tablets"],
            replication=replication,
        )

    def document(self) -> dict[str, Any]:
        return {
            "members": {host_id: vars(member) for host_id, member in self.members.items()},
            "tables": {keyspace: {n: vars(t) for n, t in tables.items()} for keyspace, tables in self.tables.items()},
            "moving": self.moving,
            "tablets": self.tablets,
        }

    def host_id_of(self, node_id: str, agent_address: str) -> str | None:
        for host_id, member in self.members.items():
            if (member.node_id, member.agent_address) == (node_id, agent_address):
                return host_id
        return None

    def host_id_at(self, address: str) -> str | None:
        return next((host_id for host_id, member in self.members.items() if member.address == address), None)

    def owners(self) -> dict[str, Member]:
        """Those that own ranges: who joins does not yet, who leaves still does."""
        return {host_id: member for host_id, member in self.members.items() if member.state != "JOINING"}

    def replicas(self, keyspace: str) -> list[list[str]]:
        """Host ids of the replicas of each position."""
        wanted = self.replication[keyspace]
        owners = self.owners()
        circle = sorted((token, host_id) for host_id, member in owners.items() for token in member.tokens)
        return [
            self._walk(circle, owners, wanted, _LOWEST + _OFFSET + position * _STEP) for position in range(POSITIONS)
        ]

    def ranges(self, keyspace: str) -> list[tuple[int, int, list[str]]]:
        """(start, end] of every range of the ring, in the order of their ends, and the host ids of its replicas."""
        if keyspace in self.tablets:
            ends = [_LOWEST + (position + 1) * _STEP - 1 for position in range(POSITIONS)]
            return list(zip([_LOWEST, *ends[:-1]], ends, self.replicas(keyspace), strict=True))
        wanted, owners = self.replication[keyspace], self.owners()
        circle = sorted((token, host_id) for host_id, member in owners.items() for token in member.tokens)
        return [
            (circle[index - 1][0], token, self._walk(circle, owners, wanted, token))
            for index, (token, _) in enumerate(circle)
        ]

    def heal(self, keyspace: str, ranges: list[list[int]], hosts: list[str], receivers: list[str]) -> None:
        """What any of the hosts holds in the ranges, every receiver that is a replica of it holds afterwards."""
        for position, replicas in enumerate(self.replicas(keyspace)):
            token = _LOWEST + _OFFSET + position * _STEP
            if not any(contains(start, end, token) for start, end in ranges):
                continue
            if any(position in self.members[host].holds.get(keyspace, ()) for host in hosts):
                for host in receivers:
                    if host in replicas:
                        self._hold(host, keyspace, position)

    def _walk(
        self, circle: list[tuple[int, str]], owners: dict[str, Member], wanted: dict[str, int], start: int
    ) -> list[str]:
        after = [host_id for token, host_id in circle if token >= start]
        clockwise = list(dict.fromkeys([*after, *(host_id for token, host_id in circle if token < start)]))
        chosen: list[str] = []
        for datacenter, copies in wanted.items():
            here = [h for h in clockwise if datacenter in (SIMPLE, owners[h].datacenter)]
            racks: set[str] = set()
            firsts = []
            for host_id in here:
                if datacenter == SIMPLE or owners[host_id].rack not in racks:
                    racks.add(owners[host_id].rack)
                    firsts.append(host_id)
            chosen += (firsts + [h for h in here if h not in firsts])[:copies]
        return chosen

    def write(self, keyspace: str, up: set[str]) -> None:
        """A row at every position, to every replica that is up."""
        for position, replicas in enumerate(self.replicas(keyspace)):
            for host_id in replicas:
                if host_id in up:
                    self._hold(host_id, keyspace, position)

    def stream_to(self, host_id: str, up: set[str], *, datacenter: str = "") -> None:
        """It gets what it is to hold from others that are up, if any of them holds it (and is in that data centre)."""
        for keyspace in self.replication:
            for position, replicas in enumerate(self.replicas(keyspace)):
                sources = [
                    other
                    for other, member in self.members.items()
                    if other != host_id
                    and other in up
                    and datacenter in ("", member.datacenter)
                    and position in member.holds.get(keyspace, ())
                ]
                if host_id in replicas and sources:
                    self._hold(host_id, keyspace, position)

    def clean_up(self, host_id: str) -> None:
        """It drops what it is no replica of any more."""
        member = self.members[host_id]
        for keyspace, positions in member.holds.items():
            replicas = self.replicas(keyspace)
            member.holds[keyspace] = [position for position in positions if host_id in replicas[position]]

    def missing(self) -> list[str]:
        """Rows that a replica should hold and does not, where data is at all; empty when every copy is there."""
        lacking = []
        for keyspace in self.replication:
            written = {p for member in self.members.values() for p in member.holds.get(keyspace, ())}
            for position, replicas in enumerate(self.replicas(keyspace)):
                for host_id in replicas:
                    if position in written and position not in self.members[host_id].holds.get(keyspace, ()):
                        lacking.append(f"{keyspace} {position} on {self.members[host_id].node_id}")
        return lacking

    def _hold(self, host_id: str, keyspace: str, position: int) -> None:
        held = self.members[host_id].holds.setdefault(keyspace, [])
        if position not in held:
            held.append(position)
            held.sort()


def contains(start: int, end: int, token: int) -> bool:
    """Whether the token is in (start, end], which may go on over the ring's end."""
    return start < token <= end if start < end else token > start or token <= end


def new_host_id(node_id: str, agent_address: str) -> str:
    """Another machine is another node to the engine."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{node_id} {agent_address}"))


def digest(tokens: list[int]) -> str:
    """As docs/agent-api.md says of `tokens_digest`."""
    return hashlib.sha256(",".join(str(token) for token in sorted(tokens)).encode()).hexdigest()[:16]
