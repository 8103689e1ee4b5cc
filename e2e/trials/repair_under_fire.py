"""A repair under fire: what a node missed must be on it afterwards, whatever was shot meanwhile.

Hints are switched off and one node is stopped while rows are written, so that it lacks them for good. Then everything
is repaired in full, range by range, and while that goes on workers, Redis, agents and engines are shot with SIGKILL and
a table is dropped. The run must end as done, with no range given up, and every node must have every row. Ends with one
line of JSON; exit code 1 if anything is off.

    python -m e2e.trials.repair_under_fire [--workers 3] [--redis 1] [--agents 2] [--engines 2]
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
from cassandra import ConsistencyLevel
from cassandra.cluster import Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.query import SimpleStatement

from e2e.product import change, follow, order, product
from e2e.trials.application import Connecting, connect
from e2e.trials.clusters import connecting, nodes, session_of
from e2e.trials.order_under_fire import TARGETS, shoot
from e2e.trials.retry_idempotent import RetryIdempotent

# As many keyspaces as there are segments: small tables of one keyspace would be repaired together.
_KEYSPACES = tuple(f"shop_{number}" for number in range(12))
_DROPPED = "shop_11"
_ROWS, _MISSED = 2_000, 400
_WORD = "x" * 400
_LONGEST_SECONDS = 900.0
_BETWEEN_SHOTS = (2.0, 6.0)
_DEFAULT_SHOTS = {"workers": 3, "redis": 1, "agents": 2, "engines": 2}


def main() -> int:
    parser = argparse.ArgumentParser()
    for target in TARGETS:
        parser.add_argument(f"--{target.name}", type=int, default=_DEFAULT_SHOTS.get(target.name, 0))
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    chance = random.Random(options.seed)
    planned = [target.name for target in TARGETS for _ in range(getattr(options, target.name))]
    chance.shuffle(planned)
    with tempfile.TemporaryDirectory(prefix="rm-repair-") as scratch:
        run = Path(scratch) / "run"
        with product(run) as api:
            cluster, _ = order(api)
            follow(api, change(api, cluster, "settings", settings={"hinted_handoff_enabled": False}))
            known = connecting(api, cluster)
            stale = _leave_one_behind(api, cluster, known)
            before = _missing(stale["address"], known)
            found = _repair(api, run, cluster, known, chance, planned)
            _wait_until_up(api, cluster)
            missing = {node["name"]: sum(_missing(node["address"], known).values()) for node in nodes(api, cluster)}
    lacked = sum(before.values())
    good = (
        lacked > 0
        and found["run"] == "done"
        and found["given_up"] == 0
        and not any(missing.values())
        and found["shots"] == dict(Counter(planned))
    )
    lines = {"good": good, "seed": options.seed, "lacked_before": lacked, "missing_after": missing, **found}
    print(json.dumps({"trial": "repair_under_fire", **lines}))
    return 0 if good else 1


def _leave_one_behind(api: httpx.Client, cluster: str, known: Connecting) -> dict[str, Any]:
    """Rows in every keyspace, of which the node that is returned has not heard the last."""
    stale = nodes(api, cluster)[-1]
    with connect(known, RetryIdempotent()) as driver:
        session = driver.connect()
        for keyspace in _KEYSPACES:
            session.execute(
                f"CREATE KEYSPACE {keyspace} WITH replication = "
                f"{{'class': 'NetworkTopologyStrategy', '{known.datacenter}': 3}}"
            )
            session.execute(f"CREATE TABLE {keyspace}.rows (key int PRIMARY KEY, word text)")
            _write(session, keyspace, range(_ROWS - _MISSED))
        follow(api, change(api, cluster, "stop_node", node_id=stale["id"]))
        for keyspace in _KEYSPACES:
            _write(session, keyspace, range(_ROWS - _MISSED, _ROWS))
    follow(api, change(api, cluster, "start_node", node_id=stale["id"]))
    return stale


def _write(session: Session, keyspace: str, keys: range) -> None:
    insert = session.prepare(f"INSERT INTO {keyspace}.rows (key, word) VALUES (?, ?)")
    insert.consistency_level = ConsistencyLevel.QUORUM
    insert.is_idempotent = True
    execute_concurrent_with_args(session, insert, [(key, _WORD) for key in keys], concurrency=32)


def _missing(address: str, known: Connecting) -> dict[str, int]:
    """How many rows a node lacks, by keyspace: it coordinates at ONE, so it reads its own copy first.

    It may now and then ask another node that answers faster, so rows that are found may be another's; what is
    reported missing is missing.
    """
    found = {}
    with session_of(address, known) as driver:
        session = driver.connect()
        for keyspace in _KEYSPACES[:-1]:
            missing = 0
            read = session.prepare(f"SELECT word FROM {keyspace}.rows WHERE key = ?")
            read.consistency_level = ConsistencyLevel.ONE
            for ok, rows in execute_concurrent_with_args(session, read, [(key,) for key in range(_ROWS)], 32):
                if not ok:
                    raise rows
                missing += not list(rows)
            found[keyspace] = missing
    return found


def _repair(
    api: httpx.Client, run: Path, cluster: str, known: Connecting, chance: random.Random, planned: list[str]
) -> dict[str, Any]:
    # With pauses between segments, so that there is something to shoot at.
    api.patch(f"/clusters/{cluster}/repairs/schedule", json={"intensity": 20}).raise_for_status()
    asked = api.post(f"/clusters/{cluster}/repairs/runs", json={"mode": "full", "any_time": True}).raise_for_status()
    started = asked.json()
    began, shots, todo = time.monotonic(), Counter[str](), list(planned)
    dropped = False
    targets = {target.name: target for target in TARGETS}
    while (operation := _ask(api, f"/operations/{started['operation']['id']}"))["state"] in ("pending", "running"):
        if time.monotonic() - began > _LONGEST_SECONDS:
            raise TimeoutError(f"the repair is {operation['state']} after {_LONGEST_SECONDS:.0f} s")
        time.sleep(chance.uniform(*_BETWEEN_SHOTS))
        name = next((name for name in todo if shoot(run, targets[name], chance)), None)
        if name is not None:
            todo.remove(name)
            shots[name] += 1
        if not dropped and len(todo) <= len(planned) // 2:
            _drop(known)
            dropped = True
        if not todo:
            api.patch(f"/clusters/{cluster}/repairs/schedule", json={"intensity": 100})
    seconds = time.monotonic() - began
    ended = _ask(api, f"/clusters/{cluster}/repairs/runs/{started['run']['id']}")
    return {
        "operation": operation["state"],
        "run": ended["state"],
        "segments": ended["segments_done"],
        "given_up": ended["segments_given_up"],
        "seconds": round(seconds, 1),
        "shots": dict(shots),
        "dropped": dropped,
    }


def _drop(known: Connecting) -> None:
    with connect(replace(known, consistency="ONE"), RetryIdempotent()) as driver:
        drop = SimpleStatement(f"DROP TABLE IF EXISTS {_DROPPED}.rows", is_idempotent=True)
        driver.connect().execute(drop, timeout=60)


def _wait_until_up(api: httpx.Client, cluster: str) -> None:
    give_up_at = time.monotonic() + 180
    while any(node["state"] != "up" for node in nodes(api, cluster)):
        if time.monotonic() > give_up_at:
            raise TimeoutError("not all nodes are up again")
        time.sleep(1)


def _ask(api: httpx.Client, path: str) -> dict[str, Any]:
    found: dict[str, Any] = api.get(path).raise_for_status().json()
    return found


if __name__ == "__main__":
    sys.exit(main())
