"""The charts of a cluster's dashboards."""

from backend.metrics.charts import Chart, Dashboard, Query, Unit, highest, percentiles, rate, total

_CLIENT = "ringmaster_node_client_request_latency_seconds"

CLUSTER_CHARTS: tuple[Chart, ...] = (
    # Overview
    Chart(
        "requests",
        Dashboard.OVERVIEW,
        "Requests of clients",
        Unit.PER_SECOND,
        (rate(f"{_CLIENT}_count", "{kind}", keep="kind, "),),
        stacked=True,
    ),
    Chart(
        "read-latency",
        Dashboard.OVERVIEW,
        "Read latency",
        Unit.SECONDS,
        percentiles(_CLIENT, more=',kind="read"'),
    ),
    Chart(
        "write-latency",
        Dashboard.OVERVIEW,
        "Write latency",
        Unit.SECONDS,
        percentiles(_CLIENT, more=',kind="write"'),
    ),
    Chart("nodes-up", Dashboard.OVERVIEW, "Nodes up", Unit.COUNT, (total("ringmaster_node_engine_up"),)),
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
    Chart("load", Dashboard.OVERVIEW, "Data", Unit.BYTES, (total("ringmaster_node_load_bytes"),)),
    Chart(
        "compactions-pending",
        Dashboard.OVERVIEW,
        "Compactions that wait",
        Unit.COUNT,
        (total("ringmaster_node_compactions_pending"),),
    ),
    # CQL
    Chart(
        "cql-connections",
        Dashboard.CQL,
        "Connections of drivers",
        Unit.COUNT,
        (total("ringmaster_node_cql_connections"),),
    ),
    Chart(
        "cql-requests",
        Dashboard.CQL,
        "Messages of drivers",
        Unit.PER_SECOND,
        (
            rate("ringmaster_node_cql_requests_total", "answered"),
            rate("ringmaster_node_cql_requests_discarded_total", "discarded"),
        ),
    ),
    Chart(
        "cql-statements",
        Dashboard.CQL,
        "Statements",
        Unit.PER_SECOND,
        (rate("ringmaster_node_cql_statements_total", "{kind}", keep="kind, "),),
        stacked=True,
    ),
    Chart(
        "cql-prepared",
        Dashboard.CQL,
        "Prepared statements",
        Unit.COUNT,
        (total("ringmaster_node_cql_prepared_statements"),),
    ),
    Chart(
        "cql-prepared-evictions",
        Dashboard.CQL,
        "Prepared statements pushed out",
        Unit.PER_SECOND,
        (rate("ringmaster_node_cql_prepared_evictions_total"),),
    ),
    Chart(
        "range-latency",
        Dashboard.CQL,
        "Range read latency",
        Unit.SECONDS,
        percentiles(_CLIENT, more=',kind="range"'),
    ),
    Chart(
        "thread-pools",
        Dashboard.CQL,
        "Tasks that wait, by thread pool",
        Unit.COUNT,
        (total("ringmaster_node_thread_pool_pending", "{pool}", keep="pool, "),),
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
        percentiles(_CLIENT, more=',kind="cas_write"'),
    ),
    Chart(
        "lwt-contention",
        Dashboard.LWT_CDC,
        "Rounds lost to other transactions",
        Unit.PER_SECOND,
        (rate("ringmaster_node_cas_contention_sum", "{kind}", keep="kind, "),),
    ),
    Chart(
        "lwt-not-met",
        Dashboard.LWT_CDC,
        "Conditions not met",
        Unit.PER_SECOND,
        (rate("ringmaster_node_cas_conditions_not_met_total"),),
    ),
    Chart(
        "lwt-unfinished",
        Dashboard.LWT_CDC,
        "Commits finished for others",
        Unit.PER_SECOND,
        (rate("ringmaster_node_cas_unfinished_commits_total", "{kind}", keep="kind, "),),
    ),
    Chart(
        "cdc",
        Dashboard.LWT_CDC,
        "Change data that nobody fetched",
        Unit.BYTES,
        (total("ringmaster_node_cdc_bytes", "kept"), total("ringmaster_node_cdc_limit_bytes", "limit")),
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
        (rate("ringmaster_node_engine_cpu_seconds_total", "{mode}", keep="mode, "),),
        stacked=True,
    ),
    Chart(
        "disk-iops",
        Dashboard.CPU_IO,
        "Disk requests",
        Unit.PER_SECOND,
        (
            rate("ringmaster_node_disk_reads_total", "reads"),
            rate("ringmaster_node_disk_writes_total", "writes"),
            total("ringmaster_node_io_iops_limit", "limit {direction}", keep="direction, "),
        ),
    ),
    Chart(
        "disk-bytes",
        Dashboard.CPU_IO,
        "Disk bandwidth",
        Unit.BYTES_PER_SECOND,
        (
            rate("ringmaster_node_disk_read_bytes_total", "read"),
            rate("ringmaster_node_disk_written_bytes_total", "written"),
            total("ringmaster_node_io_bandwidth_limit_bytes", "limit {direction}", keep="direction, "),
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
        (rate("ringmaster_node_compacted_bytes_total"),),
    ),
    Chart(
        "streaming",
        Dashboard.CPU_IO,
        "Streaming between nodes",
        Unit.BYTES_PER_SECOND,
        (rate("ringmaster_node_streaming_bytes_total", "{direction}", keep="direction, "),),
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
        (rate("ringmaster_node_reactor_stalls_total"),),
    ),
    # Operating system
    Chart("load-average", Dashboard.OS, "Load average", Unit.COUNT, (highest("ringmaster_node_load1"),)),
    Chart(
        "memory",
        Dashboard.OS,
        "Memory",
        Unit.BYTES,
        (
            total("ringmaster_node_memory_total_bytes", "all"),
            total("ringmaster_node_memory_available_bytes", "available"),
            total("ringmaster_node_engine_resident_bytes", "database"),
            total("ringmaster_node_swap_used_bytes", "swap in use"),
        ),
    ),
    Chart(
        "heap",
        Dashboard.OS,
        "Heap",
        Unit.BYTES,
        (total("ringmaster_node_heap_used_bytes", "in use"), total("ringmaster_node_heap_max_bytes", "limit")),
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
        (rate("ringmaster_node_tcp_retransmits_total"),),
    ),
    Chart(
        "disk-free",
        Dashboard.OS,
        "Room on the data disk",
        Unit.BYTES,
        (
            total("ringmaster_node_filesystem_size_bytes", "size"),
            total("ringmaster_node_filesystem_free_bytes", "free"),
        ),
    ),
    Chart(
        "commit-log",
        Dashboard.OS,
        "Commit log",
        Unit.BYTES,
        (total("ringmaster_node_commit_log_bytes"),),
    ),
    Chart(
        "major-faults",
        Dashboard.OS,
        "Major page faults of the database",
        Unit.PER_SECOND,
        (rate("ringmaster_node_engine_major_faults_total"),),
    ),
    # Errors
    Chart(
        "timeouts",
        Dashboard.ERRORS,
        "Time-outs",
        Unit.PER_SECOND,
        (rate("ringmaster_node_client_request_timeouts_total", "{kind}", keep="kind, "),),
    ),
    Chart(
        "unavailables",
        Dashboard.ERRORS,
        "Too few replicas",
        Unit.PER_SECOND,
        (rate("ringmaster_node_client_request_unavailables_total", "{kind}", keep="kind, "),),
    ),
    Chart(
        "failures",
        Dashboard.ERRORS,
        "Requests that failed",
        Unit.PER_SECOND,
        (rate("ringmaster_node_client_request_failures_total", "{kind}", keep="kind, "),),
    ),
    Chart(
        "dropped-messages",
        Dashboard.ERRORS,
        "Dropped messages",
        Unit.PER_SECOND,
        (rate("ringmaster_node_dropped_messages_total", "{message}", keep="message, "),),
    ),
    Chart(
        "hints",
        Dashboard.ERRORS,
        "Hints",
        Unit.PER_SECOND,
        (
            rate("ringmaster_node_hints_stored_total", "stored"),
            rate("ringmaster_node_hints_sent_total", "sent"),
            rate("ringmaster_node_hints_failed_total", "failed"),
        ),
    ),
    Chart("hints-bytes", Dashboard.ERRORS, "Hints on disk", Unit.BYTES, (total("ringmaster_node_hints_bytes"),)),
    Chart(
        "exceptions",
        Dashboard.ERRORS,
        "Exceptions that nobody caught",
        Unit.PER_SECOND,
        (rate("ringmaster_node_exceptions_total"),),
    ),
    Chart(
        "auth-failures",
        Dashboard.ERRORS,
        "Refused sign-ins",
        Unit.PER_SECOND,
        (rate("ringmaster_node_cql_auth_failures_total"),),
    ),
    Chart(
        "network-errors",
        Dashboard.ERRORS,
        "Network packets lost",
        Unit.PER_SECOND,
        (
            rate("ringmaster_node_network_drops_total", "dropped {direction}", keep="direction, "),
            rate("ringmaster_node_network_errors_total", "errors {direction}", keep="direction, "),
        ),
    ),
)
