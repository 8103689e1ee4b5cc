"""Data of a cluster that is none of ours, brought into one of three nodes in each of the ways of docs/migration.md.

The other cluster is one node of real Cassandra with a type, an index and a dropped column. Its tables come from
a copy of its snapshot, made by docs/migration/copy-snapshot.sh, and from a backup by real cassandra-medusa in both of
its modes. Each time all rows are read with ALL and compared; a file that was damaged ends an import with its name and
without a table. Ends with one line of JSON; exit code 1 if anything is off.

    python -m e2e.trials.import_foreign [--rows 3000]
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from cassandra import ConsistencyLevel
from cassandra.cluster import Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.query import SimpleStatement

from e2e.bench.one_node import OneNode, one_node
from e2e.medusa import Medusa
from e2e.product import follow, order, product
from e2e.serving import CHECKOUT
from e2e.trials.application import Connecting, connect
from e2e.trials.clusters import connecting
from e2e.trials.retry_idempotent import RetryIdempotent

_COPY = CHECKOUT / "docs" / "migration" / "copy-snapshot.sh"
_TABLES = ("orders", "customers")
_SCHEMA = (
    "CREATE KEYSPACE shop WITH replication = {'class': 'NetworkTopologyStrategy', 'local-1': 1}",
    "CREATE TYPE shop.place (street text, zip int)",
    "CREATE TABLE shop.orders (id int, line int, what text, gone text, PRIMARY KEY (id, line))"
    " WITH CLUSTERING ORDER BY (line DESC)",
    "CREATE TABLE shop.customers (id int PRIMARY KEY, name text, home frozen<place>)",
    "CREATE INDEX by_name ON shop.customers (name)",
)


# Medusa does not tell of columns that were dropped, and files still hold them.
_WITH_DROPPED = ";\n".join((*_SCHEMA, "ALTER TABLE shop.orders DROP gone"))


def main() -> int:
    given = argparse.ArgumentParser()
    given.add_argument("--rows", type=int, default=3000)
    rows = given.parse_args().rows
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="rm-import-") as scratch, product(Path(scratch) / "run") as api:
        # The organisation's part of the installation's folder: its operator lays foreign files there.
        organisation = api.get("/organisation").raise_for_status().json()["id"]
        place = Path(scratch) / "run" / "backups" / organisation
        with one_node(Path(scratch)) as other:
            _fill(other, rows)
            _lay(other, Path(scratch), place)
        cluster, _ = order(api)
        known = connecting(api, cluster)
        found["flipped"] = _flipped(api, cluster, place)
        for name, wanted in {
            "copied snapshot": {"path": "copied"},
            "medusa, full": {"path": "medusa", "layout": "medusa", "backup_name": "full", "schema_cql": _WITH_DROPPED},
            "medusa, differential": {
                "path": "medusa",
                "layout": "medusa",
                "backup_name": "second",
                "schema_cql": _WITH_DROPPED,
            },
        }.items():
            began = time.monotonic()
            problems = _look(api, cluster, wanted)
            follow(api, _bring(api, cluster, wanted))
            found[name] = {"problems": problems, "seconds": round(time.monotonic() - began, 1)} | _read(known, rows)
            with connect(known, RetryIdempotent()) as driver:
                driver.connect().execute("DROP KEYSPACE shop", timeout=60)
    whole = {"orders": rows, "customers": rows, "by_name": 1}
    good = found.pop("flipped") and all(
        not one["problems"] and {name: one[name] for name in whole} == whole for one in found.values()
    )
    print(json.dumps({"trial": "import_foreign", "good": good, **found}))
    return 0 if good else 1


def _fill(node: OneNode, rows: int) -> None:
    """In three flushes, the rows of one overwriting some of the other's."""
    with connect(node.known, RetryIdempotent()) as driver:
        session = driver.connect()
        for statement in _SCHEMA:
            session.execute(statement)
        for part in range(3):
            _write(session, "INSERT INTO shop.orders (id, line, what, gone) VALUES (?, ?, ?, ?)", rows, part, _order)
            _write(session, "INSERT INTO shop.customers (id, name, home) VALUES (?, ?, ?)", rows, part, _customer)
            node.do("snapshot", {"tag": f"flush-{part}", "ttl_seconds": 3600})
        session.execute("ALTER TABLE shop.orders DROP gone")


def _order(key: int) -> tuple[Any, ...]:
    return key, key, f"order {key}", "it goes"


def _customer(key: int) -> tuple[Any, ...]:
    return key, f"customer {key}", (f"street {key}", key)


def _write(session: Session, statement: str, rows: int, part: int, row: Callable[[int], tuple[Any, ...]]) -> None:
    keys = range(max(0, rows * part // 3 - 50), rows * (part + 1) // 3)
    execute_concurrent_with_args(session, session.prepare(statement), [row(key) for key in keys], concurrency=32)


def _lay(node: OneNode, scratch: Path, place: Path) -> None:
    """A copy of a snapshot; a damaged one; and three backups of Medusa, the last with a file that is new."""
    node.do("snapshot", {"tag": "move", "ttl_seconds": 3600})
    data = node.folder / "cassandra" / "data"
    for name in ("copied", "damaged"):
        subprocess.run([str(_COPY), str(data), "move", str(place / name / "node1")], check=True)
    authority = scratch / "authority.pem"
    authority.write_text(node.known.ca_certificate)
    medusa = Medusa.of(
        scratch / "medusa",
        place / "medusa",
        engine_settings=node.folder / "cassandra" / "conf" / "cassandra.yaml",
        address=node.known.contact_points[0],
        login=(node.known.username, node.known.password),
        authority=authority,
    )
    for name, mode in (("full", "full"), ("first", "differential"), ("second", "differential")):
        node.do("snapshot", {"tag": name, "ttl_seconds": 3600})
        medusa.back_up(name, mode=mode)
    shutil.rmtree(place / "copied" / "node1" / "ringmaster", ignore_errors=True)


def _ask(api: httpx.Client, cluster: str, what: str, wanted: dict[str, Any]) -> dict[str, Any]:
    started: dict[str, Any] = api.post(f"/clusters/{cluster}/{what}", json=wanted).raise_for_status().json()
    return started


def _look(api: httpx.Client, cluster: str, wanted: dict[str, Any]) -> list[str]:
    started = _ask(api, cluster, "imports/plan", wanted)
    follow(api, started["operation"]["id"])
    looked = api.get(f"/imports/{started['imported']['id']}").raise_for_status().json()
    tables = sorted(one["table"] for one in looked["tables"])
    problems: list[str] = looked["problems"]
    return problems if tables == sorted(_TABLES) else [*problems, f"tables {tables}"]


def _bring(api: httpx.Client, cluster: str, wanted: dict[str, Any]) -> str:
    operation: str = _ask(api, cluster, "imports", wanted)["operation"]["id"]
    return operation


def _flipped(api: httpx.Client, cluster: str, place: Path) -> bool:
    """Whether a flipped bit is found, named, and no table made."""
    data = next((place / "damaged").rglob("customers-*/snapshots/move/*-Data.db"))
    content = bytearray(data.read_bytes())
    content[len(content) // 2] ^= 8
    data.write_bytes(content)
    operation = _bring(api, cluster, {"path": "damaged"})
    while (found := api.get(f"/operations/{operation}").raise_for_status().json())["state"] in ("pending", "running"):
        time.sleep(0.2)
    named = found["state"] == "blocked" and data.name in json.dumps(found["reason"])
    if not named:
        print(f"not named: {found['state']}: {found['reason']}", file=sys.stderr)
    api.post(f"/operations/{operation}/cancel").raise_for_status()
    while api.get(f"/operations/{operation}").raise_for_status().json()["state"] != "cancelled":
        time.sleep(0.2)
    return named


def _read(known: Connecting, rows: int) -> dict[str, int]:
    """How many rows are right, read with ALL; of the index how many it finds."""
    with connect(known, RetryIdempotent()) as driver:
        session = driver.connect()
        found = {}
        for table, columns, row in (
            ("orders", "id, line, what", lambda key: _order(key)[:3]),
            ("customers", "id, name, home", _customer),
        ):
            read = session.prepare(f"SELECT {columns} FROM shop.{table} WHERE id = ?")
            read.consistency_level = ConsistencyLevel.ALL
            answers = execute_concurrent_with_args(session, read, [(key,) for key in range(rows)], concurrency=32)
            found[table] = sum(
                [_plain(each) for each in answer.result_or_exc] == [row(key)] for key, answer in enumerate(answers)
            )
        found["by_name"] = _soon(session, "SELECT id FROM shop.customers WHERE name = 'customer 7'", 1)
        return found


def _plain(row: Any) -> tuple[Any, ...]:
    return tuple(tuple(value) if isinstance(value, tuple) else value for value in row)


def _soon(session: Session, query: str, wanted: int) -> int:
    """An index is filled after it was made."""
    give_up_at = time.monotonic() + 60
    while True:
        found = len(
            list(session.execute(SimpleStatement(query, consistency_level=ConsistencyLevel.QUORUM), timeout=60))
        )
        if found >= wanted or time.monotonic() > give_up_at:
            return found
        time.sleep(0.5)


if __name__ == "__main__":
    raise SystemExit(main())
