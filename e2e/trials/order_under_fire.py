"""An order under fire: it must end active, with every step recorded once.

While a three-node order runs, the parts of the product are shot with SIGKILL, in random order and at random moments:
all processes of the worker, Redis (which comes back empty), Postgres, single agents, single engines. Then it counts:
the operation's state, how often each step was recorded as done (by a trigger in the private database), machines and
engines. Ends with one line of JSON; exit code 1 if anything is off.

    python -m e2e.trials.order_under_fire [--workers 20] [--redis 3] [--postgres 0] [--agents 0] [--engines 0]
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg

from e2e.product import ZONES, place_order, product

_LONGEST_SECONDS = 600.0
# The next shot waits for a sign of life of the new worker, so that shots land in work and not in start-up.
_BETWEEN_SHOTS = (1.0, 4.0)

COUNT_DONE = """
CREATE TABLE recorded (step text);
CREATE FUNCTION note_done() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN INSERT INTO recorded VALUES (NEW.id); RETURN NEW; END $$;
CREATE TRIGGER note_done AFTER UPDATE ON operations_operationstep FOR EACH ROW
  WHEN (NEW.state = 'done' AND OLD.state IS DISTINCT FROM 'done') EXECUTE FUNCTION note_done();
"""


@dataclass(frozen=True)
class Target:
    """What is shot: processes whose command line holds both words; all of them at once, or one of them."""

    name: str
    words: tuple[bytes, bytes]
    all_at_once: bool


TARGETS = (
    Target("workers", (b"provisioner.worker", b"worker"), all_at_once=True),
    Target("redis", (b"redis-server", b""), all_at_once=True),
    Target("postgres", (b"bin/postgres", b"-D"), all_at_once=True),
    Target("agents", (b"agent", b"--user-data"), all_at_once=False),
    Target("engines", (b"org.apache.cassandra.service.CassandraDaemon", b""), all_at_once=False),
)
_DEFAULT_SHOTS = {"workers": 20, "redis": 3}


def main() -> int:
    parser = argparse.ArgumentParser()
    for target in TARGETS:
        parser.add_argument(f"--{target.name}", type=int, default=_DEFAULT_SHOTS.get(target.name, 0))
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    chance = random.Random(options.seed)
    planned = [target for target in TARGETS for _ in range(getattr(options, target.name))]
    chance.shuffle(planned)
    wanted = dict(Counter(target.name for target in planned))
    with tempfile.TemporaryDirectory(prefix="rm-fire-") as scratch:
        run = Path(scratch) / "run"
        with product(run) as api:
            with psycopg.connect(_database_url(run), autocommit=True) as database:
                database.execute(COUNT_DONE)
            found = under_fire(api, run, chance, planned)
    good = (
        found["state"] == "succeeded"
        and found["cluster"] == "active"
        and found["steps"] == found["recorded"] == found["recorded_once"]
        and found["machines"] == found["engines"] == len(ZONES)
        and found["shots"] == wanted
    )
    print(json.dumps({"trial": "order_under_fire", "good": good, "seed": options.seed, **found}))
    return 0 if good else 1


def under_fire(api: httpx.Client, run: Path, chance: random.Random, planned: list[Target]) -> dict[str, object]:
    database_url = _database_url(run)
    began = time.monotonic()
    started = place_order(api)
    operation_id = started["operation"]["id"]
    shots: Counter[str] = Counter()
    while (operation := _get(api, f"/operations/{operation_id}"))["state"] in ("pending", "running"):
        if time.monotonic() - began > _LONGEST_SECONDS:
            raise TimeoutError(f"the operation is {operation['state']} after {_LONGEST_SECONDS:.0f} s")
        time.sleep(chance.uniform(*_BETWEEN_SHOTS) if planned else 0.2)
        # What does not run yet (or is being started again) is shot later.
        target = next((target for target in planned if shoot(run, target, chance)), None)
        if target is not None:
            planned.remove(target)
            shots[target.name] += 1
    seconds = time.monotonic() - began
    with psycopg.connect(database_url) as database:
        counts = [row[0] for row in database.execute("SELECT count(*) FROM recorded GROUP BY step")]
        [(steps,)] = database.execute(
            "SELECT count(*) FROM operations_operationstep WHERE operation_id = %s", [operation_id]
        ).fetchall()
    return {
        "state": operation["state"],
        "reason": operation["reason"],
        "cluster": _get(api, f"/clusters/{started['cluster']['id']}")["state"],
        "seconds": round(seconds, 1),
        "shots": dict(shots),
        "steps": steps,
        "recorded": len(counts),
        "recorded_once": counts.count(1),
        "machines": len(list((run / "machines").glob("*/machine.json"))),
        "engines": len(_processes(run, (b"org.apache.cassandra.service.CassandraDaemon", b""))),
    }


def _get(api: httpx.Client, path: str) -> dict[str, Any]:
    """What is at a path; tried for half a minute, because the API answers 503 while Postgres starts again."""
    give_up_at = time.monotonic() + 30
    while True:
        try:
            found: dict[str, Any] = api.get(path).raise_for_status().json()
            return found
        except (httpx.HTTPStatusError, httpx.TransportError):
            if time.monotonic() > give_up_at:
                raise
            time.sleep(0.2)


def shoot(run: Path, target: Target, chance: random.Random) -> bool:
    """SIGKILL the target. False when nothing of it runs."""
    processes = _processes(run, target.words)
    for process in processes if target.all_at_once else processes and [chance.choice(processes)]:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return bool(processes)


def _processes(run: Path, words: tuple[bytes, bytes]) -> list[int]:
    """Processes of this installation whose command line holds both words."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            line, environment = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if all(word in line for word in words) and (str(run).encode() in environment or str(run).encode() in line):
            found.append(int(entry.name))
    return found


def _database_url(run: Path) -> str:
    """Where the private Postgres of a run folder listens: what its API was told."""
    [api, *_] = _processes(run, (b"backend.config.asgi:application", b""))
    for variable in (Path("/proc") / str(api) / "environ").read_bytes().split(b"\0"):
        name, _, value = variable.decode().partition("=")
        if name == "DATABASE_URL":
            return value
    raise LookupError("the API has no DATABASE_URL")


if __name__ == "__main__":
    sys.exit(main())
