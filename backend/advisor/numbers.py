"""What the rules are told of tables and nodes, asked of the store of metrics: a fixed number of questions per cluster.

Rates and percentiles are of the window: the last half hour of a young cluster, as its nodes served it, else the last
day as it was rolled up. What is not rolled up, and what is a level rather than a rate, is read as it is now.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from backend.advisor.rules.facts import Numbers
from backend.advisor.states import SIZE_WINDOW
from backend.metrics.promql import ROLL_UP_SECONDS, Matcher, Resolution, expanded, recorded, selector
from backend.metrics.queries import store_for
from backend.metrics.store import Instant

NOW = "3600s"
"""Over which rates of series that are not rolled up are taken."""
_TABLE = "ringmaster_table_"
_BY_TABLE = ("keyspace", "table")


@dataclass(frozen=True)
class Asked:
    """`now`: read as nodes serve it; it is not rolled up, or its level is what counts."""

    expression: str
    now: bool = False


def _rate(series: str, *, now: bool = False) -> Asked:
    return Asked(f"sum by ($by) ({{rate:{series}}})", now)


def _level(series: str, how: str = "sum") -> Asked:
    return Asked(f"{how} by ($by) ({{gauge:{series}}})", now=True)


TABLE_NUMBERS: Mapping[str, Asked] = {
    "reads": _rate(f"{_TABLE}read_latency_seconds_count"),
    "range_reads": _rate(f"{_TABLE}range_read_latency_seconds_count"),
    "writes": _rate(f"{_TABLE}write_latency_seconds_count"),
    "sstables_per_read": Asked(
        f"sum by ($by) ({{rate:{_TABLE}sstables_per_read_sum}})"
        f" / sum by ($by) ({{rate:{_TABLE}sstables_per_read_count}})"
    ),
    "tombstones_per_read_p99": Asked(
        f"histogram_quantile(0.99, sum by (le, $by) ({{rate:{_TABLE}tombstones_per_read_bucket}}))"
    ),
    "live_bytes": _level(f"{_TABLE}live_bytes"),
    "node_bytes": _level(f"{_TABLE}live_bytes", "max"),
    "uncompressed_bytes": _level(f"{_TABLE}uncompressed_bytes"),
    "compression_ratio": _level(f"{_TABLE}compression_ratio", "avg"),
    "compression_off_heap_bytes": _level(f"{_TABLE}compression_off_heap_bytes"),
    "partition_mean_bytes": _level(f"{_TABLE}partition_mean_bytes", "avg"),
    "partition_max_bytes": _level(f"{_TABLE}partition_max_bytes", "max"),
    "partitions": _level(f"{_TABLE}partitions_estimated"),
    "pending_compactions": _level(f"{_TABLE}pending_compactions"),
    "flushed_bytes": _rate(f"{_TABLE}flushed_bytes_total", now=True),
    "compacted_bytes": _rate(f"{_TABLE}compacted_bytes_total", now=True),
    "read_repairs": _rate(f"{_TABLE}read_repairs_total"),
    "row_cache_hits": _rate(f"{_TABLE}row_cache_hits_total"),
    "row_cache_misses": _rate(f"{_TABLE}row_cache_misses_total"),
}

_KEY = ',cache="key"'
NODE_NUMBERS: Mapping[str, Asked] = {
    "load_bytes": _level("ringmaster_node_load_bytes"),
    "requests": _rate("ringmaster_node_client_request_latency_seconds_count"),
    "disk_total": _level("ringmaster_node_filesystem_size_bytes"),
    "disk_free": _level("ringmaster_node_filesystem_free_bytes"),
    "heap_used": Asked("sum by ($by) ({gauge:ringmaster_node_heap_used_bytes})"),
    "heap_max": _level("ringmaster_node_heap_max_bytes"),
    "gc": Asked("max by ($by) ({rate:ringmaster_node_gc_seconds_total})"),
    "key_cache_hits": Asked(
        f"sum by ($by) ({{rate:ringmaster_node_cache_hits_total{_KEY}}})"
        f" / sum by ($by) ({{rate:ringmaster_node_cache_requests_total{_KEY}}})"
    ),
    "key_cache_requests": Asked(f"sum by ($by) ({{rate:ringmaster_node_cache_requests_total{_KEY}}})"),
    "key_cache_fill": Asked(
        f"sum by ($by) ({{gauge:ringmaster_node_cache_bytes{_KEY}}})"
        f" / sum by ($by) ({{gauge:ringmaster_node_cache_capacity_bytes{_KEY}}})",
        now=True,
    ),
    "hints_sent": _rate("ringmaster_node_hints_sent_total", now=True),
    "busiest_shard": _level("ringmaster_node_reactor_utilization_ratio", "max"),
    "mean_shard": _level("ringmaster_node_reactor_utilization_ratio", "avg"),
}


_CLIENT = "ringmaster_node_client_request_latency_seconds"
_CPU = "ringmaster_node_cpu_seconds_total"
_IN, _OUT = "ringmaster_node_network_receive_bytes_total", "ringmaster_node_network_transmit_bytes_total"
_WEEK = f"{SIZE_WINDOW.total_seconds():.0f}s"


def _week_numbers(where: str) -> dict[str, str]:
    """Of nodes over seven days, from what was rolled up: how busy they are at the p95 of five minutes, how slow."""

    def level(what: str) -> str:
        return f"quantile_over_time(0.95, ({what})[{_WEEK}:{ROLL_UP_SECONDS}s])"

    def total(series: str, more: str) -> str:
        return level(f"sum by (node) ({recorded(series)}{{{where},{more}}})")

    def slow(kind: str) -> str:
        buckets = f'avg_over_time({recorded(f"{_CLIENT}_bucket")}{{{where},kind="{kind}"}}[{_WEEK}])'
        return f"histogram_quantile(0.99, sum by (le, node) ({buckets}))"

    cpu = recorded(_CPU)
    return {
        "cpu": level(f'1 - sum by (node) ({cpu}{{{where},mode="idle"}}) / sum by (node) ({cpu}{{{where}}})'),
        "known_seconds": f'max by (node) (count_over_time({cpu}{{{where},mode="idle"}}[{_WEEK}])) * {ROLL_UP_SECONDS}',
        "client_reads": total(f"{_CLIENT}_count", 'kind=~"read|range|cas_read"'),
        "client_writes": total(f"{_CLIENT}_count", 'kind=~"write|cas_write"'),
        "received": total(_IN, 'device!="lo"'),
        "sent": total(_OUT, 'device!="lo"'),
        "read_p99": slow("read"),
        "write_p99": slow("write"),
    }


def read(
    cluster_id: str, *, window: timedelta, resolution: Resolution, at: datetime
) -> tuple[dict[tuple[str, str], Numbers], dict[str, dict[str, float]]]:
    """Of tables by keyspace and name, and of nodes by id. Raises MetricsUnavailable."""
    where = selector([Matcher("cluster", (cluster_id,))])

    def question(asked: Asked, by: tuple[str, ...]) -> tuple[Resolution, Instant]:
        how = Resolution.RAW if asked.now else resolution
        over = NOW if asked.now else f"{window.total_seconds():.0f}s"
        query = expanded(asked.expression, by=by, where=where, window=over, resolution=how)
        return how, Instant(query=query, at=at.timestamp())

    asked: list[tuple[tuple[str, ...], str, Resolution, Instant]] = [
        (_BY_TABLE, name, *question(one, _BY_TABLE)) for name, one in TABLE_NUMBERS.items()
    ]
    asked += [(("node",), name, *question(one, ("node",))) for name, one in NODE_NUMBERS.items()]
    if resolution is Resolution.ROLLED_UP:
        asked += [
            (("node",), name, resolution, Instant(query=query, at=at.timestamp()))
            for name, query in _week_numbers(where).items()
        ]
    tables: dict[tuple[str, str], dict[str, float]] = {}
    nodes: dict[str, dict[str, float]] = {}
    for how in Resolution:
        mine = [one for one in asked if one[2] is how]
        if not mine:
            continue
        for (by, name, _, _), found in zip(mine, store_for(how).ask([one[3] for one in mine]), strict=True):
            for series in found:
                if not series.points:
                    continue
                value = series.points[0][1]
                if by == _BY_TABLE:
                    key = (series.labels.get("keyspace", ""), series.labels.get("table", ""))
                    tables.setdefault(key, {})[name] = value
                else:
                    nodes.setdefault(series.labels.get("node", ""), {})[name] = value
    return {key: Numbers(**found) for key, found in tables.items()}, nodes
