"""An order goes no further than the organisation's ceiling, alone or beside others at the same moment."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from backend.catalog import actions as catalog
from backend.clusters.ceilings import Held, exceeded, machines_by_cluster
from backend.clusters.models import Ceiling, Cluster, Node
from backend.clusters.tests.conftest import ORDER
from backend.clusters.tests.test_order_together import order
from backend.conftest import ApiClient, Tenant
from backend.prices import actions as prices
from backend.prices.models import Price

SMALL = 14_600_000
"""Micro-dollars of a local.small: 0.02 × 730."""


def ceiling(tenant: Tenant, **columns: Any) -> Ceiling:
    return Ceiling.objects.create(organisation=tenant.organisation, changed_by="x", **columns)


def refused(answer: Any) -> tuple[int, str, str]:
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["message"]


def test_an_order_beyond_the_nodes_is_refused_when_it_is_checked_and_when_it_is_made(
    api: ApiClient, tenant: Tenant, creating: Cluster
):
    ceiling(tenant, nodes=5)
    wanted = ORDER | {"name": "carts"}
    said = (409, "node_ceiling_reached", "The ceiling of the organisation is 5 nodes: it has 3 now and would have 6.")
    answer = api.post("/clusters/check", wanted)
    assert refused(answer) == said
    assert answer.json()["error"]["field"] == "nodes_per_zone"
    assert refused(api.post("/clusters", wanted)) == said
    assert Cluster.objects.count() == 1
    Ceiling.objects.update(nodes=6)
    assert api.post("/clusters/check", wanted).status_code == 200
    assert api.post("/clusters", wanted).status_code == 202


def test_an_order_beyond_the_money_is_refused(api: ApiClient, tenant: Tenant, creating: Cluster):
    prices.load()
    ceiling(tenant, micros_per_month=6 * SMALL - 1)
    wanted = ORDER | {"name": "carts"}
    assert refused(api.post("/clusters", wanted)) == (
        409,
        "cost_ceiling_reached",
        "The ceiling of the organisation is 87.60 dollars a month: its machines come to 43.80 now and would come to "
        "87.60.",
    )
    Ceiling.objects.update(micros_per_month=6 * SMALL)
    assert api.post("/clusters", wanted).status_code == 202


def test_what_has_no_price_is_not_ordered_below_a_ceiling_of_money(api: ApiClient, tenant: Tenant):
    assert not Price.objects.exists()
    ceiling(tenant, micros_per_month=10**12)
    answer = refused(api.post("/clusters/check", ORDER))
    assert answer[:2] == (409, "cost_ceiling_unknown")


def test_a_ceiling_is_of_one_organisation(api: ApiClient, tenant: Tenant, stranger: Tenant, creating: Cluster):
    ceiling(stranger, nodes=0)
    assert api.post("/clusters", ORDER | {"name": "carts"}).status_code == 202
    ceiling(tenant, nodes=9)
    assert stranger.api().post("/clusters", ORDER).status_code == 409
    assert api.post("/clusters", ORDER | {"name": "third"}).status_code == 202


def test_a_node_whose_successor_is_there_is_not_counted(tenant: Tenant, active: Cluster):
    old = Node.objects.filter(cluster=active).first()
    assert old is not None
    Node.objects.create(
        cluster=active,
        datacenter=old.datacenter,
        name="twin",
        machine_type="local.medium",
        zone=old.zone,
        position=3,
        tokens=[],
        replaces_id=old.id,
    )
    machines = {("local-1", "local.small"): 2, ("local-1", "local.medium"): 1}
    assert machines_by_cluster(tenant.organisation.id) == {active.id: ("local", machines)}
    Node.objects.filter(id=old.id).update(deleted_at=old.created_at)
    assert machines_by_cluster(tenant.organisation.id) == {active.id: ("local", machines)}


@pytest.mark.parametrize(
    ("now", "then", "codes"),
    [
        (Held(5, 5), Held(5, 5), []),
        (Held(4, 4), Held(5, 5), []),
        (Held(5, 5), Held(6, 5), [("node_ceiling_reached", True)]),
        (Held(5, 5), Held(5, 6), [("cost_ceiling_reached", True)]),
        (Held(5, 5), Held(6, 6), [("node_ceiling_reached", True), ("cost_ceiling_reached", True)]),
        (Held(7, 7), Held(7, 7), [("node_ceiling_reached", False), ("cost_ceiling_reached", False)]),
        (Held(7, 7), Held(6, 5), [("node_ceiling_reached", False)]),
        (Held(0, 0, 0), Held(1, 0, 1), [("cost_ceiling_unknown", True)]),
        (Held(1, 0, 1), Held(1, 0, 1), []),
    ],
)
def test_what_makes_it_worse_is_refused_and_the_rest_said(now: Held, then: Held, codes: list[tuple[str, bool]]):
    found = exceeded(Ceiling(nodes=5, micros_per_month=5), now, then)
    assert [(each.code, each.refuses) for each in found] == codes


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("columns", [{"nodes": 6}, {"micros_per_month": 6 * SMALL}], ids=["nodes", "money"])
def test_orders_at_once_in_several_regions_do_not_go_beyond_it_together(tenant: Tenant, columns: dict[str, int]):
    catalog.load(with_tests=True)
    prices.load()
    ceiling(tenant, **columns)
    api = tenant.api()
    elsewhere = {"region": "local-2", "zones": ["local-2a", "local-2b", "local-2c"]}
    bodies = [ORDER | {"name": f"c{number}"} | (elsewhere if number % 2 else {}) for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        statuses = sorted(pool.map(lambda body: order(api, body), bodies))
    assert statuses == [202] * 2 + [409] * 4
    assert Node.objects.count() == 6
