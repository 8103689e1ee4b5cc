"""A ring without a control plane: the same JVMs, started and stopped by a script. The other side of benchmarks.

How the engine is started (command line, cassandra.yaml, keys) is taken from nodes that the product has just made, so
that both sides run the same; then the nodes are deleted and the script has their addresses. Only what belongs to a
ring is written anew: its name, seeds, tokens. Nobody proves, watches or records anything here.
"""

import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import yaml
from cassandra import DriverException, RequestExecutionException

from e2e.bench.order_to_cql import command_line, copy_files
from e2e.product import delete, order
from e2e.trials.application import Connecting
from e2e.trials.clusters import addresses, connecting, session_of
from infra.local import machines

# docs/engine-start.md: the first boot of an empty ring whose tokens are given.
_EMPTY_RING = {
    "gossip_quarantine_delay_ms": 60000,
    "schema_pull_interval_ms": 1000,
    "ring_delay_ms": 500,
    "skip_wait_for_gossip_to_settle": 0,
    "superuser_setup_delay_ms": 100,
    "system_auth.default_rf": 3,
}
# A node that joins a ring with data, where somebody has checked that the ring is whole.
JOINING = {
    "gossip_quarantine_delay_ms": 60000,
    "schema_pull_interval_ms": 1000,
    "ring_delay_ms": 2000,
    "skip_wait_for_gossip_to_settle": 0,
}
# The same for a node that takes the place of a dead one, whose machine is terminated: it is also not waited for long.
REPLACING = {**JOINING, "broadcast_interval_ms": 3000}

_MANAGED = (*_EMPTY_RING, *REPLACING, "system_distributed.default_rf", "system_traces.default_rf", "join_ring")
_GIVE_UP_SECONDS = 180.0
_PAUSE_SECONDS = 0.05
_STOP_SECONDS = 90.0
_PORT = 9042
_PROOF_KEYS = range(16)
_STATE = ("data", "commitlog", "hints", "saved_caches", "cdc_raw")


@dataclass(frozen=True)
class Blueprint:
    """How the product started one node: its address, and its command line and files moved to `folder`."""

    address: str
    folder: Path
    command: list[str]
    ca_certificate: str

    @property
    def root(self) -> Path:
        """Where the engine's own folders are."""
        return self._conf.parent

    @property
    def _conf(self) -> Path:
        [found] = self.folder.rglob("cassandra.yaml")
        return found.parent

    def settings(self) -> dict[str, Any]:
        found: dict[str, Any] = yaml.safe_load((self._conf / "cassandra.yaml").read_text())
        return found

    def write(self, settings: dict[str, Any]) -> None:
        (self._conf / "cassandra.yaml").write_text(yaml.safe_dump(settings))


def take_blueprints(api: httpx.Client, run: Path, place: Path, **wanted: Any) -> tuple[list[Blueprint], Connecting]:
    """Order a cluster (as `e2e.product.order`), copy how its nodes were started to `place`, and delete it.

    The nodes by address, and how to connect to a ring made of them: as the engine's first superuser.
    """
    cluster, _ = order(api, **wanted)
    known = connecting(api, cluster)
    theirs = set(addresses(api, cluster))
    found = []
    for machine in machines.present(run):
        if machine.address in theirs:
            source, target = run / "machines" / machine.name, place / machine.address
            command = [word.replace(str(source), str(target)) for word in command_line(source)]
            copy_files(source, target)
            found.append(Blueprint(machine.address, target, command, known.ca_certificate))
    delete(api, cluster)
    first = Connecting(
        contact_points=sorted(theirs),
        port=_PORT,
        datacenter=known.datacenter,
        ca_certificate=known.ca_certificate,
        username="cassandra",
        password="cassandra",
        replication=3,
    )
    return sorted(found, key=lambda one: one.address), first


@dataclass
class BareRing:
    """A ring made of blueprints. `nodes` run; what they hold can be kept (`keep`) and had again (`bring_back`)."""

    blueprints: Sequence[Blueprint]
    known: Connecting
    kept: Path
    name: str = "bare"
    _running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def configure(self, one: Blueprint, *, tokens: list[int], seeds: list[str], bootstrap: bool) -> None:
        """`bootstrap`: it is to fetch the data it owns, as a node that joins or replaces another must."""
        settings = one.settings()
        settings["cluster_name"] = self.name
        settings["num_tokens"] = len(tokens)
        settings["initial_token"] = ",".join(str(token) for token in tokens)
        settings["seed_provider"][0]["parameters"][0]["seeds"] = ",".join(f"{seed}:7000" for seed in seeds)
        settings["auto_bootstrap"] = bootstrap
        # Streaming as fast as it goes: the product lifts the limit while a node joins, too.
        for name in ("stream_throughput_outbound", "entire_sstable_stream_throughput_outbound"):
            settings[name] = "0MiB/s"
        one.write(settings)

    def form(self, count: int, tokens: Sequence[list[int]]) -> None:
        """Start the first `count` blueprints as a new, empty ring. Returns when all see each other."""
        members = self.blueprints[:count]
        seeds = [one.address for one in members]
        for one, given in zip(members, tokens, strict=True):
            _empty(one)
            self.configure(one, tokens=list(given), seeds=seeds, bootstrap=False)
            self.start(one, _EMPTY_RING)
        self.wait_until_agreed([one.address for one in members])

    def start(self, one: Blueprint, properties: dict[str, Any]) -> None:
        """Start a node with these `-Dcassandra.…` instead of those that it was first started with."""
        managed = tuple(f"-Dcassandra.{name}=" for name in _MANAGED)
        command = [word for word in one.command if not word.startswith(managed)]
        command[-1:-1] = [f"-Dcassandra.{name}={value}" for name, value in properties.items()]
        with (one.folder / "out.log").open("ab") as output:
            self._running[one.address] = subprocess.Popen(
                command,
                cwd=one.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def stop(self, one: Blueprint) -> None:
        """Ask the engine to end, which drains it first, and wait until it has."""
        process = self._running.pop(one.address)
        process.send_signal(signal.SIGTERM)
        process.wait(_STOP_SECONDS)

    def kill(self, one: Blueprint) -> None:
        process = self._running.pop(one.address)
        process.kill()
        process.wait()

    def kill_all(self) -> None:
        for one in self.blueprints:
            if one.address in self._running:
                self.kill(one)

    def keep(self) -> None:
        """Stop all nodes in an orderly way and keep what they hold, for `bring_back`."""
        for one in self.blueprints:
            if one.address in self._running:
                self.stop(one)
                _copy_state(one.root, self.kept / one.address)

    def bring_back(self) -> None:
        """Kill all nodes, give those that were kept what they held then, start them and wait until they agree."""
        self.kill_all()
        members = []
        for one in self.blueprints:
            _empty(one)
            if (self.kept / one.address).is_dir():
                _copy_state(self.kept / one.address, one.root)
                self.start(one, {"skip_wait_for_gossip_to_settle": 0})
                members.append(one.address)
        self.wait_until_agreed(members)

    def wait_until_agreed(self, asked: Sequence[str], *, members: Sequence[str] | None = None) -> None:
        """Wait until each node asked answers CQL and sees exactly `members` (None: those asked), with one schema."""
        give_up_at = time.monotonic() + _GIVE_UP_SECONDS
        wanted = asked if members is None else members
        for address in asked:
            with self.session(address, give_up_at) as session:
                while not _agrees(session, wanted):
                    self._pause(f"{address} to see {', '.join(wanted)}", give_up_at)

    def prove(self, address: str) -> None:
        """Write rows at ALL and read them at ALL through one node, as often as it takes until it can."""
        give_up_at = time.monotonic() + _GIVE_UP_SECONDS
        with self.session(address, give_up_at) as session:
            while True:
                try:
                    for key in _PROOF_KEYS:
                        session.execute("INSERT INTO bench.proof (key, word) VALUES (%s, 'here')", (key,))
                        assert (
                            session.execute("SELECT word FROM bench.proof WHERE key = %s", (key,)).one().word == "here"
                        )
                    return
                except (DriverException, RequestExecutionException) as error:
                    self._pause(f"{address} to serve at ALL ({error})", give_up_at)

    @contextmanager
    def session(self, address: str, give_up_at: float | None = None) -> Iterator[Any]:
        """A session with one node only, at ALL unless told otherwise; waits until the node lets it in."""
        give_up_at = time.monotonic() + _GIVE_UP_SECONDS if give_up_at is None else give_up_at
        while True:
            driver = session_of(address, self.known)
            try:
                session = driver.connect()
                break
            except Exception as error:  # whatever the driver raises: it is not up yet
                driver.shutdown()
                self._pause(f"{address} to let us in ({error})", give_up_at)
        try:
            yield session
        finally:
            driver.shutdown()

    def _pause(self, what_for: str, give_up_at: float) -> None:
        if time.monotonic() > give_up_at:
            raise TimeoutError(f"waited {_GIVE_UP_SECONDS:.0f} s for {what_for}")
        ended = [address for address, process in self._running.items() if process.poll() is not None]
        if ended:
            raise RuntimeError(f"the engine of {', '.join(ended)} has ended while we waited for {what_for}")
        time.sleep(_PAUSE_SECONDS)


@contextmanager
def bare_ring(blueprints: Sequence[Blueprint], known: Connecting, kept: Path) -> Iterator[BareRing]:
    """Nothing of it runs afterwards."""
    ring = BareRing(blueprints, known, kept)
    try:
        yield ring
    finally:
        ring.kill_all()


def data_bytes(one: Blueprint) -> int:
    """What the tables of users take on a node's disk, in bytes."""
    tables = (one.root / "data").glob("bench/**/*")
    return sum(file.stat().st_size for file in tables if file.is_file())


def _agrees(session: Any, members: Sequence[str]) -> bool:
    try:
        [local] = session.execute("SELECT schema_version, bootstrapped, tokens FROM system.local")
        known = {row.address for row in session.execute("SELECT address FROM system_views.gossip_info")}
        # The row of a node that was replaced may stay in this table; gossip has forgotten it.
        peers = [
            row
            for row in session.execute("SELECT peer, schema_version, tokens FROM system.peers_v2")
            if row.peer in known
        ]
    except Exception:  # whatever the driver raises: it will be asked again
        return False
    return (
        local.bootstrapped == "COMPLETED"
        and len(peers) == len(members) - 1
        and all(peer.tokens and peer.peer in members for peer in peers)
        and {local.schema_version} == {local.schema_version, *(peer.schema_version for peer in peers)}
    )


def _empty(one: Blueprint) -> None:
    for name in _STATE:
        shutil.rmtree(one.root / name, ignore_errors=True)
    for name in (*_STATE, "logs", "tmp"):
        (one.root / name).mkdir(parents=True, exist_ok=True)


def _copy_state(source: Path, target: Path) -> None:
    """Hard links for the tables, which are never written again once they are there; copies of the rest."""
    target.mkdir(parents=True, exist_ok=True)
    for name in _STATE:
        shutil.rmtree(target / name, ignore_errors=True)
        if (source / name).is_dir():
            link = ["--link"] if name == "data" else []
            subprocess.run(["cp", "--archive", *link, str(source / name), str(target / name)], check=True)
