"""Acknowledged writes that the third replica was never sent: what a replacement must not lose.

A node coordinates writes at QUORUM while another one hangs, and dies before it could send them there or keep a hint.
Both are started again by their agents. Reads of the rows repair nothing, so that looking does not mend what is looked
for.
"""

import os
import signal
import time
from pathlib import Path

import psutil
from cassandra import ConsistencyLevel
from cassandra.query import SimpleStatement

from e2e.trials.application import Connecting
from e2e.trials.clusters import session_of, wait_until_all_serve

_ENGINE = "org.apache.cassandra.service.CassandraDaemon"
_KEYSPACE = "lone"
_ROWS = 200
# Until every node has told of it and is as quick as before.
_SETTLED_SECONDS = 5.0


def plant(known: Connecting, run: Path, coordinator: dict[str, str], lagging: dict[str, str]) -> set[int]:
    """Keys of acknowledged rows that `lagging` lacks, both as the API tells of nodes. Returns when all serve again."""
    hangs, dies = _engine(run, lagging["id"]), _engine(run, coordinator["id"])
    driver = session_of(coordinator["address"], known)
    try:
        session = driver.connect()
        replication = f"{{'class': 'NetworkTopologyStrategy', '{known.datacenter}': {known.replication}}}"
        session.execute(f"CREATE KEYSPACE {_KEYSPACE} WITH replication = {replication}", timeout=30)
        session.execute(f"CREATE TABLE {_KEYSPACE}.rows (key bigint PRIMARY KEY) WITH read_repair = 'NONE'", timeout=30)
        insert = session.prepare(f"INSERT INTO {_KEYSPACE}.rows (key) VALUES (?)")
        insert.consistency_level = ConsistencyLevel.QUORUM
        os.kill(hangs.pid, signal.SIGSTOP)
        written = [session.execute_async(insert, (key,)) for key in range(_ROWS)]
        for one in written:
            one.result()
    finally:
        # What was sent to the one that hangs dies with its sockets.
        dies.kill()
        hangs.kill()
        psutil.wait_procs([dies, hangs], timeout=10)
        driver.shutdown()
    wait_until_all_serve(known, list(known.contact_points), seconds=180)
    time.sleep(_SETTLED_SECONDS)
    return set(range(_ROWS))


def _engine(run: Path, node: str) -> psutil.Process:
    machine = str((run / "machines" / f"rm-{node.replace('_', '-')}").resolve())
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or [])
        if _ENGINE in line and machine in line:
            return process
    raise RuntimeError(f"no engine of {node} runs")


def lost(known: Connecting, members: list[str], keys: set[int]) -> set[int]:
    """Of these keys those that some node, asked at QUORUM, does not find. Removes the keyspace."""
    gone: set[int] = set()
    for address in members:
        driver = session_of(address, known)
        try:
            everything = SimpleStatement(
                f"SELECT key FROM {_KEYSPACE}.rows", consistency_level=ConsistencyLevel.QUORUM, fetch_size=_ROWS
            )
            gone |= keys - {row.key for row in driver.connect().execute(everything)}
        finally:
            driver.shutdown()
    driver = session_of(members[0], known)
    try:
        driver.connect().execute(f"DROP KEYSPACE {_KEYSPACE}", timeout=30)
    finally:
        driver.shutdown()
    return gone
