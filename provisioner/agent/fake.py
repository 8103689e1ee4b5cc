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
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from provisioner.agent import fake_access, fake_certificates, fake_ring
from provisioner.agent.base import (
    AgentRefused,
    AgentUnreachable,
    Disk,
    EngineCertificate,
    Job,
    Peer,
    RingStatus,
    Status,
)
from provisioner.agent.fake_membership import Membership
from provisioner.agent.fake_ring import SIMPLE, Member

_SCHEMA = """
CREATE TABLE IF NOT EXISTS document (id TEXT PRIMARY KEY, ring TEXT, body TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS document_ring ON document (ring);
CREATE TABLE IF NOT EXISTS fault (id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL,
  draws INTEGER NOT NULL DEFAULT 0, strikes INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS history (id INTEGER PRIMARY KEY AUTOINCREMENT, node_id TEXT NOT NULL, effect TEXT NOT NULL);
"""


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


@dataclass
class _Node:
    """A node's side of the world."""

    node_id: str
    agent_address: str
    config: dict[str, Any] | None = None
    installed: str = ""
    versions: list[str] = field(default_factory=list)
    engine_running: bool = False
    running_version: str = ""
    # It runs, but takes no requests until it is stopped and started.
    drained: bool = False
    # What the running engine goes by, in its own words.
    settings: dict[str, str] = field(default_factory=dict)
    # Figures of the job inspect; what is left out is 0.
    figures: dict[str, Any] = field(default_factory=dict)
    engine_key: str = ""
    engine_next_key: str = ""
    engine_certificate: str = ""
    engine_certificate_served: str = ""
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    certificate_number: int = 1
    last_error: str = ""
    # MiB per second; None: what the configuration says.
    stream_limit: int | None = None
    # It has not heard of the last change of the schema.
    other_schema: bool = False
    data_lost: bool = False
    running_revision: str = ""
    disk_total_bytes: int = 100 * 2**30
    disk_used: float = 0.1
    clock_offset_seconds: float = 0.0
    engine_certificate_expires_at: str = ""

    @property
    def address(self) -> str:
        return self.agent_address.rpartition(":")[0]


@dataclass
class _Ring:
    """What all nodes of a cluster share: its roles with a hash of each password, and what they may do."""

    access: fake_access.Access = field(
        default_factory=lambda: fake_access.Access(passwords={"cassandra": "cassandra"}, superusers=["cassandra"])
    )
    control_username: str = ""
    # By keyspace: replicas per data centre. The engine's own that every node holds for itself are not in it.
    keyspaces: dict[str, dict[str, int]] = field(default_factory=dict)


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
        self._memory = None if path is not None else _open(":memory:")
        self._memory_lock = threading.RLock()
        self.powered = powered
        self._looks = dict(looks or {})
        self._seed = seed
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        with self._connection() as database:
            database.execute("PRAGMA journal_mode=WAL")
            database.executescript(_SCHEMA)

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

    def lose_data(self, node_id: str) -> None:
        """Its disks are blank: the engine is not started any more."""
        self.change(node_id, engine_running=False, data_lost=True)

    def change(self, node_id: str, **fields: Any) -> None:
        """Set what a node is: disk_used (0 to 1), clock_offset_seconds, engine_certificate_expires_at (ISO 8601) ..."""
        with self._transaction() as database:
            node = _Node(**(_load(database, f"node {node_id}") | fields))
            _store(database, f"node {node_id}", node)

    def roles(self, cluster_name: str) -> frozenset[str]:
        with self._connection() as database:
            return frozenset(_ring(database, cluster_name).access.passwords)

    def access(self, cluster_name: str) -> fake_access.Access:
        with self._connection() as database:
            return _ring(database, cluster_name).access

    @contextmanager
    def ring_of(self, cluster_name: str) -> Iterator[Membership]:
        """The members of a cluster's ring and their data, for a test to look at, fill, or disturb."""
        with self._transaction() as database:
            stranger = FakeCall(
                database=database,
                node=_Node(node_id="", agent_address=":", config={"cluster_name": cluster_name}),
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
            return dict(_load(database, f"node {node_id}")["config"] or {})

    def stream_limits(self) -> dict[str, int]:
        """Of the nodes whose limit is not what their configuration says, in MiB per second."""
        with self._connection() as database:
            rows = database.execute("SELECT body FROM document WHERE id LIKE 'node %'").fetchall()
        nodes = [json.loads(row["body"]) for row in rows]
        return {n["node_id"]: n["stream_limit"] for n in nodes if n.get("stream_limit") is not None}

    def set_keyspaces(self, cluster_name: str, keyspaces: Mapping[str, Mapping[str, int]]) -> None:
        """Replicas per data centre, by keyspace."""
        with self._transaction() as database:
            ring = _ring(database, cluster_name)
            ring.keyspaces = {name: dict(replication) for name, replication in keyspaces.items()}
            _store(database, f"ring {cluster_name}", ring)

    def set_figures(self, node_id: str, **figures: Any) -> None:
        """What the job inspect tells of a node: `repairs_running`, `pending_compactions`, and those of its clients."""
        with self._transaction() as database:
            node = _Node(**_load(database, f"node {node_id}"))
            node.figures |= figures
            _store(database, f"node {node_id}", node)

    def engines(self) -> dict[str, str]:
        """How every engine stands, in words, by node: whether it serves, and with what version and settings."""
        told = {}
        for node in self._nodes():
            state = "stopped" if not node.engine_running else "drained" if node.drained else "serving"
            told[node.node_id] = f"{state} {node.running_version} {json.dumps(node.settings, sort_keys=True)}"
        return told

    def certificate_serials(self) -> dict[str, str]:
        """Of the certificate that every engine shows to those who connect."""
        return {
            node.node_id: fake_certificates.serial_of(node.engine_certificate_served)
            for node in self._nodes()
            if node.engine_certificate_served
        }

    def _nodes(self) -> list[_Node]:
        with self._connection() as database:
            rows = database.execute("SELECT body FROM document WHERE id LIKE 'node %' ORDER BY id").fetchall()
        return [_Node(**json.loads(row["body"])) for row in rows]

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
            stored = _find(database, f"node {node_id}")
            if stored and stored["agent_address"] != address:
                stored = None  # another machine, which knows nothing
            node = _Node(**stored) if stored else _Node(node_id=node_id, agent_address=address)
            before = _written_down(node)
            yield FakeCall(
                database=database,
                node=node,
                powered=self.powered,
                looks=self._looks,
                fail_job="job-failed" in struck,
                streams_nothing="streams-nothing" in struck,
            )
            if stored is None or _written_down(node) != before:
                _store(database, f"node {node_id}", node)
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
        database = _open(str(self._path))
        try:
            yield database
        finally:
            database.close()


@dataclass(kw_only=True)
class FakeCall:
    """One node during one call."""

    database: sqlite3.Connection
    node: _Node
    powered: Callable[[str], bool]
    looks: dict[str, int]
    fail_job: bool
    streams_nothing: bool

    def effect(self, effect: str) -> None:
        self.database.execute("INSERT INTO history (node_id, effect) VALUES (?, ?)", (self.node.node_id, effect))

    def look(self, name: str) -> Job:
        """The job as it is now. Each look brings it nearer to its end; at the end it does its work."""
        stored = self.node.jobs.get(name)
        if stored is None:
            raise AgentRefused("job-not-found", f"there is no job {name}")
        if stored["state"] == "running":
            stored["looks"] += 1
            stored["empty"] = stored.get("empty", False) or self.streams_nothing
            needed = self.looks.get(stored["kind"], 0)
            began = stored["looks"] > 1 or self._begin(stored)
            if began and stored["looks"] > needed:
                self._finish(stored)
            elif began:
                stored["progress"] = stored["looks"] / (needed + 1)
                stored["message"] = f"look {stored['looks']} of {needed + 1}"
        shown = {key: value for key, value in stored.items() if key not in ("looks", "parameters", "empty")}
        return Job(name=name, **shown)

    def interrupt(self, name: str) -> None:
        job = self.node.jobs.pop(name, None)
        if job is not None and job["kind"] == "start" and job["state"] == "running":
            self.membership().gives_up_joining()

    def _begin(self, job: dict[str, Any]) -> bool:
        """The first look shows the others what a job that takes a while is about. False when it failed at once."""
        try:
            if job["kind"] == "start" and self.node.config is not None:
                self.membership().begins_to_start()
            elif job["kind"] == "decommission":
                self._ring_up()
                self.membership().begins_to_leave()
        except AgentRefused as error:
            job.update(state="failed", error_code=error.code, error_message=error.message)
            return False
        return True

    def _finish(self, job: dict[str, Any]) -> None:
        try:
            if self.fail_job:
                raise AgentRefused("injected", f"{job['kind']} failed")
            self.streams_nothing = job["empty"]
            job["result"] = self._work(job["kind"], job["parameters"])
        except AgentRefused as error:
            job.update(state="failed", error_code=error.code, error_message=error.message)
            if job["kind"] == "start":
                self.membership().gives_up_joining()
        else:
            job.update(state="succeeded", progress=1.0)
            self.effect(job["kind"])

    def _work(self, kind: str, parameters: dict[str, Any]) -> dict[str, Any]:
        match kind:
            case "install":
                self.node.installed = str(parameters["version"])
                self.node.versions = sorted({*self.node.versions, self.node.installed})
                return {"version": self.node.installed}
            case "start":
                return self._start()
            case "stop":
                self.node.engine_running = self.node.drained = False
                self.membership().gives_up_joining()
                return {}
            case "drain":
                self._ring_up()
                self.node.drained = True
                return {}
            case "inspect":
                return self._inspected()
            case "settings":
                self._ring_up()
                return {"settings": self.node.settings}
            case "apply-settings":
                return self._apply_settings()
            case "upgrade-sstables":
                self._ring_up()
                return {}
            case "reload-tls":
                self._ring_up()
                self.node.engine_certificate_served = self.node.engine_certificate
                return {"serial": fake_certificates.serial_of(self.node.engine_certificate)}
            case "keyspaces":
                return self._keyspaces()
            case "replicate":
                return self._replicate(parameters)
            case "stream-limit":
                self._ring_up()
                self.node.stream_limit = parameters["mib_per_second"]
                return {}
            case "decommission" | "remove-node" | "cleanup" | "rebuild":
                return self._change_ring(kind, parameters)
            case "plant-canary" | "read-canary" | "describe-data":
                return self._tell_of_data(kind)
            case _ if kind in fake_access.JOBS:
                ring = self._ring_up()
                result = fake_access.work(ring.access, ring.control_username, kind, parameters)
                _store(self.database, self._ring_id(), ring)
                return result
            case "secure":
                return self._secure(parameters)
            case "rotate-password":
                return self._rotate(parameters)
            case "prove":
                return self._prove(parameters)
            case "describe-ring":
                return asdict(self._described())
            case _:
                raise AgentRefused("unknown-kind", f"there is no job of kind {kind}")

    def _start(self) -> dict[str, Any]:
        if self.node.config is None:
            raise AgentRefused("not-configured", "there is no configuration yet")
        if not self.node.installed:
            raise AgentRefused("not-installed", "the engine is not installed")
        if self.node.data_lost:
            raise AgentRefused("local-data-lost", "the disks are blank, and this node was a member of its ring")
        version = str(self.node.config.get("version", self.node.installed))
        if version not in self.node.versions:
            raise AgentRefused("engine-not-found", f"version {version} is not installed")
        if self.node.engine_running:
            return {}
        result = self.membership().starts()
        self.node.engine_running, self.node.drained = True, False
        self.node.running_version = version
        self.node.settings = {name: _written(value) for name, value in self.node.config.get("settings", {}).items()}
        self.node.engine_certificate_served = self.node.engine_certificate
        self.node.last_error = ""
        self.node.running_revision = str(self.node.config.get("revision", ""))
        return result

    def membership(self) -> Membership:
        return Membership(
            database=self.database,
            cluster_name=self._cluster_name(),
            node_id=self.node.node_id,
            agent_address=self.node.agent_address,
            config=self.node.config or {},
            replication=_ring(self.database, self._cluster_name()).keyspaces,
            is_up=self._serves,
            has_power=self.powered,
            streams_nothing=self.streams_nothing,
        )

    def _change_ring(self, kind: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._ring_up()
        match kind:
            case "decommission":
                return self.membership().leaves()
            case "remove-node":
                return self.membership().remove_node(str(parameters["host_id"]))
            case "cleanup":
                return self.membership().clean_up()
            case _:
                return self.membership().rebuild(str(parameters["datacenter"]))

    def _tell_of_data(self, kind: str) -> dict[str, Any]:
        self._ring_up()
        match kind:
            case "plant-canary":
                return self.membership().plant_canary()
            case "read-canary":
                return self.membership().read_canary()
            case _:
                return self.membership().describe_data()

    def _serves(self, member: Member) -> bool:
        document = _find(self.database, f"node {member.node_id}")
        if document is None or document["agent_address"] != member.agent_address:
            return False
        return self._up(_Node(**document))

    def _inspected(self) -> dict[str, Any]:
        described, figures = self._described(), self.node.figures
        membership = self.membership()
        seen = membership.seen().values()
        client = ("reads", "writes", "timeouts", "unavailables", "failures", "read_p99_ms", "write_p99_ms")
        return {
            "mode": self.mode(),
            "unreachable": [peer.address for peer in described.peers if not peer.up],
            "joining": [m.address for m in seen if m.state == "JOINING"],
            "leaving": [m.address for m in seen if m.state == "LEAVING"],
            "moving": membership.ring.moving,
            "repairs_running": figures.get("repairs_running", 0),
            "pending_compactions": figures.get("pending_compactions", 0),
            "client": {name: figures.get(name, 0) for name in client},
        }

    def _apply_settings(self) -> dict[str, Any]:
        self._ring_up()
        config = self.node.config or {}
        wanted = {name: _written(value) for name, value in config.get("settings", {}).items()}
        changed = sorted(
            name for name in {*wanted, *self.node.settings} if wanted.get(name) != self.node.settings.get(name)
        )
        applied = [name for name in changed if name not in _NEED_RESTART]
        for name in applied:
            self.node.settings.pop(name, None)
            if name in wanted:
                self.node.settings[name] = wanted[name]
        if applied == changed:
            self.node.running_revision = str(config.get("revision", ""))
        return {"applied": applied, "needs_restart": [name for name in changed if name in _NEED_RESTART]}

    def _keyspaces(self) -> dict[str, Any]:
        return {
            "keyspaces": [
                {
                    "name": name,
                    "replication": replication,
                    "class": "SimpleStrategy" if SIMPLE in replication else "NetworkTopologyStrategy",
                    "system": name.startswith("system") or name == "ringmaster",
                }
                for name, replication in sorted(self._ring_up().keyspaces.items())
            ]
        }

    def _replicate(self, parameters: dict[str, Any]) -> dict[str, Any]:
        ring = self._ring_up()
        for keyspace in parameters["keyspaces"]:
            if keyspace["name"] not in ring.keyspaces:
                raise AgentRefused("unknown-keyspace", f"there is no keyspace {keyspace['name']}")
            ring.keyspaces[keyspace["name"]] = {dc: n for dc, n in keyspace["replication"].items() if n}
        _store(self.database, self._ring_id(), ring)
        return {}

    def mode(self) -> str:
        if not self.node.engine_running:
            return ""
        return "DRAINED" if self.node.drained else self.membership().mode()

    def own_certificate(self) -> str:
        """The engine's, as a machine gets it at its first contact."""
        if not self.node.engine_certificate:
            self.node.engine_key = fake_certificates.new_key()
            self.node.engine_certificate = fake_certificates.new_certificate(
                self.node.engine_key, self.node.node_id, days=397
            )
            self.node.engine_certificate_served = self.node.engine_certificate
            self._date_certificate()
        return self.node.engine_certificate

    def ask_for_certificate(self) -> str:
        if not self.node.engine_next_key:
            self.node.engine_next_key = fake_certificates.new_key()
        return fake_certificates.new_request(self.node.engine_next_key, self.node.node_id)

    def take_certificate(self, certificate_pem: str) -> None:
        if certificate_pem == self.node.engine_certificate:
            return
        if not self.node.engine_next_key:
            raise AgentRefused("no-renewal", "no signing request was made")
        if not fake_certificates.fits(certificate_pem, self.node.engine_next_key):
            raise AgentRefused("certificate-refused", "the certificate is not for the key kept aside")
        self.own_certificate()
        self.node.engine_key, self.node.engine_next_key = self.node.engine_next_key, ""
        self.node.engine_certificate = certificate_pem
        self._date_certificate()
        self.effect("engine certificate")

    def _date_certificate(self) -> None:
        self.node.engine_certificate_expires_at = fake_certificates.not_after(self.node.engine_certificate)

    def _secure(self, parameters: dict[str, Any]) -> dict[str, Any]:
        ring = self._ring_up()
        ring.access = fake_access.Access(
            passwords={
                parameters["admin_username"]: parameters["admin_password_hash"],
                parameters["control_username"]: _digest(parameters["control_password"]),
            },
            superusers=[parameters["admin_username"], parameters["control_username"]],
        )
        if "datacenter" in parameters:
            ring.keyspaces = {
                "ringmaster": {parameters["datacenter"]: parameters["replication"]},
                "system_auth": {parameters["datacenter"]: parameters["system_auth_replication"]},
            }
        ring.control_username = parameters["control_username"]
        _store(self.database, self._ring_id(), ring)
        return {}

    def _rotate(self, parameters: dict[str, Any]) -> dict[str, Any]:
        ring = self._ring_up()
        self._check_password(ring, parameters)
        if parameters["username"] not in ring.access.passwords:
            raise AgentRefused("unknown-role", f"there is no role {parameters['username']}")
        ring.access.passwords[parameters["username"]] = parameters["password_hash"]
        _store(self.database, self._ring_id(), ring)
        return {}

    def _prove(self, parameters: dict[str, Any]) -> dict[str, Any]:
        ring = self._ring_up()
        self._check_password(ring, parameters)
        membership = self.membership()
        owners = membership.ring.owners()
        if membership.host_id not in owners:
            raise AgentRefused("ring-incomplete", "it is not a member itself")
        up = {m.address for h, m in owners.items() if h == membership.host_id or self._serves(m)}
        if missing := sorted(set(parameters["members"]) - up):
            raise AgentRefused("ring-incomplete", f"{', '.join(missing)} is not seen")
        return asdict(self._described())

    def _check_password(self, ring: _Ring, parameters: dict[str, Any]) -> None:
        if ring.access.passwords.get(parameters["control_username"]) != _digest(parameters["control_password"]):
            raise AgentRefused("bad-credentials", "the control role's password is wrong")

    def _ring_up(self) -> _Ring:
        if not self.node.engine_running or self.node.drained:
            raise AgentRefused("engine-not-running", "the engine does not run")
        return _ring(self.database, self._cluster_name())

    def described_or_none(self) -> RingStatus | None:
        """What status shows of the ring: nothing before the agent knows the control role."""
        if (
            not self.node.engine_running
            or self.node.drained
            or not _ring(self.database, self._cluster_name()).control_username
        ):
            return None
        return self._described()

    def _described(self) -> RingStatus:
        membership, config = self.membership(), self.node.config or {}
        owners = membership.ring.owners()
        peers = tuple(
            Peer(
                address=member.address,
                host_id=host_id,
                datacenter=member.datacenter,
                rack=member.rack,
                schema_version=self._schema(other=self._other_schema(member)),
                up=self._serves(member),
                tokens_digest=fake_ring.digest(member.tokens),
                status=member.state,
            )
            for host_id, member in owners.items()
            if host_id != membership.host_id
        )
        return RingStatus(
            host_id=membership.host_id or "",
            datacenter=str(config.get("datacenter", "")),
            rack=str(config.get("rack", "")),
            schema_version=self._schema(other=self.node.other_schema),
            tokens=tuple(int(token) for token in config.get("initial_tokens", ())),
            peers=peers,
        )

    def _schema(self, *, other: bool) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"schema of {self._cluster_name()}{' before' if other else ''}"))

    def _other_schema(self, member: Member) -> bool:
        return bool((_find(self.database, f"node {member.node_id}") or {}).get("other_schema"))

    def _up(self, member: _Node) -> bool:
        return member.engine_running and not member.drained and self.powered(member.agent_address)

    def _cluster_name(self) -> str:
        return str((self.node.config or {}).get("cluster_name", ""))

    def _ring_id(self) -> str:
        return f"ring {self._cluster_name()}"


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
            )

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

    def served_certificate(self) -> str:
        """What the engine shows to those who connect, PEM."""
        with self._call("served_certificate") as call:
            call.own_certificate()
            return call.node.engine_certificate_served

    @contextmanager
    def _call(self, call: str, *, job_kind: str = "") -> Iterator[FakeCall]:
        with self.agents.call(call, node_id=self.node_id, address=self.address, job_kind=job_kind) as running:
            yield running


def _open(path: str) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
    database.row_factory = sqlite3.Row
    database.execute("PRAGMA synchronous=OFF")
    return database


def _find(database: sqlite3.Connection, identifier: str) -> dict[str, Any] | None:
    row = database.execute("SELECT body FROM document WHERE id = ?", (identifier,)).fetchone()
    body: dict[str, Any] | None = None if row is None else json.loads(row["body"])
    return body


def _load(database: sqlite3.Connection, identifier: str) -> dict[str, Any]:
    body = _find(database, identifier)
    if body is None:
        raise LookupError(f"nobody has spoken to {identifier} yet")
    return body


def _store(database: sqlite3.Connection, identifier: str, thing: _Node | _Ring) -> None:
    ring = thing.config.get("cluster_name") if isinstance(thing, _Node) and thing.config else None
    database.execute("INSERT OR REPLACE INTO document VALUES (?, ?, ?)", (identifier, ring, _written_down(thing)))


def _written_down(thing: _Node | _Ring) -> str:
    return json.dumps(vars(thing), default=vars)


def _ring(database: sqlite3.Connection, cluster_name: str) -> _Ring:
    stored = _find(database, f"ring {cluster_name}")
    if stored is None:
        return _Ring()
    return _Ring(**(stored | {"access": fake_access.Access(**stored["access"])}))


# Settings that a running engine does not take, as far as tests need to know.
_NEED_RESTART = frozenset({"cdc_enabled", "concurrent_reads", "concurrent_writes", "auto_snapshot"})


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _engine_certificate(pem: str) -> EngineCertificate:
    return EngineCertificate(certificate_pem=pem, expires_at=datetime.fromisoformat(fake_certificates.not_after(pem)))


def _digest(password: str) -> str:
    return hashlib.sha256(password.encode()).hexdigest()
