from collections.abc import Callable
from typing import Any

import pytest

from backend.accounts.states import Role
from backend.catalog import actions as catalog
from backend.clusters.models import Cluster
from backend.clusters.tests.conftest import ORDER
from backend.conftest import ApiClient, Tenant
from backend.operations.models import Operation
from backend.prices import actions as prices


def test_it_says_what_the_order_comes_to_and_changes_nothing(api: ApiClient, budget: Callable[[int | None], None]):
    budget(6000)
    answer = api.post("/clusters/check", ORDER | {"nodes_per_zone": 2})
    assert answer.status_code == 200
    said = answer.json()
    assert said["ok"] is True
    assert (said["nodes_total"], said["replicas"], said["memory_mib_total"]) == (6, 3, 3600)
    assert said["nodes_that_fit"] == 10
    assert said["datacenter"] == "local-local-1"
    assert not Cluster.objects.exists()
    assert not Operation.objects.exists()


def test_it_says_what_the_machines_cost(api: ApiClient):
    order = ORDER | {"nodes_per_zone": 2}
    assert api.post("/clusters/check", order).json()["cost"] is None
    prices.load()
    # 6 × 0.02 an hour
    cost = {"hour": 120_000, "month": 87_600_000, "year": 1_051_200_000}
    assert api.post("/clusters/check", order).json()["cost"] == cost


@pytest.mark.parametrize("change", [{"engine": "mysql"}, {"name": "Bad"}, {"zones": ["local-1z"]}])
def test_it_refuses_as_the_order_itself_would(api: ApiClient, change: dict[str, Any]):
    checked, ordered = api.post("/clusters/check", ORDER | change), api.post("/clusters", ORDER | change)
    assert checked.status_code == ordered.status_code
    for answer in (checked, ordered):
        answer.json()["error"].pop("request_id")
    assert checked.json()["error"]["message"] == ordered.json()["error"]["message"]


def test_it_knows_taken_names_and_full_regions(api: ApiClient, creating: Cluster, budget: Callable[[int | None], None]):
    assert api.post("/clusters/check", ORDER).json()["error"]["code"] == "name_taken"
    budget(2000)
    answer = api.post("/clusters/check", ORDER | {"name": "second"})
    assert answer.json()["error"]["code"] == "not_enough_memory"


def test_a_viewer_may_not_ask(api: ApiClient, tenant: Tenant):
    assert tenant.api(tenant.member(Role.VIEWER)).post("/clusters/check", ORDER).status_code == 403


CLOUD_ORDER = ORDER | {
    "provider": "aws",
    "region": "eu-central-1",
    "zones": ["eu-central-1a", "eu-central-1b", "eu-central-1c"],
    "machine_type": "i4i.2xlarge",
}


def test_an_order_on_a_cloud_needs_no_memory_budget(api: ApiClient):
    catalog.load(with_tests=True, clouds={"aws": None, "gcp": None})
    answer = api.post("/clusters/check", CLOUD_ORDER)
    assert answer.status_code == 200, answer.content
    assert answer.json()["nodes_that_fit"] is None
    assert answer.json()["memory_mib_total"] == 3 * 64 * 1024


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"machine_type": "n2-highmem-8"}, "machine_type"),
        ({"machine_type": "local.small"}, "machine_type"),
        ({"zones": ["us-east-1a"]}, "zones.0"),
        ({"region": "us-central1"}, "region"),
    ],
)
def test_what_belongs_to_another_provider_or_region_is_refused(api: ApiClient, change: dict[str, Any], field: str):
    catalog.load(with_tests=True, clouds={"aws": None, "gcp": None})
    answer = api.post("/clusters/check", CLOUD_ORDER | change)
    assert answer.status_code == 422
    assert [problem["field"] for problem in answer.json()["error"]["fields"]] == [field]


def test_a_cloud_that_is_not_offered_cannot_be_ordered(api: ApiClient):
    (problem,) = api.post("/clusters/check", CLOUD_ORDER).json()["error"]["fields"]
    assert problem["field"] == "provider"
