"""A load driver: one table of a shape, a fixed pace, and every request's latency as the program felt it.

One request at a time and no tricks: the time is taken around the driver's call, so it holds the driver, TLS, the
network and whatever waits before the coordinator begins. `python -m e2e.trials.load` reads how to connect and a `Load`
as a JSON line from stdin and answers `Samples`; several side by side are as many processes, so that none waits for
another's interpreter.
"""

import json
import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from cassandra import ConsistencyLevel
from cassandra.cluster import Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.query import BatchStatement, BatchType, SimpleStatement

from e2e.trials.application import Connecting, connect
from e2e.trials.retry_idempotent import RetryIdempotent

KEYSPACE = "shapes"
_ACCOUNTS, _SENSORS, _READINGS, _DOCUMENTS = 5_000, 20, 500, 200
_SLICE, _DOCUMENT_BYTES = 100, 64 << 10
_ITEMS = 20_000
_DAYS, _ENTRIES = 5, 20_000
# Traces are written behind the requests.
_TRACES_SECONDS = 5.0

Samples = dict[str, list[float]]


@dataclass(frozen=True, kw_only=True)
class Load:
    """`write_share`: of the requests, the others read. `fill`: the table is made and filled first.

    `traced`: each request is traced, and what its coordinator says that it took is told beside what the program felt.
    """

    shape: str
    seconds: float
    per_second: float
    write_share: float = 0.2
    fill: bool = False
    traced: bool = False


@dataclass(frozen=True)
class Shape:
    """Makes and fills its table; `read` and `write` prepare a statement and say with what it is run."""

    table: str
    fill: Callable[[Session], None]
    read: tuple[str, Callable[[], Sequence[Any]]]
    write: tuple[str, Callable[[], Sequence[Any]]]


def _fill(session: Session, insert: str, rows: list[tuple[Any, ...]], concurrency: int = 16) -> None:
    statement = session.prepare(insert)
    statement.is_idempotent = True
    execute_concurrent_with_args(session, statement, rows, concurrency=concurrency)


def _accounts(session: Session) -> None:
    session.execute(f"CREATE TABLE {KEYSPACE}.accounts (id bigint PRIMARY KEY, name text, balance bigint)")
    _fill(session, _ACCOUNT_WRITE, [_account(key) for key in range(_ACCOUNTS)])


def _account(key: int) -> tuple[int, str, int]:
    return key, f"account {key} " + "x" * 100, key


def _readings(session: Session) -> None:
    session.execute(
        f"CREATE TABLE {KEYSPACE}.readings (sensor int, at int, value double, note text, PRIMARY KEY (sensor, at))"
    )
    insert = session.prepare(_READING_WRITE)
    for sensor in range(_SENSORS):
        for first in range(0, _READINGS, 100):
            batch = BatchStatement(BatchType.UNLOGGED)
            for at in range(first, first + 100):
                batch.add(insert, _reading(sensor, at))
            session.execute(batch)


def _reading(sensor: int, at: int) -> tuple[int, int, float, str]:
    return sensor, at, at / 7, "as usual"


def _documents(session: Session) -> None:
    session.execute(f"CREATE TABLE {KEYSPACE}.documents (id int PRIMARY KEY, body blob)")
    _fill(session, _DOCUMENT_WRITE, [(key, os.urandom(_DOCUMENT_BYTES)) for key in range(_DOCUMENTS)], 4)


def _items(session: Session) -> None:
    session.execute(
        f"CREATE TABLE {KEYSPACE}.items (id int PRIMARY KEY, body text) WITH compression = "
        "{'class': 'LZ4Compressor', 'chunk_length_in_kb': 64} AND compaction = {'class': 'LeveledCompactionStrategy'}"
    )
    _fill(session, _ITEM_WRITE, [_item(key) for key in range(_ITEMS)])


def _item(key: int) -> tuple[int, str]:
    """A KiB of which half can be packed."""
    return key, os.urandom(256).hex() + "as always " * 51


def _journal(session: Session) -> None:
    """Days of many entries, of which one in each is looked for: replicas read them all and answer with one."""
    session.execute(f"CREATE TABLE {KEYSPACE}.journal (day int, at int, kind text, note text, PRIMARY KEY (day, at))")
    insert = session.prepare(f"INSERT INTO {KEYSPACE}.journal (day, at, kind, note) VALUES (?, ?, ?, 'as always')")
    for day in range(_DAYS):
        for first in range(0, _ENTRIES, 100):
            batch = BatchStatement(BatchType.UNLOGGED)
            for at in range(first, first + 100):
                batch.add(insert, (day, at, "rare" if at == _ENTRIES // 2 else "usual"))
            session.execute(batch)


_ACCOUNT_WRITE = f"INSERT INTO {KEYSPACE}.accounts (id, name, balance) VALUES (?, ?, ?)"
_READING_WRITE = f"INSERT INTO {KEYSPACE}.readings (sensor, at, value, note) VALUES (?, ?, ?, ?)"
_DOCUMENT_WRITE = f"INSERT INTO {KEYSPACE}.documents (id, body) VALUES (?, ?)"
_ITEM_WRITE = f"INSERT INTO {KEYSPACE}.items (id, body) VALUES (?, ?)"
_BODY = os.urandom(_DOCUMENT_BYTES)

SHAPES = {
    "accounts": Shape(
        "accounts",
        _accounts,
        (f"SELECT name, balance FROM {KEYSPACE}.accounts WHERE id = ?", lambda: (random.randrange(_ACCOUNTS),)),
        (_ACCOUNT_WRITE, lambda: _account(random.randrange(_ACCOUNTS))),
    ),
    "readings": Shape(
        "readings",
        _readings,
        (
            f"SELECT at, value FROM {KEYSPACE}.readings WHERE sensor = ? AND at >= ? LIMIT {_SLICE}",
            lambda: (random.randrange(_SENSORS), random.randrange(_READINGS - _SLICE)),
        ),
        (_READING_WRITE, lambda: _reading(random.randrange(_SENSORS), random.randrange(_READINGS))),
    ),
    "documents": Shape(
        "documents",
        _documents,
        (f"SELECT body FROM {KEYSPACE}.documents WHERE id = ?", lambda: (random.randrange(_DOCUMENTS),)),
        (_DOCUMENT_WRITE, lambda: (random.randrange(_DOCUMENTS), _BODY)),
    ),
    "items": Shape(
        "items",
        _items,
        (f"SELECT body FROM {KEYSPACE}.items WHERE id = ?", lambda: (random.randrange(_ITEMS),)),
        (_ITEM_WRITE, lambda: _item(random.randrange(_ITEMS))),
    ),
    # Nearly all of the time is the database's, and the answer is one row.
    "journal": Shape(
        "journal",
        _journal,
        (
            f"SELECT at, note FROM {KEYSPACE}.journal WHERE day = ? AND kind = 'rare' ALLOW FILTERING",
            lambda: (random.randrange(_DAYS),),
        ),
        ("", tuple),
    ),
    # Answered by the coordinator from its memory: no replica is asked, and nothing can be written.
    "nothing": Shape(
        "", lambda _: None, ("SELECT keyspace_name FROM system_virtual_schema.keyspaces LIMIT 1", tuple), ("", tuple)
    ),
}


def fill(known: Connecting, shapes: Sequence[str]) -> None:
    """The keyspace with a table of each of these shapes, filled."""
    driver = connect(known, RetryIdempotent())
    try:
        session = driver.connect()
        replicated = f"{{'class': 'NetworkTopologyStrategy', '{known.datacenter}': {known.replication}}}"
        session.execute(f"CREATE KEYSPACE IF NOT EXISTS {KEYSPACE} WITH replication = {replicated}")
        for shape in shapes:
            SHAPES[shape].fill(session)
    finally:
        driver.shutdown()


def run(known: Connecting, load: Load) -> Samples:
    """Seconds of each request by kind (read, write), and by `read traced`, `write traced`."""
    shape = SHAPES[load.shape]
    if load.fill:
        fill(known, [load.shape])
    driver = connect(known, RetryIdempotent())
    try:
        session = driver.connect()
        ways = {kind: way for kind, way in (("read", shape.read), ("write", shape.write)) if way[0]}
        ready = {kind: (session.prepare(text), bind) for kind, (text, bind) in ways.items()}
        found: Samples = {"read": [], "write": []}
        traces: dict[str, list[UUID]] = {kind: [] for kind in ways}
        began = time.monotonic()
        due = began
        while due < began + load.seconds:
            time.sleep(max(0.0, due - time.monotonic()))
            kind = "write" if random.random() < load.write_share else "read"
            statement, bind = ready[kind]
            values = bind()
            sent = time.perf_counter()
            answer = session.execute(statement, values, trace=load.traced)
            found[kind].append(time.perf_counter() - sent)
            if load.traced:
                traces[kind] += answer.response_future.get_query_trace_ids()
            # At random, as independent users come; what was late is not made up for.
            due = max(due + random.expovariate(load.per_second), time.monotonic())
        return found | (_coordinated(session, traces) if load.traced else {})
    finally:
        driver.shutdown()


def _coordinated(session: Session, traces: dict[str, list[UUID]]) -> Samples:
    """What coordinators noted of the requests: from when one was read until its answer was ready to be sent."""
    time.sleep(_TRACES_SECONDS)
    everything = SimpleStatement(
        "SELECT session_id, duration FROM system_traces.sessions", consistency_level=ConsistencyLevel.ALL
    )
    took = {row.session_id: row.duration / 1e6 for row in session.execute(everything) if row.duration is not None}
    return {f"{kind} traced": [took[one] for one in ids if one in took] for kind, ids in traces.items()}


def side_by_side(known: Connecting, loads: list[Load]) -> list[Samples]:
    """Each load in a process of its own, all at once. RuntimeError when one fails."""
    command = [sys.executable, "-m", "e2e.trials.load"]
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in loads]
    try:
        for process, load in zip(running, loads, strict=True):
            assert process.stdin is not None
            process.stdin.write(json.dumps([asdict(known), asdict(load)]) + "\n")
            process.stdin.close()
        said = []
        for process in running:
            assert process.stdout is not None
            said.append(process.stdout.read())
            if process.wait() != 0:
                raise RuntimeError("a load has failed; see above")
        return [json.loads(each) for each in said]
    finally:
        for process in running:
            process.kill()
            process.wait()


def percentile(samples: Sequence[float], share: float) -> float:
    """The smallest sample that at least this share of them do not exceed."""
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def main() -> int:
    known, load = json.loads(sys.stdin.readline())
    sys.stdout.write(json.dumps(run(Connecting(**known), Load(**load))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
