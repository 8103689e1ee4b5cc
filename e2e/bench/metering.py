"""How fast hours are closed, and what they take: usage records, what they cost, and the sums of reports.

A private Postgres with machines of one organisation, nine to a cluster, that run all the time. Hours are closed one
after another as the worker does it; then the tables' bytes are read, with their indexes. Prints one JSON object as its
last line: records a second, and what a month of 10,000 nodes would take.

    python -m e2e.bench.metering [--nodes 2000] [--hours 6]
"""

import argparse
import json
import sys
import time
from datetime import UTC, datetime, timedelta

from e2e.bench.tenants import Tenant, private_database, set_up, tenant_of

_NODES_OF_CLUSTER = 9
_BEGIN = datetime(2026, 10, 1, tzinfo=UTC)
_MONTH_HOURS = 730
_SHOWN_NODES = 10_000
LEAST_A_SECOND = _SHOWN_NODES / 300
"""Records: an hour of 10,000 nodes must be closed before the worker comes again."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=2000)
    parser.add_argument("--hours", type=int, default=6)
    arguments = parser.parse_args()
    with private_database():
        return run(arguments)


def run(arguments: argparse.Namespace) -> int:
    set_up()
    from backend.costs.closing import close_hours
    from backend.prices import actions

    actions.load()
    plant(tenant_of("metered"), arguments.nodes)
    records, seconds = 0, 0.0
    for hour in range(1, arguments.hours + 1):
        begin = time.perf_counter()
        records += close_hours(_BEGIN + timedelta(hours=hour, minutes=5))
        seconds += time.perf_counter() - begin
        print(f"hour {hour}: {records} records in {seconds:.1f} s", flush=True)
    sizes = table_bytes()
    rate, of_record = records / seconds, sizes["costs_usagerecord"] / records
    # A line and a sum are of a day, however many hours of it there are.
    clusters = -(-_SHOWN_NODES // _NODES_OF_CLUSTER)
    days = _MONTH_HOURS / 24 * clusters
    of_day = sum(sizes[name] for name in ("costs_costline", "costs_costday")) / -(-arguments.nodes // _NODES_OF_CLUSTER)
    month = of_record * _SHOWN_NODES * _MONTH_HOURS
    print(
        json.dumps(
            {
                "name": "metering",
                "ours": round(rate),
                "unit": "usage records a second, priced",
                "runs": arguments.hours,
                "notes": f"{records} records; a month of {_SHOWN_NODES} nodes: {_SHOWN_NODES * _MONTH_HOURS} records, "
                f"{month / 2**30:.2f} GiB at {of_record:.0f} bytes with indexes; its lines and sums "
                f"{days * of_day / 2**20:.0f} MiB",
            }
        )
    )
    return 0 if rate >= LEAST_A_SECOND else 1


def plant(tenant: Tenant, nodes: int) -> None:
    """Machines that have run since before the first hour."""
    from backend.clusters.models import Cluster, Datacenter, MachineLife, Node

    for first in range(0, nodes, _NODES_OF_CLUSTER):
        cluster = Cluster.objects.create(
            organisation_id=tenant.organisation_id,
            name=f"c{first}",
            engine="cassandra",
            engine_version="5.0.5",
            provider="aws",
            ring_name="ring",
            admin_username="admin",
            created_by="bench",
        )
        place = Datacenter.objects.create(
            cluster=cluster,
            name="aws-us-east-1",
            region="us-east-1",
            zones=["us-east-1a"],
            machine_type="i3.2xlarge",
            nodes_per_zone=_NODES_OF_CLUSTER,
        )
        made = Node.objects.bulk_create(
            Node(
                cluster=cluster,
                datacenter=place,
                name=f"n{number}",
                machine_type="i3.2xlarge",
                zone="us-east-1a",
                position=number,
            )
            for number in range(min(_NODES_OF_CLUSTER, nodes - first))
        )
        MachineLife.objects.bulk_create(
            MachineLife(
                node=node,
                generation=1,
                organisation_id=tenant.organisation_id,
                cluster=cluster,
                provider="aws",
                region="us-east-1",
                zone="us-east-1a",
                machine_type="i3.2xlarge",
                began_at=_BEGIN,
            )
            for node in made
        )


def table_bytes() -> dict[str, int]:
    """Of what costs are kept in, with indexes."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM FULL")
        cursor.execute(
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r' AND relname LIKE 'costs_%'"
        )
        return dict(cursor.fetchall())


if __name__ == "__main__":
    sys.exit(main())
