"""What providers publish: which price lists are due to be read, and what reading them came to.

A worker reads them (provisioner/reconcile/prices.py). A figure that differs from the one before counts from the coming
hour on, so the past stays; one that is no longer told stays as it was told last.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db import transaction
from django.utils import timezone

from backend.catalog.models import Region
from backend.prices.models import Price, PriceList
from backend.prices.queries import coming_hour
from backend.prices.states import IMPLAUSIBLE, Item, Origin, Term

EVERY = timedelta(days=1)
AGAIN_AFTER = timedelta(hours=1)
"""After a try that failed: permissions are mended within the day."""
_SHOWN_DOUBTS = 20


@dataclass(frozen=True, kw_only=True)
class Published:
    """A price of a region as its provider tells it. `day`: since when it is so, if that is told."""

    item: Item
    name: str
    term: Term | None = None
    micros: int
    includes_local_disk: bool | None = None
    day: date | None = None


def due(provider: str, now: datetime | None = None) -> list[str]:
    """Names of the regions that are offered and whose prices were not read for a day."""
    now = now or timezone.now()
    fresh = {
        row.region
        for row in PriceList.objects.filter(provider=provider)
        if row.tried_at > now - (AGAIN_AFTER if row.error else EVERY)
    }
    names = Region.objects.filter(provider_id=provider, enabled=True, provider__enabled=True)
    return sorted(set(names.values_list("name", flat=True)) - fresh)


@transaction.atomic
def record(provider: str, region: str, told: Sequence[Published], *, source: str) -> int:
    """How many prices are new. A list that is empty is an error of the reading, and changes no price."""
    if not told:
        record_failure(
            provider,
            region,
            "The price list tells nothing of this region's machine types.",
            hint="Look whether the region is spelled as in the provider's price list. Prices stay as they are.",
        )
        return 0
    row, now = _row(provider, region), timezone.now()
    fresh, doubtful = _fresh(provider, region, told, source)
    Price.objects.bulk_create(fresh)
    row.tried_at = row.read_at = now
    row.prices, row.doubtful, row.error, row.hint = len(told), doubtful[:_SHOWN_DOUBTS], "", ""
    row.save()
    return len(fresh)


@transaction.atomic
def record_failure(provider: str, region: str, error: str, *, hint: str = "") -> None:
    """Prices stay as they are."""
    row = _row(provider, region)
    row.tried_at, row.error, row.hint = timezone.now(), error[:500], hint[:500]
    row.save()


def _row(provider: str, region: str) -> PriceList:
    row, _ = PriceList.objects.select_for_update().get_or_create(
        provider=provider, region=region, defaults={"tried_at": timezone.now()}
    )
    return row


def _fresh(provider: str, region: str, told: Iterable[Published], source: str) -> tuple[list[Price], list[str]]:
    """Rows to be added, and what is not believed. Removes those that they replace before they began."""
    coming = coming_hour()
    known: dict[tuple[str, str, str], Price] = {}
    listed = Price.objects.filter(provider=provider, region=region, origin__in=[Origin.PUBLISHED, Origin.LIST])
    # What was published goes before what came with the product, of each the latest.
    for row in sorted(listed, key=lambda row: (row.origin == Origin.PUBLISHED, row.valid_from)):
        known[row.item, row.name, row.term] = row
    fresh, doubtful = [], []
    for one in told:
        before = known.get((one.item, one.name, one.term or ""))
        if before is not None and before.micros and not _plausible(one.micros, before.micros):
            doubtful.append(f"{one.name}, {one.term or one.item}: {one.micros / 1e6:g} after {before.micros / 1e6:g}")
            continue
        if before is not None and before.origin == Origin.PUBLISHED:
            if before.micros == one.micros:
                continue
            if before.valid_from >= coming:
                before.delete()
        fresh.append(
            Price(
                provider=provider,
                region=region,
                item=one.item,
                name=one.name,
                term=one.term or "",
                origin=Origin.PUBLISHED,
                micros=one.micros,
                includes_local_disk=one.includes_local_disk,
                valid_from=coming,
                source=source,
                source_date=one.day,
            )
        )
    return fresh, doubtful


def _plausible(micros: int, before: int) -> bool:
    return before < micros * IMPLAUSIBLE and micros < before * IMPLAUSIBLE
