"""The same load at Amazon DynamoDB: a pure function with its formula, for comparison. Standard table class.

Units as AWS defines them (https://aws.amazon.com/dynamodb/pricing/provisioned/): a write unit writes up to 1 KiB, a
read unit reads up to 4 KiB consistently, or twice that eventually.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from backend.prices.estimate import NOTHING, Amounts, amounts_of
from backend.prices.money import dollars, rounded
from backend.prices.states import GIB, HOURS_PER_MONTH, HOURS_PER_YEAR

_WRITE_BYTES = 1024
_READ_BYTES = 4096


@dataclass(frozen=True, kw_only=True)
class UnitPrices:
    """Micro-dollars, and whose they are."""

    region: str
    source: str
    date: date
    write_unit_hour: int
    read_unit_hour: int
    million_writes: int
    million_reads: int
    gib_month: int
    reserved: Mapping[int, "Reserved"]
    """By years of the commitment."""


@dataclass(frozen=True, kw_only=True)
class Reserved:
    """Capacity is reserved in hundreds of units: paid at once for all years, and by the hour. Micro-dollars."""

    write_upfront: int
    write_hour: int
    read_upfront: int
    read_hour: int


@dataclass(frozen=True, kw_only=True)
class DynamoLoad:
    reads_per_second: int
    writes_per_second: int
    row_bytes: int
    data_bytes: int
    spare_percent: int = 25
    """Provisioned capacity beyond the load, so that peaks are not refused."""
    strong_reads: bool = True


@dataclass(frozen=True, kw_only=True)
class DynamoLine:
    title: str
    formula: str
    rate: Fraction
    """Micro-dollars per hour."""

    @property
    def amounts(self) -> Amounts:
        return amounts_of(self.rate)


@dataclass(frozen=True, kw_only=True)
class DynamoBill:
    mode: str
    """provisioned, on_demand, reserved_1y or reserved_3y."""
    lines: tuple[DynamoLine, ...]

    @property
    def total(self) -> Amounts:
        return sum((line.amounts for line in self.lines), NOTHING)


def compare(load: DynamoLoad, prices: UnitPrices) -> list[DynamoBill]:
    """What the load costs there: provisioned, on demand, and with reserved capacity."""
    writes = _provisioned(load.writes_per_second * write_units(load), load.spare_percent)
    reads = _provisioned(load.reads_per_second * read_units(load), load.spare_percent)
    storage = _storage(load, prices)
    bills = [
        DynamoBill(
            mode="provisioned",
            lines=(
                _capacity("Write capacity", writes, prices.write_unit_hour),
                _capacity("Read capacity", reads, prices.read_unit_hour),
                storage,
            ),
        ),
        DynamoBill(
            mode="on_demand",
            lines=(
                _requests("Writes", load.writes_per_second * write_units(load), prices.million_writes),
                _requests("Reads", load.reads_per_second * read_units(load), prices.million_reads),
                storage,
            ),
        ),
    ]
    for years, reserved in sorted(prices.reserved.items()):
        write = _reserved("Write capacity", writes, years, reserved.write_upfront, reserved.write_hour)
        read = _reserved("Read capacity", reads, years, reserved.read_upfront, reserved.read_hour)
        bills.append(DynamoBill(mode=f"reserved_{years}y", lines=(write, read, storage)))
    return bills


def write_units(load: DynamoLoad) -> Fraction:
    """Of one write."""
    return Fraction(max(1, -(-load.row_bytes // _WRITE_BYTES)))


def read_units(load: DynamoLoad) -> Fraction:
    """Of one read."""
    units = Fraction(max(1, -(-load.row_bytes // _READ_BYTES)))
    return units if load.strong_reads else units / 2


def _provisioned(units_per_second: Fraction, spare_percent: int) -> int:
    """Capacity comes in whole units."""
    wanted = units_per_second * (100 + spare_percent) / 100
    return -(-wanted.numerator // wanted.denominator)


def _capacity(title: str, units: int, micros: int) -> DynamoLine:
    return DynamoLine(title=title, formula=f"{units:,} units × {dollars(micros)}", rate=Fraction(units * micros))


def _requests(title: str, units_per_second: Fraction, micros_per_million: int) -> DynamoLine:
    per_hour = units_per_second * 3600
    formula = f"{rounded(per_hour):,} units an hour × {dollars(micros_per_million)} per million"
    return DynamoLine(title=title, formula=formula, rate=per_hour * micros_per_million / 1_000_000)


def _reserved(title: str, units: int, years: int, upfront: int, hour: int) -> DynamoLine:
    """The upfront payment spread evenly over the hours of the commitment."""
    hundreds = -(-units // 100)
    hours = years * HOURS_PER_YEAR
    formula = f"{hundreds:,} hundreds × ({dollars(upfront)} ÷ {hours:,} h + {dollars(hour)})"
    return DynamoLine(title=title, formula=formula, rate=hundreds * (Fraction(upfront, hours) + hour))


def _storage(load: DynamoLoad, prices: UnitPrices) -> DynamoLine:
    gib = Fraction(load.data_bytes, GIB)
    formula = f"{rounded(gib):,} GiB × {dollars(prices.gib_month)} per month ÷ {HOURS_PER_MONTH} h"
    return DynamoLine(title="Storage", formula=formula, rate=gib * prices.gib_month / HOURS_PER_MONTH)
