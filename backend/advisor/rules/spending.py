"""What rules that save money look at: prices, machines as they are and as they could be, and what was metered. Pure.

Amounts are micro-dollars. A month has 730 hours, as in docs/costs.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction

from backend.prices.book import PriceBook
from backend.prices.estimate import Shape as PricedShape
from backend.prices.estimate import estimate
from backend.prices.money import MICROS, rounded, spoken
from backend.prices.states import GIB, HOURS_PER_MONTH, Item, Term
from backend.sizing.figures import EngineRules
from backend.sizing.shapes import Machine

HOURS_PER_DAY = 24


@dataclass(frozen=True, kw_only=True)
class Place:
    """The nodes of a data centre. `replicas`: copies of a row that it holds, of the keyspace that has most."""

    name: str
    region: str
    machine_type: str
    nodes: int
    zones: int
    replicas: int
    machine: Machine | None = None
    """With what limits a node on it; None: it shares a machine, or there are no figures."""
    is_first: bool = True
    """Where a cluster has several: the one that its fee is counted with."""


@dataclass(frozen=True, kw_only=True)
class Metered:
    """Whole days of UTC, the latest that are over, each with its cost and its metrics."""

    days: int
    requests: int
    """Reads and writes of all tables but the engine's own, on all replicas."""
    micros: int
    """What the cluster cost in them, without backups: those stay when it is deleted."""


@dataclass(frozen=True, kw_only=True)
class Overdue:
    """Complete backups of a cluster in one place that its policy does not ask for any more, or would not."""

    location: str
    provider: str
    region: str
    expired: int
    """Of schedules; or made by hand, with an end that is over."""
    endless: int
    """Made by hand, without an end, and older than the schedules keep theirs."""
    oldest: datetime
    bytes: int
    """In the store, of objects that nothing else needs."""


@dataclass(frozen=True, kw_only=True)
class Spending:
    """What a cluster costs. `at`: whose prices count. `served_days`: since it was first proved."""

    book: PriceBook
    at: datetime
    provider: str
    served_days: float
    engine: EngineRules | None = None
    """None: the planner has no rules for it."""
    places: tuple[Place, ...] = ()
    offers: Mapping[str, tuple[Machine, ...]] = field(default_factory=dict)
    """By machine type: what can be had instead, of the same provider and architecture, itself included."""
    lately: Metered | None = None
    """None: some of the days are missing, or were not measured."""
    overdue: tuple[Overdue, ...] = ()

    def month(self, place: Place, machine_type: str, nodes: int, term: Term = Term.ON_DEMAND) -> int | None:
        """What such nodes cost there, with mark-up and fees; None: the machine type has no price of this term."""
        shape = PricedShape(
            provider=self.provider,
            region=place.region,
            machine_type=machine_type,
            nodes=nodes,
            zones=place.zones,
            whole_cluster=place.is_first,
        )
        bill = estimate(shape, self.book, at=self.at).bill(term)
        return None if bill is None else bill.total.month

    def storage_month(self, overdue: Overdue) -> int | None:
        """What these bytes cost in the object store, with mark-up; None: it has no price."""
        price = self.book.find(overdue.provider, overdue.region, Item.OBJECT_STORAGE, "standard", at=self.at)
        if price is None:
            return None
        markup = self.book.find(overdue.provider, overdue.region, Item.MARKUP, at=self.at)
        share = Fraction(MICROS + (markup.micros if markup is not None else 0), MICROS)
        return rounded(Fraction(overdue.bytes * price.micros, GIB) * share)


def monthly(micros: int, days: int) -> int:
    """What goes on as in these days, in a month."""
    return rounded(Fraction(micros * HOURS_PER_MONTH, days * HOURS_PER_DAY))


def usd(micros: int) -> str:
    return f"{spoken(micros)} USD"
