"""Alerts from a real fault to a receiver's signed message, with the whole product and the deployed rules and times.

A machine loses its power and is told only (healing is set to *tell*): `node-down` must fire after its minute, be in the
API, reach the receiver with a valid signature and be in the history; when the machine has power again that it is over
must be told too. Before that the cluster's own thresholds for mean latency and tombstones are put below what an
application does, and far above it: both must fire and clear. The machine at hand may raise alerts of its own, as on a
full disk; they are in `also_told`. Ends with one line of JSON; exit code 1 if anything is off.

    python -m e2e.trials.alerts
"""

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from cassandra.cluster import Session

from e2e.product import order, product
from e2e.trials.application import connect
from e2e.trials.clusters import connecting
from e2e.trials.listener import Heard, Listener, listening
from e2e.trials.retry_idempotent import RetryIdempotent
from infra.local import machines

_LOOK_SECONDS = 0.25
_PATIENCE_SECONDS = 240.0
_ROWS, _DELETED = 60, 50
_PER_SECOND = 20.0
# Below what the application does, and above: a read takes longer than 0.1 ms and goes through `_DELETED` tombstones.
_LOWERED = {"latency-mean": 0.0001, "tombstones": 10}
_RAISED = {"latency-mean": 60, "tombstones": 100_000}
_FOR_SECONDS = 15


@dataclass(frozen=True)
class Ground:
    api: httpx.Client
    cluster: str
    listener: Listener
    run: Path

    def ask(self, path: str, **query: Any) -> dict[str, Any]:
        found: dict[str, Any] = self.api.get(f"/clusters/{self.cluster}{path}", params=query).raise_for_status().json()
        return found

    def set_rule(self, rule: str, **wanted: Any) -> None:
        self.api.patch(f"/clusters/{self.cluster}/alert-rules/{rule}", json=wanted).raise_for_status()

    def firing(self, rule: str) -> list[dict[str, Any]]:
        return [one for one in self.ask("/alerts/firing")["items"] if one["rule"] == rule]

    def history(self, rule: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.ask("/alerts", rule=rule)["items"]
        return items

    def told(self, status: str, rule: str) -> Heard:
        return self.listener.wait(f"{rule} {status}", lambda one: one.says(status, rule), seconds=_PATIENCE_SECONDS)

    def until(self, what: str, holds: Callable[[], bool]) -> float:
        """When it held first, by the monotonic clock. TimeoutError."""
        began = time.monotonic()
        while not holds():
            if time.monotonic() - began > _PATIENCE_SECONDS:
                raise TimeoutError(f"not {what} after {_PATIENCE_SECONDS:.0f} s")
            time.sleep(_LOOK_SECONDS)
        return time.monotonic()


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="rm-alerts-") as scratch, listening() as listener:
        run = Path(scratch) / "run"
        with product(run) as api:
            cluster, _ = order(api)
            here = Ground(api, cluster, listener, run)
            # Else the machine would be switched on within seconds, and nobody would have to be told.
            api.patch(f"/clusters/{cluster}", json={"healing": {"mode": "tell"}}).raise_for_status()
            found = _tried(here)
    print(json.dumps({"trial": "alerts", **found}))
    return 0 if found["good"] else 1


def _tried(here: Ground) -> dict[str, Any]:
    receiver = _made(here)
    tested = _test_seconds(here, receiver)
    thresholds = _thresholds(here)
    down = _node_down(here)
    heard = here.listener.heard
    deliveries = here.api.get(f"/alert-receivers/{receiver}/deliveries").raise_for_status().json()["items"]
    others = {one.body["rule"] for one in heard} - {None, "node-down", *_LOWERED}
    checks = {
        "every message is signed": all(one.valid for one in heard),
        "every message is among the deliveries": {one.body["id"] for one in heard} == {one["id"] for one in deliveries},
        "each was sent at the first try": all((one["state"], one["attempts"]) == ("sent", 1) for one in deliveries),
        **{f"{rule}: {name}": holds for rule, one in thresholds.items() for name, holds in one.pop("checks").items()},
        **{f"node-down: {name}": holds for name, holds in down.pop("checks").items()},
    }
    return {
        "good": all(checks.values()),
        "off": [name for name, holds in checks.items() if not holds],
        "also_told": sorted(others),
        "messages": len(heard),
        "test_button_seconds": tested,
        "thresholds": thresholds,
        "node_down": down,
    }


def _made(here: Ground) -> str:
    """A receiver for this cluster's alerts that is sent signed webhooks: its id."""
    wanted = {"name": "trial", "kind": "webhook", "url": here.listener.url, "cluster_ids": [here.cluster]}
    made = here.api.post("/alert-receivers", json=wanted).raise_for_status().json()
    here.listener.secret = made["signing_secret"]
    receiver: str = made["id"]
    return receiver


def _test_seconds(here: Ground, receiver: str) -> float:
    began = time.monotonic()
    here.api.post(f"/alert-receivers/{receiver}/test").raise_for_status()
    heard = here.listener.wait("the test", lambda one: one.says("test", None), seconds=30)
    return round(heard.at - began, 2)


def _thresholds(here: Ground) -> dict[str, dict[str, Any]]:
    """Each rule's threshold below what an application does, then above it: what was told, and how fast."""
    with _reading(here):
        lowered = time.monotonic()
        for rule, threshold in _LOWERED.items():
            here.set_rule(rule, threshold=threshold, for_seconds=_FOR_SECONDS)
        fired = {rule: (here.told("firing", rule), here.firing(rule)) for rule in _LOWERED}
        raised = time.monotonic()
        for rule, threshold in _RAISED.items():
            here.set_rule(rule, threshold=threshold)
        cleared = {rule: here.told("resolved", rule) for rule in _LOWERED}
    found = {}
    for rule, (message, shown) in fired.items():
        past = here.history(rule)
        found[rule] = {
            "sentence": message.body["alerts"][0]["sentence"],
            "lowered_to_told_seconds": round(message.at - lowered, 1),
            "raised_to_told_seconds": round(cleared[rule].at - raised, 1),
            "checks": {
                "it was shown as firing": bool(shown),
                "it is not any more": not here.firing(rule),
                "history has it as over": bool(past) and all(one["state"] == "resolved" for one in past),
            },
        }
    return found


@contextmanager
def _reading(here: Ground) -> Iterator[None]:
    """An application that reads a partition of which most was deleted, until the block ends."""
    known = connecting(here.api, here.cluster)
    driver = connect(known, RetryIdempotent())
    over = threading.Event()
    try:
        session = driver.connect()
        _write(session, known.datacenter)
        select = session.prepare("SELECT word FROM trial.queue WHERE key = 1")

        def read() -> None:
            while not over.wait(1 / _PER_SECOND):
                session.execute(select)

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        yield
        over.set()
        reader.join()
    finally:
        over.set()
        driver.shutdown()


def _write(session: Session, datacenter: str) -> None:
    replicated = f"{{'class': 'NetworkTopologyStrategy', '{datacenter}': 3}}"
    session.execute(f"CREATE KEYSPACE trial WITH replication = {replicated}")
    session.execute("CREATE TABLE trial.queue (key int, place int, word text, PRIMARY KEY (key, place))")
    for place in range(_ROWS):
        session.execute(f"INSERT INTO trial.queue (key, place, word) VALUES (1, {place}, 'waits')")
    for place in range(_DELETED):
        session.execute(f"DELETE FROM trial.queue WHERE key = 1 AND place = {place}")


def _node_down(here: Ground) -> dict[str, Any]:
    """A machine loses its power, and has it again when that was told."""
    machine = machines.present(here.run)[0]
    node = next(one for one in here.ask("/nodes")["items"] if one["address"] == machine.address)
    killed = time.monotonic()
    _switch(here.run, "kill", machine.name)
    shown = here.until("shown as firing", lambda: bool(here.firing("node-down")))
    [alert] = here.firing("node-down")
    message = here.told("firing", "node-down")
    during = here.history("node-down")
    on = time.monotonic()
    _switch(here.run, "start", machine.name)
    serves = here.until("up", lambda: all(one["state"] == "up" for one in here.ask("/nodes")["items"]))
    cleared = here.told("resolved", "node-down")
    after = here.history("node-down")
    return {
        "sentence": message.body["alerts"][0]["sentence"],
        "kill_to_shown_seconds": round(shown - killed, 1),
        "kill_to_told_seconds": round(message.at - killed, 1),
        "on_to_serving_seconds": round(serves - on, 1),
        "on_to_told_seconds": round(cleared.at - on, 1),
        "checks": {
            "it is about the node": alert["node_id"] == node["id"] == message.body["alerts"][0]["labels"]["node"],
            "it is critical": alert["severity"] == message.body["severity"] == "critical",
            "history had it open": [(one["state"], one["ends_at"]) for one in during] == [("firing", None)],
            "history has it as over": [one["state"] for one in after] == ["resolved"] and bool(after[0]["ends_at"]),
            "it is not shown any more": not here.firing("node-down"),
        },
    }


def _switch(run: Path, command: str, name: str) -> None:
    """The power of one machine, by hand, as docs/local-provider.md tells."""
    tool = [sys.executable, "-m", "provisioner.providers.local", "--state-dir", str(run), command, name]
    subprocess.run(tool, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
