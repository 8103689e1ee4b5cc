"""What a cluster's usage comes to on one day: pure, whole micro-dollars. docs/costs.md.

The amount of a line is that of all its usage of the day, rounded once. What more usage costs is the amount with it less
the amount without it: however a day is cut into pieces, and however often it is corrected, the pieces sum to the day.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from backend.costs.sharing import MILLION, Parts, parts_of
from backend.prices.book import PriceBook
from backend.prices.money import MICROS, rounded
from backend.prices.states import GIB, HOURS_PER_MONTH, Item, Term

HOUR_SECONDS = 3600
MONTH_SECONDS = HOURS_PER_MONTH * HOUR_SECONDS

PER = {
    Item.MACHINE: HOUR_SECONDS,
    Item.NODE_FEE: HOUR_SECONDS,
    Item.BLOCK_STORAGE: GIB * MONTH_SECONDS,
    Item.OBJECT_STORAGE: GIB * MONTH_SECONDS,
    Item.OBJECT_WRITES: MILLION,
    Item.OBJECT_READS: MILLION,
    Item.TRAFFIC_IN_ZONE: GIB,
    Item.TRAFFIC_ACROSS_ZONES: GIB,
    Item.TRAFFIC_OUT: GIB,
    Item.CLUSTER_FEE: MONTH_SECONDS,
    Item.MARKUP: MICROS,
}
"""How much of a line's quantity its price is paid for.

Quantities are machine-seconds, byte-seconds, seconds, requests, bytes, micro-dollars.
"""

_PART = {
    Item.MACHINE: "machines",
    Item.BLOCK_STORAGE: "disks",
    Item.OBJECT_STORAGE: "backups",
    Item.OBJECT_WRITES: "backups",
    Item.OBJECT_READS: "backups",
    Item.TRAFFIC_IN_ZONE: "traffic",
    Item.TRAFFIC_ACROSS_ZONES: "traffic",
    Item.TRAFFIC_OUT: "traffic",
    Item.NODE_FEE: "overhead",
    Item.CLUSTER_FEE: "overhead",
    Item.MARKUP: "overhead",
}


@dataclass(frozen=True, kw_only=True)
class LineKey:
    """One line of a day."""

    item: Item
    provider: str
    region: str
    name: str = ""
    price: int | None
    """None: the book has none, so it is counted but costs nothing."""


@dataclass(frozen=True)
class Sum:
    quantity: int = 0
    micros: int = 0

    def __add__(self, other: "Sum") -> "Sum":
        return Sum(self.quantity + other.quantity, self.micros + other.micros)


@dataclass(frozen=True, kw_only=True)
class Used:
    """`quantity` more (or, below zero, less) of something than was known of an hour."""

    item: Item
    provider: str
    region: str
    name: str
    quantity: int


def amount(item: Item, quantity: int, price: int | None) -> int:
    return 0 if price is None else rounded(Fraction(quantity * price, PER[item]))


def cost_of(
    used: Iterable[Used],
    *,
    hour: datetime,
    seconds_of_cluster: int,
    book: PriceBook,
    known: Mapping[LineKey, Sum],
) -> dict[LineKey, Sum]:
    """What is to be added to the lines of the day for this usage of one hour.

    `seconds_of_cluster`: for which the cluster's own fee is due in addition (below zero: not any more). `known`: the
    lines of the day so far.
    """
    added: dict[LineKey, Sum] = {}

    def add(key: LineKey, quantity: int) -> None:
        before = known.get(key, Sum()) + added.get(key, Sum())
        after = before.quantity + quantity
        more = Sum(quantity, amount(key.item, after, key.price) - before.micros)
        added[key] = added.get(key, Sum()) + more

    def price(item: Item, provider: str, region: str, name: str = "") -> int | None:
        term = Term.ON_DEMAND if item is Item.MACHINE else None
        found = book.find(provider, region, item, name, term=term, at=hour)
        return found.micros if found else None

    ordered = sorted(used, key=lambda each: (each.provider, each.region, each.item, each.name))
    for each in ordered:
        found = price(each.item, each.provider, each.region, each.name)
        add(
            LineKey(item=each.item, provider=each.provider, region=each.region, name=each.name, price=found),
            each.quantity,
        )
    paid = {place: sum(added[key].micros for key in keys) for place, keys in _by_place(added).items()}
    for (provider, region), micros in paid.items():
        share = price(Item.MARKUP, provider, region)
        if share:
            add(LineKey(item=Item.MARKUP, provider=provider, region=region, price=share), micros)
    machines = [each for each in ordered if each.item is Item.MACHINE]
    for each in machines:
        fee = price(Item.NODE_FEE, each.provider, each.region)
        if fee:
            add(LineKey(item=Item.NODE_FEE, provider=each.provider, region=each.region, price=fee), each.quantity)
    if machines and seconds_of_cluster:
        first = machines[0]
        fee = price(Item.CLUSTER_FEE, first.provider, first.region)
        if fee:
            key = LineKey(item=Item.CLUSTER_FEE, provider=first.provider, region=first.region, price=fee)
            add(key, seconds_of_cluster)
    return {key: more for key, more in added.items() if more != Sum()}


def _by_place(lines: Iterable[LineKey]) -> dict[tuple[str, str], list[LineKey]]:
    found: dict[tuple[str, str], list[LineKey]] = {}
    for key in lines:
        found.setdefault((key.provider, key.region), []).append(key)
    return found


def parts_of_lines(lines: Mapping[LineKey, Sum]) -> Parts:
    """Machines go to compute and storage as sharing.py splits them."""
    sums = dict.fromkeys(_PART.values(), 0)
    for key, line in lines.items():
        sums[_PART[key.item]] += line.micros
    return parts_of(**sums)


def together(known: Mapping[LineKey, Sum], added: Mapping[LineKey, Sum]) -> dict[LineKey, Sum]:
    return {key: known.get(key, Sum()) + added.get(key, Sum()) for key in {**known, **added}}
