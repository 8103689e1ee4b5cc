"""Reading the price book."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from backend.accounts.queries import Identity
from backend.accounts.states import Permission
from backend.core.errors import NotFound
from backend.core.pagination import PageQuery, cut, page
from backend.core.schemas import allowed
from backend.prices.book import Listed, PriceBook
from backend.prices.models import Price, PriceList
from backend.prices.states import UNITS, Item, Origin, Term, reason_against_taking_back

_LISTS = ("id", "provider", "region", "tried_at", "read_at", "prices", "doubtful", "error", "hint")


def coming_hour(now: datetime | None = None) -> datetime:
    """The first full hour that has not begun. Prices begin there at the earliest, so none changes what is past."""
    now = now or timezone.now()
    return now.astimezone(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)


def price_book(*providers: str) -> PriceBook:
    """All prices of these providers, or of every one if none is named. One statement."""
    rows = Price.objects.filter(provider__in=providers) if providers else Price.objects.all()
    return PriceBook(_listed(row) for row in rows)


def _listed(row: Price) -> Listed:
    return Listed(
        provider=row.provider,
        region=row.region,
        item=Item(row.item),
        name=row.name,
        term=Term(row.term) if row.term else None,
        origin=Origin(row.origin),
        micros=row.micros,
        includes_local_disk=row.includes_local_disk,
        valid_from=row.valid_from,
        source=row.source,
        source_date=row.source_date,
        assumption=row.assumption,
        note=row.note,
    )


def list_prices(who: Identity, query: PageQuery, **wanted: str | None) -> dict[str, Any]:
    """Newest first, of all times. They are the installation's: every organisation sees the same."""
    rows = Price.objects.filter(**{name: value for name, value in wanted.items() if value is not None})
    if query.cursor is not None:
        rows = rows.filter(id__lt=query.cursor)
    return cut([shown(who, row) for row in rows.order_by("-id")[: query.limit + 1]], query, lambda row: row)


def list_price_lists(query: PageQuery) -> dict[str, Any]:
    """Regions whose prices were first read last come first."""
    return page(PriceList.objects.values(*_LISTS), query, _list_shown)


def _list_shown(row: Mapping[str, Any]) -> dict[str, Any]:
    error = {"message": row["error"], "hint": row["hint"]} if row["error"] else None
    return {name: row[name] for name in _LISTS if name not in ("error", "hint")} | {"error": error}


def find_price(price_id: str, *, lock: bool = False) -> Price:
    """Raises NotFound."""
    rows = Price.objects.select_for_update() if lock else Price.objects.all()
    row = rows.filter(id=price_id).first()
    if row is None:
        raise NotFound("price_not_found", "There is no such price.", hint="List the prices to see their ids.")
    return row


def later_ones(row: Price) -> bool:
    """Whether another price of the same thing and origin begins after it."""
    return (
        Price.objects.filter(
            provider=row.provider,
            region=row.region,
            item=row.item,
            name=row.name,
            term=row.term,
            origin=row.origin,
            valid_from__gt=row.valid_from,
        )
        .exclude(id=row.id)
        .exists()
    )


def shown(who: Identity, row: Price) -> dict[str, Any]:
    may = Permission.PRICES_WRITE in who.permissions
    # Whether a later one stands is looked up by the write itself: a list would ask once per row.
    reason = reason_against_taking_back(Origin(row.origin), may=may, ended=row.micros is None)
    return {
        "id": row.id,
        "provider": row.provider,
        "region": row.region or None,
        "item": row.item,
        "name": row.name,
        "term": row.term or None,
        "unit": UNITS[Item(row.item)],
        "origin": row.origin,
        "micros": row.micros,
        "includes_local_disk": row.includes_local_disk,
        "valid_from": row.valid_from,
        "source": row.source,
        "source_date": row.source_date,
        "assumption": row.assumption,
        "note": row.note,
        "created_by": row.created_by,
        "allowed_actions": [allowed("take_back_price", reason)],
    }
