"""Samples for tests: what nodes served in the last half hour, and what was rolled up in an hour four days ago.

They go on for two hours from now: tests of a long run ask late.
"""

import time
from collections.abc import Iterable

CLUSTER = "clu_01metrics00000000000000000a"
FOREIGN = "clu_01metrics00000000000000000b"
NODES = tuple(f"nod_01metrics0000000000000000{letter}" for letter in ("aa", "ab", "ac"))
ZONES = ("local-1a", "local-1b", "local-1c")
# Reads a second of one node, by table. `quiet` has none, so no histogram either.
READS = {("shop", "orders"): 100, ("shop", "people"): 10, ("shop", "quiet"): 0, ("system_auth", "roles"): 1}
BOUNDS = (0.001, 0.01, 0.1)
_RAW_SECONDS = 1800
_AHEAD_SECONDS = 7200
KEPT_AGO = 4 * 86_400
FIRST_READS = 50


def openmetrics(clusters: Iterable[tuple[str, str]]) -> tuple[str, str]:
    """Both, for `infra.metrics.serving.load`. `clusters`: id, and id of the organisation."""
    end = int(time.time()) // 15 * 15
    raw: list[str] = []
    kept: list[str] = []
    for cluster, organisation in clusters:
        raw += _raw(cluster, organisation, end)
        kept += _kept(cluster, organisation, end - KEPT_AGO)
    return "\n".join([*kept, ""]), "\n".join([*raw, ""])


def _raw(cluster: str, organisation: str, end: int) -> list[str]:
    lines = []
    times = range(end - _RAW_SECONDS, end + _AHEAD_SECONDS + 1, 15)
    for number, (node, zone) in enumerate(zip(NODES, ZONES, strict=True)):
        own = (
            f'organisation="{organisation}",cluster="{cluster}",datacenter="local-local-1",zone="{zone}",node="{node}"'
        )
        lines += [f"up{{{own}}} 1 {at}" for at in times]
        lines += [f"ringmaster_node_engine_up{{{own}}} 1 {at}" for at in times]
        requests = "ringmaster_node_client_request_latency_seconds_count"
        lines += [f'{requests}{{{own},kind="read"}} {(at - times[0]) * 20} {at}' for at in times]
        for (keyspace, table), rate in READS.items():
            of = f'{own},keyspace="{keyspace}",table="{table}"'
            lines += [f"ringmaster_table_live_bytes{{{of}}} {1000 * (rate + 1)} {at}" for at in times]
            if rate == 0:
                continue
            name = "ringmaster_table_read_latency_seconds"
            lines += [f"{name}_count{{{of}}} {(at - times[0]) * rate} {at}" for at in times]
            for index, bound in enumerate((*BOUNDS, "+Inf")):
                # The first node answers at once, the others take up to ten and up to a hundred milliseconds.
                share = rate if index >= number else 0
                lines += [f'{name}_bucket{{{of},le="{bound}"}} {(at - times[0]) * share} {at}' for at in times]
    for (keyspace, table), rate in READS.items():
        of = f'organisation="{organisation}",cluster="{cluster}",keyspace="{keyspace}",table="{table}"'
        if rate:
            lines += [f"now:ringmaster_table_read_latency_seconds:p99{{{of}}} {rate / 1000} {at}" for at in times]
    return lines


def _kept(cluster: str, organisation: str, end: int) -> list[str]:
    lines = []
    times = range(end // 300 * 300 - 3600, end, 300)
    for (keyspace, table), rate in READS.items():
        of = f'organisation="{organisation}",cluster="{cluster}",keyspace="{keyspace}",table="{table}"'
        name = "table:ringmaster_table_read_latency_seconds"
        lines += [f"{name}_count:rate5m{{{of}}} {FIRST_READS + rate} {at}" for at in times]
    return lines
