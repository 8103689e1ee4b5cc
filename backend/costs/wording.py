"""What changed between two months, in words: pure. The amounts of all changes sum to the difference."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from backend.costs.pricing import PER
from backend.prices.money import spoken
from backend.prices.states import GIB, HOURS_PER_MONTH, Item


@dataclass(frozen=True, kw_only=True)
class Thing:
    """A line over some days, whatever its price was."""

    cluster_id: str
    item: Item
    provider: str
    region: str
    name: str


@dataclass(frozen=True)
class Amount:
    quantity: int = 0
    micros: int = 0


@dataclass(frozen=True, kw_only=True)
class Change:
    thing: Thing
    micros: int
    text: str


def changes(
    before: Mapping[Thing, Amount], now: Mapping[Thing, Amount], *, names: Mapping[str, str], hours: int
) -> list[Change]:
    """The largest first. `names`: of clusters; `hours`: of which both are."""
    found = []
    for thing in {**before, **now}:
        old, new = before.get(thing, Amount()), now.get(thing, Amount())
        if old.micros != new.micros:
            text = f"{names.get(thing.cluster_id) or 'No cluster'}: {_words(thing, old, new, hours)}"
            found.append(Change(thing=thing, micros=new.micros - old.micros, text=text))
    return sorted(found, key=lambda change: (-abs(change.micros), change.text))


def _words(thing: Thing, old: Amount, new: Amount, hours: int) -> str:
    more = new.micros - old.micros
    by = f"{spoken(abs(more))} dollars {'more' if more > 0 else 'less'}"
    what = _what(thing)
    if not old.quantity:
        return f"{what} are new, {_much(thing, new, hours)}: {by}."
    if not new.quantity:
        return f"{what} are gone, {_much(thing, old, hours)} before: {by}."
    if old.quantity == new.quantity:
        return f"{what} cost another price: {by}."
    price = _price_moved(thing, old, new)
    return f"{what}, {_much(thing, new, hours)} instead of {_much(thing, old, hours)}{price}: {by}."


def _price_moved(thing: Thing, old: Amount, new: Amount) -> str:
    """Beyond a hundredth: less is rounding."""
    if thing.item is Item.MARKUP or not old.micros:
        return ""
    moved = new.micros * old.quantity / (old.micros * new.quantity) - 1
    return f" and at a price {abs(moved):.0%} {'higher' if moved > 0 else 'lower'}" if abs(moved) >= 0.01 else ""


def _what(thing: Thing) -> str:
    match thing.item:
        case Item.MACHINE:
            return f"{thing.name} machines in {thing.region or thing.provider}"
        case Item.OBJECT_STORAGE:
            return f"backups ({thing.name})"
        case Item.BLOCK_STORAGE:
            return f"disks ({thing.name})"
        case Item.NODE_FEE:
            return "fees for nodes"
        case Item.CLUSTER_FEE:
            return "fees for the cluster"
        case Item.MARKUP:
            return "mark-ups"
        case Item.OBJECT_WRITES:
            return f"requests that write backups ({thing.name})"
        case Item.OBJECT_READS:
            return f"requests that read backups ({thing.name})"
        case Item.TRAFFIC_IN_ZONE:
            return "bytes sent within zones"
        case Item.TRAFFIC_ACROSS_ZONES:
            return "bytes sent across zones"
        case Item.TRAFFIC_OUT:
            return "bytes sent out"


def _much(thing: Thing, amount: Amount, hours: int) -> str:
    """Means of the time: 3.5 machines, 120.0 GiB."""
    match thing.item:
        case Item.MACHINE | Item.NODE_FEE:
            return f"{amount.quantity / (3600 * hours):.1f} on average"
        case Item.OBJECT_STORAGE | Item.BLOCK_STORAGE:
            return f"{amount.quantity / (3600 * hours * GIB):.1f} GiB on average"
        case Item.OBJECT_WRITES | Item.OBJECT_READS:
            return f"{amount.quantity / PER[thing.item]:.3f} million"
        case Item.TRAFFIC_IN_ZONE | Item.TRAFFIC_ACROSS_ZONES | Item.TRAFFIC_OUT:
            return f"{amount.quantity / GIB:.1f} GiB"
        case Item.MARKUP:
            return f"on {spoken(amount.quantity)} dollars"
        case Item.CLUSTER_FEE:
            return f"{amount.quantity / (PER[thing.item] / HOURS_PER_MONTH):.0f} hours"


def summary(*, before: int, now: int, days: int, month: str, found: Iterable[Change], names: Mapping[str, str]) -> str:
    """One sentence over all: how much, and which cluster most of it is of."""
    if days == 0:
        return f"No day of {month} is over yet: there is nothing to compare."
    of_days = f"In the first {days} days of {month}" if days > 1 else f"On the first day of {month}"
    if before == now == 0:
        return f"{of_days} nothing was spent, nor in those of the month before."
    if before == now:
        return f"{of_days} as much was spent as in those of the month before: {spoken(now)} dollars."
    by_cluster: dict[str, int] = {}
    for change in found:
        by_cluster[change.thing.cluster_id] = by_cluster.get(change.thing.cluster_id, 0) + change.micros
    more = now - before
    sign = 1 if more > 0 else -1
    most = max(by_cluster, key=lambda cluster: sign * by_cluster[cluster])
    percent = f" ({abs(more) / before:.0%})" if before > 0 else ""
    by = f"{spoken(abs(more))}{percent} {'more' if more > 0 else 'less'}"
    whose = names.get(most) or "what belongs to no cluster"
    spent = f"{of_days} {spoken(now)} dollars were spent"
    return f"{spent}, {by} than in those of the month before; most of it by {whose}."
