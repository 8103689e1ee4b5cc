"""Which of many clusters that are large enough are worth a look. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from backend.sizing.shapes import Shape

NEAR_PERCENT = 20
"""How much dearer than the cheapest of its family a cluster of fewer, larger nodes may be. A choice of ours."""


@dataclass(frozen=True, kw_only=True)
class Priced:
    shape: Shape
    year_micros: int | None
    """On demand, micro-dollars; None: a price is not known."""


@dataclass(frozen=True, kw_only=True)
class Chosen:
    shape: Shape
    cheaper: Shape | None
    """Of its family, the cheapest, where that is another: more and smaller nodes."""


def cheapest(found: Iterable[Priced]) -> Priced | None:
    """Of those with a price; of equal ones that with the fewest nodes."""
    known = [each for each in found if each.year_micros is not None]
    return min(known, key=_by_cost, default=None)


def of_families(found: Iterable[Priced]) -> list[Chosen]:
    """Of each family the fewest nodes at nearly its lowest price, cheapest first; what has no price comes last."""
    families: dict[str, list[Priced]] = {}
    for each in found:
        families.setdefault(each.shape.machine.family, []).append(each)
    picked = [(_fewest(family), cheapest(family)) for family in families.values()]
    picked.sort(key=lambda pair: _by_cost(pair[0]))
    return [
        Chosen(shape=pick.shape, cheaper=low.shape if low is not None and low is not pick else None)
        for pick, low in picked
    ]


def _fewest(family: list[Priced]) -> Priced:
    low = cheapest(family)
    if low is None or low.year_micros is None:
        return min(family, key=lambda each: each.shape.nodes)
    most = low.year_micros * (100 + NEAR_PERCENT)
    near = [each for each in family if each.year_micros is not None and each.year_micros * 100 <= most]
    return min(near, key=lambda each: (each.shape.nodes, each.year_micros or 0))


def _by_cost(each: Priced) -> tuple[bool, int, int]:
    return each.year_micros is None, each.year_micros or 0, each.shape.nodes
