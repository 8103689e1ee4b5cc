"""What is shown: every chart and every column of the page of tables, once. The API, the console, the recording rules
and Grafana's dashboards are made from it.

Expressions are templates (promql.py): `{rate:…}` and `{gauge:…}` read a series, `$by` are the labels that are kept. On
dashboards those are none, the zone or the node; on a table's page none; on the page of all tables keyspace and table.
Percentiles are computed from histograms that are merged first, never averaged.
"""

from dataclasses import dataclass
from enum import StrEnum


class Dashboard(StrEnum):
    OVERVIEW = "overview"
    CQL = "cql"
    LWT_CDC = "lwt-cdc"
    CPU_IO = "cpu-io"
    OS = "os"
    ERRORS = "errors"
    TABLE = "table"


DASHBOARD_TITLES = {
    Dashboard.OVERVIEW: "Overview",
    Dashboard.CQL: "CQL",
    Dashboard.LWT_CDC: "Lightweight transactions and CDC",
    Dashboard.CPU_IO: "CPU and I/O",
    Dashboard.OS: "Operating system",
    Dashboard.ERRORS: "Errors",
    Dashboard.TABLE: "Table",
}


class Unit(StrEnum):
    """Of the values; what is shown may be scaled."""

    PER_SECOND = "per second"
    SECONDS = "seconds"
    BYTES = "bytes"
    BYTES_PER_SECOND = "bytes per second"
    RATIO = "ratio"
    COUNT = "count"


@dataclass(frozen=True)
class Query:
    expression: str
    legend: str = ""
    """`{label}` stands for its value."""


@dataclass(frozen=True)
class Chart:
    id: str
    dashboard: Dashboard
    title: str
    unit: Unit
    queries: tuple[Query, ...]
    stacked: bool = False
    """The series are parts of a whole."""


@dataclass(frozen=True)
class Column:
    """A number of each table. `expression` keeps keyspace and table."""

    id: str
    title: str
    unit: Unit
    expression: str
    now: str | None = None
    """The histogram whose p99 this is: the rules have it ready."""
    spark: bool = False
    """It has a sparkline. Of a percentile it shows the highest of each stretch of time."""


_CLIENT = "ringmaster_node_client_request_latency_seconds"
_TABLE = "ringmaster_table_"


def _percentiles(histogram: str, *, more: str = "", legend: str = "") -> tuple[Query, ...]:
    kept = "kind, " if "{kind}" in legend else ""
    return tuple(
        Query(
            f"histogram_quantile({share}, sum by (le, {kept}$by) ({{rate:{histogram}_bucket{more}}}))",
            f"{legend} {name}".strip(),
        )
        for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999))
    )


def _rate(series: str, legend: str = "", *, keep: str = "") -> Query:
    return Query(f"sum by ({keep}$by) ({{rate:{series}}})", legend)


def _sum(series: str, legend: str = "", *, keep: str = "") -> Query:
    return Query(f"sum by ({keep}$by) ({{gauge:{series}}})", legend)


def _max(series: str, legend: str = "", *, keep: str = "") -> Query:
    return Query(f"max by ({keep}$by) ({{gauge:{series}}})", legend)


def _mean(histogram: str) -> str:
    return f"sum by ($by) ({{rate:{histogram}_sum}}) / sum by ($by) ({{rate:{histogram}_count}})"


CHARTS: tuple[Chart, ...] = (
    # Overview
    Chart(
        "requests",
        Dashboard.OVERVIEW,
        "Requests of clients",
        Unit.PER_SECOND,
        (_rate(f"{_CLIENT}_count", "{kind}", keep="kind, "),),
        stacked=True,
    ),
    Chart(
        "read-latency",
        Dashboard.OVERVIEW,
        "Read latency",
        Unit.SECONDS,
        _percentiles(_CLIENT, more=',kind="read"'),
    ),
    Chart(
        "write-latency",
        Dashboard.OVERVIEW,
        "Write latency",
        Unit.SECONDS,
        _percentiles(_CLIENT, more=',kind="write"'),
    ),
    Chart("nodes-up", Dashboard.OVERVIEW, "Nodes up", Unit.COUNT, (_sum("ringmaster_node_engine_up"),)),
    Chart(
        "cpu",
        Dashboard.OVERVIEW,
        "CPU in use",
        Unit.RATIO,
        (
            Query(
                '1 - sum by ($by) ({rate:ringmaster_node_cpu_seconds_total,mode="idle"})'
                " / sum by ($by) ({rate:ringmaster_node_cpu_seconds_total})"
            ),
        ),
    ),
    Chart(
        "disk-full",
        Dashboard.OVERVIEW,
        "Disk in use",
        Unit.RATIO,
        (
            Query(
                "1 - sum by ($by) ({gauge:ringmaster_node_filesystem_free_bytes})"
                " / sum by ($by) ({gauge:ringmaster_node_filesystem_size_bytes})"
            ),
        ),
    ),
    Chart("load", Dashboard.OVERVIEW, "Data", Unit.BYTES, (_sum("ringmaster_node_load_bytes"),)),
    Chart(
        "compactions-pending",
        Dashboard.OVERVIEW,
        "Compactions that wait",
        Unit.COUNT,
        (_sum("ringmaster_node_compactions_pending"),),
    ),
    # CQL
    Chart(
        "cql-connections",
        Dashboard.CQL,
        "Connections of drivers",
        Unit.COUNT,
        (_sum("ringmaster_node_cql_connections"),),
    ),
    Chart(
        "cql-requests",
        Dashboard.CQL,
        "Messages of drivers",
        Unit.PER_SECOND,
        (
            _rate("ringmaster_node_cql_requests_total", "answered"),
            _rate("ringmaster_node_cql_requests_discarded_total", "discarded"),
        ),
    ),
    Chart(
        "cql-statements",
        Dashboard.CQL,
        "Statements",
        Unit.PER_SECOND,
        (_rate("ringmaster_node_cql_statements_total", "{kind}", keep="kind, "),),
        stacked=True,
    ),
    Chart(
        "cql-prepared",
        Dashboard.CQL,
        "Prepared statements",
        Unit.COUNT,
        (_sum("ringmaster_node_cql_prepared_statements"),),
    ),
    Chart(
        "cql-prepared-evictions",
        Dashboard.CQL,
        "Prepared statements pushed out",
        Unit.PER_SECOND,
        (_rate("ringmaster_node_cql_prepared_evictions_total"),),
    ),
    Chart(
        "range-latency",
        Dashboard.CQL,
        "Range read latency",
        Unit.SECONDS,
        _percentiles(_CLIENT, more=',kind="range"'),
    ),
    Chart(
        "thread-pools",
        Dashboard.CQL,
        "Tasks that wait, by thread pool",
        Unit.COUNT,
        (_sum("ringmaster_node_thread_pool_pending", "{pool}", keep="pool, "),),
    ),
    Chart(
        "cache-hits",
        Dashboard.CQL,
        "Cache hits",
        Unit.RATIO,
        (
            Query(
                "sum by (cache, $by) ({rate:ringmaster_node_cache_hits_total})"
                " / sum by (cache, $by) ({rate:ringmaster_node_cache_requests_total})",
                "{cache}",
            ),
        ),
    ),
    # LWT and CDC
    Chart(
        "lwt-requests",
        Dashboard.LWT_CDC,
        "Lightweight transactions",
        Unit.PER_SECOND,
        (Query(f'sum by (kind, $by) ({{rate:{_CLIENT}_count,kind=~"cas_.*"}})', "{kind}"),),
    ),
    Chart(
        "lwt-latency",
        Dashboard.LWT_CDC,
        "Latency of lightweight writes",
        Unit.SECONDS,
        _percentiles(_CLIENT, more=',kind="cas_write"'),
    ),
    Chart(
        "lwt-contention",
        Dashboard.LWT_CDC,
        "Rounds lost to other transactions",
        Unit.PER_SECOND,
        (_rate("ringmaster_node_cas_contention_sum", "{kind}", keep="kind, "),),
    ),
    Chart(
        "lwt-not-met",
        Dashboard.LWT_CDC,
        "Conditions not met",
        Unit.PER_SECOND,
        (_rate("ringmaster_node_cas_conditions_not_met_total"),),
    ),
    Chart(
        "lwt-unfinished",
        Dashboard.LWT_CDC,
        "Commits finished for others",
        Unit.PER_SECOND,
        (_rate("ringmaster_node_cas_unfinished_commits_total", "{kind}", keep="kind, "),),
    ),
    Chart(
        "cdc",
        Dashboard.LWT_CDC,
        "Change data that nobody fetched",
        Unit.BYTES,
        (_sum("ringmaster_node_cdc_bytes", "kept"), _sum("ringmaster_node_cdc_limit_bytes", "limit")),
    ),
    # CPU and I/O
    Chart(
        "cpu-modes",
        Dashboard.CPU_IO,
        "CPU by mode",
        Unit.COUNT,
        (Query('sum by (mode, $by) ({rate:ringmaster_node_cpu_seconds_total,mode!="idle"})', "{mode}"),),
        stacked=True,
    ),
    Chart(
        "cpu-irq",
        Dashboard.CPU_IO,
        "Busiest CPU: for interrupts and for the rest",
        Unit.RATIO,
        (
            Query(
                "1 - min by (irq, $by) (sum by (cpu, irq, node, $by)"
                ' ({rate:ringmaster_node_cpu_seconds_total,mode="idle"}))',
                "irq {irq}",
            ),
        ),
    ),
    Chart(
        "engine-cpu",
        Dashboard.CPU_IO,
        "CPU of the database",
        Unit.COUNT,
        (_rate("ringmaster_node_engine_cpu_seconds_total", "{mode}", keep="mode, "),),
        stacked=True,
    ),
    Chart(
        "disk-iops",
        Dashboard.CPU_IO,
        "Disk requests",
        Unit.PER_SECOND,
        (
            _rate("ringmaster_node_disk_reads_total", "reads"),
            _rate("ringmaster_node_disk_writes_total", "writes"),
            _sum("ringmaster_node_io_iops_limit", "limit {direction}", keep="direction, "),
        ),
    ),
    Chart(
        "disk-bytes",
        Dashboard.CPU_IO,
        "Disk bandwidth",
        Unit.BYTES_PER_SECOND,
        (
            _rate("ringmaster_node_disk_read_bytes_total", "read"),
            _rate("ringmaster_node_disk_written_bytes_total", "written"),
            _sum("ringmaster_node_io_bandwidth_limit_bytes", "limit {direction}", keep="direction, "),
        ),
    ),
    Chart(
        "disk-busy",
        Dashboard.CPU_IO,
        "Disk busy",
        Unit.RATIO,
        (Query("max by (device, $by) ({rate:ringmaster_node_disk_busy_seconds_total})", "{device}"),),
    ),
    Chart(
        "compaction-bytes",
        Dashboard.CPU_IO,
        "Compaction",
        Unit.BYTES_PER_SECOND,
        (_rate("ringmaster_node_compacted_bytes_total"),),
    ),
    Chart(
        "streaming",
        Dashboard.CPU_IO,
        "Streaming between nodes",
        Unit.BYTES_PER_SECOND,
        (_rate("ringmaster_node_streaming_bytes_total", "{direction}", keep="direction, "),),
    ),
    Chart(
        "gc-pauses",
        Dashboard.CPU_IO,
        "Pauses of garbage collection",
        Unit.SECONDS,
        (
            Query(
                "histogram_quantile(0.99, sum by (le, $by) ({rate:ringmaster_node_gc_pause_seconds_bucket}))",
                "p99",
            ),
        ),
    ),
    Chart(
        "gc-share",
        Dashboard.CPU_IO,
        "Time in garbage collection",
        Unit.RATIO,
        (Query("max by (collector, $by) ({rate:ringmaster_node_gc_seconds_total})", "{collector}"),),
    ),
    Chart(
        "reactor",
        Dashboard.CPU_IO,
        "Reactors: in use",
        Unit.RATIO,
        (Query("max by ($by) ({gauge:ringmaster_node_reactor_utilization_ratio})", "busiest shard"),),
    ),
    Chart(
        "reactor-stalls",
        Dashboard.CPU_IO,
        "Reactors: stalls",
        Unit.PER_SECOND,
        (_rate("ringmaster_node_reactor_stalls_total"),),
    ),
    # Operating system
    Chart("load-average", Dashboard.OS, "Load average", Unit.COUNT, (_max("ringmaster_node_load1"),)),
    Chart(
        "memory",
        Dashboard.OS,
        "Memory",
        Unit.BYTES,
        (
            _sum("ringmaster_node_memory_total_bytes", "all"),
            _sum("ringmaster_node_memory_available_bytes", "available"),
            _sum("ringmaster_node_engine_resident_bytes", "database"),
            _sum("ringmaster_node_swap_used_bytes", "swap in use"),
        ),
    ),
    Chart(
        "heap",
        Dashboard.OS,
        "Heap",
        Unit.BYTES,
        (_sum("ringmaster_node_heap_used_bytes", "in use"), _sum("ringmaster_node_heap_max_bytes", "limit")),
    ),
    Chart(
        "network",
        Dashboard.OS,
        "Network",
        Unit.BYTES_PER_SECOND,
        (
            Query('sum by ($by) ({rate:ringmaster_node_network_receive_bytes_total,device!="lo"})', "received"),
            Query('sum by ($by) ({rate:ringmaster_node_network_transmit_bytes_total,device!="lo"})', "sent"),
        ),
    ),
    Chart(
        "retransmits",
        Dashboard.OS,
        "TCP segments sent again",
        Unit.PER_SECOND,
        (_rate("ringmaster_node_tcp_retransmits_total"),),
    ),
    Chart(
        "disk-free",
        Dashboard.OS,
        "Room on the data disk",
        Unit.BYTES,
        (
            _sum("ringmaster_node_filesystem_size_bytes", "size"),
            _sum("ringmaster_node_filesystem_free_bytes", "free"),
        ),
    ),
    Chart(
        "commit-log",
        Dashboard.OS,
        "Commit log",
        Unit.BYTES,
        (_sum("ringmaster_node_commit_log_bytes"),),
    ),
    Chart(
        "major-faults",
        Dashboard.OS,
        "Major page faults of the database",
        Unit.PER_SECOND,
        (_rate("ringmaster_node_engine_major_faults_total"),),
    ),
    # Errors
    Chart(
        "timeouts",
        Dashboard.ERRORS,
        "Time-outs",
        Unit.PER_SECOND,
        (_rate("ringmaster_node_client_request_timeouts_total", "{kind}", keep="kind, "),),
    ),
    Chart(
        "unavailables",
        Dashboard.ERRORS,
        "Too few replicas",
        Unit.PER_SECOND,
        (_rate("ringmaster_node_client_request_unavailables_total", "{kind}", keep="kind, "),),
    ),
    Chart(
        "failures",
        Dashboard.ERRORS,
        "Requests that failed",
        Unit.PER_SECOND,
        (_rate("ringmaster_node_client_request_failures_total", "{kind}", keep="kind, "),),
    ),
    Chart(
        "dropped-messages",
        Dashboard.ERRORS,
        "Dropped messages",
        Unit.PER_SECOND,
        (_rate("ringmaster_node_dropped_messages_total", "{message}", keep="message, "),),
    ),
    Chart(
        "hints",
        Dashboard.ERRORS,
        "Hints",
        Unit.PER_SECOND,
        (
            _rate("ringmaster_node_hints_stored_total", "stored"),
            _rate("ringmaster_node_hints_sent_total", "sent"),
            _rate("ringmaster_node_hints_failed_total", "failed"),
        ),
    ),
    Chart("hints-bytes", Dashboard.ERRORS, "Hints on disk", Unit.BYTES, (_sum("ringmaster_node_hints_bytes"),)),
    Chart(
        "exceptions",
        Dashboard.ERRORS,
        "Exceptions that nobody caught",
        Unit.PER_SECOND,
        (_rate("ringmaster_node_exceptions_total"),),
    ),
    Chart(
        "auth-failures",
        Dashboard.ERRORS,
        "Refused sign-ins",
        Unit.PER_SECOND,
        (_rate("ringmaster_node_cql_auth_failures_total"),),
    ),
    Chart(
        "network-errors",
        Dashboard.ERRORS,
        "Network packets lost",
        Unit.PER_SECOND,
        (
            _rate("ringmaster_node_network_drops_total", "dropped {direction}", keep="direction, "),
            _rate("ringmaster_node_network_errors_total", "errors {direction}", keep="direction, "),
        ),
    ),
    # A table
    Chart(
        "table-operations",
        Dashboard.TABLE,
        "Reads and writes of replicas",
        Unit.PER_SECOND,
        (
            _rate(f"{_TABLE}read_latency_seconds_count", "reads"),
            _rate(f"{_TABLE}range_read_latency_seconds_count", "range reads"),
            _rate(f"{_TABLE}write_latency_seconds_count", "writes"),
        ),
    ),
    Chart(
        "table-read-latency",
        Dashboard.TABLE,
        "Read latency of replicas",
        Unit.SECONDS,
        _percentiles(f"{_TABLE}read_latency_seconds"),
    ),
    Chart(
        "table-write-latency",
        Dashboard.TABLE,
        "Write latency of replicas",
        Unit.SECONDS,
        _percentiles(f"{_TABLE}write_latency_seconds"),
    ),
    Chart(
        "table-coordinator-latency",
        Dashboard.TABLE,
        "Latency as clients see it",
        Unit.SECONDS,
        (
            *_percentiles(f"{_TABLE}coordinator_read_latency_seconds", legend="read"),
            *_percentiles(f"{_TABLE}coordinator_write_latency_seconds", legend="write"),
        ),
    ),
    Chart(
        "table-size",
        Dashboard.TABLE,
        "On disk, all copies",
        Unit.BYTES,
        (_sum(f"{_TABLE}live_bytes", "live"), _sum(f"{_TABLE}total_bytes", "all")),
    ),
    Chart("table-sstables", Dashboard.TABLE, "SSTables", Unit.COUNT, (_sum(f"{_TABLE}sstables"),)),
    Chart(
        "table-sstables-per-read",
        Dashboard.TABLE,
        "SSTables per read",
        Unit.COUNT,
        _percentiles(f"{_TABLE}sstables_per_read"),
    ),
    Chart(
        "table-tombstones-per-read",
        Dashboard.TABLE,
        "Tombstones per read",
        Unit.COUNT,
        _percentiles(f"{_TABLE}tombstones_per_read"),
    ),
    Chart(
        "table-rows-per-read",
        Dashboard.TABLE,
        "Live rows per read",
        Unit.COUNT,
        _percentiles(f"{_TABLE}live_rows_per_read"),
    ),
    Chart(
        "table-partitions",
        Dashboard.TABLE,
        "Size of partitions",
        Unit.BYTES,
        (
            Query(f"avg by ($by) ({{gauge:{_TABLE}partition_mean_bytes}})", "mean"),
            _max(f"{_TABLE}partition_max_bytes", "largest"),
        ),
    ),
    Chart(
        "table-compaction",
        Dashboard.TABLE,
        "Compactions that wait",
        Unit.COUNT,
        (_sum(f"{_TABLE}pending_compactions"),),
    ),
    Chart(
        "table-compression",
        Dashboard.TABLE,
        "Compressed to",
        Unit.RATIO,
        (Query(f"avg by ($by) ({{gauge:{_TABLE}compression_ratio}})"),),
    ),
    Chart(
        "table-memory",
        Dashboard.TABLE,
        "Memory",
        Unit.BYTES,
        (
            _sum(f"{_TABLE}memtable_bytes", "memtables"),
            _sum(f"{_TABLE}compression_off_heap_bytes", "compression"),
            _sum(f"{_TABLE}bloom_filter_off_heap_bytes", "bloom filters"),
        ),
    ),
    Chart(
        "table-bloom",
        Dashboard.TABLE,
        "False positives of bloom filters",
        Unit.PER_SECOND,
        (_rate(f"{_TABLE}bloom_false_positives_total"),),
    ),
    Chart(
        "table-cache-hits",
        Dashboard.TABLE,
        "Cache hits",
        Unit.RATIO,
        (
            Query(
                f"sum by ($by) ({{rate:{_TABLE}key_cache_hits_total}})"
                f" / sum by ($by) ({{rate:{_TABLE}key_cache_requests_total}})",
                "key cache",
            ),
            Query(
                f"sum by ($by) ({{rate:{_TABLE}row_cache_hits_total}})"
                f" / (sum by ($by) ({{rate:{_TABLE}row_cache_hits_total}})"
                f" + sum by ($by) ({{rate:{_TABLE}row_cache_misses_total}}))",
                "row cache",
            ),
        ),
    ),
    Chart(
        "table-lwt",
        Dashboard.TABLE,
        "Lightweight transactions: p99 of each phase",
        Unit.SECONDS,
        tuple(
            Query(
                f"histogram_quantile(0.99, sum by (le, $by) ({{rate:{_TABLE}cas_{phase}_latency_seconds_bucket}}))",
                phase,
            )
            for phase in ("prepare", "propose", "commit")
        ),
    ),
    Chart(
        "table-retries",
        Dashboard.TABLE,
        "Speculative retries and read repairs",
        Unit.PER_SECOND,
        (
            _rate(f"{_TABLE}speculative_retries_total", "retries"),
            _rate(f"{_TABLE}read_repairs_total", "read repairs"),
        ),
    ),
)

CHARTS_BY_ID = {chart.id: chart for chart in CHARTS}

TABLE_COLUMNS: tuple[Column, ...] = (
    Column(
        "reads_per_second",
        "Reads",
        Unit.PER_SECOND,
        f"sum by ($by) ({{rate:{_TABLE}read_latency_seconds_count}})",
        spark=True,
    ),
    Column(
        "writes_per_second",
        "Writes",
        Unit.PER_SECOND,
        f"sum by ($by) ({{rate:{_TABLE}write_latency_seconds_count}})",
        spark=True,
    ),
    Column(
        "range_reads_per_second",
        "Range reads",
        Unit.PER_SECOND,
        f"sum by ($by) ({{rate:{_TABLE}range_read_latency_seconds_count}})",
    ),
    Column(
        "read_p99_seconds",
        "Read p99",
        Unit.SECONDS,
        f"histogram_quantile(0.99, sum by (le, $by) ({{rate:{_TABLE}read_latency_seconds_bucket}}))",
        now=f"{_TABLE}read_latency_seconds",
        spark=True,
    ),
    Column(
        "write_p99_seconds",
        "Write p99",
        Unit.SECONDS,
        f"histogram_quantile(0.99, sum by (le, $by) ({{rate:{_TABLE}write_latency_seconds_bucket}}))",
        now=f"{_TABLE}write_latency_seconds",
    ),
    Column("read_mean_seconds", "Read mean", Unit.SECONDS, _mean(f"{_TABLE}read_latency_seconds")),
    Column("write_mean_seconds", "Write mean", Unit.SECONDS, _mean(f"{_TABLE}write_latency_seconds")),
    Column(
        "live_bytes",
        "Live data",
        Unit.BYTES,
        f"sum by ($by) ({{gauge:{_TABLE}live_bytes}})",
        spark=True,
    ),
    Column("total_bytes", "On disk", Unit.BYTES, f"sum by ($by) ({{gauge:{_TABLE}total_bytes}})"),
    Column("sstables", "SSTables", Unit.COUNT, f"sum by ($by) ({{gauge:{_TABLE}sstables}})"),
    Column("sstables_per_read", "SSTables per read", Unit.COUNT, _mean(f"{_TABLE}sstables_per_read")),
    Column("tombstones_per_read", "Tombstones per read", Unit.COUNT, _mean(f"{_TABLE}tombstones_per_read")),
    Column("rows_per_read", "Rows per read", Unit.COUNT, _mean(f"{_TABLE}live_rows_per_read")),
    Column(
        "partition_mean_bytes",
        "Partition mean",
        Unit.BYTES,
        f"avg by ($by) ({{gauge:{_TABLE}partition_mean_bytes}})",
    ),
    Column(
        "partition_max_bytes",
        "Largest partition",
        Unit.BYTES,
        f"max by ($by) ({{gauge:{_TABLE}partition_max_bytes}})",
    ),
    Column(
        "pending_compactions",
        "Compactions that wait",
        Unit.COUNT,
        f"sum by ($by) ({{gauge:{_TABLE}pending_compactions}})",
    ),
    Column(
        "compression_ratio",
        "Compressed to",
        Unit.RATIO,
        f"avg by ($by) ({{gauge:{_TABLE}compression_ratio}})",
    ),
    Column(
        "key_cache_hit_ratio",
        "Key cache hits",
        Unit.RATIO,
        f"sum by ($by) ({{rate:{_TABLE}key_cache_hits_total}})"
        f" / sum by ($by) ({{rate:{_TABLE}key_cache_requests_total}})",
    ),
)
COLUMNS_BY_ID = {column.id: column for column in TABLE_COLUMNS}
