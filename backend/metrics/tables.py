"""How large one table is on each node, for the plans of what is done to its files."""

import time

from backend.changes.planning.facts import TableBytes
from backend.metrics.promql import Matcher, selector
from backend.metrics.store import Instant, MetricsUnavailable, Series, raw_store


def table_bytes(cluster_id: str, keyspace: str, table: str) -> TableBytes | None:
    """None: the store does not answer, or has no numbers of the table."""
    where = selector([Matcher("cluster", (cluster_id,)), Matcher("keyspace", (keyspace,)), Matcher("table", (table,))])
    now = time.time()
    names = ("ringmaster_table_live_bytes", "ringmaster_table_memtable_bytes")
    try:
        disk, memory = raw_store().ask([Instant(query=f"{name}{{{where}}}", at=now) for name in names])
    except MetricsUnavailable:
        return None
    return TableBytes(on_disk=_by_node(disk), in_memory=_by_node(memory)) if disk else None


def _by_node(found: list[Series]) -> dict[str, int]:
    return {series.labels["node"]: int(series.points[0][1]) for series in found if series.points}
