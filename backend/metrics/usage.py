"""What tables did in an hour, for sharing out what it cost: the same few questions however many clusters and tables."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from backend.metrics.promql import ROLL_UP_SECONDS, Matcher, Resolution, recorded, selector
from backend.metrics.queries import SYSTEM_KEYSPACES, TableName, store_for
from backend.metrics.ranges import KEPT_RAW
from backend.metrics.store import Instant, Series

HOUR = timedelta(hours=1)
_TABLE = "ringmaster_table_"
_BY_TABLE = "cluster, keyspace, table"
# Ranges have a histogram of their own in Cassandra; of ScyllaDB they are among the reads.
_COUNTED = {
    "service_seconds": ("read_latency_seconds_sum", "range_read_latency_seconds_sum", "write_latency_seconds_sum"),
    "reads": ("read_latency_seconds_count", "range_read_latency_seconds_count"),
    "writes": ("write_latency_seconds_count",),
    "compacted_bytes": ("compacted_bytes_total",),
}
_HELD = {"live_bytes": ("live_bytes",), "total_bytes": ("total_bytes",)}


@dataclass
class TableHour:
    """Of all copies together."""

    service_seconds: float = 0.0
    reads: float = 0.0
    writes: float = 0.0
    compacted_bytes: float = 0.0
    live_bytes: float = 0.0
    """Mean of the hour; so is `total_bytes`."""
    total_bytes: float = 0.0


@dataclass
class ClusterHour:
    """`tables`: without the engine's own. 0 CPU-seconds or bytes of disk: not known."""

    tables: dict[TableName, TableHour] = field(default_factory=dict)
    cpu_seconds: float = 0.0
    disk_bytes: float = 0.0


def hours_of(cluster_ids: Sequence[str], hour: datetime) -> dict[str, ClusterHour]:
    """Of the hour that begins then. A cluster of which nothing is known is left out. Raises MetricsUnavailable."""
    end = hour + HOUR
    resolution = Resolution.RAW if hour > datetime.now(UTC) - KEPT_RAW else Resolution.ROLLED_UP
    where = selector([Matcher("cluster", tuple(cluster_ids))])
    columns = {**_COUNTED, **_HELD}
    asked = [(column, f"{_TABLE}{name}", _BY_TABLE) for column, names in columns.items() for name in names]
    asked.append(("cpu_seconds", "ringmaster_node_cpu_seconds_total", "cluster"))
    asked.append(("disk_bytes", "ringmaster_node_filesystem_size_bytes", "cluster"))
    gauges = {*_HELD, "disk_bytes"}
    questions = [
        Instant(query=_query(series, by, where, resolution, gauge=column in gauges), at=end.timestamp())
        for column, series, by in asked
    ]
    found: dict[str, ClusterHour] = {}
    for (column, _, by), answer in zip(asked, store_for(resolution).ask(questions), strict=True):
        for series in answer:
            _take(found, series, column, of_table=by == _BY_TABLE)
    return found


def _query(series: str, by: str, where: str, resolution: Resolution, *, gauge: bool) -> str:
    match resolution, gauge:
        case Resolution.RAW, False:
            value = f"increase({series}{{{where}}}[1h])"
        case Resolution.RAW, True:
            value = f"avg_over_time({series}{{{where}}}[1h])"
        case _, False:
            # Rates, one for every stretch of five minutes: those that are missing count nothing.
            value = f"sum_over_time({recorded(series)}{{{where}}}[1h]) * {ROLL_UP_SECONDS}"
        case _:
            value = f"avg_over_time({recorded(series)}{{{where}}}[1h])"
    return f"sum by ({by}) ({value})"


def _take(found: dict[str, ClusterHour], series: Series, column: str, *, of_table: bool) -> None:
    if not series.points:
        return
    cluster = found.setdefault(series.labels["cluster"], ClusterHour())
    value = max(0.0, series.points[0][1])
    if not of_table:
        setattr(cluster, column, getattr(cluster, column) + value)
        return
    name = (series.labels.get("keyspace", ""), series.labels.get("table", ""))
    if name[0] and name[0] not in SYSTEM_KEYSPACES:
        table = cluster.tables.setdefault(name, TableHour())
        setattr(table, column, getattr(table, column) + value)
