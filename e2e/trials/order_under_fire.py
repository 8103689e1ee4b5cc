"""An order while workers are shot and Redis restarts empty: it must end active, every step recorded once.

Shoots all processes of the worker with SIGKILL `--kills` times and Redis `--redis` times, spread over the operation
(the supervisor starts them again), then counts: the operation's state, how often each step was recorded as done (by a
trigger in the private database), machines and engines. Ends with one line of JSON; exit code 1 if anything is off.

    python -m e2e.trials.order_under_fire [--kills 20] [--redis 3]
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import httpx
import psycopg

from e2e.product import ZONES, place_order, product

_LONGEST_SECONDS = 600.0
# The next shot waits for a sign of life of the new worker, so that shots land in work and not in start-up.
_BETWEEN_SHOTS = (1.0, 4.0)

_COUNT_DONE = """
CREATE TABLE recorded (step text);
CREATE FUNCTION note_done() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN INSERT INTO recorded VALUES (NEW.id); RETURN NEW; END $$;
CREATE TRIGGER note_done AFTER UPDATE ON operations_operationstep FOR EACH ROW
  WHEN (NEW.state = 'done' AND OLD.state IS DISTINCT FROM 'done') EXECUTE FUNCTION note_done();
"""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--redis", type=int, default=3)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="rm-fire-") as scratch:
        run = Path(scratch) / "run"
        with product(run) as api, psycopg.connect(_database_url(run), autocommit=True) as database:
            database.execute(_COUNT_DONE)
            found = under_fire(api, run, database, chance, options.kills, options.redis)
    good = (
        found["state"] == "succeeded"
        and found["cluster"] == "active"
        and found["steps"] == found["recorded"] == found["recorded_once"]
        and found["machines"] == found["engines"] == len(ZONES)
        and found["kills"] >= options.kills
        and found["redis_restarts"] >= options.redis
    )
    print(json.dumps({"trial": "order_under_fire", "good": good, "seed": options.seed, **found}))
    return 0 if good else 1


def under_fire(
    api: httpx.Client,
    run: Path,
    database: psycopg.Connection[tuple[object, ...]],
    chance: random.Random,
    kills: int,
    redis: int,
) -> dict[str, object]:
    began = time.monotonic()
    started = place_order(api)
    operation_id = started["operation"]["id"]
    redis_after = set(chance.sample(range(1, kills), redis))
    shots = redis_shots = 0
    while True:
        operation = _get(api, f"/operations/{operation_id}")
        if operation["state"] != "running" and operation["state"] != "pending":
            break
        if time.monotonic() - began > _LONGEST_SECONDS:
            raise TimeoutError(f"the operation is {operation['state']} after {_LONGEST_SECONDS:.0f} s")
        if shots < kills:
            time.sleep(chance.uniform(*_BETWEEN_SHOTS))
            shots += _shoot(run, b"provisioner.worker", b"worker")
            if shots in redis_after:
                redis_after.discard(shots)
                redis_shots += _shoot(run, b"redis-server", b"")
        else:
            time.sleep(0.2)
    seconds = time.monotonic() - began
    counts = [row[0] for row in database.execute("SELECT count(*) FROM recorded GROUP BY step")]
    steps = database.execute(
        "SELECT count(*) FROM operations_operationstep WHERE operation_id = %s", [operation_id]
    ).fetchone()
    assert steps is not None
    return {
        "state": operation["state"],
        "cluster": _get(api, f"/clusters/{started['cluster']['id']}")["state"],
        "seconds": round(seconds, 1),
        "kills": shots,
        "redis_restarts": redis_shots,
        "steps": steps[0],
        "recorded": len(counts),
        "recorded_once": counts.count(1),
        "machines": len(list((run / "machines").glob("*/machine.json"))),
        "engines": len(_processes(run, b"org.apache.cassandra.service.CassandraDaemon", b"")),
    }


def _get(api: httpx.Client, path: str) -> dict[str, object]:
    found: dict[str, object] = api.get(path).raise_for_status().json()
    return found


def _shoot(run: Path, name: bytes, other: bytes) -> int:
    """SIGKILL every process of a program at once: 1 when there was one."""
    processes = _processes(run, name, other)
    for process in processes:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return int(bool(processes))


def _processes(run: Path, name: bytes, other: bytes) -> list[int]:
    """Processes of this installation whose command line holds both words."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            line, environment = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if name in line and other in line and (str(run).encode() in environment or str(run).encode() in line):
            found.append(int(entry.name))
    return found


def _database_url(run: Path) -> str:
    """Where the private Postgres of a run folder listens: what its API was told."""
    [api, *_] = _processes(run, b"backend.config.asgi:application", b"")
    for variable in (Path("/proc") / str(api) / "environ").read_bytes().split(b"\0"):
        name, _, value = variable.decode().partition("=")
        if name == "DATABASE_URL":
            return value
    raise LookupError("the API has no DATABASE_URL")


if __name__ == "__main__":
    sys.exit(main())
