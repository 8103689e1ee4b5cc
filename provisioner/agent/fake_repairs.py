"""Simulated repairs: jobs that take looks to end, that all who take part see, and that a restart of the engine loses.

A repair that ends makes the data of its ranges equal, as FakeRing has it, and is written down: a test can ask which
ranges of which table were repaired, how often, and with whom.
"""

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from provisioner.agent.base import AgentRefused
from provisioner.agent.fake_membership import Membership
from provisioner.agent.fake_nodes import Node
from provisioner.agent.fake_ring import FakeRing, contains
from provisioner.agent.repairs import (
    KeyspaceFacts,
    KeyspaceRing,
    NodeLoad,
    RepairActivity,
    ReplicaRange,
    RingNode,
    RunningRepair,
    Schema,
    TableFacts,
)

_STOCK_MIB_S = {"stream": 24, "compaction": 64}
_FIRST_START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class RepairDone:
    """A repair that succeeded. `ranges`: (start, end]; `nodes`: ids of those that took part, the coordinator first."""

    keyspace: str
    tables: tuple[str, ...]
    ranges: tuple[tuple[int, int], ...]
    mode: str
    nodes: tuple[str, ...]


@dataclass
class Running:
    """One repair. `starts`: which start of its engine each node that takes part is in, by node id."""

    job: str
    command: int
    coordinator: str
    keyspace: str
    tables: list[str]
    ranges: list[list[int]]
    mode: str
    hosts: list[str]
    starts: dict[str, int]
    begun_at: str
    progress: float = 0.0
    # Its job was deleted beside a foreign repair: it is not ended, and so many looks more see it.
    looks_left: int | None = None


@dataclass
class RingRepairs:
    """All repairs of a ring, and the tokens by keyspace at which every repair fails."""

    running: dict[str, Running] = field(default_factory=dict)
    bad_tokens: dict[str, list[int]] = field(default_factory=dict)


def load(database: sqlite3.Connection, cluster_name: str) -> RingRepairs:
    row = database.execute("SELECT body FROM document WHERE id = ?", (f"repairs {cluster_name}",)).fetchone()
    if row is None:
        return RingRepairs()
    stored = json.loads(row["body"])
    return RingRepairs(
        running={one: Running(**running) for one, running in stored["running"].items()},
        bad_tokens=stored["bad_tokens"],
    )


def store(database: sqlite3.Connection, cluster_name: str, repairs: RingRepairs) -> None:
    body = {
        "running": {one: vars(running) for one, running in repairs.running.items()},
        "bad_tokens": repairs.bad_tokens,
    }
    database.execute(
        "INSERT OR REPLACE INTO document VALUES (?, NULL, ?)", (f"repairs {cluster_name}", json.dumps(body))
    )


def done(database: sqlite3.Connection, cluster_name: str) -> list[RepairDone]:
    """In the order in which they ended."""
    rows = database.execute("SELECT body FROM repaired WHERE ring = ? ORDER BY id", (cluster_name,)).fetchall()
    found = []
    for row in rows:
        body = json.loads(row["body"])
        found.append(
            RepairDone(
                keyspace=body["keyspace"],
                tables=tuple(body["tables"]),
                ranges=tuple((start, end) for start, end in body["ranges"]),
                mode=body["mode"],
                nodes=tuple(body["nodes"]),
            )
        )
    return found


def engine_started_at(node: Node) -> datetime:
    return _FIRST_START + timedelta(seconds=node.engine_starts)


@dataclass(kw_only=True)
class FakeRepairs:
    """The repairs of a ring as one node sees them. `starts_of`: of the nodes whose engines serve now, by node id."""

    database: sqlite3.Connection
    cluster_name: str
    node: Node
    membership: Membership
    starts_of: dict[str, int]

    def __post_init__(self) -> None:
        self.all = load(self.database, self.cluster_name)

    @property
    def _ring(self) -> FakeRing:
        return self.membership.ring

    def begin(self, job: str, parameters: dict[str, Any]) -> str | None:
        """The id of the repair; None when nobody else holds any of it. AgentRefused as the agent's job fails."""
        keyspace, mode = parameters["keyspace"], parameters["mode"]
        wanted = [[int(one["start"]), int(one["end"])] for one in parameters.get("ranges") or ()]
        _check(parameters, wanted)
        self._check_tables(keyspace, parameters["tables"])
        own = self.membership.host_id
        every = self._ring.ranges(keyspace)
        if keyspace in self._ring.tablets:
            wanted, hosts = self._tablets(parameters, wanted, every)
        else:
            mine = [(start, end, hosts) for start, end, hosts in every if own in hosts]
            if not wanted:
                wanted = [[start, end] for start, end, _ in mine]
            hosts = self._hosts(wanted, mine, parameters.get("hosts") or ())
        if len(hosts) < 2:
            return None
        nodes = [self._ring.members[host].node_id for host in hosts]
        if silent := [node_id for node_id in nodes if node_id not in self.starts_of]:
            raise AgentRefused("repair-failed", f"Endpoint not alive: {', '.join(silent)}")
        self.node.repair_commands += 1
        identifier = f"{self.node.node_id}-{self.node.engine_starts}-{self.node.repair_commands}"
        self.all.running[identifier] = Running(
            job=job,
            command=self.node.repair_commands,
            coordinator=self.node.node_id,
            keyspace=keyspace,
            tables=list(parameters["tables"]),
            ranges=wanted,
            mode=mode,
            hosts=hosts,
            starts={node_id: self.starts_of[node_id] for node_id in nodes},
            begun_at=datetime.now(UTC).isoformat(),
        )
        self._store()
        return identifier

    def goes_on(self, identifier: str, progress: float) -> None:
        """A look at one that is not over. AgentRefused when it has failed meanwhile; then it is gone."""
        running = self.all.running.get(identifier)
        if running is None or running.starts[self.node.node_id] != self.node.engine_starts:
            self.ended(identifier)
            raise AgentRefused(
                "repair-lost", "the engine was started anew while it ran: what became of it is not known"
            )
        changed = [node_id for node_id, starts in running.starts.items() if self.starts_of.get(node_id) != starts]
        if changed:
            self.ended(identifier)
            raise AgentRefused("repair-failed", f"Some repair failed: Endpoint {', '.join(changed)} died")
        bad = [
            token
            for token in self.all.bad_tokens.get(running.keyspace, ())
            if any(contains(start, end, token) for start, end in running.ranges)
        ]
        if bad:
            self.ended(identifier)
            raise AgentRefused("repair-failed", f"Some repair failed: validation failed at {bad[0]}")
        try:
            self._check_tables(running.keyspace, running.tables)
        except AgentRefused:
            self.ended(identifier)
            raise
        running.progress = progress
        self._store()

    def ends(self, identifier: str) -> int:
        """It has succeeded: its ranges are equal now. Bytes that its coordinator received."""
        running = self.all.running[identifier]
        receivers = running.hosts[:1] if running.mode == "pull" else running.hosts
        before = self.membership.held_bytes(running.hosts[0])
        self._ring.heal(running.keyspace, running.ranges, running.hosts, receivers)
        self.membership.store()
        body = {
            "keyspace": running.keyspace,
            "tables": running.tables,
            "ranges": running.ranges,
            "mode": running.mode,
            "nodes": [self._ring.members[host].node_id for host in running.hosts],
        }
        self.database.execute("INSERT INTO repaired (ring, body) VALUES (?, ?)", (self.cluster_name, json.dumps(body)))
        self.ended(identifier)
        return self.membership.held_bytes(running.hosts[0]) - before

    def interrupt(self, identifier: str, looks: int) -> None:
        """Its job is deleted. It is ended only when the node takes part in no other's repair."""
        running = self.all.running.get(identifier)
        if running is None:
            return
        if any(not other.job or other.coordinator != self.node.node_id for other in self._here().values()):
            running.looks_left = looks
            self._store()
            return
        self.ended(identifier)

    def ended(self, identifier: str) -> None:
        self.all.running.pop(identifier, None)
        self._store()

    def seen(self) -> RepairActivity:
        told = []
        for identifier, running in list(self._here().items()):
            ours = running.coordinator == self.node.node_id
            if ours and running.looks_left is not None:
                running.looks_left -= 1
                if running.looks_left < 0:
                    del self.all.running[identifier]
                    continue
            told.append(
                RunningRepair(
                    id=identifier,
                    job=running.job if ours else "",
                    command=running.command if ours else 0,
                    coordinator=self._address_of(running.coordinator),
                    keyspace=running.keyspace,
                    tables=tuple(running.tables),
                    state="REPAIR_START",
                    progress=running.progress if ours else 0.0,
                    since=datetime.fromisoformat(running.begun_at),
                )
            )
        self._store()
        return RepairActivity(engine_started_at=engine_started_at(self.node), automatic=False, repairs=tuple(told))

    def keyspace_ring(self, keyspace: str, table: str = "") -> KeyspaceRing:
        if keyspace not in self._ring.replication:
            raise AgentRefused("unknown-keyspace", f"there is no keyspace {keyspace}")
        hosts = sorted(self._ring.owners())
        index = {host: number for number, host in enumerate(hosts)}
        return KeyspaceRing(
            keyspace=keyspace,
            nodes=tuple(
                RingNode(host_id=host, address=member.address, datacenter=member.datacenter, rack=member.rack)
                for host in hosts
                for member in [self._ring.members[host]]
            ),
            ranges=tuple(
                ReplicaRange(start, end, tuple(index[host] for host in replicas))
                for start, end, replicas in self._ring.ranges(keyspace)
                if table or keyspace not in self._ring.tablets
            ),
        )

    def schema(self, placements: dict[str, tuple[str, bool]]) -> Schema:
        """`placements`: class and whether it is the system's, by keyspace."""
        own = {(one["keyspace"], one["table"]): one for one in self.membership.describe_data()["tables"]}
        tables = []
        for (keyspace, name), one in own.items():
            facts: dict[str, Any] = {
                "id": f"{keyspace}-{name}",
                "unrepaired_bytes": one["bytes"],
                "percent_repaired": 100.0 if one["bytes"] == 0 else 0.0,
                "compaction": "UnifiedCompactionStrategy",
                "default_ttl_seconds": 0,
                "gc_grace_seconds": 864_000,
                "view_of": "",
                "views": (),
                "cdc": False,
            } | self._ring.tables[keyspace][name].facts
            tables.append(TableFacts(**{**one, **facts, "views": tuple(facts["views"])}))
        keyspaces = tuple(
            KeyspaceFacts(
                name=name,
                placement=placements[name][0],
                replication=replication,
                system=placements[name][1],
                tablets=name in self._ring.tablets,
            )
            for name, replication in sorted(self._ring.replication.items())
        )
        return Schema(keyspaces=keyspaces, tables=tuple(tables))

    def node_load(self) -> NodeLoad:
        figures, total = self.node.figures, self.node.disk_total_bytes
        return NodeLoad(
            engine_started_at=engine_started_at(self.node),
            **{name: figures.get(name, 0) for name in ("pending_compactions", "dropped_messages", "hint_files")},
            **{name: figures.get(name, 0.0) for name in ("read_p99_ms", "write_p99_ms")},
            streams=len(self._here()),
            streamed_in_bytes=figures.get("streamed_in_bytes", 0),
            streamed_out_bytes=figures.get("streamed_out_bytes", 0),
            disk_total_bytes=total,
            disk_free_bytes=round(total * (1 - self.node.disk_used)),
            largest_table_bytes=max((one["bytes"] for one in self.membership.describe_data()["tables"]), default=0),
            **self._limits(),
        )

    def set_throughput(self, parameters: dict[str, Any]) -> dict[str, Any]:
        before = self._limits()
        self.node.stream_limit = parameters["stream_mib_s"]
        self.node.compaction_limit = parameters["compaction_mib_s"]
        return before

    def _limits(self) -> dict[str, int]:
        stream, compaction = self.node.stream_limit, self.node.compaction_limit
        return {
            "stream_mib_s": _STOCK_MIB_S["stream"] if stream is None else stream,
            "compaction_mib_s": _STOCK_MIB_S["compaction"] if compaction is None else compaction,
        }

    def _check_tables(self, keyspace: str, tables: Iterable[str]) -> None:
        if keyspace not in self._ring.replication:
            raise AgentRefused("unknown-keyspace", f"there is no keyspace {keyspace}")
        if missing := [name for name in tables if name not in self._ring.tables.get(keyspace, {})]:
            raise AgentRefused("table-not-found", f"there is no table {keyspace}.{missing[0]}")

    def _tablets(
        self, parameters: dict[str, Any], wanted: list[list[int]], every: list[tuple[int, int, list[str]]]
    ) -> tuple[list[list[int]], list[str]]:
        """All tablets that hold something of the ranges, and host ids of their replicas. No node coordinates them."""
        if parameters["mode"] == "pull" or len(parameters["tables"]) != 1:
            raise AgentRefused("repair-not-possible", "one table of tablets at a time, and no pull")
        met = [
            (low, high, held)
            for low, high, held in every
            if not wanted or any(contains(low, high, end) or contains(start, end, high) for start, end in wanted)
        ]
        return [[low, high] for low, high, _ in met], list(dict.fromkeys(host for _, _, held in met for host in held))

    def _hosts(
        self, wanted: list[list[int]], mine: list[tuple[int, int, list[str]]], named: Iterable[str]
    ) -> list[str]:
        """Host ids of those that take part, this node first."""
        own = self.membership.host_id
        hosts: list[str] = []
        for start, end in wanted:
            holding = [held for low, high, held in mine if contains(low, high, end) and _inside(low, high, start)]
            if not holding:
                raise AgentRefused("not-a-replica", f"({start}, {end}] is not inside a range of this node")
            hosts += holding[0]
        addresses = {host: self._ring.members[host].address for host in hosts}
        if named and own is not None and self._ring.members[own].address not in named:
            raise AgentRefused("not-a-replica", "hosts does not name this node")
        if strangers := set(named) - set(addresses.values()):
            raise AgentRefused("not-a-replica", f"{', '.join(sorted(strangers))} holds none of it")
        chosen = {host for host in hosts if not named or addresses[host] in named}
        return [own or "", *sorted(chosen - {own}, key=lambda host: self._ring.members[host].node_id)]

    def _here(self) -> dict[str, Running]:
        """Those that the node takes part in and that its engine, and the coordinator's, have not forgotten."""
        return {
            identifier: running
            for identifier, running in self.all.running.items()
            if running.starts.get(self.node.node_id) == self.node.engine_starts
            and self.starts_of.get(running.coordinator) == running.starts[running.coordinator]
        }

    def _address_of(self, node_id: str) -> str:
        return next((m.address for m in self._ring.members.values() if m.node_id == node_id), "")

    def _store(self) -> None:
        store(self.database, self.cluster_name, self.all)


def _check(parameters: dict[str, Any], ranges: list[list[int]]) -> None:
    """What the agent refuses before it asks its engine anything. AgentRefused."""
    hosts = parameters.get("hosts") or ()
    refused = {
        "unknown fields": bool(parameters.keys() - _PARAMETERS),
        "tables is empty": not parameters["tables"],
        "job_threads must be 1 to 4": not 0 <= parameters.get("job_threads", 1) <= 4,
        "a range is empty": any(start == end for start, end in ranges),
        "mode must be full, incremental or pull": parameters["mode"] not in ("full", "incremental", "pull"),
        "an incremental repair takes all replicas": parameters["mode"] == "incremental" and bool(hosts),
        "a pull needs ranges and exactly two hosts": parameters["mode"] == "pull" and not (ranges and len(hosts) == 2),
    }
    for why, holds in refused.items():
        if holds:
            raise AgentRefused("invalid-parameters", why)


_PARAMETERS = frozenset(
    {"keyspace", "tables", "ranges", "mode", "hosts", "job_threads", "optimise_streams", "parallelism"}
)


def _inside(low: int, high: int, start: int) -> bool:
    """Whether a range that begins above `start` may lie inside (low, high]."""
    return start == low or (contains(low, high, start) and start != high)
