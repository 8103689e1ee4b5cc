"""An application works all the time while its cluster is changed in every way; nothing may fail and nothing be lost.

Starts the product in a run folder of its own, orders three nodes in three zones on the local provider, and starts an
application in a process of its own (`application.py`: the real driver, TLS, replication factor 3, QUORUM) and the
membership monitor (`membership_monitor.py`). Then, one after another:

    scale-out        3 → 6 nodes
    scale-in         6 → 3 nodes
    replace          a machine dies for good; self-healing replaces its node
    rolling-restart  every engine is started anew
    upgrade          5.0.5 → 5.0.9
    certificates     every engine gets a new certificate

After each, every write that was ever acknowledged is read back, at QUORUM and at ALL. Prints a line per scenario and
ends with one line of JSON; exit code 1 when a request failed after the driver's retries, a write was lost, a read
was wrong, the monitor complained, or the change did not do what it says.

    python -m e2e.trials.driver_under_change [SCENARIO ...]
"""

import argparse
import json
import os
import signal
import ssl
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil

from e2e.product import change, follow, order, product
from e2e.trials import lone_rows
from e2e.trials.application import Connecting, Counted, Running, application
from e2e.trials.clusters import addresses, asked, connecting, nodes, wait_until_all_serve
from e2e.trials.membership_monitor import Monitor, watching

OLD_VERSION = "5.0.5"
NEW_VERSION = "5.0.9"
# The smallest that the API takes for how long a machine must be dead before its node is replaced.
GRACE_SECONDS = 10
_HEALED_SECONDS = 120.0
_AFTER_SECONDS = 5.0


@dataclass(frozen=True)
class Ground:
    """Where a scenario takes place."""

    api: httpx.Client
    run: Path
    cluster: str
    known: Connecting
    running: Running
    monitor: Monitor


@dataclass(frozen=True)
class Result:
    """What a scenario came to. `seen`: the changes of members that the monitor saw, as gossip calls them.

    `complaints`: the monitor's, and what the change left undone. `longest`: seconds by step, where most of them went.
    """

    scenario: str
    counted: Counted
    lost_writes: int
    read_back: int
    seconds: float
    seen: list[str]
    complaints: list[str]
    longest: dict[str, float]

    @property
    def good(self) -> bool:
        counted = self.counted
        return not (counted.failed or counted.wrong_reads or self.lost_writes or self.complaints) and (
            counted.acknowledged > 0 and self.read_back >= counted.acknowledged
        )

    def line(self) -> str:
        counted = self.counted
        words = [
            f"{self.scenario}: {'good' if self.good else 'NOT GOOD'}, {self.seconds:.1f} s",
            f"{counted.requests} requests, {counted.retries} driver retries, {counted.failed} failed",
            f"{counted.acknowledged} acknowledged writes, {self.lost_writes} lost of {self.read_back} read back",
            f"{counted.wrong_reads} wrong reads, longest gap {counted.longest_gap_seconds:.2f} s",
            f"the ring saw {' '.join(self.seen) or 'no change of members'}",
            "most of the time: " + ", ".join(f"{name} {spent} s" for name, spent in self.longest.items()),
        ]
        return "\n  ".join(["; ".join(words), *counted.errors, *self.complaints])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("scenario", nargs="*", help=f"of {', '.join(SCENARIOS)}; default: all, in this order")
    wanted = parser.parse_args().scenario or list(SCENARIOS)
    if unknown := set(wanted) - set(SCENARIOS):
        parser.error(f"no such scenario: {', '.join(sorted(unknown))}; there are {', '.join(SCENARIOS)}")
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="rm-change-") as scratch:
        run = Path(scratch) / "run"
        with product(run) as api, ground(api, run) as here:
            for name in wanted:
                results.append(carry_out(here, name))
                print(results[-1].line(), flush=True)
    good = all(result.good for result in results)
    print(json.dumps({"trial": "driver_under_change", "good": good, "scenarios": [asdict(r) for r in results]}))
    return 0 if good else 1


@contextmanager
def ground(api: httpx.Client, run: Path) -> Iterator[Ground]:
    """A cluster of three nodes with an application at work and the monitor watching."""
    cluster, _ = order(api, engine_version=OLD_VERSION)
    # So that every node must know it from its first second on: the application's own address is allowed, no other is.
    allowed = api.put(f"/clusters/{cluster}/allowlist", json={"entries": [{"cidr": "127.0.0.1/32"}]})
    follow(api, allowed.raise_for_status().json()["operation"]["id"])
    known = connecting(api, cluster)
    with (
        application(known, log=run / "application.log") as running,
        watching(api, run, cluster, known) as monitor,
    ):
        yield Ground(api, run, cluster, known, running, monitor)


def carry_out(here: Ground, name: str) -> Result:
    """One scenario: what it needs first, the change under load, the check of what it did, reading back."""
    scenario = SCENARIOS[name]
    _bring_to_size(here, scenario.nodes_per_zone)
    # Before anything counts: what is prepared may be more than an application bears.
    proof = scenario.prepare(here) if scenario.prepare is not None else None
    known_before, seen_before = len(here.monitor.violations()), len(here.monitor.judge.changes)
    here.running.begin()
    began = time.monotonic()
    try:
        complaints = scenario.act(here)
        complaints += proof() if proof is not None else []
    except (RuntimeError, TimeoutError, httpx.HTTPStatusError) as error:
        complaints = [f"the change: {error}"]
    seconds = time.monotonic() - began
    time.sleep(_AFTER_SECONDS)
    counted = here.running.report()
    reads = [here.running.read_back(consistency) for consistency in ("QUORUM", "ALL")]
    complaints += here.monitor.violations()[known_before:]
    seen = [word for _, word in here.monitor.judge.changes[seen_before:]]
    complaints += [
        f"the monitor saw {seen.count(word)} × {word}, not {count}: {seen}"
        for word, count in scenario.membership
        if seen.count(word) != count
    ]
    return Result(
        scenario=name,
        counted=counted,
        lost_writes=len({key for read in reads for key in read.lost}),
        read_back=min(read.rows for read in reads),
        seconds=round(seconds, 1),
        seen=seen,
        complaints=complaints,
        longest=_longest_steps(here),
    )


def _longest_steps(here: Ground, most: int = 6) -> dict[str, float]:
    """Of the cluster's last operation: where its seconds went, all nodes together."""
    last = here.api.get("/operations", params={"cluster_id": here.cluster, "limit": 1}).raise_for_status().json()
    steps = here.api.get(f"/operations/{last['items'][0]['id']}").raise_for_status().json()["steps"]
    seconds: Counter[str] = Counter()
    for step in steps:
        seconds[step["name"]] += step["duration_seconds"] or 0
    return {name: round(spent, 1) for name, spent in seconds.most_common(most)}


def _bring_to_size(here: Ground, nodes_per_zone: int | None) -> None:
    """A scenario that is run alone may need another number of nodes first."""
    if nodes_per_zone is not None and len(nodes(here.api, here.cluster)) != 3 * nodes_per_zone:
        follow(here.api, change(here.api, here.cluster, "scale", nodes_per_zone=nodes_per_zone))
        _wait_until_served(here)


def scale_out(here: Ground) -> list[str]:
    return _scale(here, 2)


def scale_in(here: Ground) -> list[str]:
    return _scale(here, 1)


def _scale(here: Ground, nodes_per_zone: int) -> list[str]:
    follow(here.api, change(here.api, here.cluster, "scale", nodes_per_zone=nodes_per_zone))
    _wait_until_served(here)
    found = len(nodes(here.api, here.cluster))
    return [] if found == 3 * nodes_per_zone else [f"there are {found} nodes, not {3 * nodes_per_zone}"]


def replace_killed(here: Ground) -> list[str]:
    """A machine dies for good; the rest is left to self-healing."""
    healing = {"mode": "act", "grace_seconds": GRACE_SECONDS}
    here.api.patch(f"/clusters/{here.cluster}", json={"healing": healing}).raise_for_status()
    before = {node["id"]: node for node in nodes(here.api, here.cluster)}
    victim = _first(here)
    hang(here.run, victim["id"])
    follow(here.api, wait_for_replacement(here.api, here.cluster, victim["id"]))
    _wait_until_served(here)
    after = {node["id"] for node in nodes(here.api, here.cluster)}
    if victim["id"] in after or len(after) != len(before):
        return [f"{victim['name']} was not replaced: nodes are {sorted(after)}"]
    return []


def _first(here: Ground) -> dict[str, Any]:
    """The node that is killed: of three, another zone's than that of the last."""
    return min(nodes(here.api, here.cluster), key=lambda node: str(node["name"]))


def some_rows_on_one(here: Ground) -> Callable[[], list[str]]:
    """Acknowledged rows that the node which is killed next has coordinated, and of the others one alone has."""
    lagging = max(nodes(here.api, here.cluster), key=lambda node: str(node["name"]))
    keys = lone_rows.plant(here.known, here.run, _first(here), lagging)

    def lost() -> list[str]:
        gone = lone_rows.lost(here.known, addresses(here.api, here.cluster), keys)
        return (
            [f"{len(gone)} of {len(keys)} rows that one living node alone had are not read at QUORUM"] if gone else []
        )

    return lost


def wait_for_replacement(api: httpx.Client, cluster: str, victim: str) -> str:
    """Wait until self-healing has begun to replace a node: the id of the operation. TimeoutError."""
    give_up_at = time.monotonic() + GRACE_SECONDS + _HEALED_SECONDS
    while (found := _replacement(api, cluster, victim)) is None:
        if time.monotonic() > give_up_at:
            raise TimeoutError(f"self-healing has not begun to replace {victim}")
        time.sleep(0.1)
    return found


def _replacement(api: httpx.Client, cluster: str, victim: str) -> str | None:
    """The operation that replaces a node, if there is one."""
    listed = api.get("/operations", params={"cluster_id": cluster, "kind": "replace_node"})
    for operation in listed.raise_for_status().json()["items"]:
        steps = api.get(f"/operations/{operation['id']}").raise_for_status().json()["steps"]
        if operation["state"] not in ("failed", "cancelled") and any(victim == step["target"] for step in steps):
            return str(operation["id"])
    return None


def rolling_restart(here: Ground) -> list[str]:
    before = _told(here, "gossip_generation")
    follow(here.api, change(here.api, here.cluster, "rolling_restart"))
    _wait_until_served(here)
    after = _told(here, "gossip_generation")
    return [f"{address} was not restarted" for address, began in before.items() if after.get(address, 0) <= began]


def upgrade(here: Ground) -> list[str]:
    follow(here.api, change(here.api, here.cluster, "upgrade", engine_version=NEW_VERSION))
    _wait_until_served(here)
    versions = _told(here, "release_version")
    return [f"{address} runs {version}" for address, version in versions.items() if version != NEW_VERSION]


def certificates(here: Ground) -> list[str]:
    """Every node must show another certificate, which an application that starts now accepts."""
    before = _shown(here)
    follow(here.api, change(here.api, here.cluster, "rotate_certificates"))
    # With the authority that the API names now: this is what a new application would do.
    _wait_until_served(here)
    after = _shown(here)
    return [f"{address} shows its old certificate" for address, pem in before.items() if after.get(address) == pem]


def _shown(here: Ground) -> dict[str, str]:
    """The certificate that each node shows to clients, PEM."""
    return {
        address: ssl.get_server_certificate((address, here.known.port)) for address in addresses(here.api, here.cluster)
    }


def _told(here: Ground, column: str) -> dict[str, Any]:
    """A column of `system.local` of every node, by address."""
    return {
        address: asked(address, here.known, f"SELECT {column} FROM system.local")[0]
        for address in addresses(here.api, here.cluster)
    }


def _wait_until_served(here: Ground) -> None:
    """A change is done when rows can be read at ALL through every node, by an application that connects only now."""
    connection = here.api.get(f"/clusters/{here.cluster}/connection").raise_for_status().json()
    fresh = Connecting(**{**asdict(here.known), "ca_certificate": connection["ca_certificate"]})
    wait_until_all_serve(fresh, addresses(here.api, here.cluster))


def hang(run: Path, node: str) -> None:
    """SIGKILL all that a node's machine runs and freeze its init, so that nothing starts again.

    The provider still calls the machine running, as clouds do of one whose hardware is broken: only terminating it
    makes sure that it never comes back. One that is merely off would be switched on again instead.
    """
    folder = (run / "machines" / f"rm-{node.replace('_', '-')}").resolve()
    init = int((folder / "init.pid").read_text().split()[0])
    os.kill(init, signal.SIGSTOP)
    while victims := [process for process in _processes_of(folder) if process.pid != init]:
        for process in victims:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(victims, timeout=5)


def _processes_of(machine: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if process.environ().get("RINGMASTER_MACHINE") == str(machine):
                found.append(process)
    return [process for process in found if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]


@dataclass(frozen=True)
class Scenario:
    """`nodes_per_zone` it starts from, None for any; `membership`: gossip words the monitor must see, and how often.

    `prepare` makes a state first, and what looks at it afterwards.
    """

    act: Callable[[Ground], list[str]]
    nodes_per_zone: int | None
    membership: Sequence[tuple[str, int]]
    prepare: Callable[[Ground], Callable[[], list[str]]] | None = None


_NO_CHANGE = (("BOOT", 0), ("BOOT_REPLACE", 0), ("LEAVING", 0), ("removing", 0))

SCENARIOS = {
    "scale-out": Scenario(scale_out, 1, (("BOOT", 3), ("LEAVING", 0), ("removing", 0))),
    "scale-in": Scenario(scale_in, 2, (("LEAVING", 3), ("BOOT", 0), ("removing", 0))),
    "replace": Scenario(replace_killed, None, (("BOOT_REPLACE", 1), ("BOOT", 0), ("LEAVING", 0)), some_rows_on_one),
    "rolling-restart": Scenario(rolling_restart, None, _NO_CHANGE),
    "upgrade": Scenario(upgrade, None, _NO_CHANGE),
    "certificates": Scenario(certificates, None, _NO_CHANGE),
}

if __name__ == "__main__":
    sys.exit(main())
