"""How long reports of costs take: an organisation with 1,000 clusters of 100 tables and twelve months behind it.

Rows are made in SQL, as closing hours would have left them. The API is a uvicorn process on a private Postgres; reports
of every grouping are asked for one after another and timed by the client. Beside it, the same figures are read by
statements written by hand, one for each grouping, without names, cursors or HTTP. Memory is that of the API's process
before and after an export of a month's lines. Prints one JSON object as its last line; fails when the 99th percentile
is above 300 ms or the reports take more than twice as long as the statements.

    python -m e2e.bench.cost_report [--clusters 1000] [--tables 100] [--rounds 15]
"""

import argparse
import http.client
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from e2e.bench.tenants import Tenant, private_database, set_up, tenant_of
from e2e.serving import Server, serving

MOST_MS = 300.0
MOST_RATIO = 2.0
_BEGIN, _EXPORT, _END = "2025-11-01", "2026-10-01", "2026-11-01"

_ROWS = (
    """
    INSERT INTO clusters_cluster (id, organisation_id, name, engine, engine_version, provider, ring_name, options,
                                  settings, termination_protection, healing_mode, healing_grace_seconds,
                                  healing_replacements_per_day, state, admin_username, ca_certificate, created_by,
                                  created_at)
    SELECT 'clu_' || lpad(number::text, 26, '0'), %(organisation)s, 'c' || number,
           CASE WHEN number %% 3 = 0 THEN 'scylla' ELSE 'cassandra' END, '5.0.5', 'aws', 'ring',
           jsonb_build_object('tags', jsonb_build_object('team', 'team-' || number %% 20)), '{}', false, 'act', 300, 3,
           'active', 'admin', '', 'bench', now()
      FROM generate_series(1, %(clusters)s) number
    """,
    """
    INSERT INTO costs_costline (id, organisation_id, cluster_id, day, item, provider, region, name, price, quantity,
                                micros, sequence)
    SELECT 'csl_' || lpad((day::date - '2020-01-01') || '0' || lpad(number::text, 6, '0') || kind, 26, '0'),
           %(organisation)s, 'clu_' || lpad(number::text, 26, '0'), day,
           (ARRAY['machine', 'object_storage', 'markup'])[kind], 'aws', 'us-east-1',
           (ARRAY['i3.2xlarge', 'standard', ''])[kind], 624000, 777600, 134784000 + number * kind, 0
      FROM generate_series(1, %(clusters)s) number, generate_series(1, 3) kind,
           generate_series(%(begin)s::date, %(end)s::date - 1, '1 day') day
    """,
    """
    INSERT INTO costs_costday (organisation_id, cluster_id, day, compute, storage, backups, traffic, overhead,
                               unmeasured)
    SELECT %(organisation)s, 'clu_' || lpad(number::text, 26, '0'), day, %(tables)s * (94000 + number),
           %(tables)s * 40000, %(tables)s * 1000, 0, %(tables)s * 16000, 0
      FROM generate_series(1, %(clusters)s) number,
           generate_series(%(begin)s::date, %(end)s::date - 1, '1 day') day
    """,
    """
    INSERT INTO costs_costmonth (organisation_id, month, cluster_id, compute, storage, backups, traffic, overhead,
                                 unmeasured)
    SELECT organisation_id, date_trunc('month', day)::date, cluster_id, sum(compute), sum(storage), sum(backups),
           sum(traffic), sum(overhead), 0
      FROM costs_costday GROUP BY 1, 2, 3
    """,
    """
    INSERT INTO costs_costtable (organisation_id, cluster_id, keyspace, name)
    SELECT %(organisation)s, 'clu_' || lpad(number::text, 26, '0'),
           CASE WHEN one = 1 THEN '' ELSE 'shop' || one %% 5 END, CASE WHEN one = 1 THEN '' ELSE 't' || one END
      FROM generate_series(1, %(clusters)s) number, generate_series(1, %(tables)s) one
    """,
    """
    INSERT INTO costs_tablemonth (table_id, organisation_id, month, compute, storage, backups, traffic, overhead,
                                  micros, reads, writes)
    SELECT t.id, t.organisation_id, month, days * (94000 + right(t.cluster_id, 9)::int), days * 40000, days * 1000, 0,
           days * 16000, days * (151000 + right(t.cluster_id, 9)::int), 1000000, 500000
      FROM costs_costtable t,
           (SELECT month, extract(day FROM month + interval '1 month' - interval '1 day')::bigint AS days
              FROM generate_series(%(begin)s::date, %(end)s::date - 1, '1 month') month) months
    """,
)
_PARTS = "sum(compute), sum(storage), sum(backups), sum(traffic), sum(overhead)"
_DAYS = f"FROM costs_costday WHERE organisation_id = %(organisation)s AND day >= '{_BEGIN}' AND day < '{_END}'"
_NAMED = (
    "sum(compute) compute, sum(storage) storage, sum(backups) backups, sum(traffic) traffic, sum(overhead) overhead"
)
_MONTHS = f"FROM costs_costmonth WHERE organisation_id = %(organisation)s AND month >= '{_BEGIN}' AND month < '{_END}'"
_BY_CLUSTER = f"(SELECT cluster_id, {_NAMED} {_MONTHS} GROUP BY 1) each JOIN clusters_cluster c ON c.id = cluster_id"
_TABLES = f"WHERE organisation_id = %(organisation)s AND month >= '{_BEGIN}' AND month < '{_END}'"
_CLUSTER = "clu_" + "7".rjust(26, "0")
BY_HAND = {
    "group=cluster": f"SELECT cluster_id, {_PARTS} {_MONTHS} GROUP BY 1",
    "group=day": f"SELECT day, {_PARTS} {_DAYS} GROUP BY 1",
    "group=month": f"SELECT month, {_PARTS} {_MONTHS} GROUP BY 1",
    "group=engine": f"SELECT engine, {_PARTS} FROM {_BY_CLUSTER} GROUP BY 1",
    "group=tag&tag_key=team": f"SELECT options -> 'tags' ->> 'team', {_PARTS} FROM {_BY_CLUSTER} GROUP BY 1",
    f"group=table&cluster_id={_CLUSTER}": f"SELECT table_id, {_PARTS} FROM costs_tablemonth {_TABLES} AND table_id IN"
    f" (SELECT id FROM costs_costtable WHERE cluster_id = '{_CLUSTER}' AND organisation_id = %(organisation)s)"
    " GROUP BY 1",
}
ALL_TABLES = "group=table"
"""Told beside: it sums 1.2 million rows."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", type=int, default=1000)
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    with private_database():
        return run(arguments)


def run(arguments: argparse.Namespace) -> int:
    set_up()
    tenant = tenant_of("large")
    size = fill(tenant, arguments.clusters, arguments.tables)
    print(f"{arguments.clusters} clusters of {arguments.tables} tables: {size / 2**20:.0f} MiB", flush=True)
    from django.db import connection

    def by_hand(group: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(BY_HAND[group], {"organisation": tenant.organisation_id})
            cursor.fetchall()

    with serving("backend.config.asgi:application") as server:
        client = _Client(server, tenant)
        ours: dict[str, list[float]] = {group: [] for group in BY_HAND}
        theirs: dict[str, list[float]] = {group: [] for group in BY_HAND}
        for number in range(arguments.rounds + 2):
            for group in BY_HAND:
                took = timed(partial(client.report, group)), timed(partial(by_hand, group))
                if number >= 2:  # warm: imports, pool, plans, pages
                    ours[group].append(took[0])
                    theirs[group].append(took[1])
        all_tables = statistics.median(timed(partial(client.report, ALL_TABLES)) for _ in range(5))
        before, lines = client.memory(), client.export()
        grown = client.memory() - before
    for group in BY_HAND:
        pair = statistics.median(ours[group]), statistics.median(theirs[group])
        print(f"{group[:30]:30} {pair[0]:7.1f} ms, by hand {pair[1]:7.1f} ms")
    everything = sorted(each for several in ours.values() for each in several)
    p99 = everything[min(len(everything) - 1, round(0.99 * len(everything)))]
    ratio = sum(map(statistics.median, ours.values())) / sum(map(statistics.median, theirs.values()))
    print(
        json.dumps(
            {
                "name": "cost_report",
                "ours": round(p99, 1),
                "other": round(max(statistics.median(each) for each in theirs.values()), 1),
                "unit": "ms, 99th percentile of reports; other: the slowest statement by hand, median",
                "ratio": round(ratio, 3),
                "runs": arguments.rounds,
                "notes": f"{len(everything)} reports; an export of {lines} lines grew the process by "
                f"{grown / 2**20:.1f} MiB; all tables of all clusters in one list {all_tables:.0f} ms; "
                f"{size / 2**20:.0f} MiB on disk",
            }
        )
    )
    return 0 if p99 <= MOST_MS and ratio <= MOST_RATIO else 1


def fill(tenant: Tenant, clusters: int, tables: int) -> int:
    """Bytes that the rows take with their indexes."""
    from django.db import connection

    values: dict[str, str | int] = {
        "organisation": tenant.organisation_id,
        "clusters": clusters,
        "tables": tables,
        "begin": _BEGIN,
        "end": _END,
    }
    with connection.cursor() as cursor:
        for statement in _ROWS:
            cursor.execute(statement, values)
        cursor.execute("VACUUM ANALYZE")
        cursor.execute(
            "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relname LIKE 'costs_%'"
        )
        return int(cursor.fetchone()[0])


def timed(run: Callable[[], object]) -> float:
    """Milliseconds."""
    begin = time.perf_counter()
    run()
    return (time.perf_counter() - begin) * 1000


class _Client:
    def __init__(self, server: Server, tenant: Tenant) -> None:
        self._server = server
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port)
        self._headers = {"Authorization": f"Bearer {tenant.token}"}

    def report(self, group: str) -> None:
        answer = self._get(f"/api/v1/costs?{group}&from={_BEGIN}&to={_END}")
        body = json.loads(answer.read())
        if answer.status != 200 or not body["items"] or not body["total"]["micros"]:
            raise RuntimeError(f"{group}: {answer.status} {body}")

    def export(self) -> int:
        """How many lines."""
        answer, lines = self._get(f"/api/v1/costs/export?format=focus&from={_EXPORT}&to={_END}"), -1
        while piece := answer.read(1 << 20):
            lines += piece.count(b"\n")
        return lines

    def memory(self) -> int:
        """Resident bytes of the API's process."""
        pages = int(Path(f"/proc/{self._server.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def _get(self, path: str) -> http.client.HTTPResponse:
        self._connection.request("GET", path, headers=self._headers)
        return self._connection.getresponse()


if __name__ == "__main__":
    sys.exit(main())
