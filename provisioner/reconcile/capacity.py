"""Asks the providers how much memory their regions have for nodes, so that an order that cannot fit is refused."""

import structlog

from backend.catalog.actions import record_memory_budget
from backend.catalog.models import Region
from provisioner.operations.surroundings import surroundings
from provisioner.providers.base import ProviderError
from provisioner.reconcile.alone import alone

log = structlog.get_logger(__name__)


def record_capacity() -> int:
    """Write down the budget of every region that is offered and whose provider answers. How many those are."""
    recorded = 0
    with alone("reconcile-capacity") as mine:
        regions = Region.objects.filter(enabled=True, provider__enabled=True) if mine else []
        for region in regions:
            try:
                provider = surroundings().provider(region.provider_id)
                budget = provider.memory_budget_mib(region=region.name)
            except ProviderError as error:
                log.warning("capacity unknown", region_id=region.id, code=error.code, reason=error.message)
                continue
            record_memory_budget(region.id, budget)
            recorded += 1
    return recorded
