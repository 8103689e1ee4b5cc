"""Agents without machines, for tests: they answer as `AgentClient` promises, at once, and fail on demand.

State is in one SQLite file, so that several worker processes see the same nodes; without a path it is in the memory of
this process, which is what the fleet simulator serves to others. A node exists from the first call on;
whether its machine has power is asked of the test (`powered`), which usually asks the fake provider. Simulated are the
consequences that operations depend on: an engine starts only when installed and configured, roles are the ring's and
not a node's, and a proof needs every member up and the right password.
"""

import hashlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from provisioner.agent import (
    fake_access,
    fake_certificates,
    fake_repairs,
    fake_schema,
    fake_statements,
    fake_tuning,
)
from provisioner.agent.base import (
    AgentRefused,
    AgentUnreachable,
    ArchiveReport,
    BundlePage,
    Disk,
    EngineCertificate,
    Job,
    StatementState,
    Status,
    Traffic,
)
from provisioner.agent.fake_backups import NodeBackups
from provisioner.agent.fake_call import FakeCall
from provisioner.agent.fake_membership import Membership
from provisioner.agent.fake_nodes import SCHEMA, Node, find, load, load_ring, open_store, store, written_down
from provisioner.agent.repairs import KeyspaceRing, NodeLoad, RepairActivity, Schema


@dataclass(frozen=True, kw_only=True)
class AgentFault:
    """One fault to come. `call`, `node` and `job_kind` are patterns; `times` None: until it is removed.

    unreachable: nothing has happened. reply-lost: it took effect. refused: AgentRefused, nothing has happened.
    job-failed: the job is there, and has failed. streams-nothing: a node joins without its data and says all is well.
    """

    name: Literal["unreachable", "reply-lost", "refused", "job-failed", "streams-nothing"]
    call: str = "*"
    node: str = "*"
    job_kind: str = "*"
    times: int | None = None
    probability: float = 1.0

    def matches(self, call: str, node: str, job_kind: str) -> bool:
        return fnmatchcase(call, self.call) and fnmatchcase(node, self.node) and fnmatchcase(job_kind, self.job_kind)


@dataclass(frozen=True)
class AgentEffect:
    """Something that really happened on a node: configured, or the kind of a job that did its work."""

    node_id: str
    effect: str


class FakeAgents:
    """All nodes. `looks`: how many looks at a job of a kind find it still running, so that a test can see it wait."""

    def __init__(
        self,
        path: Path | None,
        *,
        powered: Callable[[str], bool] = lambda _: True,
        looks: Mapping[str, int] | None = None,
        seed: int = 0,
    ) -> None:
        self._path = path
        self._memory = None if path is not None else open_store(":memory:")
        self._memory_lock = threading.RLock()
        self.powered = powered
        self._looks = dict(looks or {})
        self._seed = seed
        self.statements = fake_statements.Statements()
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        with self._connection() as database:
            database.execute("PRAGMA journal_mode=WAL")
            database.executescript(SCHEMA)

    def client(self, *, node_id: str, address: str) -> "FakeAgentClient":
        """The agent of a node; `address` is its host:port."""
        return FakeAgentClient(self, node_id, address)

    def inject(self, fault: AgentFault) -> None:
        with self._transaction() as database:
            database.execute("INSERT INTO fault (body) VALUES (?)", (json.dumps(asdict(fault)),))

    def end_faults(self) -> None:
        with self._transaction() as database:
            database.execute("DELETE FROM fault")

    def kill_engine(self, node_id: str, *, last_error: str = "") -> None:
        """The engine's process dies; the agent stays."""
        self.change(node_id, engine_running=False, last_error=last_error)

    def restart_engine(self, node_id: str) -> None:
        """Its process dies and is started anew at once: whatever repairs it knew of are forgotten."""
        with self._transaction() as database:
            node = Node(**load(database, f"node {node_id}"))
            node.engine_running, node.engine_starts, node.repair_commands = True, node.engine_starts + 1, 0
            store(database, f"node {node_id}", node)

    def lose_data(self, node_id: str) -> None:
        """Its disks are blank: the engine is not started any more."""
        self.change(node_id, engine_running=False, data_lost=True)

    def change(self, node_id: str, **fields: Any) -> None:
        """Set what a node is: disk_used (0 to 1), clock_offset_seconds, engine_certificate_expires_at (ISO 8601) ..."""
        with self._transaction() as database:
            node = Node(**(load(database, f"node {node_id}") | fields))
            store(database, f"node {node_id}", node)

    def preset(self, node_id: str, **fields: Any) -> None:
        """As `change`, of a node whose machine is still to be made; every machine that it gets begins so."""
        with self._transaction() as database:
            database.execute(
                "INSERT OR REPLACE INTO document VALUES (?, NULL, ?)", (f"preset {node_id}", json.dumps(fields))
            )

    def roles(self, cluster_name: str) -> frozenset[str]:
        with self._connection() as database:
            return frozenset(load_ring(database, cluster_name).access.passwords)

    def access(self, cluster_name: str) -> fake_access.Access:
        with self._connection() as database:
            return load_ring(database, cluster_name).access

    @contextmanager
    def ring_of(self, cluster_name: str) -> Iterator[Membership]:
        """The members of a cluster's ring and their data, for a test to look at, fill, or disturb."""
        with self._transaction() as database:
            stranger = FakeCall(
                database=database,
                node=Node(node_id="", agent_address=":", config={"cluster_name": cluster_name}),
                powered=self.powered,
                looks={},
                fail_job=False,
                streams_nothing=False,
            )
            membership = stranger.membership()
            yield membership
            membership.store()

    def set_looks(self, looks: Mapping[str, int]) -> None:
        """How many looks at a job of a kind find it still running, from now on."""
        self._looks = dict(looks)

    def config_of(self, node_id: str) -> dict[str, Any]:
        """The configuration that the node was given last."""
        with self._connection() as database:
            return dict(load(database, f"node {node_id}")["config"] or {})

    def stream_limits(self) -> dict[str, int]:
        """Of the nodes whose limit is not what their configuration says, in MiB per second."""
        with self._connection() as database:
            rows = database.execute("SELECT body FROM document WHERE id LIKE 'node %'").fetchall()
        nodes = [json.loads(row["body"]) for row in rows]
        return {n["node_id"]: n["stream_limit"] for n in nodes if n.get("stream_limit") is not None}

    def set_keyspaces(self, cluster_name: str, keyspaces: Mapping[str, Mapping[str, int]]) -> None:
        """Replicas per data centre, by keyspace."""
        with self._transaction() as database:
            ring = load_ring(database, cluster_name)
            ring.keyspaces = {name: dict(replication) for name, replication in keyspaces.items()}
            store(database, f"ring {cluster_name}", ring)

    def set_figures(self, node_id: str, **figures: Any) -> None:
        """What the job inspect tells of a node: `repairs_running`, `pending_compactions`, and those of its clients."""
        with self._transaction() as database:
            node = Node(**load(database, f"node {node_id}"))
            node.figures |= figures
            store(database, f"node {node_id}", node)

    def repaired(self, cluster_name: str) -> list[fake_repairs.RepairDone]:
        """The repairs of a ring that succeeded, in the order of their ends."""
        with self._connection() as database:
            return fake_repairs.done(database, cluster_name)

    def begin_foreign_repair(self, node_id: str, keyspace: str, tables: list[str]) -> None:
        """Somebody repairs all that a node holds, past its agent, until `end_foreign_repairs`. AgentRefused."""
        with self._disturbed(node_id) as call:
            call.serving_repairs().begin("", {"keyspace": keyspace, "tables": tables, "mode": "full"})

    def end_foreign_repairs(self, cluster_name: str) -> None:
        with self._transaction() as database:
            repairs = fake_repairs.load(database, cluster_name)
            repairs.running = {one: running for one, running in repairs.running.items() if running.job}
            fake_repairs.store(database, cluster_name, repairs)

    def fail_repairs(self, cluster_name: str, keyspace: str, tokens: list[int]) -> None:
        """Every repair of a keyspace that covers one of the tokens fails from now on; none: no more."""
        with self._transaction() as database:
            repairs = fake_repairs.load(database, cluster_name)
            repairs.bad_tokens[keyspace] = list(tokens)
            fake_repairs.store(database, cluster_name, repairs)

    def drop_table(self, cluster_name: str, keyspace: str, table: str) -> None:
        with self.ring_of(cluster_name) as membership:
            del membership.ring.tables[keyspace][table]

    @contextmanager
    def _disturbed(self, node_id: str) -> Iterator[FakeCall]:
        """A node, for something that happens there past its agent."""
        with self._transaction() as database:
            node = Node(**load(database, f"node {node_id}"))
            yield FakeCall(
                database=database, node=node, powered=self.powered, looks={}, fail_job=False, streams_nothing=False
            )
            store(database, f"node {node_id}", node)

    def create_table(
        self,
        cluster_name: str,
        keyspace: str,
        table: str,
        *,
        replication: Mapping[str, int],
        columns: tuple[dict[str, Any], ...] = fake_schema.COLUMNS,
    ) -> None:
        """As over CQL; the keyspace too, unless it is there."""
        with self._transaction() as database:
            ring = load_ring(database, cluster_name)
            ring.keyspaces.setdefault(keyspace, dict(replication))
            ring.schema.setdefault(keyspace, {})[table] = fake_schema.new_table(table, columns)
            store(database, f"ring {cluster_name}", ring)

    def table(self, cluster_name: str, keyspace: str, table: str) -> dict[str, Any]:
        """Its `options`, and with which of them its files were `rewritten`; None: they were not."""
        with self._connection() as database:
            found = load_ring(database, cluster_name).schema[keyspace][table]
            return {"options": fake_schema.options_of(found), "rewritten": found.get("rewritten")}

    def set_table_options(self, cluster_name: str, keyspace: str, table: str, **options: Any) -> None:
        """As somebody does over CQL."""
        with self._transaction() as database:
            ring = load_ring(database, cluster_name)
            found = ring.schema[keyspace][table]
            found["options"] = found.get("options", {}) | options
            store(database, f"ring {cluster_name}", ring)

    @contextmanager
    def backups_of(self, node_id: str) -> Iterator[NodeBackups]:
        """A node's SSTables, snapshots and restores, for a test to write rows, look at them, or disturb."""
        with self._transaction() as database:
            node = Node(**load(database, f"node {node_id}"))
            held = NodeBackups.stored(node.backups)
            yield held
            node.backups = held.document()
            store(database, f"node {node_id}", node)

    def engines(self) -> dict[str, str]:
        """How every engine stands, in words, by node: whether it serves, and with what version and settings."""
        told = {}
        for node in self._nodes():
            state = "stopped" if not node.engine_running else "drained" if node.drained else "serving"
            told[node.node_id] = f"{state} {node.running_version} {json.dumps(node.settings, sort_keys=True)}"
        return told

    def workloads(self) -> dict[str, dict[str, Any]]:
        """Of the nodes on which one runs: what it was told."""
        jobs = [(node.node_id, job) for node in self._nodes() for job in node.jobs.values()]
        return {
            node_id: job["parameters"]
            for node_id, job in jobs
            if (job["kind"], job["state"]) == ("run-workload", "running")
        }

    def keyspaces(self, cluster_name: str) -> dict[str, dict[str, int]]:
        """Replicas per data centre, of all that are not the engine's."""
        with self._connection() as database:
            return load_ring(database, cluster_name).keyspaces

    def certificate_serials(self) -> dict[str, str]:
        """Of the certificate that every engine shows to those who connect."""
        return {
            node.node_id: fake_certificates.serial_of(node.engine_certificate_served)
            for node in self._nodes()
            if node.engine_certificate_served
        }

    def _nodes(self) -> list[Node]:
        with self._connection() as database:
            rows = database.execute("SELECT body FROM document WHERE id LIKE 'node %' ORDER BY id").fetchall()
        return [Node(**json.loads(row["body"])) for row in rows]

    def history(self) -> list[AgentEffect]:
        with self._connection() as database:
            rows = database.execute("SELECT node_id, effect FROM history ORDER BY id").fetchall()
        return [AgentEffect(*row) for row in rows]

    @contextmanager
    def call(self, call: str, *, node_id: str, address: str, job_kind: str = "") -> Iterator["FakeCall"]:
        """One call to one agent, in one transaction, with its faults."""
        if not self.powered(address):
            raise AgentUnreachable(f"{address} does not answer")
        struck = self._draw(call, node_id, job_kind)
        if "unreachable" in struck:
            raise AgentUnreachable(f"{address} does not answer (injected)")
        if "refused" in struck:
            raise AgentRefused("injected", f"{call} is refused")
        with self._transaction() as database:
            stored = find(database, f"node {node_id}")
            if stored and stored["agent_address"] != address:
                stored = None  # another machine, which knows nothing
            if stored:
                node = Node(**stored)
            else:
                preset = find(database, f"preset {node_id}") or {}
                node = Node(node_id=node_id, agent_address=address, **preset)
            before = written_down(node)
            yield FakeCall(
                database=database,
                node=node,
                powered=self.powered,
                looks=self._looks,
                fail_job="job-failed" in struck,
                streams_nothing="streams-nothing" in struck,
            )
            if stored is None or written_down(node) != before:
                store(database, f"node {node_id}", node)
        if "reply-lost" in struck:
            raise AgentUnreachable(f"the answer of {address} was lost (injected)")

    def _draw(self, call: str, node_id: str, job_kind: str) -> frozenset[str]:
        with self._connection() as database:
            if database.execute("SELECT 1 FROM fault LIMIT 1").fetchone() is None:
                return frozenset()
        struck = set()
        with self._transaction() as database:
            for row in database.execute("SELECT * FROM fault ORDER BY id").fetchall():
                fault = AgentFault(**json.loads(row["body"]))
                over = fault.times is not None and row["strikes"] >= fault.times
                if over or not fault.matches(call, node_id, job_kind):
                    continue
                digest = hashlib.sha256(f"{self._seed}/{row['id']}/{row['draws']}".encode()).digest()
                hit = int.from_bytes(digest[:8], "big") / 2**64 < fault.probability
                database.execute(
                    "UPDATE fault SET draws = draws + 1, strikes = strikes + ? WHERE id = ?", (int(hit), row["id"])
                )
                if hit:
                    struck.add(fault.name)
        return frozenset(struck)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._connection() as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
            except BaseException:
                database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        if self._memory is not None:
            with self._memory_lock:
                yield self._memory
            return
        # A connection per use: it may not be carried over a fork or between threads.
        database = open_store(str(self._path))
        try:
            yield database
        finally:
            database.close()


def _traffic(told: tuple[str, dict[str, dict[str, int]], int, int] | None) -> Traffic | None:
    if told is None:
        return None
    epoch, to_nodes, from_clients, to_clients = told
    sent = {(datacenter, zone): count for datacenter, zones in to_nodes.items() for zone, count in zones.items()}
    return Traffic(epoch=epoch, to_nodes=sent, from_clients=from_clients, to_clients=to_clients)


@dataclass(frozen=True)
class FakeAgentClient:
    """One node's agent: an `AgentClient`."""

    agents: FakeAgents
    node_id: str
    address: str

    def status(self) -> Status:
        with self._call("status") as call:
            node = call.node
            states = {True: "running", False: "stopped" if node.installed else "absent"}
            if any(job["kind"] == "start" and job["state"] == "running" for job in node.jobs.values()):
                states[False] = "starting"
            expires_at = node.engine_certificate_expires_at
            return Status(
                node_id=node.node_id,
                agent_version="fake",
                engine_state=states[node.engine_running],
                engine_version=node.installed,
                cql_ready=node.engine_running and not node.drained,
                restarts=0,
                last_error=node.last_error,
                ring=call.described_or_none(),
                mode=call.mode(),
                time=datetime.now(UTC) + timedelta(seconds=node.clock_offset_seconds),
                local_data_lost=node.data_lost,
                disk=Disk(
                    total_bytes=node.disk_total_bytes,
                    free_bytes=round(node.disk_total_bytes * (1 - node.disk_used)),
                ),
                config_revision=str((node.config or {}).get("revision", "")),
                running_revision=node.running_revision,
                engine_certificate_expires_at=datetime.fromisoformat(expires_at) if expires_at else None,
                traffic=_traffic(node.traffic),
            )

    def tuning(self) -> Mapping[str, Any]:
        with self._call("tuning") as call:
            return fake_tuning.report(
                checked_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
                failing=call.node.untuned,
                boot_step=call.node.boot_step,
                boot_error=call.node.boot_error,
            )

    def repairs(self) -> RepairActivity:
        with self._call("repairs") as call:
            return call.serving_repairs().seen()

    def load(self) -> NodeLoad:
        with self._call("load") as call:
            return call.serving_repairs().node_load()

    def keyspace_ring(self, keyspace: str, table: str = "") -> KeyspaceRing:
        with self._call("keyspace_ring") as call:
            return call.serving_repairs().keyspace_ring(keyspace, table)

    def tables(self) -> Schema:
        with self._call("tables") as call:
            return call.schema()

    def put_config(self, document: Mapping[str, Any]) -> None:
        with self._call("put_config") as call:
            # As it would be on the wire: what JSON cannot carry fails here too.
            config = json.loads(json.dumps(document))
            if call.node.config != config:
                call.node.config = config
                call.effect("configured")

    def ensure_job(self, name: str, kind: str, parameters: Mapping[str, Any], *, wait_seconds: float = 0) -> Job:
        with self._call("ensure_job", job_kind=kind) as call:
            stored = call.node.jobs.get(name)
            if stored is None or stored["state"] == "failed":
                call.node.jobs[name] = {
                    "kind": kind,
                    "state": "running",
                    "progress": 0.0,
                    "message": "",
                    "error_code": "",
                    "error_message": "",
                    "result": {},
                    "looks": 0,
                    "parameters": json.loads(json.dumps(parameters)),
                }
            return call.look(name)

    def job(self, name: str, *, wait_seconds: float = 0) -> Job:
        with self._call("job") as call:
            return call.look(name)

    def delete_job(self, name: str) -> None:
        with self._call("delete_job") as call:
            call.interrupt(name)

    def certificate(self) -> str:
        with self._call("certificate") as call:
            return f"certificate {call.node.certificate_number} of {self.node_id}"

    def request_certificate(self) -> str:
        with self._call("request_certificate") as call:
            return f"request {call.node.certificate_number + 1} of {self.node_id}"

    def put_certificate(self, certificate_pem: str) -> None:
        with self._call("put_certificate") as call:
            call.node.certificate_number += 1
            call.effect("certificate")

    def engine_certificate(self) -> EngineCertificate:
        with self._call("engine_certificate") as call:
            return _engine_certificate(call.own_certificate())

    def request_engine_certificate(self) -> str:
        with self._call("request_engine_certificate") as call:
            return call.ask_for_certificate()

    def put_engine_certificate(self, certificate_pem: str, *, authorities_pem: str) -> None:
        with self._call("put_engine_certificate") as call:
            call.take_certificate(certificate_pem)

    def bundles(self, tag: str, *, after: str = "", limit: int = 1000) -> BundlePage:
        with self._call("bundles") as call:
            return call.bundles(tag, after=after, limit=limit)

    def archive(self, *, after: int = 0) -> ArchiveReport:
        with self._call("archive") as call:
            return call.archive(after)

    def run_statement(self, name: str, request: Mapping[str, Any], *, wait_seconds: float = 0) -> StatementState:
        with self._call("run_statement") as call:
            if not call.node.engine_running:
                return StatementState(state="failed", code="engine-not-running", message="the engine does not run")
            return self.agents.statements.put(self.node_id, name, json.loads(json.dumps(request)))

    def statement(self, name: str, *, wait_seconds: float = 0) -> StatementState:
        with self._call("statement"):
            return self.agents.statements.get(self.node_id, name)

    def forget_statement(self, name: str) -> None:
        with self._call("forget_statement"):
            self.agents.statements.forget(self.node_id, name)

    def served_certificate(self) -> str:
        """What the engine shows to those who connect, PEM."""
        with self._call("served_certificate") as call:
            call.own_certificate()
            return call.node.engine_certificate_served

    @contextmanager
    def _call(self, call: str, *, job_kind: str = "") -> Iterator[FakeCall]:
        with self.agents.call(call, node_id=self.node_id, address=self.address, job_kind=job_kind) as running:
            yield running


def _engine_certificate(pem: str) -> EngineCertificate:
    return EngineCertificate(certificate_pem=pem, expires_at=datetime.fromisoformat(fake_certificates.not_after(pem)))
