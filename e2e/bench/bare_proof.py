"""The proof of a bare ring, by a CQL driver: what `order_to_cql` waits for on its other side."""

import socket
import ssl
import time
from pathlib import Path

from cassandra import ConsistencyLevel, OperationTimedOut
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable, Session
from cassandra.policies import WhiteListRoundRobinPolicy
from cassandra.query import SimpleStatement

_PORT = 9042
_PAUSE_SECONDS = 0.05
_GIVE_UP_SECONDS = 120.0


def prove(addresses: list[str], *, ca_file: Path) -> None:
    """Return when ring and schema agree on every node and a row was written at ALL and read at ALL through each."""
    give_up_at = time.monotonic() + _GIVE_UP_SECONDS
    for address in addresses:
        _wait_for_port(address, give_up_at)
    sessions = [_session(address, ca_file, give_up_at) for address in addresses]
    _wait_for_agreement(sessions, give_up_at)
    sessions[0].execute(
        "CREATE KEYSPACE proof WITH replication = "
        f"{{'class': 'NetworkTopologyStrategy', 'replication_factor': {len(addresses)}}}"
    )
    sessions[0].execute("CREATE TABLE proof.rows (number int PRIMARY KEY, word text)")
    _wait_for_agreement(sessions, give_up_at)
    for number, session in enumerate(sessions):
        session.execute(_at_all(f"INSERT INTO proof.rows (number, word) VALUES ({number}, 'here')"))
    for session in sessions:
        for number in range(len(sessions)):
            row = session.execute(_at_all(f"SELECT word FROM proof.rows WHERE number = {number}")).one()
            assert row.word == "here"
    for session in sessions:
        session.cluster.shutdown()


def _at_all(text: str) -> SimpleStatement:
    return SimpleStatement(text, consistency_level=ConsistencyLevel.ALL)


def _wait_for_port(address: str, give_up_at: float) -> None:
    while True:
        try:
            socket.create_connection((address, _PORT), timeout=0.5).close()
            return
        except OSError:
            _pause(f"{address}:{_PORT} to open", give_up_at)


def _session(address: str, ca_file: Path, give_up_at: float) -> Session:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(ca_file)
    context.check_hostname = False
    profile = ExecutionProfile(load_balancing_policy=WhiteListRoundRobinPolicy([address]), request_timeout=20)
    while True:
        cluster = Cluster(
            [address],
            port=_PORT,
            ssl_context=context,
            auth_provider=PlainTextAuthProvider("cassandra", "cassandra"),
            execution_profiles={EXEC_PROFILE_DEFAULT: profile},
            protocol_version=5,
        )
        try:
            return cluster.connect()
        except (NoHostAvailable, OperationTimedOut):
            cluster.shutdown()
            _pause(f"{address} to let the first role in", give_up_at)


def _wait_for_agreement(sessions: list[Session], give_up_at: float) -> None:
    while not _agreed(sessions):
        _pause("ring and schema to agree", give_up_at)


def _agreed(sessions: list[Session]) -> bool:
    versions = set()
    for session in sessions:
        versions.add(session.execute("SELECT schema_version FROM system.local").one().schema_version)
        peers = list(session.execute("SELECT schema_version, tokens FROM system.peers_v2"))
        if len(peers) != len(sessions) - 1 or not all(peer.tokens for peer in peers):
            return False
        versions |= {peer.schema_version for peer in peers}
    return len(versions) == 1


def _pause(what_for: str, give_up_at: float) -> None:
    if time.monotonic() > give_up_at:
        raise TimeoutError(f"waited {_GIVE_UP_SECONDS:.0f} s for {what_for}")
    time.sleep(_PAUSE_SECONDS)
