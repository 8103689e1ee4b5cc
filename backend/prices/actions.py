"""Filling the price book: from the product's own data, and by the people who run the installation."""

import json
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from pydantic import BaseModel, ConfigDict

from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission
from backend.audit import actions as audit
from backend.catalog.actions import listed_machines
from backend.core.errors import Conflict, Invalid
from backend.prices.models import Price
from backend.prices.queries import coming_hour, find_price, later_ones, shown
from backend.prices.schemas import PriceOrder
from backend.prices.states import Item, Origin, Term, reason_against_taking_back

DATA = Path(__file__).resolve().parent / "data"
_SINCE = date(2026, 1, 1)
"""From when on a figure counts that has no date of its own."""


class _PriceData(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    region: str = ""
    item: Item
    name: str = ""
    term: Term | None = None
    micros: int
    includes_local_disk: bool | None = None
    source: str
    source_date: date | None = None
    assumption: bool = False
    note: str = ""


class _ProviderData(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    provider: str
    prices: list[_PriceData]


@transaction.atomic
def load() -> int:
    """Makes the list prices say what data/*.json and the catalogue's files say. How many rows were added.

    A figure that differs from the one before counts from the coming hour on; the first one of a thing from the day of
    its price list. Loading again adds nothing.
    """
    coming = coming_hour()
    known: dict[tuple[str, ...], Price] = {}
    for row in Price.objects.filter(origin=Origin.LIST).order_by("valid_from"):
        known[_key(row)] = row
    fresh = []
    for row in _from_files():
        before = known.get(_key(row))
        if before is not None:
            if before.micros == row.micros:
                continue
            row.valid_from = coming
            if before.valid_from >= coming:
                # Loaded a moment ago and not begun yet.
                before.delete()
        fresh.append(row)
    Price.objects.bulk_create(fresh)
    return len(fresh)


def _from_files() -> list[Price]:
    rows = [
        Price(
            provider=one.provider,
            region=one.region,
            item=Item.MACHINE,
            name=one.name,
            term=Term.ON_DEMAND,
            origin=Origin.LIST,
            micros=one.micros_per_hour,
            includes_local_disk=True,
            valid_from=_midnight(one.day),
            source="Price list; docs/machine-types.md says which",
            source_date=one.day,
        )
        for one in listed_machines()
    ]
    for path in sorted(DATA.glob("*.prices.json")):
        found = _ProviderData.model_validate(json.loads(path.read_text()))
        for each in found.prices:
            columns = each.model_dump(exclude={"term"})
            valid_from = _midnight(each.source_date or _SINCE)
            rows.append(
                Price(
                    provider=found.provider,
                    origin=Origin.LIST,
                    term=each.term or "",
                    valid_from=valid_from,
                    **columns,
                )
            )
    return rows


def _key(row: Price) -> tuple[str, ...]:
    return (row.provider, row.region, row.item, row.name, row.term)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)


@transaction.atomic
def upload(who: Identity, orders: list[PriceOrder]) -> dict[str, Any]:
    """All of them or none. Raises Forbidden, Invalid, Conflict."""
    require(who, Permission.PRICES_WRITE)
    first = coming_hour()
    for number, order in enumerate(orders):
        _check_begin(order, first, f"prices.{number}.valid_from")
    rows = [_row(order, first, who.actor) for order in orders]
    try:
        with transaction.atomic():
            Price.objects.bulk_create(rows)
    except IntegrityError as error:
        if "price_once" not in str(error):
            raise
        raise Conflict(
            "price_known",
            "There is a price of yours for the same thing from the same hour on, or one is named twice.",
            hint="Take that one back first, or let yours begin an hour later.",
        ) from error
    for row in rows:
        _record(who, row, "price.upload", after=_told(row))
    return {"items": [shown(who, row) for row in rows]}


def _check_begin(order: PriceOrder, first: datetime, field: str) -> None:
    begin = order.valid_from
    if begin is None:
        return
    if begin.minute or begin.second or begin.microsecond:
        raise Invalid("price_begin", "A price begins at a full hour.", hint="Name a full hour, UTC.", field=field)
    if begin < first:
        raise Invalid(
            "price_begin",
            f"A price cannot begin before {first:%Y-%m-%dT%H:%MZ}: what is past stays as it was.",
            hint="Leave valid_from out for the coming hour.",
            field=field,
        )


def _row(order: PriceOrder, first: datetime, actor: str) -> Price:
    columns = order.model_dump(exclude={"term", "valid_from"})
    term = (order.term or Term.ON_DEMAND) if order.item is Item.MACHINE else ""
    return Price(**columns, term=term, valid_from=order.valid_from or first, origin=Origin.OPERATOR, created_by=actor)


@transaction.atomic
def take_back(who: Identity, price_id: str) -> None:
    """One that has not begun is removed; one in force ends at the coming hour. Raises NotFound, Forbidden, Conflict."""
    require(who, Permission.PRICES_WRITE)
    row = find_price(price_id, lock=True)
    ended = row.micros is None or later_ones(row)
    if reason := reason_against_taking_back(Origin(row.origin), may=True, ended=ended):
        raise Conflict("price_not_yours", reason, hint="List the prices to see which one counts.")
    _record(who, row, "price.take_back", before=_told(row))
    if row.valid_from > timezone.now():
        row.delete()
        return
    Price.objects.create(
        provider=row.provider,
        region=row.region,
        item=row.item,
        name=row.name,
        term=row.term,
        origin=Origin.OPERATOR,
        micros=None,
        valid_from=coming_hour(),
        created_by=who.actor,
    )


def _told(row: Price) -> dict[str, Any]:
    return {"micros": row.micros, "valid_from": row.valid_from.isoformat(), "source": row.source}


def _record(
    who: Identity,
    row: Price,
    action: str,
    *,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    name = " ".join(part for part in _key(row) if part)
    audit.record(
        who, action=action, target_type="price", target_id=row.id, target_name=name, before=before, after=after
    )
