"""Every component by hand: the figures on the right of the comments were worked out on paper, not by the code."""

from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from backend.prices.book import Listed, PriceBook
from backend.prices.estimate import Load, Shape, cross_zone_bytes_per_second, estimate, in_zone_bytes_per_second
from backend.prices.states import GIB, Item, Origin, Term

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 6, 1, tzinfo=UTC)
SHAPE = Shape(provider="aws", region="us-east-1", machine_type="i3.metal", nodes=4)


def listed(item, micros, name="", term=None, **columns):
    columns = {"provider": "aws", "region": "us-east-1", "valid_from": BEGIN} | columns
    return Listed(item=item, micros=micros, name=name, term=term, **columns)


MACHINE = listed(Item.MACHINE, 4_992_000, "i3.metal", Term.ON_DEMAND)
RESERVED = listed(Item.MACHINE, 3_196_347, "i3.metal", Term.RESERVED_1Y)


def bill_of(shape, *rows, term=Term.ON_DEMAND):
    return estimate(shape, PriceBook([MACHINE, *rows]), at=NOW).bill(term)


def only(bill, item):
    (line,) = [line for line in bill.lines if line.item is item]
    amounts = line.amounts
    return amounts.hour, amounts.month, amounts.year


def test_machines():
    # 4 × 4.992 = 19.968 an hour; × 730 = 14,576.64; × 8,760 = 174,919.68
    assert only(bill_of(SHAPE), Item.MACHINE) == (19_968_000, 14_576_640_000, 174_919_680_000)


def test_a_year_reserved():
    # 4 × 3.196347 = 12.785388; × 730 = 9,333.33324; × 8,760 = 111,999.99888
    bill = bill_of(SHAPE, RESERVED, term=Term.RESERVED_1Y)
    assert only(bill, Item.MACHINE) == (12_785_388, 9_333_333_240, 111_999_998_880)


def test_block_storage():
    # 4 × 50 GiB × 0.08 = 16 a month; ÷ 730 = 0.021917808… an hour; × 12 = 192 a year
    shape = replace(SHAPE, block_bytes_per_node=50 * GIB, block_class="gp3")
    bill = bill_of(shape, listed(Item.BLOCK_STORAGE, 80_000, "gp3"))
    assert only(bill, Item.BLOCK_STORAGE) == (21_918, 16_000_000, 192_000_000)


def test_the_boot_disk_where_no_other_disk_is_named():
    # 4 × 30 GiB × 0.08 = 9.6 a month; ÷ 730 = 0.013150684… an hour; × 12 = 115.2 a year
    bill = bill_of(SHAPE, listed(Item.BLOCK_STORAGE, 80_000, "gp3"))
    assert only(bill, Item.BLOCK_STORAGE) == (13_151, 9_600_000, 115_200_000)
    assert len(bill_of(replace(SHAPE, block_bytes_per_node=0), listed(Item.BLOCK_STORAGE, 80_000, "gp3")).lines) == 1


def test_backups_with_their_requests():
    # 1,024 GiB × 0.023 = 23.552 a month, 0.032263… an hour, 282.624 a year
    # 2.5 million writes × 5 = 12.5 a month; 100,000 reads × 0.4 per million = 0.04 a month
    shape = replace(SHAPE, backup_bytes=1024 * GIB, backup_writes_per_month=2_500_000, backup_reads_per_month=100_000)
    bill = bill_of(
        shape,
        listed(Item.OBJECT_STORAGE, 23_000, "standard"),
        listed(Item.OBJECT_WRITES, 5_000_000, "standard"),
        listed(Item.OBJECT_READS, 400_000, "standard"),
    )
    assert only(bill, Item.OBJECT_STORAGE) == (32_263, 23_552_000, 282_624_000)
    assert only(bill, Item.OBJECT_WRITES) == (17_123, 12_500_000, 150_000_000)
    assert only(bill, Item.OBJECT_READS) == (55, 40_000, 480_000)


def test_traffic_between_zones():
    # Three zones: a write of 1,024 bytes goes to two other zones; of requests two in three come from another zone.
    load = Load(reads_per_second=2_000, writes_per_second=1_000, row_bytes=1024)
    # 1,000 × 1,024 × 2 + 3,000 × 1,024 × 2/3 = 4,096,000 bytes a second
    assert cross_zone_bytes_per_second(load, 3) == 4_096_000
    # × 3,600 ÷ 2^30 = 13.732910… GiB an hour; × 0.02 = 0.274658203125; × 730 = 200.50048828125
    bill = bill_of(replace(SHAPE, load=load), listed(Item.TRAFFIC_ACROSS_ZONES, 20_000))
    assert only(bill, Item.TRAFFIC_ACROSS_ZONES) == (274_658, 200_500_488, 2_406_005_859)
    # With clients that keep to their zone only replication is left: half of it.
    assert cross_zone_bytes_per_second(replace(load, clients_in_zone=True), 3) == 2_048_000
    assert cross_zone_bytes_per_second(load, 1) == 0


def test_traffic_within_a_zone_counts_where_it_has_a_price():
    load = Load(reads_per_second=2_000, writes_per_second=1_000, row_bytes=1024)
    assert in_zone_bytes_per_second(load, 3) == 1_024_000
    shape = replace(SHAPE, load=load)
    # 1,024,000 × 3,600 ÷ 2^30 = 3.4332275390625 GiB × 0.001 = 0.0034332275390625
    bill = bill_of(shape, listed(Item.TRAFFIC_IN_ZONE, 1_000), listed(Item.TRAFFIC_ACROSS_ZONES, 0))
    assert only(bill, Item.TRAFFIC_IN_ZONE)[0] == 3_433
    free = bill_of(shape, listed(Item.TRAFFIC_IN_ZONE, 0), listed(Item.TRAFFIC_ACROSS_ZONES, 0))
    assert Item.TRAFFIC_IN_ZONE not in {line.item for line in free.lines}


def test_traffic_out():
    # 730 GiB × 0.09 = 65.7 a month, 0.09 an hour
    bill = bill_of(replace(SHAPE, traffic_out_bytes_per_month=730 * GIB), listed(Item.TRAFFIC_OUT, 90_000))
    assert only(bill, Item.TRAFFIC_OUT) == (90_000, 65_700_000, 788_400_000)


def test_mark_up_is_on_what_the_provider_is_paid_and_fees_are_not_marked_up():
    # 12.5 % of 19.968 = 2.496; 4 nodes × 0.1 = 0.4; 73 a month ÷ 730 = 0.1. Together 22.964 an hour.
    bill = bill_of(
        SHAPE,
        listed(Item.MARKUP, 125_000, region=""),
        listed(Item.NODE_FEE, 100_000, region=""),
        listed(Item.CLUSTER_FEE, 73_000_000, region=""),
    )
    assert only(bill, Item.MARKUP)[0] == 2_496_000
    assert only(bill, Item.NODE_FEE)[0] == 400_000
    assert only(bill, Item.CLUSTER_FEE)[0] == 100_000
    assert bill.total.hour == 22_964_000
    assert [line.formula for line in bill.lines][:2] == ["4 machines × 4.992000", "12.5 % of all lines above"]


def test_what_has_no_price_is_named_and_not_counted():
    found = estimate(replace(SHAPE, backup_bytes=GIB), PriceBook([MACHINE]), at=NOW)
    assert found.missing == (
        "There is no price of block storage gp3 in us-east-1: it is not counted.",
        "There is no price of object storage standard in us-east-1: it is not counted.",
    )
    found = estimate(replace(SHAPE, machine_type="x9.huge"), PriceBook([MACHINE]), at=NOW)
    assert found.bills == ()
    assert "no price on demand of the machine type x9.huge" in found.missing[0]


def test_a_region_without_prices_borrows_those_of_the_reference_region_and_says_so():
    book = PriceBook([MACHINE])
    found = book.find("aws", "eu-west-1", Item.MACHINE, "i3.metal", term=Term.ON_DEMAND, at=NOW)
    assert (found.micros, found.borrowed) == (4_992_000, True)
    assert not book.find("aws", "us-east-1", Item.MACHINE, "i3.metal", term=Term.ON_DEMAND, at=NOW).borrowed


def test_a_later_price_changes_nothing_that_is_past():
    later = replace(MACHINE, micros=6_000_000, valid_from=NOW)
    book = PriceBook([later, MACHINE])

    def at(moment):
        return book.find("aws", "us-east-1", Item.MACHINE, "i3.metal", term=Term.ON_DEMAND, at=moment)

    assert at(datetime(2025, 12, 31, tzinfo=UTC)) is None
    assert at(datetime(2026, 5, 31, 23, 59, 59, tzinfo=UTC)).micros == 4_992_000
    assert at(NOW).micros == 6_000_000


def test_the_operators_price_goes_before_the_lists_until_it_is_taken_back():
    ours = replace(MACHINE, origin=Origin.OPERATOR, micros=1, valid_from=datetime(2026, 2, 1, tzinfo=UTC), region="")
    back = replace(ours, micros=None, valid_from=datetime(2026, 3, 1, tzinfo=UTC))
    book = PriceBook([MACHINE, ours, back])
    months = [datetime(2026, month, 1, tzinfo=UTC) for month in (1, 2, 3)]
    prices = [
        book.find("aws", "us-east-1", Item.MACHINE, "i3.metal", term=Term.ON_DEMAND, at=month).micros
        for month in months
    ]
    assert prices == [4_992_000, 1, 4_992_000]


_FULL = PriceBook(
    [
        MACHINE,
        RESERVED,
        listed(Item.BLOCK_STORAGE, 80_000, "gp3"),
        listed(Item.OBJECT_STORAGE, 23_000, "standard"),
        listed(Item.TRAFFIC_ACROSS_ZONES, 20_000),
        listed(Item.TRAFFIC_IN_ZONE, 300),
        listed(Item.TRAFFIC_OUT, 90_000),
        listed(Item.MARKUP, 123_457),
        listed(Item.CLUSTER_FEE, 9_999_999),
    ]
)
_SHAPES = st.builds(
    Shape,
    provider=st.just("aws"),
    region=st.just("us-east-1"),
    machine_type=st.just("i3.metal"),
    nodes=st.integers(1, 1000),
    zones=st.integers(1, 8),
    block_bytes_per_node=st.integers(0, 10**15),
    block_class=st.just("gp3"),
    backup_bytes=st.integers(0, 10**17),
    traffic_out_bytes_per_month=st.integers(0, 10**16),
    load=st.builds(
        Load,
        reads_per_second=st.integers(0, 10**7),
        writes_per_second=st.integers(0, 10**7),
        row_bytes=st.integers(0, 10**6),
        clients_in_zone=st.booleans(),
    ),
)


@given(_SHAPES)
def test_lines_sum_to_the_total_and_nothing_is_negative(shape):
    for bill in estimate(shape, _FULL, at=NOW).bills:
        for period in ("hour", "month", "year"):
            amounts = [getattr(line.amounts, period) for line in bill.lines]
            assert sum(amounts) == getattr(bill.total, period)
            assert min(amounts) >= 0
        # A period is its exact amount, rounded once for each line.
        exact = sum((line.rate for line in bill.lines), Fraction(0))
        assert abs(bill.total.year - exact * 8760) <= Fraction(len(bill.lines), 2)


@given(_SHAPES, st.sampled_from(["reads_per_second", "writes_per_second", "row_bytes"]), st.integers(0, 10**6))
def test_more_load_never_costs_less(shape, field, more):
    heavier = replace(shape, load=replace(shape.load, **{field: getattr(shape.load, field) + more}))
    for term in (Term.ON_DEMAND, Term.RESERVED_1Y):
        before, after = (estimate(each, _FULL, at=NOW).bill(term).total.year for each in (shape, heavier))
        assert after >= before
