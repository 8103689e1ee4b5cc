"""What the page of tables costs: 1,000 tables, sparklines over 30 days, on real Prometheus.

A cluster of three nodes: the last minutes as nodes serve them (every 15 s) and percentiles as the rules make them are
in one store, thirty days of rolled-up series (every 5 min) in another. Ours is GET /clusters/{id}/tables/metrics over
HTTP with bearer authentication, tenancy, sorting and merging; the other is the same queries sent bare to the same
stores, as many at once, with the answers thrown away. Rounds are interleaved. Fatal when wrong: the number of queries
is the same for any page and for a cluster of ten tables. Prints one JSON object as its last line.

    python -m e2e.bench.table_page [--tables 1000] [--days 30] [--rounds 30]
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from e2e.bench.tenants import private_database, set_up, tenant_of
from e2e.serving import serving
from infra.metrics import serving as prometheus

NODES = 3
BEFORE, AFTER = 180, 420  # seconds of raw samples before the measurement and while it may take
SLICE = 54 * 3600  # seconds in a block of the history, as Prometheus has them when it kept thirty days
PERCENTILE = 0.99


def main() -> int:
    arguments = _arguments()
    with private_database() as folder:
        return run(arguments, folder)


def run(arguments: argparse.Namespace, folder: Path) -> int:
    large, small, token = prepare(arguments.tables)
    began = time.monotonic()
    clusters = ((large, arguments.tables), (small, 10))
    end = int(time.time()) // 300 * 300
    oldest = end - arguments.days * 86_400
    for block in range(oldest // SLICE * SLICE, end, SLICE):
        lines = rolled_up(clusters, max(block, oldest // 300 * 300), min(block + SLICE, end))
        prometheus.load(folder / "history", lines, block="54h")
    prometheus.load(folder / "raw", raw(clusters, int(time.time()) // 15 * 15))
    print(f"samples made in {time.monotonic() - began:.0f} s")
    with prometheus.serving(folder / "raw") as raw_url, prometheus.serving(folder / "history") as history_url:
        os.environ |= {"RINGMASTER_PROMETHEUS_URL": raw_url, "RINGMASTER_PROMETHEUS_HISTORY_URL": history_url}
        os.environ["RINGMASTER_PROMETHEUS_TIMEOUT_SECONDS"] = "60"
        with serving("backend.config.asgi:application") as api:
            return measure(arguments, Page(f"{api.url}/api/v1", token, arguments.days), large, small)


class Page:
    def __init__(self, url: str, token: str, days: int) -> None:
        self._client = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=120)
        begins = datetime.now(UTC) - timedelta(days=days)
        self.query = {"from": begins.strftime("%Y-%m-%dT%H:%M:%SZ"), "sort": "-reads_per_second"}

    def get(self, cluster_id: str, **more: Any) -> dict[str, Any]:
        answer = self._client.get(f"/clusters/{cluster_id}/tables/metrics", params=self.query | more)
        if answer.status_code != 200:
            sys.exit(f"table_page: HTTP {answer.status_code}: {answer.text[:400]}")
        document: dict[str, Any] = answer.json()
        return document


def measure(arguments: argparse.Namespace, page: Page, large: str, small: str) -> int:
    counts = {
        (cluster, limit): len(questions(cluster, page, limit)) for cluster in (large, small) for limit in (1, 50, 200)
    }
    if len(set(counts.values())) != 1:
        sys.exit(f"table_page: the number of queries varies: {counts}")
    shown = page.get(large)
    if (
        shown["total"] != arguments.tables
        or len(shown["items"]) != 50
        or not all(
            item["numbers"]["reads_per_second"]
            and item["numbers"]["read_p99_seconds"]
            and item["sparklines"]["read_p99_seconds"]
            for item in shown["items"]
        )
    ):
        sys.exit(f"table_page: the page is not what was stored: {shown['total']}, {shown['items'][:1]}")
    bare = Bare(questions(large, page, 50))
    ours_seconds, bare_seconds = [], []
    for number in range(arguments.rounds + 2):
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            began = time.perf_counter()
            if side == 0:
                page.get(large)
            else:
                bare.ask()
            seconds = time.perf_counter() - began
            if number >= 2:
                (ours_seconds if side == 0 else bare_seconds).append(seconds)
    ours, other = (percentile(each, PERCENTILE) for each in (ours_seconds, bare_seconds))
    ours_median, bare_median = (statistics.median(each) * 1000 for each in (ours_seconds, bare_seconds))
    print(
        json.dumps(
            {
                "name": "table_page",
                "ours": round(ours * 1000, 1),
                "other": round(other * 1000, 1),
                "unit": "ms, p99",
                "ratio": round(ours / other, 3),
                "runs": arguments.rounds,
                "notes": (
                    f"{arguments.tables} tables, {NODES} nodes, sparklines over {arguments.days} days, "
                    f"{next(iter(counts.values()))} PromQL queries always; medians {ours_median:.0f} and "
                    f"{bare_median:.0f} ms; other: the same queries bare"
                ),
            }
        )
    )
    return 0


class Bare:
    """The same queries without Ringmaster."""

    def __init__(self, asked: list[tuple[str, str, dict[str, str]]]) -> None:
        self._asked = asked
        self._clients = {url: httpx.Client(base_url=url, timeout=120) for url, _, _ in asked}
        self._pool = ThreadPoolExecutor(8)

    def ask(self) -> None:
        """In the three turns that the page takes: numbers of now, then sparklines."""
        for url in self._clients:
            for answer in self._pool.map(self._one, [each for each in self._asked if each[0] == url]):
                answer.raise_for_status()

    def _one(self, asked: tuple[str, str, dict[str, str]]) -> httpx.Response:
        url, path, form = asked
        return self._clients[url].post(path, data=form)


def questions(cluster_id: str, page: Page, limit: int) -> list[tuple[str, str, dict[str, str]]]:
    """What a page asks the stores, noted while it is made in this process: address, path and form of each."""
    from django.test import Client

    from backend.metrics import store

    noted: list[tuple[str, str, dict[str, str]]] = []
    post = httpx.Client.post

    def noting(self: httpx.Client, path: str, **more: Any) -> httpx.Response:
        noted.append((str(self.base_url), path, dict(more["data"])))
        return post(self, path, **more)

    store._stores.clear()
    httpx.Client.post = noting  # type: ignore[method-assign,assignment]
    try:
        settings_from_environment()
        client = Client(headers={"Authorization": str(page._client.headers["Authorization"])})
        answer = client.get(f"/api/v1/clusters/{cluster_id}/tables/metrics", page.query | {"limit": limit})
    finally:
        httpx.Client.post = post  # type: ignore[method-assign]
    if answer.status_code != 200:
        sys.exit(f"table_page: HTTP {answer.status_code}: {answer.content[:400]!r}")
    return noted


def settings_from_environment() -> None:
    """The stores' addresses were not known yet when Django was set up."""
    from django.conf import settings

    settings.ENV = settings.ENV.model_copy(
        update={
            "ringmaster_prometheus_url": os.environ["RINGMASTER_PROMETHEUS_URL"],
            "ringmaster_prometheus_history_url": os.environ["RINGMASTER_PROMETHEUS_HISTORY_URL"],
            "ringmaster_prometheus_timeout_seconds": 60.0,
        }
    )


def percentile(seconds: list[float], share: float) -> float:
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def prepare(tables: int) -> tuple[str, str, str]:
    """Ids of a cluster with many tables and of one with ten, which the control plane knows too, and a token."""
    set_up()
    from backend.clusters.models import Cluster
    from backend.repairs.models import RepairTable

    tenant = tenant_of("bench")
    facts = {"bytes": 1, "unrepaired_bytes": 0, "replicas": 3, "gc_grace": 864_000, "replication": {"d": 3}}
    made = []
    for name, count in (("large", tables), ("small", 10)):
        cluster = Cluster.objects.create(
            organisation_id=tenant.organisation_id,
            name=name,
            engine="cassandra",
            engine_version="5.0.5",
            provider="local",
        )
        RepairTable.objects.bulk_create(
            RepairTable(cluster=cluster, keyspace=keyspace, name=table, facts=facts, repaired_at=datetime.now(UTC))
            for keyspace, table in names(count)
        )
        made.append(cluster.id)
    return made[0], made[1], tenant.token


def names(count: int) -> list[tuple[str, str]]:
    """Ten tables in each keyspace."""
    return [(f"shop_{number // 10:03}", f"orders_{number:04}") for number in range(count)]


def raw(clusters: tuple[tuple[str, int], ...], now: int) -> Iterator[str]:
    """What the page reads of what nodes serve: every metric of its columns, for every table and node."""
    from backend.metrics.promql import series_in
    from backend.metrics.rules import percentile_now
    from backend.metrics.table_charts import TABLE_COLUMNS

    served = sorted(
        {series for column in TABLE_COLUMNS if column.now is None for _, series in series_in(column.expression)}
    )
    ready = [percentile_now(column.now, "p99") for column in TABLE_COLUMNS if column.now is not None]
    times = range(now - BEFORE, now + AFTER, 15)
    growing = [[f" {(at - times[0]) * growth} {at}\n" for at in times] for growth in range(1, 98)]
    steady = [[f" {(number + 1) / 1e3} {at}\n" for at in times] for number in range(97)]
    up = [f" 1 {at}\n" for at in times]
    for cluster, count in clusters:
        for node in range(NODES):
            own = f'cluster="{cluster}",organisation="o",zone="z{node}",node="n{node}"'
            yield samples(f"up{{{own}}}", up)
            for number, (keyspace, table) in enumerate(names(count)):
                of = f'{own},keyspace="{keyspace}",table="{table}"'
                yield from (samples(f"{series}{{{of}}}", growing[number % 97]) for series in served)
        for number, (keyspace, table) in enumerate(names(count)):
            of = f'cluster="{cluster}",organisation="o",keyspace="{keyspace}",table="{table}"'
            yield from (samples(f"{series}{{{of}}}", steady[number % 97]) for series in ready)


def samples(series: str, points: list[str]) -> str:
    """Lines of one series. Joined rather than formatted one by one: there are tens of millions."""
    return series + series.join(points)


def rolled_up(clusters: tuple[tuple[str, int], ...], first: int, end: int) -> Iterator[str]:
    """The series that sparklines are drawn from, every five minutes."""
    from backend.metrics.promql import recorded, series_in
    from backend.metrics.rules import percentile_kept
    from backend.metrics.table_charts import TABLE_COLUMNS

    kept = [
        percentile_kept(column.now, "p99") if column.now is not None else recorded(series)
        for column in TABLE_COLUMNS
        if column.spark
        for _, series in sorted(series_in(column.expression))
    ]
    moving = [
        [f" {(number + at // 300 * 31 % 89) / 1e3} {at}\n" for at in range(first, end, 300)] for number in range(97)
    ]
    for cluster, count in clusters:
        for number, (keyspace, table) in enumerate(names(count)):
            of = f'cluster="{cluster}",organisation="o",keyspace="{keyspace}",table="{table}"'
            yield from (samples(f"{series}{{{of}}}", moving[number % 97]) for series in kept)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=30)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
