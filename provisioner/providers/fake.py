"""A provider without machines, for tests: state in one SQLite file, so that all worker processes see the same world.

Without a path the state is in the memory of this process, which is what the fleet simulator serves to others.

It keeps every promise of `Provider` (it passes conformance.py), answers at once, and fails on demand (fake_faults.py).
Every effect is written to a history, so a test can tell how often something was made, not only what is there.
"""

import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path

from provisioner.providers.base import (
    Capacity,
    Connection,
    ConnectionSpec,
    ConnectionState,
    Image,
    ImageState,
    InvalidRequest,
    ListPrice,
    Machine,
    MachineSpec,
    MachineState,
    Network,
    NetworkSpec,
    NotFound,
    Notice,
    PeeringSpec,
    ProviderError,
    Shortfall,
)
from provisioner.providers.fake_faults import SLOW, UNSEEN, Fault, Moment

UNKNOWN_VERSION = "0.0.0"
"""The one engine version this provider has no image of."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS network (name TEXT PRIMARY KEY, document TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS client_source (network TEXT NOT NULL, source TEXT NOT NULL, port INTEGER NOT NULL,
  PRIMARY KEY (network, source, port));
CREATE TABLE IF NOT EXISTS connection (network TEXT NOT NULL, name TEXT NOT NULL, other TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'waiting-for-you', PRIMARY KEY (network, name));
CREATE TABLE IF NOT EXISTS notice (machine TEXT NOT NULL, kind TEXT NOT NULL, message TEXT NOT NULL, before TEXT);
CREATE TABLE IF NOT EXISTS machine (
  number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, spec TEXT NOT NULL, spec_hash TEXT NOT NULL,
  stopped INTEGER NOT NULL DEFAULT 0, ready_at REAL NOT NULL, seen_at REAL NOT NULL, gone_at REAL);
CREATE TABLE IF NOT EXISTS fault (
  id INTEGER PRIMARY KEY AUTOINCREMENT, document TEXT NOT NULL, draws INTEGER NOT NULL DEFAULT 0,
  strikes INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS history (id INTEGER PRIMARY KEY AUTOINCREMENT, effect TEXT NOT NULL, name TEXT NOT NULL);
"""


@dataclass(frozen=True, kw_only=True)
class FakeSettings:
    """`path` is the world; None: in memory. Seconds say how long things take when no fault makes them slower."""

    path: Path | None
    seed: int = 0
    region: str = "fake-1"
    zones: tuple[str, ...] = ("fake-1a", "fake-1b", "fake-1c")
    second_region: str = "fake-2"
    second_zones: tuple[str, ...] = ("fake-2a", "fake-2b", "fake-2c")
    machine_type_prefix: str = "fake."
    boot_seconds: float = 0.0
    delete_seconds: float = 0.0
    memory_budget_mib: int | None = None
    capacity: Capacity = field(default=Capacity(), hash=False)
    clock: Callable[[], float] = field(default=time.time, compare=False)

    @property
    def regions(self) -> dict[str, tuple[str, ...]]:
        """Zones by region."""
        return {self.region: self.zones, self.second_region: self.second_zones}


@dataclass(frozen=True)
class Effect:
    """Something that happened: made, started, stopped, killed, deleted, network-made, connection-deleted ..."""

    effect: str
    name: str


class FakeProvider:
    def __init__(self, settings: FakeSettings) -> None:
        self._settings = settings
        self._memory = None if settings.path is not None else _open(":memory:")
        self._memory_lock = threading.RLock()
        if settings.path is not None:
            settings.path.parent.mkdir(parents=True, exist_ok=True)
        with self._connection() as database:
            # Readers do not wait for writers. Nothing needs to survive a power loss, so nothing waits for the disk.
            database.execute("PRAGMA journal_mode=WAL")
            database.executescript(_SCHEMA)

    # What tests do to the world.

    def inject(self, fault: Fault) -> None:
        with self._transaction() as database:
            database.execute("INSERT INTO fault (document) VALUES (?)", (json.dumps(asdict(fault)),))

    def end_faults(self) -> None:
        with self._transaction() as database:
            database.execute("DELETE FROM fault")

    def strikes(self) -> int:
        """How often a fault that still stands has struck."""
        with self._connection() as database:
            return int(database.execute("SELECT COALESCE(SUM(strikes), 0) FROM fault").fetchone()[0])

    def inventory(self) -> list[str]:
        """Everything there is, seen or not, ending or not: empty when nothing has leaked."""
        with self._connection() as database:
            machines = database.execute(
                "SELECT 'machine ' || name FROM machine WHERE gone_at IS NULL OR gone_at > ? ORDER BY name",
                (self._settings.clock(),),
            ).fetchall()
            networks = database.execute("SELECT 'network ' || name FROM network ORDER BY name").fetchall()
            connections = database.execute("SELECT 'connection ' || name FROM connection ORDER BY name").fetchall()
        return [name for (name,) in machines + networks + connections]

    def history(self) -> list[Effect]:
        with self._connection() as database:
            return [Effect(*row) for row in database.execute("SELECT effect, name FROM history ORDER BY id")]

    def answer_connection(self, name: str, state: ConnectionState = ConnectionState.READY) -> None:
        """What the other side does: accept it, or refuse it (FAILED)."""
        with self._transaction() as database:
            database.execute("UPDATE connection SET state = ? WHERE name = ?", (state, name))

    def announce(self, notice: Notice) -> None:
        """What `notices` tells while the machine is there, until `announce_nothing`."""
        before = notice.before and notice.before.isoformat()
        with self._transaction() as database:
            row = (notice.machine, notice.kind, notice.message, before)
            database.execute("INSERT INTO notice VALUES (?, ?, ?, ?)", row)

    def announce_nothing(self) -> None:
        with self._transaction() as database:
            database.execute("DELETE FROM notice")

    def client_sources(self, network: str) -> list[tuple[str, int]]:
        """From where its firewall lets clients in, and to which ports."""
        with self._connection() as database:
            return _sources(database, network)

    def machine_at(self, agent_address: str) -> Machine | None:
        """The machine that has this agent address, whatever its state; for fake agents, which live on machines."""
        try:
            third, fourth = (int(part) for part in agent_address.rpartition(":")[0].split(".")[2:])
        except ValueError:
            return None
        with self._connection() as database:
            row = database.execute(
                "SELECT * FROM machine WHERE number = ? AND (gone_at IS NULL OR gone_at > ?)",
                (third * 254 + fourth - 1, self._settings.clock()),
            ).fetchone()
        machine = None if row is None else self._machine(row)
        return machine if machine is not None and machine.agent_address == agent_address else None

    def has_power(self, agent_address: str) -> bool:
        """Whether a machine runs at this address."""
        machine = self.machine_at(agent_address)
        return machine is not None and machine.state is MachineState.RUNNING

    # What a provider does.

    def find_image(self, *, region: str, engine: str, version: str) -> Image:
        self._check_region(region)
        image_id = f"{engine}-{version}"
        with self._call("find_image", image_id):
            if version == UNKNOWN_VERSION:
                raise NotFound(f"There is no image for {engine} {version}.")
        return Image(id=image_id, state=ImageState.READY)

    def named_image(self, *, region: str, ids: Mapping[str, str]) -> Image:
        """There is every image whose name does not begin with `gone`."""
        self._check_region(region)
        for name in ids.values():
            if name.startswith("gone"):
                raise NotFound(f"There is no image {name}.")
        return Image(id=",".join(ids.values()), state=ImageState.READY, by_architecture=dict(ids))

    def ensure_network(self, spec: NetworkSpec) -> Network:
        self._check_region(spec.region)
        for zone in spec.zones:
            self._check_zone(spec.region, zone)
        network = Network(name=spec.name, region=spec.region, zones=spec.zones, tags=dict(spec.tags))
        with self._call("ensure_network", spec.name) as call:
            existing = _network(call.database, spec.name)
            if existing is None:
                call.database.execute("INSERT INTO network VALUES (?, ?)", (spec.name, json.dumps(asdict(network))))
                call.effect("network-made")
            elif existing.zones != network.zones:
                raise InvalidRequest(f"Network {spec.name} exists with other zones.")
        return replace(existing or network, id=f"fake-{spec.name}", cidr="10.0.0.0/8")

    def delete_network(self, *, region: str, name: str) -> bool:
        self._check_region(region)
        with self._call("delete_network", name) as call:
            for (spec,) in call.database.execute("SELECT spec FROM machine").fetchall():
                if json.loads(spec)["network"] == name:
                    return False
            if call.database.execute("DELETE FROM network WHERE name = ?", (name,)).rowcount:
                call.database.execute("DELETE FROM client_source WHERE network = ?", (name,))
                call.database.execute("DELETE FROM connection WHERE network = ?", (name,))
                call.effect("network-deleted")
        return True

    def list_networks(self, *, region: str) -> list[Network]:
        self._check_region(region)
        with self._call("list_networks", region) as call:
            rows = call.database.execute("SELECT document FROM network ORDER BY name").fetchall()
        return [network for (document,) in rows if (network := _network_of(document)).region == region]

    def ensure_machine(self, spec: MachineSpec) -> Machine:
        self._check(spec)
        with self._call("ensure_machine", spec.name) as call:
            database, now = call.database, self._settings.clock()
            network = _network(database, spec.network)
            if network is None or spec.zone not in network.zones:
                raise InvalidRequest(f"There is no network {spec.network} in zone {spec.zone}.")
            row = _row(database, spec.name)
            ready_at = now + self._settings.boot_seconds + call.slow_seconds
            if row is None:
                database.execute(
                    "INSERT INTO machine (name, spec, spec_hash, ready_at, seen_at) VALUES (?, ?, ?, ?, ?)",
                    (spec.name, json.dumps(asdict(spec)), _hash(spec), ready_at, now + call.unseen_seconds),
                )
                call.effect("made")
            elif row["gone_at"] is not None:
                raise ProviderError(f"An earlier machine {spec.name} is still ending.")
            elif row["spec_hash"] != _hash(spec):
                raise InvalidRequest(f"Machine {spec.name} exists and was made from another spec.")
            elif row["stopped"]:
                self._start(call, spec.name)
            made = _row(database, spec.name)
        if made is None:
            raise LookupError(spec.name)
        return self._machine(made)

    def find_machine(self, *, region: str, name: str) -> Machine | None:
        self._check_region(region)
        with self._call("find_machine", name) as call:
            row = _row(call.database, name)
        return self._machine(row) if row is not None and row["seen_at"] <= self._settings.clock() else None

    def list_machines(self, *, region: str) -> list[Machine]:
        self._check_region(region)
        with self._call("list_machines", region):
            pass
        zones = self._settings.regions[region]
        return [machine for machine in self._machines(unseen_too=False) if machine.zone in zones]

    def delete_machine(self, *, region: str, name: str) -> bool:
        self._check_region(region)
        with self._call("delete_machine", name) as call:
            row, now = _row(call.database, name), self._settings.clock()
            if row is None:
                return True
            if row["gone_at"] is None:
                gone_at = now + self._settings.delete_seconds + call.slow_seconds
                call.database.execute("UPDATE machine SET gone_at = ?, stopped = 1 WHERE name = ?", (gone_at, name))
                call.effect("deleted")
            else:
                gone_at = row["gone_at"]
            if gone_at > now:
                return False
            call.database.execute("DELETE FROM machine WHERE name = ?", (name,))
        return True

    def start_machine(self, *, region: str, name: str) -> None:
        self._check_region(region)
        with self._call("start_machine", name) as call:
            if _existing(call.database, name)["stopped"]:
                self._start(call, name)

    def stop_machine(self, *, region: str, name: str) -> None:
        self._power_off("stop_machine", "stopped", region=region, name=name)

    def kill_machine(self, *, region: str, name: str) -> None:
        self._power_off("kill_machine", "killed", region=region, name=name)

    def allow_clients(self, *, region: str, network: str, sources: Sequence[str], ports: Sequence[int]) -> None:
        self._check_region(region)
        with self._call("allow_clients", network) as call:
            if _network(call.database, network) is None:
                raise NotFound(f"There is no network {network} in {region}.")
            wanted = sorted({(source, port) for source in sources for port in ports})
            if _sources(call.database, network) != wanted:
                call.database.execute("DELETE FROM client_source WHERE network = ?", (network,))
                rows = [(network, source, port) for source, port in wanted]
                call.database.executemany("INSERT INTO client_source VALUES (?, ?, ?)", rows)
                call.effect("clients-changed")

    def ensure_connection(self, spec: ConnectionSpec) -> Connection:
        self._check_region(spec.region)
        other = spec.peer_network if isinstance(spec, PeeringSpec) else spec.service
        with self._call("ensure_connection", spec.name) as call:
            if _network(call.database, spec.network) is None:
                raise InvalidRequest(f"There is no network {spec.network} in {spec.region}.")
            columns = (spec.network, spec.name, other)
            made = call.database.execute(
                "INSERT OR IGNORE INTO connection (network, name, other) VALUES (?, ?, ?)", columns
            )
            if made.rowcount:
                call.effect("connection-made")
            key = (spec.network, spec.name)
            row = call.database.execute("SELECT * FROM connection WHERE network = ? AND name = ?", key).fetchone()
            if row["other"] != other:
                raise InvalidRequest(f"Connection {spec.name} exists with {row['other']}.")
        state = ConnectionState(row["state"])
        message = f"Accept the connection to {other}." if state is ConnectionState.WAITING_FOR_YOU else ""
        return Connection(id=f"fake-{spec.name}", name=spec.name, state=state, message=message)

    def delete_connection(self, spec: ConnectionSpec) -> bool:
        self._check_region(spec.region)
        with self._call("delete_connection", spec.name) as call:
            key = (spec.network, spec.name)
            if call.database.execute("DELETE FROM connection WHERE network = ? AND name = ?", key).rowcount:
                call.effect("connection-deleted")
        return True

    def shortfalls(self, *, region: str, machine_type: str, machines: Mapping[str, int]) -> list[Shortfall]:
        return []

    def capacity(self, *, region: str) -> Capacity:
        self._check_region(region)
        return self._settings.capacity

    def missing_permissions(self, *, region: str) -> list[str]:
        return []

    def notices(self, *, region: str) -> list[Notice]:
        with self._call("notices", region) as call:
            rows = call.database.execute("SELECT machine, kind, message, before FROM notice ORDER BY rowid").fetchall()
        here = {machine.name for machine in self.list_machines(region=region)} if rows else set()
        return [
            Notice(machine=machine, kind=kind, message=message, before=before and datetime.fromisoformat(before))
            for machine, kind, message, before in rows
            if machine in here
        ]

    def price_list(self, *, regions: Sequence[str]) -> Mapping[str, Sequence[ListPrice]]:
        return {}

    def memory_budget_mib(self, *, region: str) -> int | None:
        self._check_region(region)
        return self._settings.memory_budget_mib

    def _start(self, call: "_Call", name: str) -> None:
        ready_at = self._settings.clock() + self._settings.boot_seconds + call.slow_seconds
        call.database.execute("UPDATE machine SET stopped = 0, ready_at = ? WHERE name = ?", (ready_at, name))
        call.effect("started")

    def _power_off(self, method: str, effect: str, *, region: str, name: str) -> None:
        self._check_region(region)
        with self._call(method, name) as call:
            if not _existing(call.database, name)["stopped"]:
                call.database.execute("UPDATE machine SET stopped = 1 WHERE name = ?", (name,))
                call.effect(effect)

    def _machines(self, *, unseen_too: bool) -> list[Machine]:
        with self._connection() as database:
            now = self._settings.clock()
            rows = database.execute(
                "SELECT * FROM machine WHERE gone_at IS NULL OR gone_at > ? ORDER BY name", (now,)
            ).fetchall()
        return [self._machine(row) for row in rows if unseen_too or row["seen_at"] <= now]

    def _machine(self, row: sqlite3.Row) -> Machine:
        spec = json.loads(row["spec"])
        third, fourth = divmod(row["number"], 254)
        zones = [zone for zones in self._settings.regions.values() for zone in zones]
        address = f"10.{zones.index(spec['zone']) + 1}.{third % 256}.{fourth + 1}"
        state = MachineState.STARTING if row["ready_at"] > self._settings.clock() else MachineState.RUNNING
        return Machine(
            id=f"fake-{row['number']}",
            name=row["name"],
            zone=spec["zone"],
            state=MachineState.STOPPED if row["stopped"] else state,
            address=address,
            agent_address=f"{address}:7443",
            tags=spec["tags"],
        )

    def _check_region(self, region: str) -> None:
        if region not in self._settings.regions:
            raise InvalidRequest(f"Unknown region {region!r}: there are {', '.join(self._settings.regions)}.")

    def _check_zone(self, region: str, zone: str) -> None:
        zones = self._settings.regions[region]
        if zone not in zones:
            raise InvalidRequest(f"Unknown zone {zone!r} in {region}: there are {', '.join(zones)}.")

    def _check(self, spec: MachineSpec) -> None:
        self._check_region(spec.region)
        self._check_zone(spec.region, spec.zone)
        if not spec.machine_type.startswith(self._settings.machine_type_prefix):
            raise InvalidRequest(f"Unknown machine type {spec.machine_type!r}.")
        if spec.image.endswith(f"-{UNKNOWN_VERSION}"):
            raise NotFound(f"There is no machine image {spec.image!r}.")

    @contextmanager
    def _call(self, method: str, target: str) -> Iterator["_Call"]:
        """One call: draws its faults, runs in one transaction, and loses the reply after it if a fault says so."""
        struck = self._draw(method, target)
        for fault in struck:
            if fault.moment is Moment.BEFORE:
                raise fault.error(method, target)
        with self._transaction() as database:
            database.execute("DELETE FROM machine WHERE gone_at <= ?", (self._settings.clock(),))
            yield _Call(database=database, target=target, delays={f.name: f.seconds for f in struck})
        for fault in struck:
            if fault.moment is Moment.AFTER:
                raise fault.error(method, target)

    def _draw(self, method: str, target: str) -> list[Fault]:
        with self._connection() as database:
            if database.execute("SELECT 1 FROM fault LIMIT 1").fetchone() is None:
                return []
        struck = []
        with self._transaction() as database:
            for row in database.execute("SELECT * FROM fault ORDER BY id").fetchall():
                document = json.loads(row["document"])
                fault = Fault(**document | {"moment": Moment(document["moment"])})
                if not fault.matches(method, target) or (fault.times is not None and row["strikes"] >= fault.times):
                    continue
                hit = fault.strikes(seed=self._settings.seed, fault_id=row["id"], draw=row["draws"])
                database.execute(
                    "UPDATE fault SET draws = draws + 1, strikes = strikes + ? WHERE id = ?", (int(hit), row["id"])
                )
                if hit:
                    struck.append(fault)
        return struck

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
        database = _open(str(self._settings.path))
        try:
            yield database
        finally:
            database.close()


@dataclass(frozen=True, kw_only=True)
class _Call:
    database: sqlite3.Connection
    target: str
    delays: dict[str, float]

    @property
    def slow_seconds(self) -> float:
        return self.delays.get(SLOW, 0.0)

    @property
    def unseen_seconds(self) -> float:
        return self.delays.get(UNSEEN, 0.0)

    def effect(self, effect: str) -> None:
        self.database.execute("INSERT INTO history (effect, name) VALUES (?, ?)", (effect, self.target))


def _open(path: str) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
    database.row_factory = sqlite3.Row
    database.execute("PRAGMA synchronous=OFF")
    return database


def _row(database: sqlite3.Connection, name: str) -> sqlite3.Row | None:
    row: sqlite3.Row | None = database.execute("SELECT * FROM machine WHERE name = ?", (name,)).fetchone()
    return row


def _existing(database: sqlite3.Connection, name: str) -> sqlite3.Row:
    row = _row(database, name)
    if row is None or row["gone_at"] is not None:
        raise NotFound(f"There is no machine {name}.")
    return row


def _sources(database: sqlite3.Connection, network: str) -> list[tuple[str, int]]:
    asked = "SELECT source, port FROM client_source WHERE network = ? ORDER BY source, port"
    return list(database.execute(asked, (network,)))


def _network(database: sqlite3.Connection, name: str) -> Network | None:
    row = database.execute("SELECT document FROM network WHERE name = ?", (name,)).fetchone()
    return None if row is None else _network_of(row[0])


def _network_of(document: str) -> Network:
    stored = json.loads(document)
    return Network(
        name=stored["name"], region=stored["region"], zones=tuple(stored["zones"]), tags=stored.get("tags", {})
    )


def _hash(spec: MachineSpec) -> str:
    return hashlib.sha256(json.dumps(asdict(spec), sort_keys=True).encode()).hexdigest()
