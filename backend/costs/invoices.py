"""Lines of a month: what it is billed as, and what is otherwise than in the month before."""

from bisect import bisect_right
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from django.db.models import Sum
from django.utils import timezone

from backend.accounts.queries import Identity
from backend.clusters.queries import clusters, require_cluster
from backend.core.errors import Invalid
from backend.core.pagination import foreign_cursor, from_cursor, to_cursor
from backend.costs import wording
from backend.costs.closing import GRACE
from backend.costs.metering import hour_of
from backend.costs.models import CostLine
from backend.costs.pricing import PER
from backend.costs.ranges import Days, month_of
from backend.costs.wording import Amount, Change, Thing
from backend.prices.states import CURRENCY, UNITS, Item

_MOST_CHANGES = 50
_THING = ("cluster_id", "item", "provider", "region", "name")


def quantity_of(item: Item, quantity: int) -> str:
    """In the unit that the price is of, with nine decimals."""
    scaled, per = quantity * 10**9, PER[item]
    size = (2 * abs(scaled) + per) // (2 * per)
    sign = "-" if quantity < 0 and size else ""
    return f"{sign}{size // 10**9}.{size % 10**9:09d}"


def unit_of(item: Item) -> str:
    match item:
        case Item.MACHINE | Item.NODE_FEE:
            return "hours"
        case Item.BLOCK_STORAGE | Item.OBJECT_STORAGE:
            return "GiB-months"
        case Item.CLUSTER_FEE:
            return "months"
        case Item.MARKUP:
            return "dollars"
        case other:
            return UNITS[other]


def get_invoice(who: Identity, month: str, *, limit: int, cursor: str | None) -> dict[str, Any]:
    """Lines with the same price are one. Raises Invalid."""
    span = _month(month)
    rows = CostLine.objects.filter(organisation_id=who.organisation_id, day__gte=span.begin, day__lt=span.end)
    by_line = rows.values(*_THING, "price").annotate(quantity=Sum("quantity"), micros=Sum("micros"))
    found = sorted(by_line, key=_place)
    whole = sum(row["micros"] for row in found)
    # Whatever lines are written between two pages: the next one begins behind the last line of the one before.
    start = 0 if cursor is None else bisect_right(found, _place_of(cursor), key=_place)
    shown = found[start : start + limit]
    names = clusters_by_id(who, {row["cluster_id"] for row in shown})
    return {
        "month": month,
        "final": hour_of(timezone.now() - GRACE).date() >= span.end,
        "currency": CURRENCY,
        "micros": whole,
        "lines": len(found),
        "items": [
            {
                "cluster": names.get(row["cluster_id"]),
                **{name: row[name] for name in ("item", "provider", "region", "name", "price", "micros")},
                "quantity": quantity_of(Item(row["item"]), int(row["quantity"])),
                "unit": unit_of(Item(row["item"])),
            }
            for row in shown
        ],
        "next_cursor": to_cursor(*_place(shown[-1])) if start + limit < len(found) else None,
    }


def _place(line: Mapping[str, Any]) -> tuple[str | int, ...]:
    """In the invoice: no two lines have the same."""
    return (*(line[name] for name in _THING), -1 if line["price"] is None else line["price"])


def _place_of(cursor: str) -> tuple[str | int, ...]:
    try:
        match from_cursor(cursor):
            case [str(), str(), str(), str(), str(), int()] as place:
                return tuple(place)
    except ValueError:
        pass
    raise foreign_cursor()


def clusters_by_id(who: Identity, ids: set[str]) -> dict[str, dict[str, Any]]:
    """As the API names them; without what belongs to none."""
    known = {row.id: row for row in clusters(who).filter(id__in=ids).only("id", "name", "deleted_at")}
    return {
        each: {
            "id": each,
            "name": known[each].name if each in known else "",
            "deleted": each not in known or known[each].deleted_at is not None,
        }
        for each in ids
        if each
    }


def _month(month: str) -> Days:
    return month_of(date.fromisoformat(f"{month}-01"))


def get_changes(who: Identity, month: str | None, cluster_id: str | None) -> dict[str, Any]:
    """Whole days of the month, beside the same days of the month before. Raises NotFound, Invalid."""
    if cluster_id is not None:
        require_cluster(who, cluster_id)
    over = hour_of(timezone.now() - GRACE).date()
    span = month_of(over) if month is None else _month(month)
    if span.begin > over:
        raise Invalid("invalid_range", "That month has not begun.", hint="Leave it out.", field="month")
    previous = month_of(span.begin - timedelta(days=1))
    if span.end > over:
        count = min((over - span.begin).days, (previous.end - previous.begin).days)
        span = Days(span.begin, span.begin + timedelta(days=count))
        previous = Days(previous.begin, previous.begin + timedelta(days=count))
    days = (span.end - span.begin).days
    before, now = (_things(who, each, cluster_id) for each in (previous, span))
    names = clusters_by_id(who, {thing.cluster_id for thing in {**before, **now}})
    called = {each: row["name"] for each, row in names.items()}
    found = wording.changes(before, now, names=called, hours=max(1, days * 24))
    sums = [sum(amount.micros for amount in each.values()) for each in (before, now)]
    word = f"{span.begin:%B %Y}"
    return {
        "month": f"{span.begin:%Y-%m}",
        "days": days,
        "before": sums[0],
        "now": sums[1],
        "micros": sums[1] - sums[0],
        "text": wording.summary(before=sums[0], now=sums[1], days=days, month=word, found=found, names=called),
        "items": [_change(change, names) for change in found[:_MOST_CHANGES]],
        "left_out": sum(change.micros for change in found[_MOST_CHANGES:]),
    }


def _change(change: Change, names: dict[str, dict[str, Any]]) -> dict[str, Any]:
    cluster = names.get(change.thing.cluster_id)
    return {"text": change.text, "cluster": cluster, "item": change.thing.item, "micros": change.micros}


def _things(who: Identity, span: Days, cluster_id: str | None) -> dict[Thing, Amount]:
    rows = CostLine.objects.filter(organisation_id=who.organisation_id, day__gte=span.begin, day__lt=span.end)
    if cluster_id is not None:
        rows = rows.filter(cluster_id=cluster_id)
    summed = rows.values(*_THING).annotate(quantity=Sum("quantity"), micros=Sum("micros"))
    return {
        Thing(**{name: row[name] for name in _THING} | {"item": Item(row["item"])}): Amount(
            int(row["quantity"]), row["micros"]
        )
        for row in summed
    }
