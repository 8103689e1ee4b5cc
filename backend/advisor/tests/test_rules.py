"""Every rule on both sides of every threshold."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backend.advisor import rules
from backend.advisor.rules import compaction, compression, load, reads, schema
from backend.advisor.rules.facts import (
    DAY,
    GIB,
    KIB,
    MIB,
    Advice,
    AdviceSeverity,
    ClusterFacts,
    Column,
    HotPartition,
    Index,
    Keyspace,
    Node,
    Numbers,
    Size,
    Table,
)
from backend.metrics.catalogue import CHARTS_BY_ID

HOUR = 3600.0
CLUSTER = ClusterFacts(window_seconds=DAY, nodes=(Node(id="n1", name="one"),), zones={"dc1": 3})
# A call a second is more than enough in a day.
USED = 10.0


def table(numbers: dict[str, Any] | None = None, **more: Any) -> Table:
    options = {
        "compression": {"class": "org.apache.cassandra.io.compress.LZ4Compressor", "chunk_length_in_kb": "64"},
        "compaction": {"class": "org.apache.cassandra.db.compaction.SizeTieredCompactionStrategy"},
        "caching": {"keys": "ALL", "rows_per_partition": "NONE"},
        "gc_grace_seconds": 864000,
        "default_time_to_live": 0,
    } | more.pop("options", {})
    return Table(keyspace="shop", name="orders", options=options, numbers=Numbers(**(numbers or {})), **more)


def said(found: Advice | None, rule: str) -> Advice:
    assert found is not None
    assert found.rule == rule
    return found


# Compression

SMALL_READS = {"reads": USED, "range_reads": 0.0, "partition_mean_bytes": 1000.0, "compression_off_heap_bytes": 1 * MIB}


def chunked(kib: int, **numbers: Any) -> Table:
    return table(SMALL_READS | numbers, options={"compression": {"class": "LZ4Compressor", "chunk_length_in_kb": kib}})


def test_it_says_chunks_are_long_and_what_that_would_cost() -> None:
    found = said(compression.chunk_length(chunked(64), CLUSTER), "chunk-length")
    assert found.severity is AdviceSeverity.WARNING
    assert "grow 16 times, from 1 MiB to 16 MiB" in found.cost
    assert "'chunk_length_in_kb': '4'" in found.statement
    assert found.change is not None
    assert found.change.rewrite
    assert found.change.before == {"compression": {"class": "LZ4Compressor", "chunk_length_in_kb": 64}}
    assert found.change.after == {"compression": {"class": "LZ4Compressor", "chunk_length_in_kb": "4"}}


def test_it_works_out_what_is_off_the_heap_when_the_node_does_not_tell() -> None:
    one = chunked(64, compression_off_heap_bytes=None, uncompressed_bytes=64.0 * KIB * 1024)
    assert "from 8 KiB to 128 KiB" in said(compression.chunk_length(one, CLUSTER), "chunk-length").cost


@pytest.mark.parametrize(("kib", "says"), [(4, False), (8, True)])
def test_the_smallest_chunk_is_left_alone(kib: int, says: bool) -> None:
    assert (compression.chunk_length(chunked(kib), CLUSTER) is not None) is says


@pytest.mark.parametrize(("size", "says"), [(16 * KIB, True), (16 * KIB + 1, False)])
def test_chunks_fit_partitions_above_a_quarter(size: float, says: bool) -> None:
    found = compression.chunk_length(chunked(64, partition_mean_bytes=size), CLUSTER)
    assert (found is not None) is says
    if found is not None:
        assert "'16'" in found.statement


@pytest.mark.parametrize(("ranges", "says"), [(1.0, True), (1.1, False)])
def test_range_reads_want_long_chunks(ranges: float, says: bool) -> None:
    assert (compression.chunk_length(chunked(64, range_reads=ranges), CLUSTER) is not None) is says


@pytest.mark.parametrize(("count", "says"), [(1000, True), (999, False)])
def test_few_reads_say_nothing(count: int, says: bool) -> None:
    one = chunked(64, reads=count / DAY)
    assert (compression.chunk_length(one, CLUSTER) is not None) is says


def test_what_is_not_compressed_has_no_chunks() -> None:
    for options in ({}, {"enabled": "false"}, {"class": "LZ4Compressor", "enabled": "false", "chunk_length_in_kb": 64}):
        assert compression.chunk_length(table(SMALL_READS, options={"compression": options}), CLUSTER) is None


@pytest.mark.parametrize(("ratio", "says"), [(0.9, False), (0.91, True), (1.02, True)])
def test_compression_that_saves_less_than_a_tenth(ratio: float, says: bool) -> None:
    found = compression.saves_little(table({"compression_ratio": ratio, "live_bytes": 100.0 * MIB}), CLUSTER)
    assert (found is not None) is says


def test_small_tables_are_not_worth_it() -> None:
    for size, says in ((10 * MIB, True), (10 * MIB - 1, False)):
        one = table({"compression_ratio": 0.99, "live_bytes": float(size)})
        assert (compression.saves_little(one, CLUSTER) is not None) is says


def test_uncompressed_tables_need_no_advice_to_be_uncompressed() -> None:
    one = table({"compression_ratio": 1.0, "live_bytes": 1.0 * GIB}, options={"compression": {"enabled": "false"}})
    assert compression.saves_little(one, CLUSTER) is None


# Compaction


@pytest.mark.parametrize(("reads_", "sstables", "says"), [(9.0, 1.5, True), (8.9, 1.5, False), (9.0, 1.4, False)])
def test_size_tiered_under_reads(reads_: float, sstables: float, says: bool) -> None:
    one = table({"reads": reads_, "writes": 10 - reads_, "sstables_per_read": sstables})
    assert (compaction.leveled_for_reads(one, CLUSTER) is not None) is says


def test_other_strategies_are_not_made_levelled() -> None:
    one = table(
        {"reads": 10.0, "writes": 0.0, "sstables_per_read": 5.0},
        options={"compaction": {"class": "UnifiedCompactionStrategy"}},
    )
    assert compaction.leveled_for_reads(one, CLUSTER) is None


LEVELED = {"compaction": {"class": "org.apache.cassandra.db.compaction.LeveledCompactionStrategy"}}


@pytest.mark.parametrize(
    ("writes", "pending", "compacted", "says"),
    [
        (5.0, 20, 0, True),
        (4.9, 20, 0, False),
        (5.0, 19, 0, False),
        (5.0, 0, 1000, True),
        (5.0, 0, 999, False),
    ],
)
def test_levelled_under_writes(writes: float, pending: float, compacted: float, says: bool) -> None:
    numbers = {"reads": 10 - writes, "writes": writes, "pending_compactions": pending}
    numbers |= {"flushed_bytes": 100.0, "compacted_bytes": float(compacted)}
    assert (compaction.leveled_under_writes(table(numbers, options=LEVELED), CLUSTER) is not None) is says


SERIES = (
    Column(name="sensor", kind="partition_key", type="text", position=0),
    Column(name="at", kind="clustering", type="timestamp", position=0),
)


def test_expiring_time_series_get_thirty_windows() -> None:
    one = table({"writes": USED}, columns=SERIES, options={"default_time_to_live": 30 * DAY})
    found = said(compaction.time_windows(one, CLUSTER), "time-windows")
    assert found.change is not None
    assert found.change.after["compaction"]["compaction_window_unit"] == "DAYS"
    assert found.change.after["compaction"]["compaction_window_size"] == "1"


@pytest.mark.parametrize(
    ("ttl", "expected"), [(30 * DAY, ("DAYS", 1)), (30 * DAY - 60, ("HOURS", 24)), (3600, ("MINUTES", 2))]
)
def test_windows_fit_the_time_to_live(ttl: int, expected: tuple[str, int]) -> None:
    assert compaction.window_for(ttl) == expected


@pytest.mark.parametrize(
    "more",
    [
        {"options": {"default_time_to_live": 0}, "columns": SERIES},
        {"options": {"default_time_to_live": DAY}, "columns": SERIES[:1]},
        {
            "options": {"default_time_to_live": DAY, "compaction": {"class": "TimeWindowCompactionStrategy"}},
            "columns": SERIES,
        },
        {
            "options": {"default_time_to_live": DAY},
            "columns": (SERIES[0], replace(SERIES[1], type="text")),
        },
    ],
)
def test_what_is_no_expiring_time_series_or_has_windows_stays(more: dict[str, Any]) -> None:
    assert compaction.time_windows(table({"writes": USED}, **more), CLUSTER) is None


WINDOWS = {
    "compaction": {
        "class": "TimeWindowCompactionStrategy",
        "compaction_window_unit": "HOURS",
        "compaction_window_size": "1",
    }
}


@pytest.mark.parametrize(
    ("numbers", "more", "hints", "says"),
    [
        ({}, {}, 0.0, False),
        ({"read_repairs": 1 / 3600}, {}, 0.0, True),
        ({"read_repairs": 0.9 / 3600}, {}, 0.0, False),
        ({}, {"repair_mode": "full"}, 0.0, True),
        ({}, {}, 0.1, True),
    ],
)
def test_old_rows_in_new_windows(numbers: dict[str, Any], more: dict[str, Any], hints: float, says: bool) -> None:
    cluster = replace(CLUSTER, nodes=(Node(id="n1", name="one", hints_sent=hints),))
    found = compaction.outside_windows(table(numbers, options=WINDOWS, **more), cluster)
    assert (found is not None) is says
    assert found is None or found.change is None


def test_hints_that_come_within_a_window_do_no_harm() -> None:
    for hours, says in ((3, False), (2, True)):
        options = {"compaction": WINDOWS["compaction"] | {"compaction_window_size": str(hours)}}
        cluster = replace(CLUSTER, nodes=(Node(id="n1", name="one", hints_sent=1.0),))
        assert (compaction.outside_windows(table(options=options), cluster) is not None) is says


@pytest.mark.parametrize(
    ("strategy", "free", "says"),
    [
        ("SizeTieredCompactionStrategy", 10 * GIB, False),
        ("SizeTieredCompactionStrategy", 10 * GIB - 1, True),
        ("LeveledCompactionStrategy", 1 * GIB, False),
        ("LeveledCompactionStrategy", 1 * GIB - 1, True),
        ("UnifiedCompactionStrategy", 0, False),
    ],
)
def test_room_for_a_compaction(strategy: str, free: float, says: bool) -> None:
    cluster = replace(
        CLUSTER, nodes=(Node(id="n1", name="one", disk_free=free), Node(id="n2", name="two", disk_free=1e15))
    )
    one = table({"node_bytes": 10.0 * GIB}, options={"compaction": {"class": strategy}})
    assert (compaction.headroom(one, cluster) is not None) is says


def test_small_tables_always_find_room() -> None:
    cluster = replace(CLUSTER, nodes=(Node(id="n1", name="one", disk_free=1.0),))
    assert compaction.headroom(table({"node_bytes": GIB - 1.0}), cluster) is None
    assert compaction.headroom(table({"node_bytes": GIB * 1.0}), cluster) is not None


# Reads


@pytest.mark.parametrize(("p99", "says"), [(1000.0, True), (999.0, False), (None, False)])
def test_tombstones_per_read(p99: float | None, says: bool) -> None:
    one = table({"reads": USED, "tombstones_per_read_p99": p99})
    assert (reads.tombstones(one, CLUSTER) is not None) is says


@pytest.mark.parametrize(
    ("size", "rows", "says"),
    [(100 * MIB, None, False), (100 * MIB + 1, None, True), (0, 100_000, False), (0, 100_001, True)],
)
def test_large_partitions(size: float, rows: int | None, says: bool) -> None:
    one = table({"partition_max_bytes": size}, largest_partition_rows=rows)
    assert (reads.large_partitions(one, CLUSTER) is not None) is says


@pytest.mark.parametrize(("count", "says"), [(10, True), (9, False)])
def test_slow_reads_that_filter(count: int, says: bool) -> None:
    assert (reads.filtering(table(filtering_queries=count), CLUSTER) is not None) is says


@pytest.mark.parametrize(("share", "rate", "says"), [(0.3, 10.0, True), (0.29, 10.0, False), (0.3, 9.9, False)])
def test_hot_partitions(share: float, rate: float, says: bool) -> None:
    hot = HotPartition(key="1", reads=True, share=share, per_second=rate, node="one")
    assert (reads.hot_partitions(table(hot_partitions=(hot,)), CLUSTER) is not None) is says


# Schema


def keyspace(strategy: str = "NetworkTopologyStrategy", **factors: int) -> Keyspace:
    return Keyspace(name="shop", strategy=strategy, factors=factors)


@pytest.mark.parametrize(
    ("asked", "zones", "says"),
    [
        (keyspace(dc1=3), {"dc1": 3}, False),
        (keyspace(dc1=2), {"dc1": 3}, True),
        (keyspace(dc1=2), {"dc1": 2}, False),
        (keyspace(dc1=1), {"dc1": 2}, True),
        (keyspace(dc1=1), {"dc1": 1}, False),
        (keyspace(dc1=3, dc2=1), {"dc1": 3, "dc2": 3}, True),
        (keyspace("SimpleStrategy", replication_factor=3), {"dc1": 3}, True),
        (keyspace("SimpleStrategy", replication_factor=3), {"dc1": 1}, False),
        (keyspace("EverywhereStrategy"), {"dc1": 3}, False),
    ],
)
def test_replicas_survive_a_zone(asked: Keyspace, zones: dict[str, int], says: bool) -> None:
    found = schema.placement(asked, replace(CLUSTER, zones=zones))
    assert (found is not None) is says
    assert found is None or found.change is None


def test_a_keyspace_keeps_the_replicas_that_it_has_elsewhere() -> None:
    found = said(schema.placement(keyspace(dc1=1, dc2=5), replace(CLUSTER, zones={"dc1": 3, "dc2": 3})), "placement")
    assert "'dc1': '3', 'dc2': '5'" in found.statement


def indexed(kind: str, values: int | None, type_: str = "text", partitions: float = 10_000.0) -> Table:
    return table(
        {"partitions": partitions},
        columns=(Column(name="state", kind="regular", type=type_),),
        indexes=(Index(name="by_state", kind=kind, target="state", values=values),),
    )


@pytest.mark.parametrize(
    ("one", "says"),
    [
        (indexed("COMPOSITES", 49), True),
        (indexed("COMPOSITES", 50), False),
        (indexed("COMPOSITES", None), False),
        (indexed("COMPOSITES", 49, partitions=9_999), False),
        (indexed("COMPOSITES", None, "boolean"), True),
        (indexed("CUSTOM", 2, "boolean"), False),
    ],
)
def test_indexes_with_few_values(one: Table, says: bool) -> None:
    assert (schema.low_cardinality(one, CLUSTER) is not None) is says


@pytest.mark.parametrize(
    ("grace", "interval", "replicas", "says"),
    [
        (5 * DAY, 5.0 * DAY, 3, False),
        (5 * DAY - 1, 5.0 * DAY, 3, True),
        (1, None, 3, False),
        (1, 5.0 * DAY, 1, False),
        (0, 5.0 * DAY, 3, False),
    ],
)
def test_tombstones_outlive_the_repair_interval(grace: int, interval: float | None, replicas: int, says: bool) -> None:
    one = table(options={"gc_grace_seconds": grace}, repair_interval=interval, replicas=replicas)
    found = schema.gc_grace(one, CLUSTER)
    assert (found is not None) is says
    if found is not None and found.change is not None:
        assert found.change.after == {"gc_grace_seconds": 10 * DAY}


@pytest.mark.parametrize(
    ("count", "severity"),
    [(200, None), (201, AdviceSeverity.WARNING), (1000, AdviceSeverity.WARNING), (1001, AdviceSeverity.CRITICAL)],
)
def test_many_tables(count: int, severity: AdviceSeverity | None) -> None:
    found = schema.many_tables(replace(CLUSTER, tables=count))
    assert (found and found.severity) == severity


# Load


def nodes(*each: dict[str, Any]) -> ClusterFacts:
    return replace(CLUSTER, nodes=tuple(Node(id=f"n{n}", name=f"node-{n}", **one) for n, one in enumerate(each)))


@pytest.mark.parametrize(
    ("loads", "says"),
    [
        ([3.0, 1.0], True),
        ([2.9, 1.1], False),
        ([0.3, 0.1], False),
        ([3.0], False),
    ],
)
def test_uneven_data(loads: list[float], says: bool) -> None:
    assert (load.uneven(nodes(*({"load_bytes": one * GIB} for one in loads))) is not None) is says


@pytest.mark.parametrize(("rates", "says"), [([150.0, 50.0], True), ([149.0, 51.0], False), ([149.0, 49.0], False)])
def test_uneven_requests(rates: list[float], says: bool) -> None:
    assert (load.uneven(nodes(*({"requests": one} for one in rates))) is not None) is says


@pytest.mark.parametrize(
    ("busiest", "mean", "says"), [(0.6, 0.39, True), (0.6, 0.41, False), (0.5, 0.1, True), (0.49, 0.1, False)]
)
def test_uneven_shards(busiest: float, mean: float, says: bool) -> None:
    assert (load.uneven(nodes({"busiest_shard": busiest, "mean_shard": mean})) is not None) is says


@pytest.mark.parametrize(
    ("gc", "heap", "says"), [(0.05, 0.1, True), (0.049, 0.89, False), (0.0, 0.9, True), (None, None, False)]
)
def test_memory_of_the_jvm(gc: float | None, heap: float | None, says: bool) -> None:
    one = {"gc": gc, "heap_used": heap and heap * GIB, "heap_max": heap and 1.0 * GIB}
    assert (load.memory(nodes(one)) is not None) is says


@pytest.mark.parametrize(
    ("hits", "requests", "fill", "says"),
    [
        (0.79, 100.0, 0.95, True),
        (0.8, 100.0, 0.95, False),
        (0.79, 99.0, 0.95, False),
        (0.79, 100.0, 0.94, False),
        (None, 100.0, 1.0, False),
    ],
)
def test_key_cache(hits: float | None, requests: float, fill: float, says: bool) -> None:
    one = {"key_cache_hits": hits, "key_cache_requests": requests, "key_cache_fill": fill}
    assert (load.key_cache(nodes(one)) is not None) is says


@pytest.mark.parametrize(
    ("hits", "misses", "rows", "says"),
    [
        (2.9, 7.1, "ALL", True),
        (3.0, 7.0, "ALL", False),
        (0.0, 9.9, "ALL", False),
        (0.0, 10.0, "100", True),
        (0.0, 100.0, "NONE", False),
    ],
)
def test_row_cache(hits: float, misses: float, rows: str, says: bool) -> None:
    one = table(
        {"row_cache_hits": hits, "row_cache_misses": misses},
        options={"caching": {"keys": "ALL", "rows_per_partition": rows}},
    )
    found = load.row_cache(one, CLUSTER)
    assert (found is not None) is says
    if found is not None and found.change is not None:
        assert found.change.after == {"caching": {"keys": "ALL", "rows_per_partition": "NONE"}}


SIZES = (
    Size(name="small", vcpus=2, memory_mib=8192, storage_gib=200, price=100),
    Size(name="medium", vcpus=8, memory_mib=32768, storage_gib=500, price=400),
    Size(name="large", vcpus=32, memory_mib=131072, storage_gib=2000, price=1600),
)


def sized(cpu: float, used: float) -> ClusterFacts:
    """On medium machines with disks of 500 GiB."""
    one = Node(id="n1", name="one", cpu=cpu, disk_total=500.0 * GIB, disk_free=500.0 * GIB * (1 - used))
    return replace(CLUSTER, nodes=(one,), size=SIZES[1], sizes=SIZES)


@pytest.mark.parametrize(
    ("cpu", "used", "rule"),
    [
        (0.1, 0.1, None),
        (0.69, 0.69, None),
        (0.7, 0.1, "overloaded"),
        (0.1, 0.7, "overloaded"),
    ],
)
def test_machines_at_their_limit(cpu: float, used: float, rule: str | None) -> None:
    found = load.overloaded(sized(cpu, used))
    assert (found and found.rule) == rule


def test_it_names_the_size_that_would_fit() -> None:
    assert "large" in said(load.overloaded(sized(0.8, 0.1)), "overloaded").statement
    beyond = replace(sized(0.8, 0.1), sizes=SIZES[:2])
    assert said(load.overloaded(beyond), "overloaded").statement == "Add nodes (Overview, Scale)."


def test_machines_of_one_machine_have_no_size() -> None:
    assert load.overloaded(replace(sized(0.8, 0.8), size=None)) is None


# All of them


def test_nothing_known_is_nothing_said() -> None:
    assert list(rules.advise(ClusterFacts(window_seconds=DAY), [Table(keyspace="a", name="b", options={})])) == []


def test_every_advice_has_a_title_a_source_that_is_there_and_charts_that_are_there() -> None:
    figures = json.loads((Path(rules.__file__).parent / "figures.json").read_text())
    full = table(
        SMALL_READS
        | {
            "compression_ratio": 0.99,
            "live_bytes": 1.0 * GIB,
            "tombstones_per_read_p99": 5e3,
            "partition_max_bytes": 1e9,
        }
        | {"row_cache_hits": 0.0, "row_cache_misses": 50.0, "sstables_per_read": 3.0, "node_bytes": 6.0 * GIB},
        options={"caching": {"keys": "ALL", "rows_per_partition": "ALL"}, "gc_grace_seconds": 60},
        repair_interval=5.0 * DAY,
        replicas=3,
        filtering_queries=50,
        hot_partitions=(HotPartition(key="1", reads=False, share=0.9, per_second=50, node="one"),),
    )
    cluster = replace(
        sized(0.8, 0.99),
        tables=5000,
        keyspaces=(keyspace(dc1=1),),
    )
    found = list(rules.advise(cluster, [full]))
    assert len(found) >= 13
    for one in found:
        assert one.rule in rules.TITLES
        assert not one.figure or one.figure in figures
        assert (one.change is None) is bool(one.why_by_hand)
        assert one.evidence
        for evidence in one.evidence:
            assert not evidence.chart or evidence.chart in CHARTS_BY_ID
    assert {one["url"].split(":")[0] for one in figures.values()} == {"https"}


def test_names_that_need_quotes_get_them() -> None:
    one = replace(chunked(64), keyspace="Shop", name='we"ird')
    found = said(compression.chunk_length(one, CLUSTER), "chunk-length")
    assert found.statement.startswith('ALTER TABLE "Shop"."we""ird"\n')
