"""Restore drills on real nodes: proved, changed since, and cancelled; and no machine is left.

Three nodes with rows are backed up. A drill restores them into a cluster of one node and must find each slice of the
ring equal to the live table; then rows are written and deleted, and a second drill must say so and prove the rest; a
third is cancelled while its cluster is made. Ends with one line of JSON; exit code 1 if anything is off.

    python -m e2e.trials.restore_drill
"""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from e2e.product import follow, order, product
from e2e.trials.application import connect
from e2e.trials.clusters import connecting
from e2e.trials.retry_idempotent import RetryIdempotent

_ROWS = 5_000
_DRILL = {"shape": "one"}


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="rm-drill-") as scratch, product(Path(scratch) / "run") as api:
        found = _try(api)
    good = (
        found["first"] == ["proved", "equal", _ROWS]
        and found["second"][:2] == ["proved", "changed"]
        and found["third"] == "cancelled"
        and found["clusters_left"] == 1
    )
    print(json.dumps({"trial": "restore_drill", "good": good, **found}))
    return 0 if good else 1


def _try(api: httpx.Client) -> dict[str, Any]:
    cluster, order_seconds = order(api)
    known = connecting(api, cluster)
    with connect(known, RetryIdempotent()) as driver:
        session = driver.connect()
        session.execute(
            f"CREATE KEYSPACE shop WITH replication = {{'class': 'NetworkTopologyStrategy', '{known.datacenter}': 3}}"
        )
        session.execute("CREATE TABLE shop.orders (key int PRIMARY KEY, word text, tags set<text>)")
        insert = session.prepare("INSERT INTO shop.orders (key, word, tags) VALUES (?, ?, ?)")
        for key in range(_ROWS):
            session.execute(insert, (key, f"word {key}", {str(key)}))
        follow(api, api.post(f"/clusters/{cluster}/backups", json={}).raise_for_status().json()["operation"]["id"])
        first = _drill(api, cluster)
        session.execute(insert, (_ROWS, "since", None))
        session.execute("DELETE FROM shop.orders WHERE key = 7")
        second = _drill(api, cluster)
    started = api.post(f"/clusters/{cluster}/drills", json=_DRILL).raise_for_status().json()
    time.sleep(5)
    api.post(f"/operations/{started['operation']['id']}/cancel").raise_for_status()
    third = _ended(api, started["drill"]["id"])
    left = api.get("/clusters").raise_for_status().json()["items"]
    return {
        "first": [first["state"], *_table(first)],
        "second": [second["state"], *_table(second)],
        "third": third["state"],
        "clusters_left": len(left),
        "order_seconds": round(order_seconds, 1),
        "rto_seconds": round(first["rto_seconds"], 1),
        "stages": {one["name"]: round(one["seconds"], 1) for one in first["stages"]},
        "reasons": [one["reason"] for one in (first, second)],
    }


def _drill(api: httpx.Client, cluster: str) -> dict[str, Any]:
    started = api.post(f"/clusters/{cluster}/drills", json=_DRILL).raise_for_status().json()
    return _ended(api, started["drill"]["id"])


def _ended(api: httpx.Client, drill: str) -> dict[str, Any]:
    """TimeoutError when it does not end within ten minutes."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        told: dict[str, Any] = api.get(f"/drills/{drill}").raise_for_status().json()
        if told["state"] != "running":
            return told
        time.sleep(1)
    raise TimeoutError(f"the drill is at {told}")


def _table(drill: dict[str, Any]) -> list[Any]:
    return next(([one["verdict"], one["rows"]] for one in drill["tables"]), [None, 0])


if __name__ == "__main__":
    sys.exit(main())
