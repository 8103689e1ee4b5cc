from typing import Any

import pytest

from backend.accounts.states import Permission
from backend.conftest import ApiClient, Tenant
from backend.prices import actions
from backend.prices.models import Price

ORDER: dict[str, Any] = {
    "engine": "scylla",
    "provider": "aws",
    "reads_per_second": 300_000,
    "writes_per_second": 300_000,
    "data_bytes": 10 * 2**40,
    "growth_percent_per_month": 2,
}


@pytest.fixture
def api(tenant: Tenant) -> ApiClient:
    actions.load()
    return tenant.api(scopes=[Permission.CLUSTERS_READ])


def plan(api: ApiClient, **changes: Any) -> dict[str, Any]:
    answer = api.post("/sizing", ORDER | changes)
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def month(shape: dict[str, Any]) -> int:
    bills = {bill["term"]: bill for bill in shape["estimate"]["bills"]}
    total: int = bills["on_demand"]["total"]["month"]
    return total


def test_shapes_with_limits_prices_and_reasons(api: ApiClient) -> None:
    found = plan(api)
    assert (found["region"], found["calibrated_by"]["version"], found["is_as_seen"]) == ("us-east-1", "4.0", True)
    shapes = found["shapes"]
    assert len(shapes) > 3
    assert [month(shape) for shape in shapes] == sorted(month(shape) for shape in shapes)
    assert len({shape["family"] for shape in shapes}) == len(shapes)
    for shape in shapes:
        assert shape["nodes"] == shape["zones"] * shape["nodes_per_zone"] == shape["estimate"]["nodes"]
        assert [each["limit"] for each in shape["limits"]] == ["throughput", "disk", "memory", "network"]
        assert all(each["needs"] <= each["holds"] and each["headroom_percent"] >= 0 for each in shape["limits"])
        items = {line["item"] for line in shape["estimate"]["bills"][0]["lines"]}
        assert items == {"machine", "block_storage", "traffic_across_zones"}
        assert shape["recovery"]["seconds"] > 0
        assert shape["scan"]["seconds"] > 0
        assert len(shape["reasons"]) >= 3


def test_fewer_and_larger_nodes_are_preferred_at_nearly_the_same_price(api: ApiClient) -> None:
    load = {"reads_per_second": 10_000, "writes_per_second": 5000, "data_bytes": 500 * 2**30}
    found = plan(api, engine="cassandra", **load)["shapes"]
    (shape,) = [shape for shape in found if shape["family"] == "i4g"]
    # 43,750 ÷ (390.625 × 2) = 56: 57 × i4g.large at 0.15444 = 8.80 an hour; 14: 15 × i4g.2xlarge at 0.61776 = 9.27
    assert (shape["machine_type"], shape["nodes"]) == ("i4g.2xlarge", 15)
    assert any("57 × i4g.large would do as well" in reason for reason in shape["reasons"])


def test_more_load_is_never_cheaper(api: ApiClient) -> None:
    costs = [
        month(plan(api, reads_per_second=reads, data_bytes=size)["shapes"][0])
        for reads, size in ((0, 0), (1000, 2**40), (50_000, 2**41), (400_000, 2**43), (2_000_000, 2**46))
    ]
    assert costs == sorted(costs)
    assert costs[0] < costs[-1]


def test_cassandra_on_google_cloud(api: ApiClient) -> None:
    found = plan(api, engine="cassandra", provider="gcp", region="europe-west4", scan_rows_per_core=50_000, p99_ms=5)
    assert (found["region"], found["is_as_seen"]) == ("europe-west4", False)
    assert {shape["family"] for shape in found["shapes"]} == {"n2-highmem", "z3-highmem"}
    first = found["shapes"][0]
    assert "measured" in first["scan"]["formula"]
    assert "2 × 24 MiB/s" in first["recovery"]["formula"]
    assert any("only the most is published" in reason for reason in first["reasons"])
    assert plan(api, engine="cassandra")["shapes"][0]["scan"] is None


def test_what_no_cluster_can_hold_has_no_shapes(api: ApiClient) -> None:
    assert plan(api, data_bytes=10**18)["shapes"] == []


def test_what_can_be_chosen(api: ApiClient) -> None:
    found = api.get("/sizing").json()
    assert [(each["id"], each["is_offered"]) for each in found["providers"]] == [("aws", False), ("gcp", False)]
    assert [each["name"] for each in found["engines"]] == ["cassandra", "scylla"]
    assert {figure["version"] for figure in found["figures"]} == {"2.2", "3.11", "4.0"}
    assert all(figure["source"] for figure in found["figures"])
    assert [each["regions"][0]["name"] for each in found["providers"]] == ["us-east-1", "us-central1"]
    for provider in found["providers"]:
        for region in provider["regions"]:
            assert region["zones"] >= 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"engine": "mongo"}, "engine"),
        ({"provider": "local"}, "provider"),
        ({"region": "nowhere-1"}, "region"),
        ({"zones": 0}, "zones"),
        ({"zones": "3"}, "zones"),
        ({"reads_per_second": -1}, "reads_per_second"),
        ({"writes_per_second": 1.5}, "writes_per_second"),
        ({"row_bytes": 0}, "row_bytes"),
        ({"data_bytes": 10**19}, "data_bytes"),
        ({"growth_percent_per_month": 101}, "growth_percent_per_month"),
        ({"months_ahead": 61}, "months_ahead"),
        ({"replication_factor": 9}, "replication_factor"),
        ({"p99_ms": 0}, "p99_ms"),
        ({"scan_rows_per_core": 0}, "scan_rows_per_core"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_what_makes_no_sense_is_named(api: ApiClient, change: dict[str, Any], field: str) -> None:
    answer = api.post("/sizing", ORDER | change)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)


def test_it_takes_a_sign_in_and_changes_nothing(api: ApiClient, tenant: Tenant) -> None:
    assert ApiClient().post("/sizing", ORDER).status_code == 401
    assert ApiClient().get("/sizing").status_code == 401
    assert tenant.api(scopes=[]).post("/sizing", ORDER).status_code == 403
    before = Price.objects.count()
    plan(api)
    assert Price.objects.count() == before
