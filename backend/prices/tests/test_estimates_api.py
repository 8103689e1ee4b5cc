from typing import Any

import pytest

from backend.accounts.states import Permission
from backend.conftest import ApiClient, Tenant
from backend.prices import actions
from backend.prices.states import GIB

METAL: dict[str, Any] = {"provider": "aws", "region": "us-east-1", "machine_type": "i3.metal", "nodes": 4, "zones": 1}
MANY = METAL | {"machine_type": "i3.4xlarge", "nodes": 40}


@pytest.fixture
def api(tenant: Tenant) -> ApiClient:
    actions.load()
    return tenant.api(scopes=[Permission.CLUSTERS_READ])


def years(found: dict[str, Any]) -> dict[str, int]:
    return {bill["term"]: bill["total"]["year"] for bill in found["bills"]}


def test_the_published_comparison(api: ApiClient) -> None:
    """docs/costs.md shows this one: 4 × i3.metal beside 40 × i3.4xlarge."""
    machines_alone = {"block_bytes_per_node": 0}
    answer = api.post("/estimates", METAL | machines_alone | {"alternatives": [MANY | machines_alone]})
    assert answer.status_code == 200, answer.content
    few, many = answer.json()["estimates"]
    assert years(few) == {"on_demand": 174_919_680_000, "reserved_1y": 111_999_998_880}
    assert years(many) == {"on_demand": 437_299_200_000, "reserved_1y": 278_599_886_400}
    by_term = {bill["term"]: bill for bill in many["bills"]}
    assert by_term["on_demand"]["difference"]["year"] == 262_379_520_000
    assert by_term["reserved_1y"]["saved"]["year"] == 158_699_313_600
    (line,) = few["bills"][1]["lines"]
    assert (line["formula"], line["price"]["assumption"]) == ("4 machines × 3.196347", True)


def test_everything_at_once_side_by_side(api: ApiClient) -> None:
    order = {
        "provider": "local",
        "region": "local-1",
        "machine_type": "local.small",
        "nodes": 3,
        "backup_bytes": 100 * GIB,
        "load": {"reads_per_second": 100, "writes_per_second": 50, "row_bytes": 1000},
        "traffic_out_bytes_per_month": GIB,
        "alternatives": [
            METAL | {"region": "eu-west-1", "zones": 3},
            {"provider": "gcp", "region": "us-central1", "machine_type": "z3-highmem-8-highlssd", "nodes": 3},
            METAL | {"machine_type": "no.such"},
        ],
    }
    local, aws, gcp, none = api.post("/estimates", order).json()["estimates"]
    beside = ["object_storage", "traffic_across_zones", "traffic_out"]
    for found, disks in ((local, []), (aws, ["block_storage"]), (gcp, ["block_storage"])):
        assert found["missing"] == []
        for bill in found["bills"]:
            assert [line["item"] for line in bill["lines"]] == ["machine", *disks, *beside]
            assert sum(line["amounts"]["month"] for line in bill["lines"]) == bill["total"]["month"]
    assert {line["price"]["borrowed"] for line in aws["bills"][0]["lines"]} == {True}
    assert {line["price"]["borrowed"] for line in local["bills"][0]["lines"]} == {False}
    assert none["bills"] == []
    assert "no.such" in none["missing"][0]


def test_the_bill_of_dynamodb(api: ApiClient) -> None:
    load = {"reads_per_second": 300_000, "writes_per_second": 300_000, "data_bytes": 10 * 1024 * GIB}
    answer = api.post("/estimates/dynamodb", load).json()
    totals = {bill["mode"]: bill["total"]["hour"] for bill in answer["bills"]}
    assert totals["provisioned"] == 296_006_849
    assert set(totals) == {"provisioned", "on_demand", "reserved_1y", "reserved_3y"}
    assert (answer["region"], answer["prices_of"]) == ("us-east-1", "2026-03-01")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"nodes": 0}, "nodes"),
        ({"nodes": 2.5}, "nodes"),
        ({"zones": 9}, "zones"),
        ({"backup_bytes": -1}, "backup_bytes"),
        ({"backup_bytes": 10**30}, "backup_bytes"),
        ({"load": {"row_bytes": 10**9}}, "load.row_bytes"),
        ({"alternatives": [METAL] * 21}, "alternatives"),
        ({"alternatives": [METAL | {"nodes": "4"}]}, "alternatives.0.nodes"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_what_makes_no_sense_is_named(api: ApiClient, change: dict[str, Any], field: str) -> None:
    answer = api.post("/estimates", METAL | change)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)


def test_it_takes_a_sign_in(api: ApiClient, tenant: Tenant) -> None:
    assert ApiClient().post("/estimates", METAL).status_code == 401
    assert tenant.api(scopes=[]).post("/estimates", METAL).status_code == 403
