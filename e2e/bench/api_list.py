"""What a page of the cluster list costs: CPU of the API against a plain Django view on the same rows.

Both are uvicorn processes on one private Postgres with 10,000 clusters of one organisation (and others around them).
Ours answers GET /api/v1/clusters?limit=100 with bearer authentication, tenant filter and cursor; the other is
`plain_list.py`. Rounds are interleaved, each walks through the list page by page with the cursor it was given, and CPU
is what the server process itself used (user and system, from /proc). Also checked, and fatal when wrong: the number of
queries does not depend on the length of the page or the list, and a page is answered as fast from 10,000 clusters as
from 10. Prints one JSON object as its last line.

    python -m e2e.bench.api_list [--clusters 10000] [--rounds 7] [--pages 200] [--profile]
"""

import argparse
import http.client
import json
import statistics
import sys
import time
from datetime import UTC, datetime
from urllib.parse import urlencode

from e2e.bench.tenants import Tenant, private_database, set_up, tenant_of
from e2e.serving import Server, serving

PAGE = 100
SMALL = 10
MOST_CPU_RATIO = 2.0
MOST_LATENCY_RATIO = 1.2


def main() -> int:
    arguments = _arguments()
    with private_database():
        return run(arguments)


def run(arguments: argparse.Namespace) -> int:
    large, small = prepare(arguments.clusters)
    queries = count_queries(large, small)
    if arguments.profile:
        profile(large)
        return 0
    with serving("backend.config.asgi:application") as ours, serving("e2e.bench.plain_list:application") as plain:
        ours_pages = Pages(ours, "/api/v1/clusters", {}, {"Authorization": f"Bearer {large.token}"})
        plain_pages = Pages(plain, "/clusters", {"organisation": large.organisation_id}, {})
        for pages in (ours_pages, plain_pages):
            pages.walk(arguments.pages // 4)  # warm: imports, pool, plans
        check_same_rows(ours_pages, plain_pages)
        rounds = []
        for number in range(arguments.rounds):
            order = (ours_pages, plain_pages) if number % 2 == 0 else (plain_pages, ours_pages)
            cpu = {pages.path: cpu_per_page(pages, arguments.pages) for pages in order}
            rounds.append((cpu[ours_pages.path], cpu[plain_pages.path]))
            print(f"round {number + 1}: ours {rounds[-1][0]:.2f} ms, plain {rounds[-1][1]:.2f} ms of CPU per page")
        latency_large, latency_small = compare_latency(ours, large, small)
    ours_ms = statistics.median(pair[0] for pair in rounds)
    plain_ms = statistics.median(pair[1] for pair in rounds)
    ratio = ours_ms / plain_ms
    latency_ratio = latency_large / latency_small
    print(
        json.dumps(
            {
                "name": "api_list",
                "ours": round(ours_ms, 3),
                "other": round(plain_ms, 3),
                "unit": "ms of server CPU per page of 100",
                "ratio": round(ratio, 3),
                "runs": len(rounds),
                "notes": (
                    f"{arguments.clusters} clusters, {arguments.pages} pages per round, {queries} queries per request "
                    f"always; page of {SMALL}: {latency_large:.2f} ms of {arguments.clusters}, "
                    f"{latency_small:.2f} ms of {SMALL} clusters, ratio {latency_ratio:.2f}"
                ),
            }
        )
    )
    return 0 if ratio <= MOST_CPU_RATIO and latency_ratio <= MOST_LATENCY_RATIO else 1


def prepare(clusters: int) -> tuple[Tenant, Tenant]:
    """One tenant with many clusters, one with ten, and one whose rows must never be read."""
    set_up()
    from django.db import connection

    large, small = tenant_of("large"), tenant_of("small")
    _clusters(tenant_of("other"), clusters // 5)
    _clusters(large, clusters)
    _clusters(small, SMALL)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    return large, small


def _clusters(tenant: Tenant, count: int) -> None:
    """Three nodes each; every tenth has an operation that runs, as has a busy installation."""
    from backend.clusters.models import Cluster, Datacenter, Node
    from backend.clusters.states import ClusterState, NodeState
    from backend.operations.models import Operation
    from backend.operations.states import OperationState

    zones = ["local-1a", "local-1b", "local-1c"]
    now = datetime.now(UTC)
    for first in range(0, count, 1000):
        made = [
            Cluster(
                organisation_id=tenant.organisation_id,
                name=f"orders-{number:05}",
                engine="cassandra",
                engine_version="5.0.5",
                provider="local",
                ring_name=f"orders-{number:05}",
                options={"tags": {"team": "orders"}},
                state=ClusterState.CREATING if number % 10 == 0 else ClusterState.ACTIVE,
                admin_username="admin",
                created_by="owner@bench.test",
                active_at=None if number % 10 == 0 else now,
            )
            for number in range(first, min(first + 1000, count))
        ]
        Cluster.objects.bulk_create(made)
        datacenters = Datacenter.objects.bulk_create(
            Datacenter(
                cluster=cluster,
                name="local-local-1",
                region="local-1",
                zones=zones,
                machine_type="local.small",
                nodes_per_zone=1,
            )
            for cluster in made
        )
        Node.objects.bulk_create(
            Node(
                cluster=datacenter.cluster,
                datacenter=datacenter,
                name=f"{datacenter.cluster.name}-{zone}-1",
                machine_type="local.small",
                zone=zone,
                position=position,
                state=NodeState.UP,
            )
            for datacenter in datacenters
            for position, zone in enumerate(zones)
        )
        Operation.objects.bulk_create(
            Operation(
                organisation_id=tenant.organisation_id,
                kind="create_cluster",
                cluster_id=cluster.id,
                cluster_name=cluster.name,
                actor=cluster.created_by,
                state=OperationState.RUNNING,
                progress=0.5,
                expected_seconds=20,
            )
            for cluster in made
            if cluster.state == ClusterState.CREATING
        )


def count_queries(large: Tenant, small: Tenant) -> int:
    """Queries per request, counted inside a process. Raises SystemExit unless every request takes the same number."""
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    counts: dict[str, int] = {}
    for tenant in (large, small):
        client = Client(headers={"Authorization": f"Bearer {tenant.token}"})
        client.get("/api/v1/clusters")  # notes the token's use, at most once a minute
        for limit in (1, SMALL, PAGE):
            with CaptureQueriesContext(connection) as captured:
                answer = client.get("/api/v1/clusters", {"limit": limit})
            if answer.status_code != 200:
                sys.exit(f"api_list: HTTP {answer.status_code}: {answer.content[:400]!r}")
            counts[f"{tenant.token} limit={limit}"] = len(captured)
    connection.close()
    if len(set(counts.values())) != 1:
        sys.exit(f"api_list: the number of queries varies: {counts}")
    return next(iter(counts.values()))


class Pages:
    """Walks a list on one kept connection, page after page, from the start again when it ends."""

    def __init__(self, server: Server, path: str, parameters: dict[str, str], headers: dict[str, str]) -> None:
        self.server, self.path, self.parameters, self.headers = server, path, parameters, headers
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self._cursor: str | None = None

    def next(self, limit: int = PAGE) -> list[dict[str, object]]:
        """The next page's items. Raises SystemExit when the answer is not 200."""
        parameters = self.parameters | {"limit": str(limit)} | ({"cursor": self._cursor} if self._cursor else {})
        self._connection.request("GET", f"{self.path}?{urlencode(parameters)}", headers=self.headers)
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            sys.exit(f"api_list: {self.path} answers {answer.status}: {body[:400]!r}")
        document = json.loads(body)
        self._cursor = document["next_cursor"]
        items: list[dict[str, object]] = document["items"]
        return items

    def walk(self, pages: int) -> None:
        for _ in range(pages):
            self.next()

    def rewind(self) -> None:
        self._cursor = None


def check_same_rows(ours: Pages, plain: Pages) -> None:
    """Both must answer the same clusters with the same values, or the comparison says nothing."""
    for pages in (ours, plain):
        pages.rewind()
    for ours_row, plain_row in zip(ours.next(), plain.next(), strict=True):
        shared = ours_row.keys() & plain_row.keys() - {"created_at", "active_at"}  # spelt differently
        differences = {name: (ours_row[name], plain_row[name]) for name in shared if ours_row[name] != plain_row[name]}
        if differences or len(shared) < 14:
            sys.exit(f"api_list: the two sides answer differently: {differences}, shared {sorted(shared)}")


def cpu_per_page(pages: Pages, count: int) -> float:
    """Milliseconds of server CPU per page over `count` pages."""
    before = pages.server.cpu_seconds()
    pages.walk(count)
    return (pages.server.cpu_seconds() - before) / count * 1000


def compare_latency(server: Server, large: Tenant, small: Tenant, requests: int = 300) -> tuple[float, float]:
    """Median milliseconds of a page of ten clusters: out of the long list, at any depth, and out of ten."""
    sides = [
        Pages(server, "/api/v1/clusters", {}, {"Authorization": f"Bearer {tenant.token}"}) for tenant in (large, small)
    ]
    taken: list[list[float]] = [[], []]
    for _ in range(requests):
        for pages, times in zip(sides, taken, strict=True):
            began = time.perf_counter()
            pages.next(SMALL)
            times.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken[0]), statistics.median(taken[1])


def profile(tenant: Tenant, requests: int = 200) -> None:
    """Prints where the API's own Python spends its time on a page, in one process."""
    import cProfile
    import pstats

    from django.test import Client

    client = Client(headers={"Authorization": f"Bearer {tenant.token}"})
    for _ in range(20):
        client.get("/api/v1/clusters", {"limit": PAGE})
    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(requests):
        client.get("/api/v1/clusters", {"limit": PAGE})
    profiler.disable()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(35)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--clusters", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--pages", type=int, default=200, help="pages per round and side")
    parser.add_argument("--profile", action="store_true", help="print the API's hot spots instead of measuring")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
