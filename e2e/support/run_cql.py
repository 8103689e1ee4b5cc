"""Run CQL as an application would, with the downloaded bundle and the revealed credentials.

Reads {"bundle": path of the zip, "username", "password", "statements"} from standard input. Prints one JSON list: for
each statement its rows, as lists of text.
"""

import json
import ssl
import sys
import tempfile
import zipfile
from pathlib import Path

from cassandra import ConsistencyLevel
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import DCAwareRoundRobinPolicy, TokenAwarePolicy


def main() -> None:
    order = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(order["bundle"]) as bundle:
        bundle.extractall(folder)
        connection = json.loads((Path(folder) / "connection.json").read_text())
        tls = ssl.create_default_context(cafile=str(Path(folder) / "ca.crt"))
    profile = ExecutionProfile(
        load_balancing_policy=TokenAwarePolicy(DCAwareRoundRobinPolicy(connection["local_datacenter"])),
        consistency_level=ConsistencyLevel.QUORUM,
        request_timeout=30,
    )
    cluster = Cluster(
        connection["contact_points"],
        port=connection["port"],
        ssl_context=tls,
        auth_provider=PlainTextAuthProvider(order["username"], order["password"]),
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        connect_timeout=20,
    )
    session = cluster.connect()
    told = [[[str(value) for value in row] for row in session.execute(each)] for each in order["statements"]]
    cluster.shutdown()
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
