"""What a cluster will cost: a pure function of its shape, what it is to do, and the price book. docs/costs.md.

Rates are exact (micro-dollars per hour as fractions) and rounded once per line and period, so a month is not a
rounded hour times 730. Totals are the sums of the rounded lines.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from backend.prices.book import PriceBook, UnitPrice
from backend.prices.money import MICROS, dollars, rounded
from backend.prices.states import (
    BLOCK_CLASSES,
    BOOT_DISK_BYTES,
    GIB,
    HOURS_PER_MONTH,
    HOURS_PER_YEAR,
    Item,
    Term,
)


@dataclass(frozen=True, kw_only=True)
class Load:
    """What applications do with the cluster."""

    reads_per_second: int = 0
    writes_per_second: int = 0
    row_bytes: int = 0
    """Bytes of a row as it is sent."""
    clients_in_zone: bool = False
    """Every client asks a node of its own zone; else requests go to all zones alike."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A cluster that could be ordered. Each zone holds one replica of every row."""

    provider: str
    region: str
    machine_type: str
    nodes: int
    zones: int = 3
    block_bytes_per_node: int | None = None
    """Bytes of disks that are bought beside the machine; None: of the boot disk that is ordered with it."""
    block_class: str = ""
    """Empty: that of boot disks."""
    backup_bytes: int = 0
    backup_class: str = "standard"
    backup_writes_per_month: int = 0
    backup_reads_per_month: int = 0
    traffic_out_bytes_per_month: int = 0
    load: Load = Load()
    whole_cluster: bool = True
    """False: a further part of a cluster, another data centre say. The cluster's fee is in the first."""


@dataclass(frozen=True, kw_only=True)
class Amounts:
    """Micro-dollars."""

    hour: int
    month: int
    year: int

    def __add__(self, other: "Amounts") -> "Amounts":
        return Amounts(hour=self.hour + other.hour, month=self.month + other.month, year=self.year + other.year)

    def __sub__(self, other: "Amounts") -> "Amounts":
        return Amounts(hour=self.hour - other.hour, month=self.month - other.month, year=self.year - other.year)


NOTHING = Amounts(hour=0, month=0, year=0)


def amounts_of(rate: Fraction) -> Amounts:
    """What micro-dollars per hour come to, each period rounded by itself."""
    return Amounts(hour=rounded(rate), month=rounded(rate * HOURS_PER_MONTH), year=rounded(rate * HOURS_PER_YEAR))


@dataclass(frozen=True, kw_only=True)
class Line:
    """One kind of cost: how it is worked out, in words, and what it comes to."""

    item: Item
    name: str
    formula: str
    price: UnitPrice
    rate: Fraction
    """Micro-dollars per hour."""

    @property
    def amounts(self) -> Amounts:
        return amounts_of(self.rate)


@dataclass(frozen=True, kw_only=True)
class Bill:
    """All lines, with machines bought in one way."""

    term: Term
    lines: tuple[Line, ...]

    @property
    def total(self) -> Amounts:
        return sum((line.amounts for line in self.lines), NOTHING)


@dataclass(frozen=True, kw_only=True)
class Estimate:
    shape: Shape
    bills: tuple[Bill, ...]
    """On demand first; a term without a price of the machine type is left out."""
    missing: tuple[str, ...]
    """What could not be counted because it has no price, a sentence each."""

    def bill(self, term: Term) -> Bill | None:
        return next((bill for bill in self.bills if bill.term is term), None)


def estimate(shape: Shape, book: PriceBook, *, at: datetime) -> Estimate:
    """What the shape costs by the prices in force at a moment."""
    missing: list[str] = []
    beside = tuple(_beside_machines(shape, book, at, missing))
    fees = tuple(_fees(shape, book, at))
    bills = []
    for term in Term:
        price = book.find(shape.provider, shape.region, Item.MACHINE, shape.machine_type, term=term, at=at)
        if price is None:
            continue
        paid = (_machines(shape, price), *beside)
        bills.append(Bill(term=term, lines=(*paid, *_markup(shape, book, at, paid), *fees)))
    if not bills or bills[0].term is not Term.ON_DEMAND:
        missing.insert(0, f"There is no price on demand of the machine type {shape.machine_type} in {shape.region}.")
    return Estimate(shape=shape, bills=tuple(bills), missing=tuple(missing))


def cross_zone_bytes_per_second(load: Load, zones: int) -> Fraction:
    """Payload that leaves a zone for another, in bytes per second.

    A write goes from the node that coordinates it to the replicas in all other zones. A read takes its data from a
    replica in the coordinator's zone (the others send digests, which are not counted). Unless clients keep to their
    zone, of their requests (zones - 1) in zones come from another one.
    """
    if zones <= 1:
        return Fraction(0)
    replicated = Fraction(load.writes_per_second * load.row_bytes * (zones - 1))
    return replicated if load.clients_in_zone else replicated + _from_clients(load) * Fraction(zones - 1, zones)


def in_zone_bytes_per_second(load: Load, zones: int) -> Fraction:
    """What clients and the nodes of their own zone send one another, in bytes per second."""
    return _from_clients(load) if load.clients_in_zone else _from_clients(load) / zones


def _from_clients(load: Load) -> Fraction:
    return Fraction((load.reads_per_second + load.writes_per_second) * load.row_bytes)


def _machines(shape: Shape, price: UnitPrice) -> Line:
    return Line(
        item=Item.MACHINE,
        name=shape.machine_type,
        formula=f"{_count(shape.nodes, 'machine')} × {dollars(price.micros)}",
        price=price,
        rate=Fraction(shape.nodes * price.micros),
    )


def _beside_machines(shape: Shape, book: PriceBook, at: datetime, missing: list[str]) -> Iterator[Line]:
    """Storage, requests and traffic: `quantity` of the item's unit, per month or per hour."""
    per_month = Fraction(1, HOURS_PER_MONTH)
    crossing = cross_zone_bytes_per_second(shape.load, shape.zones) * 3600
    inside = in_zone_bytes_per_second(shape.load, shape.zones) * 3600
    requests = Fraction(1, MICROS) * per_month
    disk = BOOT_DISK_BYTES.get(shape.provider, 0) if shape.block_bytes_per_node is None else shape.block_bytes_per_node
    disk_class = shape.block_class or BLOCK_CLASSES.get(shape.provider, "")
    wanted = (
        (Item.BLOCK_STORAGE, disk_class, shape.nodes * disk * per_month / GIB),
        (Item.OBJECT_STORAGE, shape.backup_class, shape.backup_bytes * per_month / GIB),
        (Item.OBJECT_WRITES, shape.backup_class, shape.backup_writes_per_month * requests),
        (Item.OBJECT_READS, shape.backup_class, shape.backup_reads_per_month * requests),
        (Item.TRAFFIC_IN_ZONE, "", inside / GIB),
        (Item.TRAFFIC_ACROSS_ZONES, "", crossing / GIB),
        (Item.TRAFFIC_OUT, "", shape.traffic_out_bytes_per_month * per_month / GIB),
    )
    for item, name, quantity in wanted:
        if quantity == 0:
            continue
        price = book.find(shape.provider, shape.region, item, name, at=at)
        if price is None:
            missing.append(f"There is no price of {_words(item, name)} in {shape.region}: it is not counted.")
        elif price.micros or item is not Item.TRAFFIC_IN_ZONE:
            yield Line(
                item=item,
                name=name,
                formula=_formula(item, quantity, price),
                price=price,
                rate=quantity * price.micros,
            )


def _markup(shape: Shape, book: PriceBook, at: datetime, paid: tuple[Line, ...]) -> Iterator[Line]:
    price = book.find(shape.provider, shape.region, Item.MARKUP, at=at)
    if price is not None and price.micros:
        percent = _decimal(Fraction(price.micros, 10_000), 4)
        yield Line(
            item=Item.MARKUP,
            name="",
            formula=f"{percent} % of all lines above",
            price=price,
            rate=sum((line.rate for line in paid), Fraction(0)) * price.micros / MICROS,
        )


def _fees(shape: Shape, book: PriceBook, at: datetime) -> Iterator[Line]:
    node = book.find(shape.provider, shape.region, Item.NODE_FEE, at=at)
    if node is not None and node.micros:
        formula = f"{_count(shape.nodes, 'node')} × {dollars(node.micros)}"
        rate = Fraction(shape.nodes * node.micros)
        yield Line(item=Item.NODE_FEE, name="", formula=formula, price=node, rate=rate)
    cluster = book.find(shape.provider, shape.region, Item.CLUSTER_FEE, at=at)
    if shape.whole_cluster and cluster is not None and cluster.micros:
        formula = f"{dollars(cluster.micros)} per month ÷ {HOURS_PER_MONTH} h"
        rate = Fraction(cluster.micros, HOURS_PER_MONTH)
        yield Line(item=Item.CLUSTER_FEE, name="", formula=formula, price=cluster, rate=rate)


def _formula(item: Item, per_hour: Fraction, price: UnitPrice) -> str:
    """In the unit that people know it by: storage and requests per month, traffic per hour."""
    match item:
        case Item.BLOCK_STORAGE | Item.OBJECT_STORAGE:
            quantity = _decimal(per_hour * HOURS_PER_MONTH, 3)
            return f"{quantity} GiB × {dollars(price.micros)} per month ÷ {HOURS_PER_MONTH} h"
        case Item.OBJECT_WRITES | Item.OBJECT_READS:
            quantity = _decimal(per_hour * HOURS_PER_MONTH, 6)
            return f"{quantity} million a month × {dollars(price.micros)} ÷ {HOURS_PER_MONTH} h"
        case _:
            return f"{_decimal(per_hour, 3)} GiB an hour × {dollars(price.micros)}"


def _words(item: Item, name: str) -> str:
    return " ".join(part for part in (item.value.replace("_", " "), name) if part)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _decimal(number: Fraction, places: int) -> str:
    """Rounded for people, without zeros at the end: 1,234.5."""
    scaled = rounded(number * 10**places)
    text = f"{scaled // 10**places:,}.{scaled % 10**places:0{places}d}"
    return text.rstrip("0").rstrip(".")
