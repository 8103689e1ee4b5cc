"""Samples for tests: what nodes served in the last half hour of a table of small random reads."""

import time

READS = 50
ROWS = 1000.0


def openmetrics(cluster: str, organisation: str, *, node: str) -> str:
    """For `infra.metrics.serving.load`: shop.orders, and a table of the same name that belongs to nobody we know."""
    end = int(time.time()) // 15 * 15
    times = range(end - 1800, end + 1, 15)
    lines: list[str] = []
    for whose, keyspace in ((cluster, "shop"), ("clu_01foreign0000000000000000a", "shop")):
        of = f'organisation="{organisation}",cluster="{whose}",node="{node}",keyspace="{keyspace}",table="orders"'
        reads = "ringmaster_table_read_latency_seconds_count"
        factor = 1 if whose == cluster else 1000
        lines += [f"{reads}{{{of}}} {(at - times[0]) * READS * factor} {at}" for at in times]
        for name, value in (
            ("partition_mean_bytes", ROWS),
            ("partition_max_bytes", 2 * ROWS),
            ("live_bytes", 5e6),
            ("compression_off_heap_bytes", 1024 * 1024),
        ):
            lines += [f"ringmaster_table_{name}{{{of}}} {value} {at}" for at in times]
    return "\n".join([*lines, ""])
