"""Two orders at the same moment, with real transactions."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from backend.catalog import actions as catalog
from backend.catalog.models import Region
from backend.clusters.models import Cluster, Node
from backend.clusters.tests.conftest import ORDER
from backend.conftest import ApiClient, Tenant


def order(api: ApiClient, body: dict[str, Any]) -> int:
    try:
        return int(ApiClient(**api.headers).post("/clusters", body).status_code)
    finally:
        connections.close_all()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("bodies", "budget_mib"),
    [
        ([ORDER | {"name": f"c{number}"} for number in range(6)], 2 * 3 * 600),
        ([ORDER] * 6, None),
    ],
    ids=["the last room", "the same name"],
)
def test_only_as_many_as_can_be_are_accepted(tenant: Tenant, bodies: list[dict[str, Any]], budget_mib: int | None):
    catalog.load(with_tests=True)
    Region.objects.filter(id="local/local-1").update(memory_budget_mib=budget_mib)
    api = tenant.api()
    with ThreadPoolExecutor(6) as pool:
        statuses = sorted(pool.map(lambda body: order(api, body), bodies))
    accepted = 2 if budget_mib else 1
    assert statuses == [202] * accepted + [409] * (6 - accepted)
    assert Cluster.objects.count() == accepted
    assert Node.objects.count() == 3 * accepted
