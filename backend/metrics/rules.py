"""Prometheus' recording rules, made from what the catalogue shows. Pure; infra/metrics/generate.py writes the file.

Every five minutes: a series per table (merged over its nodes), per node, per cluster and per organisation. Of
histograms the rate of every bucket is kept, so that percentiles of any set of nodes, tables or hours can be computed
from merged buckets. Every fifteen seconds: percentiles per table, which the page of all tables would else compute from
every bucket of every table.
"""

from typing import Any

from backend.metrics.catalogue import CHARTS
from backend.metrics.promql import ROLL_UP_SECONDS, recorded, series_in
from backend.metrics.table_charts import TABLE_COLUMNS
from backend.metrics.vocabulary import NODE_LABELS, TABLE_LABELS, Metric, metrics_by_series

# What a whole cluster and a whole organisation have a series of: traffic, errors and room.
TOTALS = (
    "ringmaster_node_client_request_latency_seconds_bucket",
    "ringmaster_node_client_request_latency_seconds_count",
    "ringmaster_node_client_request_latency_seconds_sum",
    "ringmaster_node_client_request_timeouts_total",
    "ringmaster_node_client_request_unavailables_total",
    "ringmaster_node_client_request_failures_total",
    "ringmaster_node_cql_connections",
    "ringmaster_node_load_bytes",
    "ringmaster_node_filesystem_size_bytes",
    "ringmaster_node_filesystem_free_bytes",
)
PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
# Latencies whose percentiles are there for every table at any time.
SHOWN_PERCENTILES = ("ringmaster_table_read_latency_seconds", "ringmaster_table_write_latency_seconds")


def percentile_now(metric: str, name: str) -> str:
    """The series of a percentile over the last minute, fresh every 15 s."""
    return f"now:{metric}:{name}"


def percentile_kept(metric: str, name: str) -> str:
    """The series of a percentile over five minutes, kept for thirty days."""
    return f"table:{metric}:{name}"


def rule_groups() -> dict[str, Any]:
    """The document of a rule file."""
    wanted = sorted({pair for template in _templates() for pair in series_in(template)} | _totals())
    roll_up = [_rolled_up(series) for _, series in wanted]
    kept = [
        {
            "record": percentile_kept(metric, name),
            "expr": _percentile(f"{recorded(f'{metric}_bucket')}", TABLE_LABELS, share),
        }
        for metric in SHOWN_PERCENTILES
        for name, share in PERCENTILES.items()
    ]
    now = [
        {
            "record": percentile_now(metric, name),
            "expr": _percentile(f"rate({metric}_bucket[1m])", TABLE_LABELS, share),
        }
        for metric in SHOWN_PERCENTILES
        for name, share in PERCENTILES.items()
    ]
    totals = [_total(series, level) for level in ("cluster", "organisation") for series in TOTALS]
    return {
        "groups": [
            {"name": "ringmaster-roll-up", "interval": f"{ROLL_UP_SECONDS}s", "rules": roll_up + kept + totals},
            {"name": "ringmaster-now", "interval": "15s", "rules": now},
        ]
    }


def _templates() -> list[str]:
    columns = [column.expression for column in TABLE_COLUMNS]
    return columns + [query.expression for chart in CHARTS for query in chart.queries]


def _totals() -> set[tuple[str, str]]:
    metrics = metrics_by_series()
    return {("gauge" if metrics[series].type == "gauge" else "rate", series) for series in TOTALS}


def _percentile(buckets: str, labels: tuple[str, ...], share: float) -> str:
    return f"histogram_quantile({share}, sum by ({', '.join(labels)}, keyspace, table, le) ({buckets}))"


def _rolled_up(series: str) -> dict[str, str]:
    metric = metrics_by_series()[series]
    kept = _labels(metric, series)
    value = series if metric.type == "gauge" else f"rate({series}[5m])"
    merge = metric.merge if metric.type == "gauge" else "sum"
    return {"record": recorded(series), "expr": f"{merge} by ({', '.join(kept)}) ({value})"}


def _labels(metric: Metric, series: str) -> list[str]:
    own = TABLE_LABELS if metric.scope == "table" else NODE_LABELS
    bound = ["le"] if series.endswith("_bucket") and metric.type == "histogram" else []
    return [*own, *metric.labels, *bound]


def _total(series: str, level: str) -> dict[str, str]:
    metric = metrics_by_series()[series]
    own = ("organisation", "cluster") if level == "cluster" else ("organisation",)
    kept = [*own, *(label for label in _labels(metric, series) if label not in NODE_LABELS)]
    # Of what was just made, not of the nodes' own series once more.
    source = recorded(series) if level == "cluster" else _total_name(series, "cluster")
    return {"record": _total_name(series, level), "expr": f"sum by ({', '.join(kept)}) ({source})"}


def _total_name(series: str, level: str) -> str:
    return level + ":" + recorded(series).partition(":")[2]
