"""Fills a cluster with data for a benchmark: rows of random bytes, written at ALL, so every replica has them."""

import os
import random
import time
from collections.abc import Sequence
from dataclasses import replace

from cassandra import ConsistencyLevel
from cassandra.concurrent import execute_concurrent_with_args

from e2e.trials.application import Connecting, connect
from e2e.trials.clusters import session_of
from e2e.trials.retry_idempotent import RetryIdempotent

KEYSPACE = "bench"
ROW_BYTES = 32 * 1024
_AT_ONCE = 24
_BATCH = 512
_QUIET_SECONDS = 300.0
_SAMPLE = 200


def fill(known: Connecting, *, mebibytes: int) -> int:
    """Write so many MiB into the table `bench.blobs`, replication factor 3. How many rows it became.

    The bytes are random, so they do not shrink on disk: `mebibytes` is what each replica holds.
    """
    driver = connect(known, RetryIdempotent())
    try:
        session = driver.connect()
        session.execute(
            f"CREATE KEYSPACE {KEYSPACE} WITH replication = "
            f"{{'class': 'NetworkTopologyStrategy', '{known.datacenter}': {known.replication}}}"
        )
        session.execute(f"CREATE TABLE {KEYSPACE}.blobs (key bigint PRIMARY KEY, body blob)")
        session.execute(f"CREATE TABLE {KEYSPACE}.proof (key int PRIMARY KEY, word text)")
        insert = session.prepare(f"INSERT INTO {KEYSPACE}.blobs (key, body) VALUES (?, ?)")
        insert.consistency_level, insert.is_idempotent = ConsistencyLevel.ALL, True
        rows = mebibytes * 1024 * 1024 // ROW_BYTES
        for first in range(0, rows, _BATCH):
            keys = range(first, min(first + _BATCH, rows))
            execute_concurrent_with_args(
                session, insert, ((key, os.urandom(ROW_BYTES)) for key in keys), concurrency=_AT_ONCE
            )
        return rows
    finally:
        driver.shutdown()


def wait_until_quiet(known: Connecting, members: Sequence[str]) -> None:
    """Wait until no node compacts any more, so that what is measured next is measured alone. TimeoutError."""
    give_up_at = time.monotonic() + _QUIET_SECONDS
    for address in members:
        driver = session_of(address, known)
        try:
            session = driver.connect()
            while list(session.execute("SELECT task_id FROM system_views.sstable_tasks")):
                if time.monotonic() > give_up_at:
                    raise TimeoutError(f"{address} still compacts after {_QUIET_SECONDS:.0f} s")
                time.sleep(0.5)
        finally:
            driver.shutdown()


def sample(rows: int) -> list[int]:
    """Keys spread over all rows, the same for every call."""
    return random.Random(7).sample(range(rows), min(_SAMPLE, rows))


def read_at_all(known: Connecting, keys: Sequence[int], *, contact_points: Sequence[str] | None = None) -> int:
    """How many of the keys are read at ALL."""
    points = known.contact_points if contact_points is None else list(contact_points)
    driver = connect(replace(known, consistency="ALL", contact_points=points), RetryIdempotent())
    try:
        session = driver.connect()
        select = session.prepare(f"SELECT key FROM {KEYSPACE}.blobs WHERE key = ?")
        answers = execute_concurrent_with_args(
            session, select, [(key,) for key in keys], concurrency=_AT_ONCE, raise_on_first_error=False
        )
        return sum(answer.success and answer.result_or_exc.one() is not None for answer in answers)
    finally:
        driver.shutdown()
