"""Asks the clouds what each account has room for in each region, so that an order that cannot fit is refused.

The installation's own account and those that organisations brought. Whoever was asked longest ago comes first, and a
round ends before its time limit: with very many accounts each is asked less often than once a round.
"""

import time
from dataclasses import asdict

import structlog

from backend.catalog.actions import record_memory_budget
from backend.catalog.models import Region
from backend.cloud_accounts.actions import record_capacity as record
from backend.cloud_accounts.actions import record_no_answer
from backend.cloud_accounts.models import CloudAccount, RegionCapacity
from backend.cloud_accounts.queries import living_accounts
from backend.cloud_accounts.states import CheckState
from provisioner.operations.surroundings import surroundings
from provisioner.providers.base import ProviderError
from provisioner.reconcile.alone import alone

log = structlog.get_logger(__name__)

_ROUND_SECONDS = 40.0


def record_capacity() -> int:
    """Write down what every region that is offered has room for, by account. How many answered."""
    recorded, ends_at = 0, time.monotonic() + _ROUND_SECONDS
    with alone("reconcile-capacity") as mine:
        for region, account in _places() if mine else []:
            if time.monotonic() > ends_at:
                break
            recorded += _ask(region, account)
    return recorded


def _places() -> list[tuple[Region, CloudAccount | None]]:
    """Those that were never asked first."""
    rows = RegionCapacity.objects.order_by("asked_at").values_list("region_id", "cloud_account_id")
    asked: dict[tuple[str, str | None], int] = {place: position for position, place in enumerate(rows, start=1)}
    places: list[tuple[Region, CloudAccount | None]] = []
    for region in Region.objects.filter(enabled=True, provider__enabled=True).order_by("id"):
        ready = [one for one in living_accounts(region.provider_id) if one.check_state == CheckState.READY]
        places += [(region, account) for account in (None, *ready)]
    return sorted(places, key=lambda place: asked.get((place[0].id, None if place[1] is None else place[1].id), 0))


def _ask(region: Region, account: CloudAccount | None) -> bool:
    try:
        provider = surroundings().provider(region.provider_id, account)
        if account is None:
            record_memory_budget(region.id, provider.memory_budget_mib(region=region.name))
        told = provider.capacity(region=region.name)
    except ProviderError as error:
        log.warning("capacity unknown", region_id=region.id, code=error.code, reason=error.message)
        record_no_answer(region.id, account, error.message)
        return False
    record(region.id, account, quotas=[asdict(quota) for quota in told.quotas], offered=told.offered)
    return True
