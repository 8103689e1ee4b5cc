"""The charts of a table's page, and the columns of the page of all tables."""

from backend.metrics.charts import Chart, Column, Dashboard, Query, Unit, highest, mean, percentiles, rate, total

_TABLE = "ringmaster_table_"

TABLE_CHARTS: tuple[Chart, ...] = (
    Chart(
        "table-operations",
        Dashboard.TABLE,
        "Reads and writes of replicas",
        Unit.PER_SECOND,
        (
            rate(f"{_TABLE}read_latency_seconds_count", "reads"),
            rate(f"{_TABLE}range_read_latency_seconds_count", "range reads"),
            rate(f"{_TABLE}write_latency_seconds_count", "writes"),
        ),
    ),
    Chart(
        "table-read-latency",
        Dashboard.TABLE,
        "Read latency of replicas",
        Unit.SECONDS,
        percentiles(f"{_TABLE}read_latency_seconds"),
    ),
    Chart(
        "table-write-latency",
        Dashboard.TABLE,
        "Write latency of replicas",
        Unit.SECONDS,
        percentiles(f"{_TABLE}write_latency_seconds"),
    ),
    Chart(
        "table-coordinator-latency",
        Dashboard.TABLE,
        "Latency as clients see it",
        Unit.SECONDS,
        (
            *percentiles(f"{_TABLE}coordinator_read_latency_seconds", legend="read"),
            *percentiles(f"{_TABLE}coordinator_write_latency_seconds", legend="write"),
        ),
    ),
    Chart(
        "table-size",
        Dashboard.TABLE,
        "On disk, all copies",
        Unit.BYTES,
        (total(f"{_TABLE}live_bytes", "live"), total(f"{_TABLE}total_bytes", "all")),
    ),
    Chart("table-sstables", Dashboard.TABLE, "SSTables", Unit.COUNT, (total(f"{_TABLE}sstables"),)),
    Chart(
        "table-sstables-per-read",
        Dashboard.TABLE,
        "SSTables per read",
        Unit.COUNT,
        percentiles(f"{_TABLE}sstables_per_read"),
    ),
    Chart(
        "table-tombstones-per-read",
        Dashboard.TABLE,
        "Tombstones per read",
        Unit.COUNT,
        percentiles(f"{_TABLE}tombstones_per_read"),
    ),
    Chart(
        "table-rows-per-read",
        Dashboard.TABLE,
        "Live rows per read",
        Unit.COUNT,
        percentiles(f"{_TABLE}live_rows_per_read"),
    ),
    Chart(
        "table-partitions",
        Dashboard.TABLE,
        "Size of partitions",
        Unit.BYTES,
        (
            Query(f"avg by ($by) ({{gauge:{_TABLE}partition_mean_bytes}})", "mean"),
            highest(f"{_TABLE}partition_max_bytes", "largest"),
        ),
    ),
    Chart(
        "table-compaction",
        Dashboard.TABLE,
        "Compactions that wait",
        Unit.COUNT,
        (total(f"{_TABLE}pending_compactions"),),
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
            total(f"{_TABLE}memtable_bytes", "memtables"),
            total(f"{_TABLE}compression_off_heap_bytes", "compression"),
            total(f"{_TABLE}bloom_filter_off_heap_bytes", "bloom filters"),
        ),
    ),
    Chart(
        "table-bloom",
        Dashboard.TABLE,
        "False positives of bloom filters",
        Unit.PER_SECOND,
        (rate(f"{_TABLE}bloom_false_positives_total"),),
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
            rate(f"{_TABLE}speculative_retries_total", "retries"),
            rate(f"{_TABLE}read_repairs_total", "read repairs"),
        ),
    ),
)

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
    Column("read_mean_seconds", "Read mean", Unit.SECONDS, mean(f"{_TABLE}read_latency_seconds")),
    Column("write_mean_seconds", "Write mean", Unit.SECONDS, mean(f"{_TABLE}write_latency_seconds")),
    Column(
        "live_bytes",
        "Live data",
        Unit.BYTES,
        f"sum by ($by) ({{gauge:{_TABLE}live_bytes}})",
        spark=True,
    ),
    Column("total_bytes", "On disk", Unit.BYTES, f"sum by ($by) ({{gauge:{_TABLE}total_bytes}})"),
    Column("sstables", "SSTables", Unit.COUNT, f"sum by ($by) ({{gauge:{_TABLE}sstables}})"),
    Column("sstables_per_read", "SSTables per read", Unit.COUNT, mean(f"{_TABLE}sstables_per_read")),
    Column("tombstones_per_read", "Tombstones per read", Unit.COUNT, mean(f"{_TABLE}tombstones_per_read")),
    Column("rows_per_read", "Rows per read", Unit.COUNT, mean(f"{_TABLE}live_rows_per_read")),
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
