"""One call to a fake agent: the jobs of its node and what they do to the ring."""

import hashlib
import sqlite3
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from provisioner.agent import fake_access, fake_backups, fake_certificates, fake_ring, fake_schema
from provisioner.agent.base import AgentRefused, ArchiveReport, BundlePage, Job, Peer, RingStatus
from provisioner.agent.fake_membership import Membership
from provisioner.agent.fake_nodes import Node, Ring, find, load_ring, store
from provisioner.agent.fake_repairs import FakeRepairs, engine_started_at
from provisioner.agent.fake_ring import SIMPLE, Member
from provisioner.agent.repairs import Schema


def _figure(median: float) -> dict[str, Any]:
    return {"median": median, "rounds": [median], "spread": 0.0, "verdict": "stable", "agreed": True}


_MEASURED: dict[str, Any] = {
    "engine": "io_uring",
    "verdict": "stable",
    "warnings": [],
    "measured_at": "2026-01-01T00:00:00Z",
    "seconds": 80.0,
    "read_iops": _figure(200_000.0),
    "read_bandwidth": _figure(1_000_000_000.0),
    "write_iops": _figure(80_000.0),
    "write_bandwidth": _figure(500_000_000.0),
}


def _is_to_go_on(job: dict[str, Any]) -> bool:
    """A workload ends when its time is over, however often one looks."""
    return job["kind"] == "run-workload" and datetime.fromisoformat(job["parameters"]["until"]) > datetime.now(UTC)


@dataclass(kw_only=True)
class FakeCall:
    """One node during one call."""

    database: sqlite3.Connection
    node: Node
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
            began = stored["looks"] > 1 or self._begin(name, stored)
            if _is_to_go_on(stored):
                pass
            elif began and stored["looks"] > needed:
                self._finish(stored)
            elif began:
                stored["progress"] = stored["looks"] / (needed + 1)
                stored["message"] = f"look {stored['looks']} of {needed + 1}"
                self._goes_on(stored)
        shown = {key: value for key, value in stored.items() if key not in ("looks", "parameters", "empty", "repair")}
        return Job(name=name, **shown)

    def interrupt(self, name: str) -> None:
        job = self.node.jobs.pop(name, None)
        if job is not None and job["kind"] == "start" and job["state"] == "running":
            self.membership().gives_up_joining()
        if job is not None and job.get("repair") and job["state"] == "running":
            self.repairs().interrupt(job["repair"], self.looks.get("repair", 0))

    def _begin(self, name: str, job: dict[str, Any]) -> bool:
        """The first look shows the others what a job that takes a while is about. False when it failed at once."""
        try:
            if job["kind"] == "start" and self.node.config is not None:
                self.membership().begins_to_start()
            elif job["kind"] == "decommission":
                self._ring_up()
                self.membership().begins_to_leave()
            elif job["kind"] == "repair":
                self._ring_up()
                job["repair"] = self.repairs().begin(name, job["parameters"])
        except AgentRefused as error:
            job.update(state="failed", error_code=error.code, error_message=error.message)
            return False
        return True

    def _goes_on(self, job: dict[str, Any]) -> None:
        """A look between the first and the last."""
        if job.get("repair"):
            try:
                self.repairs().goes_on(job["repair"], job["progress"])
            except AgentRefused as error:
                job.update(state="failed", error_code=error.code, error_message=error.message)

    def _finish(self, job: dict[str, Any]) -> None:
        try:
            if self.fail_job:
                raise AgentRefused("injected", f"{job['kind']} failed")
            self.streams_nothing = job["empty"]
            if job["kind"] == "repair":
                job["result"] = self._repair(job.get("repair"))
            else:
                job["result"] = self._work(job["kind"], job["parameters"])
        except AgentRefused as error:
            job.update(state="failed", error_code=error.code, error_message=error.message)
            if job["kind"] == "start":
                self.membership().gives_up_joining()
            elif job.get("repair"):
                self.repairs().ended(job["repair"])
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
            case "measure-io":
                if self.node.engine_running:
                    raise AgentRefused("engine-running", "the disks cannot be measured while the engine runs")
                return _MEASURED
            case "settings":
                self._ring_up()
                return {"settings": self.node.settings}
            case "apply-settings":
                return self._apply_settings()
            case "run-command":
                return self._run_command(parameters)
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
            case "set-throughput":
                self._ring_up()
                return self.repairs().set_throughput(parameters)
            case "decommission" | "remove-node" | "cleanup" | "rebuild":
                return self._change_ring(kind, parameters)
            case "plant-canary" | "read-canary" | "describe-data":
                return self._tell_of_data(kind)
            case _ if kind in fake_backups.JOBS:
                return self._back_up(kind, parameters)
            case "truncate-tables":
                return self._truncate(parameters)
            case _ if kind in fake_schema.JOBS:
                ring = self._ring_up()
                result = fake_schema.work(ring.schema, ring.keyspaces, kind, parameters)
                store(self.database, self._ring_id(), ring)
                return result
            case _ if kind in fake_access.JOBS:
                ring = self._ring_up()
                result = fake_access.work(ring.access, ring.control_username, kind, parameters)
                store(self.database, self._ring_id(), ring)
                return result
            case "load-workload":
                return self._load_workload(parameters)
            case "run-workload":
                return {"reads": 0, "writes": 0}
            case "secure":
                return self._secure(parameters)
            case "rotate-password":
                return self._rotate(parameters)
            case "prove":
                return self._prove(parameters)
            case "describe-ring":
                return asdict(self._described())
            case "diagnose":
                return self._diagnose(parameters)
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
        self.node.engine_starts, self.node.repair_commands = self.node.engine_starts + 1, 0
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
            replication=load_ring(self.database, self._cluster_name()).keyspaces,
            is_up=self._serves,
            has_power=self.powered,
            streams_nothing=self.streams_nothing,
        )

    def repairs(self) -> FakeRepairs:
        membership = self.membership()
        starts = {self.node.node_id: self.node.engine_starts} if self.node.engine_running else {}
        for member in membership.ring.owners().values():
            if member.node_id != self.node.node_id and self._serves(member):
                starts[member.node_id] = (find(self.database, f"node {member.node_id}") or {})["engine_starts"]
        return FakeRepairs(
            database=self.database,
            cluster_name=self._cluster_name(),
            node=self.node,
            membership=membership,
            starts_of=starts,
        )

    def serving_repairs(self) -> FakeRepairs:
        """AgentRefused engine-not-running."""
        self._ring_up()
        return self.repairs()

    def schema(self) -> Schema:
        told = {one["name"]: (one["class"], one["system"]) for one in self._keyspaces()["keyspaces"]}
        return self.serving_repairs().schema(told)

    def _repair(self, identifier: str | None) -> dict[str, Any]:
        """The end of a repair."""
        result = {
            "outcome": "nothing-to-do",
            "seconds": 0.0,
            "bytes_received": 0,
            "bytes_sent": 0,
            "files_received": 0,
            "files_sent": 0,
            "command": 0,
            "engine_started_at": engine_started_at(self.node).isoformat(),
        }
        if identifier is None:
            return result
        repairs = self.repairs()
        repairs.goes_on(identifier, 1.0)
        command = repairs.all.running[identifier].command
        received = repairs.ends(identifier)
        return result | {
            "outcome": "completed",
            "seconds": 0.1,
            "command": command,
            "bytes_received": received,
            "files_received": int(received > 0),
        }

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

    def _load_workload(self, parameters: dict[str, Any]) -> dict[str, Any]:
        ring = self._ring_up()
        ring.keyspaces.setdefault("test_drive", dict(parameters["replication"]))
        tables = ring.schema.setdefault("test_drive", {})
        tables.setdefault(parameters["workload"], fake_schema.new_table(parameters["workload"]))
        store(self.database, self._ring_id(), ring)
        return {"rows": parameters["rows"]}

    def _diagnose(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """The status is the ring's; all else is answered with the question, which is enough to see it arrive."""
        answer: dict[str, Any] = {"taken_at": "2026-01-01T00:00:00Z"}
        if parameters["question"] == "log":
            line = {"at": "2026-01-01 00:00:00,000", "level": "INFO", "thread": "main", "source": "Fake", "text": "up"}
            return answer | {"log": {"lines": [line], "before": ""}}
        self._ring_up()
        if parameters["question"] != "status":
            facts = [{"label": name, "unit": "text", "value": str(value)} for name, value in parameters.items()]
            return answer | {"facts": facts}
        columns = [{"title": "Address", "unit": "text"}, {"title": "Up", "unit": "flag"}]
        rows = [[peer.address, peer.up] for peer in self._described().peers]
        return answer | {
            "facts": [{"label": "Mode", "unit": "text", "value": self.mode()}],
            "tables": [{"title": "Ring as this node sees it", "columns": columns, "rows": rows, "left": 0}],
        }

    def _run_command(self, parameters: dict[str, Any]) -> dict[str, Any]:
        self._ring_up()
        if parameters["table"] == "missing":
            raise AgentRefused("table-not-found", f"There is no table {parameters['keyspace']}.missing.")
        after = 1 if parameters["command"] == "compact" else 4
        return {
            "bytes_before": 4 << 20,
            "bytes_after": 3 << 20,
            "sstables_before": 4,
            "sstables_after": after,
            "seconds": 0.5,
        }

    def _serves(self, member: Member) -> bool:
        document = find(self.database, f"node {member.node_id}")
        if document is None or document["agent_address"] != member.agent_address:
            return False
        return self._up(Node(**document))

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
        store(self.database, self._ring_id(), ring)
        return {}

    def _back_up(self, kind: str, parameters: dict[str, Any]) -> dict[str, Any]:
        call = self._backup_call()
        result = call.work(kind, parameters)
        self.node.backups = call.node.document()
        return result

    def _truncate(self, parameters: dict[str, Any]) -> dict[str, Any]:
        schema = self._ring_up().schema
        emptied = {(table["keyspace"], table["table"]) for table in parameters["tables"]}
        for keyspace, table in sorted(emptied):
            if table not in schema.get(keyspace, {}):
                raise AgentRefused("table-not-found", f"there is no table {keyspace}.{table}")
        others = [m for m in self.membership().ring.members.values() if m.node_id != self.node.node_id]
        for member in others:
            if not self._serves(member):
                raise AgentRefused("truncate-failed", f"{member.address} is down, and all nodes are needed")
        for member in others:
            other = Node(**(find(self.database, f"node {member.node_id}") or {}))
            other.backups = fake_backups.without(other.backups, emptied)
            store(self.database, f"node {member.node_id}", other)
        self.node.backups = fake_backups.without(self.node.backups, emptied)
        return {}

    def bundles(self, tag: str, *, after: str, limit: int) -> BundlePage:
        return self._backup_call().bundles(tag, after=after, limit=limit)

    def archive(self, after: int) -> ArchiveReport:
        call = self._backup_call()
        report = call.archive(after)
        self.node.backups = call.node.document()
        return report

    def _backup_call(self) -> fake_backups.BackupCall:
        schema = load_ring(self.database, self._cluster_name()).schema
        return fake_backups.BackupCall(
            node=fake_backups.NodeBackups.stored(self.node.backups),
            now=fake_backups.utc_now(),
            tables={
                keyspace: {name: table["id"] for name, table in tables.items()} for keyspace, tables in schema.items()
            },
            engine_runs=self.node.engine_running and not self.node.drained,
            free_bytes=round(self.node.disk_total_bytes * (1 - self.node.disk_used)),
        )

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
        store(self.database, self._ring_id(), ring)
        return {}

    def _rotate(self, parameters: dict[str, Any]) -> dict[str, Any]:
        ring = self._ring_up()
        self._check_password(ring, parameters)
        if parameters["username"] not in ring.access.passwords:
            raise AgentRefused("unknown-role", f"there is no role {parameters['username']}")
        ring.access.passwords[parameters["username"]] = parameters["password_hash"]
        store(self.database, self._ring_id(), ring)
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

    def _check_password(self, ring: Ring, parameters: dict[str, Any]) -> None:
        if ring.access.passwords.get(parameters["control_username"]) != _digest(parameters["control_password"]):
            raise AgentRefused("bad-credentials", "the control role's password is wrong")

    def _ring_up(self) -> Ring:
        if not self.node.engine_running or self.node.drained:
            raise AgentRefused("engine-not-running", "the engine does not run")
        return load_ring(self.database, self._cluster_name())

    def described_or_none(self) -> RingStatus | None:
        """What status shows of the ring: nothing before the agent knows the control role."""
        if (
            not self.node.engine_running
            or self.node.drained
            or not load_ring(self.database, self._cluster_name()).control_username
        ):
            return None
        described, dropped = self._described(), self.node.hints_dropped
        peers = tuple(
            replace(peer, hints_dropped_at=datetime.fromisoformat(dropped[peer.address]))
            if peer.address in dropped
            else peer
            for peer in described.peers
        )
        return replace(described, peers=peers)

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
        forgotten = tuple(
            Peer(
                address=address,
                host_id=f"host of {address}",
                datacenter="",
                rack="",
                schema_version="",
                up=False,
                tokens_digest="",
                status="NORMAL",
            )
            for address in self.node.remembers
        )
        return RingStatus(
            host_id=membership.host_id or "",
            datacenter=str(config.get("datacenter", "")),
            rack=str(config.get("rack", "")),
            schema_version=self._schema(other=self.node.other_schema),
            tokens=tuple(int(token) for token in config.get("initial_tokens", ())),
            peers=peers + forgotten,
        )

    def _schema(self, *, other: bool) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"schema of {self._cluster_name()}{' before' if other else ''}"))

    def _other_schema(self, member: Member) -> bool:
        return bool((find(self.database, f"node {member.node_id}") or {}).get("other_schema"))

    def _up(self, member: Node) -> bool:
        return member.engine_running and not member.drained and self.powered(member.agent_address)

    def _cluster_name(self) -> str:
        return str((self.node.config or {}).get("cluster_name", ""))

    def _ring_id(self) -> str:
        return f"ring {self._cluster_name()}"


# Settings that a running engine does not take, as far as tests need to know.
_NEED_RESTART = frozenset({"cdc_enabled", "concurrent_reads", "concurrent_writes", "auto_snapshot"})


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _digest(password: str) -> str:
    return hashlib.sha256(password.encode()).hexdigest()
