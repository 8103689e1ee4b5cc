"""`make query`: run CQL on the cluster `demo` with the real Python driver, over TLS, as its administrator."""

from __future__ import annotations

import argparse
import json
import ssl
import sys
from collections.abc import Sequence
from typing import Any

from cassandra import ConsistencyLevel, DriverException
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable
from cassandra.policies import DCAwareRoundRobinPolicy, TokenAwarePolicy
from cassandra.protocol import ErrorMessage

from infra.local import ports
from infra.local.api import Api, ApiError
from infra.local.layout import Layout, layout

_DEFAULT = "SELECT cluster_name, data_center, rack, host_id, release_version FROM system.local"


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0, or 1 with a reason on stderr."""
    parser = argparse.ArgumentParser(prog="query", description="Run CQL on the cluster demo.")
    parser.add_argument("cql", nargs="?", default=_DEFAULT, help=f"default: {_DEFAULT}")
    cql = parser.parse_args(arguments).cql or _DEFAULT
    try:
        print(run(cql, layout()))
    except (ApiError, FileNotFoundError) as error:
        print(f"{error}\nIs it running? See `make status`; start it with `make up`.", file=sys.stderr)
        return 1
    except KeyError as missing:
        print(f"The password of demo is not known here ({missing}): rotate it in the console.", file=sys.stderr)
        return 1
    except ErrorMessage as error:
        print(f"The cluster says: {error.message}", file=sys.stderr)
        return 1
    except (NoHostAvailable, DriverException) as error:
        print(f"The cluster says: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def run(cql: str, place: Layout) -> str:
    """The result as text. Raises ApiError, KeyError without a known password, and the driver's errors."""
    known = json.loads(place.demo_file.read_text())
    credentials = json.loads(place.credentials_file.read_text())
    url = f"http://{ports.LOOPBACK}:{ports.read(place.ports_file)['api']}"
    with Api(url, credentials["api_token"]) as api:
        connection = api.get(f"/clusters/{known['cluster_id']}/connection")
    trust = ssl.create_default_context(cadata=connection["ca_certificate"])
    profile = ExecutionProfile(
        load_balancing_policy=TokenAwarePolicy(DCAwareRoundRobinPolicy(local_dc=connection["datacenter"])),
        consistency_level=ConsistencyLevel.LOCAL_QUORUM,
        request_timeout=20,
    )
    cluster = Cluster(
        connection["contact_points"],
        port=connection["port"],
        ssl_context=trust,
        auth_provider=PlainTextAuthProvider(known["username"], known["password"]),
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        protocol_version=5,
    )
    try:
        result = cluster.connect().execute(cql)
        return table(result.column_names or [], [list(row) for row in result])
    finally:
        cluster.shutdown()


def table(names: Sequence[str], values: Sequence[Sequence[Any]]) -> str:
    """Rows as an aligned table; statements that return nothing say so."""
    if not names:
        return "done"
    cells = [[str(name) for name in names], *([str(value) for value in row] for row in values)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(names))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    count = f"({len(values)} row{'' if len(values) == 1 else 's'})"
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:], count])
