"""The planner by hand, and what holds of every plan. Figures on the right were worked out on paper."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.sizing.choosing import NEAR_PERCENT, Priced, cheapest, of_families
from backend.sizing.durations import recovery, scan, streamed
from backend.sizing.figures import Calibration, calibrated, work
from backend.sizing.known import figures
from backend.sizing.reasons import assumptions, reasons
from backend.sizing.shapes import Limit, Machine, Workload, holds, needs, shape_of, shapes_of, use_without_one

GIB = 2**30
TIB = 2**40
METAL = Machine(
    name="i3.metal",
    family="i3",
    vcpus=72,
    cores=36,
    memory_bytes=512 * GIB,
    disk_bytes=14156 * GIB,
    network_bits_per_second=25 * 10**9,
    network_always=True,
    disk_write_bytes_per_second=6_000_000_000,
)
SMALLER = replace(
    METAL,
    name="i3.4xlarge",
    vcpus=16,
    cores=8,
    memory_bytes=122 * GIB,
    disk_bytes=3539 * GIB,
    network_bits_per_second=5 * 10**9,
    disk_write_bytes_per_second=1_500_000_000,
)
SMALLEST = replace(
    SMALLER,
    name="i3.large",
    vcpus=2,
    cores=1,
    memory_bytes=15 * GIB,
    disk_bytes=442 * GIB,
    network_bits_per_second=750_000_000,
)
MACHINES = (METAL, SMALLER, SMALLEST)
PUBLISHED = Workload(
    reads_per_second=300_000, writes_per_second=300_000, row_bytes=1024, data_bytes=10 * TIB, p99_ms=12, spare_percent=0
)


def plan(workload: Workload, machine: Machine, engine: str = "scylla", zones: int = 3):
    calibration = calibrated(figures().throughput, engine, workload.p99_ms)
    return shape_of(workload, machine, calibration, figures().engines[engine], zones=zones)


def test_published_figures_per_vcpu():
    # 600,000 × (0.5 × 3 + 0.5 × 2) = 1,500,000 replica operations ÷ (4 × 72) = 5,208.33…
    assert calibrated(figures().throughput, "scylla", 12).work_per_vcpu == Fraction(1_500_000, 288)
    # 200,000 × 2.5 ÷ 288: at 10 ms only the older one is fast enough
    ten = calibrated(figures().throughput, "scylla", 10)
    assert (ten.figure.version, ten.work_per_vcpu, ten.is_as_seen) == ("2.2", Fraction(500_000, 288), True)
    # 100,000 × 2.5 ÷ (40 × 16) = 390.625
    assert calibrated(figures().throughput, "cassandra", 50).work_per_vcpu == Fraction(390625, 1000)


def test_a_p99_nobody_published_is_in_proportion_and_says_so():
    five = calibrated(figures().throughput, "scylla", 5)
    assert (five.work_per_vcpu, five.is_as_seen) == (Fraction(250_000, 288), False)
    told = " ".join(assumptions(replace(PUBLISHED, p99_ms=5), five, figures().engines["scylla"]))
    assert "Nobody published a p99 of 5 ms" in told
    with pytest.raises(ValueError, match="other"):
        calibrated(figures().throughput, "other", 10)


def test_the_published_clusters_come_out():
    """What is put in comes out: the published load, in one zone and without spare, on the published machines."""
    four = plan(replace(PUBLISHED, data_bytes=8 * TIB), METAL, zones=1)
    assert (four.nodes, four.decided_by) == (4, Limit.THROUGHPUT)
    assert four.bound(Limit.THROUGHPUT).headroom_percent == 0
    forty = replace(PUBLISHED, reads_per_second=50_000, writes_per_second=50_000, p99_ms=10)
    assert plan(forty, SMALLER, "cassandra", zones=1).nodes == 40


def test_by_hand():
    """docs/sizing.md shows this: 300,000 reads and writes, 10 TiB that grow by 2 % for a year, a quarter spare."""
    workload = replace(PUBLISHED, spare_percent=25, growth_percent_per_month=2, months_ahead=12)
    shape = plan(workload, METAL)
    # Throughput: 1,500,000 × 1.25 = 1,875,000 ÷ (72 × 5,208.33) = 5
    # Disk: 30,720 GiB × 1.02^12 = 38,960.4 ÷ 7,078 = 5.50, so 6: 2 in each of 3 zones
    assert (shape.nodes, shape.nodes_per_zone, shape.decided_by) == (6, 2, Limit.DISK)
    # 6 × 72 × 5,208.33 = 2,250,000; (2,250,000 − 1,875,000) ÷ 2,250,000 = 16.67 %
    assert (shape.bound(Limit.THROUGHPUT).holds, shape.bound(Limit.THROUGHPUT).headroom_percent) == (2_250_000, 16)
    # 38,960.4 of 42,468
    assert (shape.first_limit, shape.bound(Limit.DISK).headroom_percent) == (Limit.DISK, 8)
    # 38,960.4 of 512 × 30 × 6 = 92,160
    assert shape.bound(Limit.MEMORY).headroom_percent == 57
    # 300,000 × (3 + 2) × 1,024 × 8 × 1.25 = 15.36 of 6 × 12.5 = 75 Gbit/s
    network = shape.bound(Limit.NETWORK)
    assert (network.needs, network.holds, network.headroom_percent) == (15_360_000_000, 75_000_000_000, 79)


def test_disk_decides_where_there_is_more_data():
    shape = plan(replace(PUBLISHED, reads_per_second=1000, writes_per_second=1000), SMALLER)
    # 30 TiB = 30,720 GiB ÷ (3,539 ÷ 2) = 17.36: 18, which 3 zones divide
    assert (shape.nodes, shape.decided_by, shape.first_limit) == (18, Limit.DISK, Limit.DISK)
    # Memory: 122 GiB × 30 × 18 = 65,880 GiB, of which 30,720 are 46.6 %
    assert shape.bound(Limit.MEMORY).headroom_percent == 53


def test_memory_and_network_decide_too():
    dense = replace(SMALLER, disk_bytes=60 * TIB)
    calm = replace(PUBLISHED, reads_per_second=0, writes_per_second=1)
    assert plan(calm, dense).decided_by is Limit.MEMORY
    # Rows of 1 MiB: 500 × (3 + 2) × 2^20 × 8 = 20.97 Gbit/s of 250 Mbit/s a node
    narrow = replace(METAL, network_bits_per_second=500_000_000)
    large = replace(calm, reads_per_second=500, writes_per_second=500, row_bytes=2**20, data_bytes=GIB)
    shape = plan(large, narrow)
    assert (shape.decided_by, shape.nodes) == (Limit.NETWORK, 84)


def test_replicas_decide_when_there_is_little_to_do():
    calm = replace(PUBLISHED, reads_per_second=10, writes_per_second=10, data_bytes=GIB)
    shape = plan(calm, SMALLER)
    assert (shape.nodes, shape.decided_by) == (3, None)
    assert "a node for every replica" in next(reasons(shape, calm))
    three = plan(replace(PUBLISHED, data_bytes=8 * TIB), METAL)
    # 4 are enough, but not in three zones
    assert next(reasons(three, PUBLISHED)) == "Throughput decides: 4 nodes would do, 2 in each of 3 zones make 6."
    one = plan(replace(PUBLISHED, data_bytes=8 * TIB), METAL, zones=1)
    assert next(reasons(one, PUBLISHED)) == "Throughput decides: 4 nodes in one zone."
    assert plan(replace(calm, replication_factor=5), SMALLER, zones=3).nodes_per_zone == 2


def test_what_would_be_too_large_is_not_suggested():
    assert plan(replace(PUBLISHED, data_bytes=10**18), SMALLEST) is None


def test_a_jvm_is_not_trusted_with_more_than_was_measured():
    each = holds(METAL, calibrated(figures().throughput, "cassandra", 10), figures().engines["cassandra"])
    assert each[Limit.THROUGHPUT] == Fraction(390625, 1000) * 16


def test_while_a_node_is_away():
    shape = plan(replace(PUBLISHED, spare_percent=25), METAL)
    # 1,500,000 of 5/6 × 2,250,000 = 1,875,000
    assert use_without_one(shape, replace(PUBLISHED, spare_percent=25)) == 80
    one = plan(
        replace(PUBLISHED, reads_per_second=1, data_bytes=0, writes_per_second=0, replication_factor=1), METAL, zones=1
    )
    assert one.nodes == 1
    assert use_without_one(one, PUBLISHED) is None


def test_how_fast_data_streams():
    known = figures().streaming
    assert [int(streamed(known, vcpus) / 2**20) for vcpus in (2, 4, 18, 32, 96)] == [61, 123, 444, 765, 765]


def test_how_long_a_node_takes_to_come_back():
    workload = replace(PUBLISHED, data_bytes=8 * TIB)
    shape = plan(workload, METAL, zones=1)
    # 24 TiB ÷ 4 = 6,144 GiB ÷ 765 MiB/s = 8,224.1 s
    found = recovery(shape, workload, figures(), "scylla")
    assert (found.seconds, found.formula) == (8_225, "6,144 GiB ÷ 765 MiB/s (as published, at 72 vCPUs)")
    # Cassandra: two senders of 24 MiB/s
    assert recovery(shape, workload, figures(), "cassandra").seconds == 131_072
    assert recovery(shape, workload, figures(), "other") is None


def test_how_long_a_scan_takes():
    workload = replace(PUBLISHED, data_bytes=8 * TIB)
    shape = plan(workload, METAL, zones=1)
    # 8 TiB ÷ 1,024 = 8,589,934,592 rows ÷ (144 cores × 100,000) = 596.5 s
    measured = scan(shape, workload, figures().scans, "cassandra", rows_per_core=100_000)
    assert measured.seconds == 597
    assert "8,589,934,592 rows ÷ (144 cores × 100,000" in measured.formula
    # 10^9 ÷ (83 × 28) = 430,292 a core: 138.6 s
    assert scan(shape, workload, figures().scans, "scylla", rows_per_core=None).seconds == 139
    assert scan(shape, workload, figures().scans, "cassandra", rows_per_core=None) is None


WORKLOADS = st.builds(
    Workload,
    reads_per_second=st.integers(0, 10**6),
    writes_per_second=st.integers(0, 10**6),
    row_bytes=st.integers(1, 10**5),
    data_bytes=st.integers(0, 10**14),
    growth_percent_per_month=st.integers(0, 20),
    months_ahead=st.integers(0, 24),
    replication_factor=st.integers(1, 7),
    p99_ms=st.integers(1, 100),
    spare_percent=st.integers(0, 200),
)
MORE = st.sampled_from(
    [
        "reads_per_second",
        "writes_per_second",
        "row_bytes",
        "data_bytes",
        "growth_percent_per_month",
        "months_ahead",
        "replication_factor",
        "spare_percent",
    ]
)
ENGINES = st.sampled_from(["cassandra", "scylla"])


@given(workload=WORKLOADS, engine=ENGINES, zones=st.integers(1, 8))
def test_every_shape_stays_within_all_limits_and_has_a_node_per_replica(workload, engine, zones):
    calibration = calibrated(figures().throughput, engine, workload.p99_ms)
    rules = figures().engines[engine]
    wanted = needs(workload)
    for shape in shapes_of(workload, MACHINES, calibration, rules, zones=zones):
        each = holds(shape.machine, calibration, rules)
        for limit in Limit:
            assert wanted[limit] <= each[limit] * shape.nodes
            assert 0 <= shape.bound(limit).headroom_percent <= 100
        assert shape.nodes >= max(zones, workload.replication_factor)
        assert shape.nodes == shape.nodes_per_zone * zones
        # It is the smallest: with one node less in each zone some limit, or a replica, has no room.
        fewer = shape.nodes - zones
        assert fewer < max(zones, workload.replication_factor) or any(
            wanted[limit] > each[limit] * fewer for limit in Limit
        )


@given(workload=WORKLOADS, engine=ENGINES, zones=st.integers(1, 8), field=MORE, more=st.integers(1, 1000))
def test_more_never_takes_fewer_machines(workload, engine, zones, field, more):
    larger = replace(workload, **{field: getattr(workload, field) + more})
    for machine in MACHINES:
        before, after = plan(workload, machine, engine, zones), plan(larger, machine, engine, zones)
        assert after is None or (before is not None and after.nodes >= before.nodes)


PRICES = {"i3.metal": 4_992_000, "i3.4xlarge": 1_248_000, "i3.large": 156_000}


def priced(workload: Workload, engine: str, zones: int) -> list[Priced]:
    shapes = [plan(workload, machine, engine, zones) for machine in MACHINES]
    return [Priced(shape=one, year_micros=one.nodes * PRICES[one.machine.name] * 8760) for one in shapes if one]


@given(workload=WORKLOADS, engine=ENGINES, zones=st.integers(1, 8), field=MORE, more=st.integers(1, 1000))
def test_more_is_never_cheaper(workload, engine, zones, field, more):
    larger = replace(workload, **{field: getattr(workload, field) + more})
    before, after = cheapest(priced(workload, engine, zones)), cheapest(priced(larger, engine, zones))
    assert after is None or (before is not None and after.year_micros >= before.year_micros)


@given(workload=WORKLOADS, engine=ENGINES, zones=st.integers(1, 8))
def test_what_is_chosen_costs_nearly_the_least_and_has_no_more_nodes(workload, engine, zones):
    found = priced(workload, engine, zones)
    least = cheapest(found)
    chosen = of_families(found)
    assert len(chosen) == (1 if found else 0)
    for each in chosen:
        cost = each.shape.nodes * PRICES[each.shape.machine.name] * 8760
        assert cost * 100 <= least.year_micros * (100 + NEAR_PERCENT)
        assert each.shape.nodes <= least.shape.nodes
        assert each.cheaper is None or each.cheaper == least.shape


def test_without_a_price_it_comes_last_and_fewest_nodes_count():
    shapes = [plan(PUBLISHED, machine) for machine in (SMALLEST, METAL)]
    other = replace(plan(PUBLISHED, SMALLER), machine=replace(SMALLER, family="other"))
    found = [Priced(shape=shape, year_micros=None) for shape in shapes] + [Priced(shape=other, year_micros=1)]
    assert [each.shape.machine.name for each in of_families(found)] == ["i3.4xlarge", "i3.metal"]
    assert cheapest(found[:2]) is None


@given(workload=WORKLOADS, engine=ENGINES, stricter=st.integers(1, 99))
def test_a_lower_p99_never_takes_fewer_machines(workload, engine, stricter):
    faster = replace(workload, p99_ms=max(1, workload.p99_ms - stricter))
    before, after = plan(workload, METAL, engine), plan(faster, METAL, engine)
    assert after is None or (before is not None and after.nodes >= before.nodes)


@given(reads=st.integers(0, 10**6), writes=st.integers(0, 10**6), factor=st.integers(1, 7), size=st.integers(0, 10**6))
def test_work_is_never_less_than_the_operations(reads, writes, factor, size):
    assert work(reads, writes, factor, size) >= reads + writes
    assert isinstance(calibrated(figures().throughput, "scylla", 10), Calibration)
