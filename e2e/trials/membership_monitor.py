"""Watches how a ring changes, as every node of it sees it, and complains when a change was not safe.

Several times a second it asks every live node over CQL for its own view (`system.local`, `system.peers_v2`,
`system_views.gossip_info`), the provider for its machines and the API for open operations. The rules:

1. never two membership changes at once: at most one node is joining, leaving, moving, being removed or replaced;
2. no next change before all live nodes agree on the ring that the one before has left;
3. no removal of a dead node from the ring, and no take-over of its tokens, before its machine is terminated;
4. never two operations at once that change who is a member;
5. never two nodes down at once.

`Judge` knows the rules and nothing else, so that they can be tried on made-up moments. `watching` does the asking.
"""

import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from cassandra import ConsistencyLevel
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.policies import WhiteListRoundRobinPolicy

from e2e.trials.application import Connecting
from infra.local import machines
from provisioner.providers.base import Machine, MachineState

# Words of a node's gossip status while its membership changes (org.apache.cassandra.gms.VersionedValue, 5.0).
_CHANGING = frozenset({"BOOT", "BOOT_REPLACE", "LEAVING", "MOVING", "removing"})
_GOES_BY_ITSELF = frozenset({"LEAVING", "LEFT"})
_REMOVED_BY_OTHERS = frozenset({"removing", "removed"})
_MEMBERSHIP_OPERATIONS = frozenset(
    {
        "create_cluster",
        "delete_cluster",
        "scale_cluster",
        "replace_node",
        "change_machine_type",
        "add_datacenter",
        "remove_datacenter",
    }
)

_ROUND_SECONDS = 0.3
_FIRST_SECONDS = 60.0
_VIEW_SECONDS = 2.0
_CONNECT_SECONDS = 0.5


@dataclass(frozen=True)
class Member:
    """A node that owns tokens."""

    address: str
    tokens: tuple[int, ...]


@dataclass(frozen=True)
class Status:
    """A gossip status: its word, and what follows the comma (the address that is replaced, for BOOT_REPLACE)."""

    word: str
    argument: str = ""


@dataclass(frozen=True)
class View:
    """What one node knows: `ring` by host id, `statuses` by address."""

    ring: Mapping[str, Member]
    statuses: Mapping[str, Status]


@dataclass(frozen=True)
class Moment:
    """One round of asking, which began when the one before had ended. `at` is in seconds of a monotonic clock.

    `views`: by address, of the nodes that answered. `refusing`: addresses of running machines where nobody listens
    for CQL. `machines`: address by name, of every machine that has not been terminated, looked up after the views.
    `powered`: names of the machines that are on. `operations`: kinds of the open ones, None when the API is down.
    """

    at: float
    views: Mapping[str, View]
    machines: Mapping[str, str]
    powered: frozenset[str] = frozenset()
    refusing: frozenset[str] = frozenset()
    operations: tuple[str, ...] | None = ()


@dataclass
class Judge:
    """Sees moments in order; `violations` are sentences, `changes` are (address, word) of all that began."""

    violations: list[str] = field(default_factory=list)
    changes: list[tuple[str, str]] = field(default_factory=list)
    moments: int = 0
    agreements: int = 0
    _words: dict[str, str] = field(default_factory=dict)
    _changing: frozenset[str] = frozenset()
    _fresh: frozenset[str] = frozenset()
    _machine_of: dict[str, str] = field(default_factory=dict)
    _members: dict[str, Member] = field(default_factory=dict)
    _left: set[str] = field(default_factory=set)
    _began: float | None = None
    _at: float = 0.0

    def see(self, moment: Moment) -> None:
        self.moments += 1
        self._began = moment.at if self._began is None else self._began
        self._at = moment.at - self._began
        self._see_changes(moment)
        self._see_removals(moment)
        self._see_operations(moment)
        self._see_downs(moment)

    def _see_changes(self, moment: Moment) -> None:
        statuses = [(address, status) for view in moment.views.values() for address, status in view.statuses.items()]
        self._remember(statuses)
        changing = frozenset(address for address, status in statuses if status.word in _CHANGING)
        for view in moment.views.values():
            self._one_at_a_time(frozenset(a for a, status in view.statuses.items() if status.word in _CHANGING))
        for began in self._fresh:
            # All views of this moment were asked for after somebody had seen this change. So whoever still sees another
            # one under way, or the ring as it was before that, had not agreed when this one began.
            self._one_at_a_time(frozenset({began}) | (changing & self._changing))
            rings = {address: _without(view.ring, began) for address, view in moment.views.items()}
            if differing := _differing(rings):
                self._complain(f"{began} began to change before all live nodes agreed on the ring: {differing}")
        self._fresh = changing - self._changing
        self._changing = changing
        self.agreements += not changing and agreed(moment)

    def _one_at_a_time(self, changing: frozenset[str]) -> None:
        if len(changing) > 1:
            self._complain(f"two membership changes at once: {', '.join(sorted(changing))}")

    def _remember(self, statuses: list[tuple[str, Status]]) -> None:
        """Note every node that begins to change. One that some still see changing has not ended its change."""
        telling = _CHANGING | _REMOVED_BY_OTHERS
        words: dict[str, str] = {}
        for address, status in statuses:
            if words.get(address) not in telling:
                words[address] = status.word
        for address, word in words.items():
            if word != self._words.get(address) and word in telling:
                self.changes.append((address, word))
        self._words.update(words)

    def _see_removals(self, moment: Moment) -> None:
        name_of = {address: name for name, address in moment.machines.items()}
        for view in moment.views.values():
            for address, status in view.statuses.items():
                host = next((host for host, member in self._members.items() if member.address == address), None)
                if host is not None and status.word in _GOES_BY_ITSELF:
                    self._left.add(host)
                if host is not None and status.word in _REMOVED_BY_OTHERS:
                    self._must_be_terminated(host, moment, "is removed from the ring")
                if status.word == "BOOT_REPLACE":
                    self._see_replaced(status.argument, address, moment)
            # A member that nobody saw leaving and that is gone was taken away.
            for host in set(self._members) - set(view.ring) - self._left:
                if agreed(moment):
                    self._must_be_terminated(host, moment, "is no longer in the ring")
        if agreed(moment):
            ring = next(iter(moment.views.values())).ring
            self._members = dict(ring)
            self._left &= set(ring)
            for host, member in ring.items():
                if host not in self._machine_of and member.address in name_of:
                    self._machine_of[host] = name_of[member.address]

    def _see_replaced(self, argument: str, by: str, moment: Moment) -> None:
        replaced = argument.rsplit(":", 1)[0].lstrip("/") or by
        for host, member in self._members.items():
            if member.address == replaced:
                self._must_be_terminated(host, moment, f"is replaced by {by}")

    def _must_be_terminated(self, host: str, moment: Moment, what: str) -> None:
        name = self._machine_of.get(host)
        if name is not None and name in moment.machines:
            self._complain(f"{self._members[host].address} {what} while its machine {name} exists")

    def _see_operations(self, moment: Moment) -> None:
        at_work = [kind for kind in moment.operations or () if kind in _MEMBERSHIP_OPERATIONS]
        if len(at_work) > 1:
            self._complain(f"two operations change who is a member: {', '.join(sorted(at_work))}")

    def _see_downs(self, moment: Moment) -> None:
        on = {moment.machines[name] for name in moment.powered if name in moment.machines}
        down = {m.address for m in self._members.values() if m.address in moment.refusing or m.address not in on}
        if len(down - {m.address for h, m in self._members.items() if h in self._left}) > 1:
            self._complain(f"two nodes down at once: {', '.join(sorted(down))}")

    def _complain(self, text: str) -> None:
        if not any(known.endswith(f": {text}") for known in self.violations):
            self.violations.append(f"{self._at:.1f} s: {text}")


def _without(ring: Mapping[str, Member], address: str) -> dict[str, Member]:
    return {host: member for host, member in ring.items() if member.address != address}


def _differing(rings: Mapping[str, Mapping[str, Member]]) -> str:
    """Who sees another ring than the first one, and where they differ; empty: nobody."""
    (first, its), *others = rings.items()
    return "; ".join(
        f"{address} and {first} differ in {', '.join(sorted(_addresses(ring, its) | _addresses(its, ring)))}"
        for address, ring in others
        if ring != its
    )


def _addresses(ring: Mapping[str, Member], other: Mapping[str, Member]) -> set[str]:
    return {member.address for host, member in ring.items() if other.get(host) != member}


def agreed(moment: Moment) -> bool:
    """Whether every member that runs has answered and all have the same ring, whose members are all in it."""
    views = list(moment.views.values())
    if not views or any(view.ring != views[0].ring for view in views):
        return False
    running = {moment.machines[name] for name in moment.powered if name in moment.machines}
    members = {member.address for member in views[0].ring.values()}
    return (members & running) <= set(moment.views)


# ---- Asking ----


class _Observer:
    """One node's view over CQL, through a driver that talks to nobody else. Reconnects when it must."""

    def __init__(self, address: str, connecting: Connecting) -> None:
        self.address = address
        self._connecting = connecting
        self._cluster: Cluster | None = None
        self._session: Session | None = None

    def view(self) -> View | None:
        """None when the node does not answer. ConnectionRefusedError when nobody listens."""
        try:
            socket.create_connection((self.address, self._connecting.port), timeout=_CONNECT_SECONDS).close()
        except ConnectionRefusedError:
            self.close()
            raise
        except OSError:
            self.close()
            return None
        try:
            session = self._connected()
            [local] = session.execute("SELECT host_id, tokens, bootstrapped FROM system.local")
            peers = list(session.execute("SELECT host_id, peer, tokens FROM system.peers_v2"))
            gossip = list(session.execute("SELECT address, status, status_with_port FROM system_views.gossip_info"))
        except Exception:  # whatever the driver raises: a node that does not answer has no view
            self.close()
            return None
        ring = {str(peer.host_id): _member(peer.peer, peer.tokens) for peer in peers if peer.tokens and peer.host_id}
        if local.tokens and local.bootstrapped == "COMPLETED":
            ring[str(local.host_id)] = _member(self.address, local.tokens)
        return View(ring, {str(row.address): _status(row.status_with_port or row.status or "") for row in gossip})

    def _connected(self) -> Session:
        if self._session is None:
            self._cluster = Cluster(
                [self.address],
                port=self._connecting.port,
                ssl_context=ssl.create_default_context(cadata=self._connecting.ca_certificate),
                auth_provider=PlainTextAuthProvider(self._connecting.username, self._connecting.password),
                protocol_version=5,
                connect_timeout=_VIEW_SECONDS,
                control_connection_timeout=_VIEW_SECONDS,
                schema_metadata_enabled=False,
                execution_profiles={
                    EXEC_PROFILE_DEFAULT: ExecutionProfile(
                        load_balancing_policy=WhiteListRoundRobinPolicy([self.address]),
                        consistency_level=ConsistencyLevel.ONE,
                        request_timeout=_VIEW_SECONDS,
                    )
                },
            )
            self._session = self._cluster.connect()
        return self._session

    def close(self) -> None:
        if self._cluster is not None:
            with suppress(Exception):  # it is given up; what it says about that does not matter
                self._cluster.shutdown()
        self._cluster = self._session = None


def _member(address: str, tokens: Any) -> Member:
    return Member(address, tuple(sorted(int(token) for token in tokens)))


def _status(text: str) -> Status:
    word, _, argument = text.partition(",")
    return Status(word, argument)


class Monitor:
    """The asking, several times a second, in a thread of its own."""

    def __init__(self, api: httpx.Client, run: Path, cluster: str, connecting: Connecting) -> None:
        self.judge = Judge()
        self._api = httpx.Client(base_url=api.base_url, headers=api.headers, timeout=2, trust_env=False)
        self._run, self._cluster, self._connecting = run, cluster, connecting
        self._observers: dict[str, _Observer] = {}
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._broken: Exception | None = None

    def _watch(self) -> None:
        with ThreadPoolExecutor(8) as threads:
            while not self._ending.is_set():
                began = time.monotonic()
                try:
                    self.judge.see(self._look(threads))
                except Exception as error:  # a monitor that died unseen would let everything pass
                    self._broken = error
                    return
                self._ending.wait(max(0.0, _ROUND_SECONDS - (time.monotonic() - began)))

    def _look(self, threads: ThreadPoolExecutor) -> Moment:
        at = time.monotonic()
        addresses = {machine.address for machine in self._machines() if machine.state is MachineState.RUNNING}
        for address in addresses - set(self._observers):
            self._observers[address] = _Observer(address, self._connecting)
        for address in set(self._observers) - addresses:
            self._observers.pop(address).close()
        refusing: set[str] = set()

        def ask(address: str) -> View | None:
            try:
                return self._observers[address].view()
            except ConnectionRefusedError:
                refusing.add(address)
                return None

        answers = dict(zip(addresses, threads.map(ask, addresses), strict=True))
        after = self._machines()
        return Moment(
            at=at,
            # A node without tokens that answers is one that has not joined: its view is not the ring's.
            views={
                address: view
                for address, view in answers.items()
                if view is not None and any(member.address == address for member in view.ring.values())
            },
            machines={machine.name: machine.address for machine in after},
            powered=frozenset(machine.name for machine in after if machine.state is MachineState.RUNNING),
            refusing=frozenset(refusing),
            operations=self._operations(),
        )

    def _machines(self) -> list[Machine]:
        return [m for m in machines.present(self._run) if m.tags.get("ringmaster-cluster") == self._cluster]

    def _operations(self) -> tuple[str, ...] | None:
        try:
            answer = self._api.get("/operations", params={"cluster_id": self._cluster}).raise_for_status()
        except httpx.HTTPError:
            return None
        ended = ("succeeded", "failed", "cancelled")
        return tuple(found["kind"] for found in answer.json()["items"] if found["state"] not in ended)

    def start(self) -> None:
        self._thread.start()

    def wait_for_agreement(self) -> None:
        """Return when it has seen all nodes agree for the first time. TimeoutError."""
        give_up_at = time.monotonic() + _FIRST_SECONDS
        while not self.judge.agreements:
            if time.monotonic() > give_up_at or self._broken is not None:
                raise TimeoutError(f"the monitor has not seen all nodes agree: {self._broken or 'it goes on looking'}")
            time.sleep(_ROUND_SECONDS)

    def end(self) -> None:
        self._ending.set()
        self._thread.join(30)
        for observer in self._observers.values():
            observer.close()
        self._api.close()

    def violations(self) -> list[str]:
        """What was not safe so far. Raises when the monitor itself has broken or has never seen the ring agreed."""
        if self._broken is not None:
            raise RuntimeError("the membership monitor has broken") from self._broken
        if not self.judge.agreements:
            raise RuntimeError("the membership monitor has never seen all nodes agree: it saw nothing")
        return list(self.judge.violations)


@contextmanager
def watching(api: httpx.Client, run: Path, cluster: str, connecting: Connecting) -> Iterator[Monitor]:
    """Watches the cluster `cluster` of the product in the run folder `run` until the block ends.

    The block begins when all nodes were seen to agree.
    """
    monitor = Monitor(api, run, cluster, connecting)
    monitor.start()
    try:
        monitor.wait_for_agreement()
        yield monitor
    finally:
        monitor.end()
