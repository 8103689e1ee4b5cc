"""Use a cluster as an application would, with nothing but the downloaded bundle and the revealed credentials.

Reads {"bundle": path of the zip, "username", "password"} from standard input. Connects with the Python driver over TLS,
verifying the servers' names, writes one row at QUORUM through the ring, then reads it back through every single node,
each with a connection that may talk to no other. Prints one JSON object: what the drivers saw.
"""

import json
import ssl
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

from cassandra import ConsistencyLevel
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.policies import DCAwareRoundRobinPolicy as InDatacenter
from cassandra.policies import LoadBalancingPolicy, TokenAwarePolicy, WhiteListRoundRobinPolicy

KEYSPACE = "proof"
KEY = "written at QUORUM"


def main() -> None:
    order = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(order["bundle"]) as bundle:
        bundle.extractall(folder)
        connection = json.loads((Path(folder) / "connection.json").read_text())
        tls = ssl.create_default_context(cafile=str(Path(folder) / "ca.crt"))
        files = sorted(bundle.namelist())
    datacenter = connection["local_datacenter"]

    def session(policy: LoadBalancingPolicy, contact_points: list[str]) -> Session:
        profile = ExecutionProfile(
            load_balancing_policy=policy, consistency_level=ConsistencyLevel.QUORUM, request_timeout=20
        )
        cluster = Cluster(
            contact_points,
            port=connection["port"],
            ssl_context=tls,
            auth_provider=PlainTextAuthProvider(order["username"], order["password"]),
            execution_profiles={EXEC_PROFILE_DEFAULT: profile},
            connect_timeout=20,
        )
        return cluster.connect()

    ring = session(TokenAwarePolicy(InDatacenter(datacenter)), connection["contact_points"])
    ring.execute(
        f"CREATE KEYSPACE IF NOT EXISTS {KEYSPACE} WITH replication = "
        f"{{'class': 'NetworkTopologyStrategy', '{datacenter}': 3}}"
    )
    ring.execute(f"CREATE TABLE IF NOT EXISTS {KEYSPACE}.rows (key text PRIMARY KEY, value text)")
    value = f"value {time.time_ns()}"
    ring.execute(f"INSERT INTO {KEYSPACE}.rows (key, value) VALUES (%s, %s)", (KEY, value))
    metadata = ring.cluster.metadata
    hosts = sorted(metadata.all_hosts(), key=lambda host: host.address)
    replicas = metadata.get_replicas(KEYSPACE, KEY.encode())
    seen: dict[str, Any] = {
        "files": files,
        "hosts": [{"address": host.address, "datacenter": host.datacenter, "rack": host.rack} for host in hosts],
        "replica_racks": sorted(replica.rack for replica in replicas),
        "superusers": sorted(
            row.role for row in ring.execute("SELECT role, is_superuser FROM system_auth.roles") if row.is_superuser
        ),
        "reads": {},
    }
    ring.cluster.shutdown()
    for host in hosts:
        alone = session(WhiteListRoundRobinPolicy([host.address]), [host.address])
        result = alone.execute(f"SELECT value FROM {KEYSPACE}.rows WHERE key = %s", (KEY,), trace=False)
        local = alone.execute("SELECT rack FROM system.local").one()
        peers = sorted(str(row.peer) for row in alone.execute("SELECT peer FROM system.peers"))
        seen["reads"][host.address] = {"same": result.one().value == value, "rack": local.rack, "peers": peers}
        alone.cluster.shutdown()
    json.dump(seen, sys.stdout)


main()
