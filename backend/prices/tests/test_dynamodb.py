from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from backend.prices.dynamodb import DynamoLoad, compare
from backend.prices.estimates import dynamodb_prices
from backend.prices.states import GIB

PRICES = dynamodb_prices()
# The published comparison: 300 k reads and 300 k writes a second, a quarter to spare, 10 TB.
LOAD = DynamoLoad(
    reads_per_second=300_000, writes_per_second=300_000, row_bytes=1024, data_bytes=10 * 1024 * GIB, spare_percent=25
)


def bills(load):
    return {bill.mode: bill for bill in compare(load, PRICES)}


def test_the_published_comparison_provisioned():
    bill = bills(LOAD)["provisioned"]
    # 375,000 × 0.00065 = 243.75; 375,000 × 0.00013 = 48.75; 10,240 × 0.25 ÷ 730 = 3.506849…
    assert [line.amounts.hour for line in bill.lines] == [243_750_000, 48_750_000, 3_506_849]
    # The comparison says 296 dollars an hour.
    assert bill.total.hour == 296_006_849
    assert [line.formula for line in bill.lines] == [
        "375,000 units × 0.000650",
        "375,000 units × 0.000130",
        "10,240 GiB × 0.250000 per month ÷ 730 h",
    ]


def test_the_same_on_demand():
    # 300,000 × 3,600 = 1,080 million an hour: × 0.625 = 675; × 0.125 = 135
    bill = bills(LOAD)["on_demand"]
    assert [line.amounts.hour for line in bill.lines][:2] == [675_000_000, 135_000_000]
    assert bill.total.hour == 813_506_849


def test_the_same_reserved():
    # 3,750 hundreds × (150 ÷ 8,760 + 0.0128) = 112.212328…; × (30 ÷ 8,760 + 0.0025) = 22.217465…
    assert [line.amounts.hour for line in bills(LOAD)["reserved_1y"].lines][:2] == [112_212_329, 22_217_466]
    # 3,750 × (180 ÷ 26,280 + 0.0081) = 56.059931…; × (36 ÷ 26,280 + 0.0016) = 11.136986…
    assert [line.amounts.hour for line in bills(LOAD)["reserved_3y"].lines][:2] == [56_059_932, 11_136_986]
    # As published: a year's commitment saves 54 % of the capacity, three years 77 %.
    saved = {
        mode: 100 - 100 * sum(line.amounts.hour for line in bills(LOAD)[mode].lines[:2]) // 292_500_000
        for mode in ("reserved_1y", "reserved_3y")
    }
    assert saved == {"reserved_1y": 55, "reserved_3y": 78}


def test_rows_come_in_whole_units():
    # 1,025 bytes are two write units; 4,097 bytes two read units, or one read eventually.
    small = replace(LOAD, reads_per_second=10, writes_per_second=10, spare_percent=0, data_bytes=0)
    assert bills(replace(small, row_bytes=1025))["provisioned"].lines[0].formula.startswith("20 units")
    assert bills(replace(small, row_bytes=4097))["provisioned"].lines[1].formula.startswith("20 units")
    eventual = replace(small, row_bytes=4097, strong_reads=False)
    assert bills(eventual)["provisioned"].lines[1].formula.startswith("10 units")


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 400 * 1024), st.integers(0, 10**15))
def test_more_load_never_costs_less(reads, writes, row_bytes, data_bytes):
    load = DynamoLoad(reads_per_second=reads, writes_per_second=writes, row_bytes=row_bytes, data_bytes=data_bytes)
    more = replace(load, reads_per_second=reads + 7, writes_per_second=writes + 7, data_bytes=data_bytes + 7)
    assert all(bills(more)[mode].total.year >= bill.total.year >= 0 for mode, bill in bills(load).items())
