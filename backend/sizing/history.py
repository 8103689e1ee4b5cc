"""What an organisation's own clusters were measured to do, from what was rolled up of the last seven days.

Work is counted where it is done: reads and writes of tables on replicas, by the CPU time that the machines were busy.
Machines of the provider `local` share one machine, so its CPUs say nothing of a single cluster.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from backend.accounts.queries import Identity
from backend.clusters.models import Cluster, Node
from backend.clusters.queries import clusters
from backend.metrics.promql import ROLL_UP_SECONDS, Matcher, Resolution, recorded, selector
from backend.metrics.queries import SYSTEM_KEYSPACES, store_for
from backend.metrics.store import Instant, MetricsUnavailable
from backend.sizing import known
from backend.sizing.figures import Measured

WINDOW = timedelta(days=7)
LEAST_KNOWN = timedelta(days=6)
"""Of the window, for a cluster to be planned by."""
LEAST_BUSY = 0.1
"""Share of its CPUs in the mean: below that, what an engine does by itself counts for too much."""
MOST_CLUSTERS = 50

_CPU = "ringmaster_node_cpu_seconds_total"
_CLIENT = "ringmaster_node_client_request_latency_seconds_bucket"
_WORK = (
    "ringmaster_table_read_latency_seconds_count",
    "ringmaster_table_range_read_latency_seconds_count",
    "ringmaster_table_write_latency_seconds_count",
)
_SECONDS = int(WINDOW.total_seconds())


def measured(who: Identity, now: datetime | None = None) -> list[Measured]:
    """Of the clusters that were busy for long enough; newest first. Empty where there are no metrics to be had."""
    rows = list(clusters(who).filter(deleted_at=None).exclude(provider="local").order_by("-id")[:MOST_CLUSTERS])
    machines = _machines(rows)
    if not machines:
        return []
    try:
        seen = _seen(list(machines), now or datetime.now(UTC))
    except MetricsUnavailable:
        return []
    found = [_measured(row, *machines[row.id], seen) for row in rows if row.id in machines]
    return [each for each in found if each is not None]


def _machines(rows: Sequence[Cluster]) -> dict[str, tuple[str, int, int]]:
    """By cluster: machine type, its vCPUs, how many there are. Not of clusters whose machines differ or are unknown."""
    types: dict[str, list[str]] = defaultdict(list)
    living = Node.objects.filter(cluster__in=rows, deleted_at=None)
    for cluster_id, machine_type in living.values_list("cluster_id", "machine_type"):
        types[cluster_id].append(machine_type)
    vcpus = {
        (provider, machine.name): machine.vcpus
        for provider in {row.provider for row in rows}
        for machine in known.machines(provider)
    }
    return {
        row.id: (names[0], vcpus[row.provider, names[0]], len(names))
        for row in rows
        if len(set(names := types[row.id])) == 1 and (row.provider, names[0]) in vcpus
    }


def _seen(cluster_ids: Sequence[str], now: datetime) -> Mapping[tuple[str, str], float]:
    """By cluster: `work` (operations on replicas), `busy` and `cpu` (seconds), `known` (seconds), `p99` (seconds)."""
    where = selector([Matcher("cluster", tuple(cluster_ids))])

    def over(series: str, by: str, more: str = "") -> str:
        return f"sum by ({by}) (sum_over_time({recorded(series)}{{{where}{more}}}[{_SECONDS}s])) * {ROLL_UP_SECONDS}"

    def slow(kind: str) -> str:
        buckets = f'sum_over_time({recorded(_CLIENT)}{{{where},kind="{kind}"}}[{_SECONDS}s])'
        return f"histogram_quantile(0.99, sum by (le, cluster) ({buckets}))"

    counted = f'count_over_time({recorded(_CPU)}{{{where},mode="idle"}}[{_SECONDS}s])'
    asked = [
        *(("work", over(series, "cluster, keyspace")) for series in _WORK),
        ("cpu", over(_CPU, "cluster")),
        ("busy", over(_CPU, "cluster", ',mode!~"idle|iowait"')),
        ("known", f"max by (cluster) ({counted}) * {ROLL_UP_SECONDS}"),
        ("p99", slow("read")),
        ("p99", slow("write")),
    ]
    answers = store_for(Resolution.ROLLED_UP).ask([Instant(query=query, at=now.timestamp()) for _, query in asked])
    found: dict[tuple[str, str], float] = {}
    for (name, _), answer in zip(asked, answers, strict=True):
        for series in answer:
            if not series.points or series.labels.get("keyspace") in SYSTEM_KEYSPACES:
                continue
            key, value = (series.labels["cluster"], name), series.points[0][1]
            found[key] = max(found.get(key, 0.0), value) if name == "p99" else found.get(key, 0.0) + value
    return found


def _measured(
    cluster: Cluster, machine_type: str, vcpus: int, nodes: int, seen: Mapping[tuple[str, str], float]
) -> Measured | None:
    work, busy, cpu, known_seconds, p99 = (
        seen.get((cluster.id, name), 0.0) for name in ("work", "busy", "cpu", "known", "p99")
    )
    if known_seconds < LEAST_KNOWN.total_seconds() or cpu <= 0 or busy < cpu * LEAST_BUSY or p99 <= 0 or work <= 0:
        return None
    return Measured(
        cluster_id=cluster.id,
        cluster_name=cluster.name,
        engine=cluster.engine,
        machine_type=machine_type,
        vcpus=vcpus,
        nodes=nodes,
        operations_per_second=round(work / known_seconds),
        busy_permille=round(busy * 1000 / cpu),
        operations_per_busy_second=max(1, int(work / busy)),
        p99_ms=math.ceil(p99 * 1000),
    )
