"""Rows that one replica of three has, as after a write whose coordinator died: what a replacement must not lose.

They are written while their keyspace has one replica, which is raised to three without a repair. Reads of them repair
nothing, so that looking does not mend what is looked for.
"""

from cassandra import ConsistencyLevel
from cassandra.query import SimpleStatement

from e2e.trials.application import Connecting, connect
from e2e.trials.clusters import session_of
from e2e.trials.retry_idempotent import RetryIdempotent

_KEYSPACE = "lone"
_ROWS = 300


def plant(known: Connecting, *, besides: str) -> set[int]:
    """Keys of rows that one node has, other than the one at this address."""
    driver = connect(known, RetryIdempotent())
    try:
        session = driver.connect()
        replication = f"{{'class': 'NetworkTopologyStrategy', '{known.datacenter}': %d}}"
        session.execute(f"CREATE KEYSPACE {_KEYSPACE} WITH replication = {replication % 1}")
        session.execute(f"CREATE TABLE {_KEYSPACE}.rows (key bigint PRIMARY KEY) WITH read_repair = 'NONE'")
        insert = session.prepare(f"INSERT INTO {_KEYSPACE}.rows (key) VALUES (?)")
        insert.consistency_level = ConsistencyLevel.ONE
        held: set[int] = set()
        for key in range(_ROWS):
            session.execute(insert, (key,))
            [replica] = driver.metadata.get_replicas(_KEYSPACE, key.to_bytes(8, "big"))
            if replica.address != besides:
                held.add(key)
        session.execute(f"ALTER KEYSPACE {_KEYSPACE} WITH replication = {replication % known.replication}")
        return held
    finally:
        driver.shutdown()


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
