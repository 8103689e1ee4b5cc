"""A restore to a moment, into a cluster of another shape, with the rows compared one by one.

Three nodes under a workload of inserts, changes and deletions: the commit log is archived, a backup is made, and the
workload goes on. At a moment it is noted which rows there are; then it goes on again, one node is killed with all its
processes, and a cluster of one node is ordered and restored to that moment. It must have exactly those rows. Ends with
one line of JSON; exit code 1 if anything is off.

    python -m e2e.trials.point_in_time [--seconds 20]
"""

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
from cassandra import ConsistencyLevel
from cassandra.cluster import Session
from cassandra.query import SimpleStatement

from e2e.product import follow, order, product
from e2e.trials.application import connect
from e2e.trials.clusters import connecting
from e2e.trials.order_under_fire import TARGETS, shoot
from e2e.trials.retry_idempotent import RetryIdempotent

_INTERVAL_SECONDS = 10
_KEYS = 2_000
_LONGEST_SECONDS = 300.0
_ALL = SimpleStatement("SELECT key, word FROM shop.orders", consistency_level=ConsistencyLevel.ALL, fetch_size=500)


class Workload:
    """Writes one row after the other; `rows` are those that there should be after what was acknowledged."""

    def __init__(self, session: Session) -> None:
        self.rows: dict[int, str] = {}
        self.writes = 0
        self._session = session
        self._insert = self._prepared("INSERT INTO shop.orders (key, word) VALUES (?, ?)")
        self._delete = self._prepared("DELETE FROM shop.orders WHERE key = ?")
        self._chance = random.Random(1)

    def _prepared(self, query: str) -> Any:
        statement = self._session.prepare(query)
        statement.consistency_level = ConsistencyLevel.QUORUM
        statement.is_idempotent = True
        return statement

    def write(self) -> None:
        key = self._chance.randrange(_KEYS)
        self.writes += 1
        if self._chance.random() < 0.2:
            self._session.execute(self._delete, (key,))
            self.rows.pop(key, None)
        else:
            word = f"{self.writes} {'x' * 200}"
            self._session.execute(self._insert, (key, word))
            self.rows[key] = word

    def work(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.write()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=20.0, help="of work before and after the moment")
    seconds: float = parser.parse_args().seconds
    with tempfile.TemporaryDirectory(prefix="rm-moment-") as scratch:
        run = Path(scratch) / "run"
        with product(run) as api:
            found = _try(api, run, seconds)
    good = found["rows_wrong"] == found["gaps"] == 0 and found["rows_changed_after_the_moment"] > 0
    print(json.dumps({"trial": "point_in_time", "good": good, **found}))
    return 0 if good else 1


def _try(api: httpx.Client, run: Path, seconds: float) -> dict[str, Any]:
    cluster, _ = order(api)
    known = connecting(api, cluster)
    with connect(known, RetryIdempotent()) as driver:
        session = driver.connect()
        session.execute(
            f"CREATE KEYSPACE shop WITH replication = {{'class': 'NetworkTopologyStrategy', '{known.datacenter}': 3}}"
        )
        session.execute("CREATE TABLE shop.orders (key int PRIMARY KEY, word text)")
        workload = Workload(session)
        archive = {"enabled": True, "interval_seconds": _INTERVAL_SECONDS}
        api.put(f"/clusters/{cluster}/log-archive", json=archive).raise_for_status()
        _until(api, cluster, lambda told: len(told["nodes"]) == 3)
        workload.work(seconds / 2)
        backup, began = api.post(f"/clusters/{cluster}/backups", json={}).raise_for_status().json(), time.monotonic()
        working = threading.Thread(target=workload.work, args=(seconds,))
        working.start()
        follow(api, backup["operation"]["id"])
        backup_seconds = time.monotonic() - began
        working.join()
        workload.work(seconds / 2)
        # Between two writes: clocks of nodes and of this process are one.
        time.sleep(0.1)
        moment, wanted = datetime.now(UTC), dict(workload.rows)
        time.sleep(0.1)
        workload.work(seconds)
    agents = next(target for target in TARGETS if target.name == "agents")
    engines = next(target for target in TARGETS if target.name == "engines")
    shoot(run, agents, random.Random(1))
    shoot(run, engines, random.Random(1))
    told = _until(api, cluster, lambda told: any(_has(one, moment) for one in told["restorable"]))
    interval = next(one for one in told["restorable"] if _has(one, moment))
    target, order_seconds = order(api, zones=("local-1a",))
    wish = {"mode": "cluster", "cluster_id": target, "point_in_time": moment.isoformat()}
    plan = api.post(f"/backups/{interval['backup_id']}/restore/plan", json=wish).raise_for_status().json()
    began = time.monotonic()
    restore = api.post(f"/backups/{interval['backup_id']}/restore", json=wish).raise_for_status().json()
    follow(api, restore["operation"]["id"])
    restore_seconds = time.monotonic() - began
    with connect(connecting(api, target), RetryIdempotent()) as driver:
        rows = {row.key: row.word for row in driver.connect().execute(_ALL)}
    wrong = {key for key in rows.keys() | wanted.keys() if rows.get(key) != wanted.get(key)}
    return {
        "writes": workload.writes,
        "rows_wanted": len(wanted),
        "rows_found": len(rows),
        "rows_wrong": len(wrong),
        "rows_changed_after_the_moment": sum(workload.rows.get(key) != word for key, word in wanted.items()),
        "same_shape": plan["same_shape"],
        "log_bytes": plan["log_bytes"],
        "lag_seconds": round(told["lag_seconds"], 1),
        "gaps": sum(len(node["gaps"]) for node in told["nodes"]),
        "backup_seconds": round(backup_seconds, 1),
        "order_seconds": round(order_seconds, 1),
        "restore_seconds": round(restore_seconds, 1),
    }


def _has(interval: dict[str, Any], moment: datetime) -> bool:
    first, last = (datetime.fromisoformat(interval[name]) for name in ("begins_at", "ends_at"))
    return first <= moment <= last


def _until(api: httpx.Client, cluster: str, holds: Any) -> dict[str, Any]:
    """What is told of the archive as soon as something holds. TimeoutError."""
    deadline = time.monotonic() + _LONGEST_SECONDS
    while time.monotonic() < deadline:
        told: dict[str, Any] = api.get(f"/clusters/{cluster}/log-archive").raise_for_status().json()
        if holds(told):
            return told
        time.sleep(1)
    raise TimeoutError(f"the archive is at {told}")


if __name__ == "__main__":
    sys.exit(main())
