"""Clusters for trials: how to connect to one, and whether all of its nodes serve."""

import ssl
import time
from typing import Any

import httpx
from cassandra import ConsistencyLevel
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import WhiteListRoundRobinPolicy
from cassandra.query import SimpleStatement

from e2e.trials.application import Connecting

_PAUSE_SECONDS = 0.25
# Keys that are asked for at ALL: enough that every node of a ring of some nodes is a replica of several.
_KEYS = range(32)


def connecting(api: httpx.Client, cluster: str, *, replication: int = 3, **how: Any) -> Connecting:
    """What an application needs to know of a cluster. Reveals its password, which works once."""
    connection = api.get(f"/clusters/{cluster}/connection").raise_for_status().json()
    revealed = api.post(f"/clusters/{cluster}/credentials/reveal").raise_for_status().json()
    return Connecting(
        contact_points=connection["contact_points"],
        port=connection["port"],
        datacenter=connection["datacenter"],
        ca_certificate=connection["ca_certificate"],
        username=revealed["username"],
        password=revealed["password"],
        replication=replication,
        **how,
    )


def addresses(api: httpx.Client, cluster: str) -> list[str]:
    """Of every node of the cluster."""
    return [node["address"] for node in nodes(api, cluster)]


def nodes(api: httpx.Client, cluster: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.get(f"/clusters/{cluster}/nodes").raise_for_status().json()["items"]
    return found


def session_of(address: str, known: Connecting) -> Cluster:
    """A driver that talks to one node only."""
    return Cluster(
        [address],
        port=known.port,
        ssl_context=ssl.create_default_context(cadata=known.ca_certificate),
        auth_provider=PlainTextAuthProvider(known.username, known.password),
        protocol_version=5,
        schema_metadata_enabled=False,
        execution_profiles={
            EXEC_PROFILE_DEFAULT: ExecutionProfile(
                load_balancing_policy=WhiteListRoundRobinPolicy([address]),
                consistency_level=ConsistencyLevel.ALL,
                request_timeout=10,
            )
        },
    )


def asked(address: str, known: Connecting, query: str) -> tuple[Any, ...]:
    """The one row that a node answers to a query about itself."""
    driver = session_of(address, known)
    try:
        [row] = driver.connect().execute(SimpleStatement(query, consistency_level=ConsistencyLevel.ONE))
        return tuple(row)
    finally:
        driver.shutdown()


def wait_until_all_serve(known: Connecting, members: list[str], *, seconds: float = 120.0) -> float:
    """Wait until rows can be read at ALL through every one of the nodes; the seconds it took. TimeoutError.

    That is when every node serves and sees every other one up. Needs the application's table.
    """
    began = time.monotonic()
    for address in members:
        while (fault := _fault(address, known)) is not None:
            if time.monotonic() - began > seconds:
                raise TimeoutError(f"{address} does not serve at ALL after {seconds:.0f} s: {fault}")
            time.sleep(_PAUSE_SECONDS)
    return time.monotonic() - began


def _fault(address: str, known: Connecting) -> Exception | None:
    """Why rows cannot be read at ALL through a node; None when they can."""
    driver = session_of(address, known)
    try:
        session = driver.connect()
        for key in _KEYS:
            session.execute(f"SELECT word FROM {known.keyspace}.rows WHERE key = {key}")
    except Exception as error:  # whatever the driver raises: the node does not serve yet
        return error
    finally:
        driver.shutdown()
    return None
