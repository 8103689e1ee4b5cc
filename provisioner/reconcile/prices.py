"""Reads what the clouds publish of prices, once a day, with this installation's own accounts."""

import structlog

from backend.catalog.models import Provider as Offered
from backend.prices import published
from backend.prices.published import Published
from backend.prices.states import Item, Term
from provisioner.operations.surroundings import surroundings
from provisioner.providers.base import ListPrice, ProviderError
from provisioner.reconcile.alone import alone

log = structlog.get_logger(__name__)

_SOURCES = {"aws": "AWS Price List Query API", "gcp": "Cloud Billing Catalog API"}


def read_price_lists() -> int:
    """How many prices are new."""
    with alone("reconcile-prices") as mine:
        names = Offered.objects.filter(enabled=True).order_by("id").values_list("id", flat=True)
        return sum(_read(name) for name in names) if mine else 0


def _read(provider: str) -> int:
    regions = published.due(provider)
    if provider not in _SOURCES or not regions:
        return 0
    try:
        told = surroundings().provider(provider).price_list(regions=regions)
    except ProviderError as error:
        log.warning("prices unknown", provider=provider, code=error.code, reason=error.message)
        for region in regions:
            published.record_failure(provider, region, error.message, hint=error.hint)
        return 0
    return sum(
        published.record(provider, region, [_published(one) for one in prices], source=_SOURCES[provider])
        for region, prices in told.items()
    )


def _published(one: ListPrice) -> Published:
    return Published(
        item=Item(one.item),
        name=one.name,
        term=Term(one.term) if one.term else None,
        micros=one.micros,
        includes_local_disk=True if one.item == Item.MACHINE else None,
        day=one.day,
    )
