"""Setting, showing and removing ceilings."""

from typing import Any

import pytest

from backend.accounts.states import Role
from backend.audit.models import AuditRecord
from backend.budgets.tests.conftest import cluster
from backend.clusters.models import Ceiling, Cluster
from backend.conftest import ApiClient, Tenant
from backend.prices import actions as prices


def test_a_ceiling_stands_beside_what_there_is(api: ApiClient, active: Cluster):
    empty = {"nodes": 3, "micros_per_month": 0, "unpriced_nodes": 3}
    assert api.get("/ceilings").json() == {"items": [], "next_cursor": None, "held": empty}
    prices.load()
    # 3 × local.small at 0.02 an hour, by 730 hours.
    held = {"nodes": 3, "micros_per_month": 43_800_000, "unpriced_nodes": 0}
    whole = api.put("/ceilings", {"nodes": 6, "micros_per_month": 10**8}).json()
    assert (whole["cluster"], whole["nodes"], whole["held"]) == (None, 6, held)
    own = api.put("/ceilings", {"cluster_id": active.id, "nodes": 2}).json()
    assert (own["cluster"]["name"], own["micros_per_month"], own["held"]) == (active.name, None, held)
    again = api.put("/ceilings", {"nodes": 9}).json()
    assert (again["id"], again["nodes"], again["micros_per_month"]) == (whole["id"], 9, None)
    assert api.put("/ceilings", {"nodes": 9}).status_code == 200
    assert api.get("/ceilings").json() == {"items": [own, again], "next_cursor": None, "held": held}
    assert api.delete(f"/ceilings/{own['id']}").status_code == 204
    assert api.delete(f"/ceilings/{own['id']}").json()["error"]["code"] == "ceiling_not_found"
    rows = AuditRecord.objects.filter(target_type="ceiling").order_by("id")
    assert [(row.action, row.before, row.after) for row in rows] == [
        ("ceiling.set", None, {"nodes": 6, "micros_per_month": 10**8}),
        ("ceiling.set", None, {"nodes": 2, "micros_per_month": None}),
        ("ceiling.set", {"nodes": 6, "micros_per_month": 10**8}, {"nodes": 9, "micros_per_month": None}),
        ("ceiling.remove", {"nodes": 2, "micros_per_month": None}, None),
    ]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 422, "field_missing"),
        ({"nodes": -1}, 422, "invalid_field"),
        ({"nodes": 1.5}, 422, "invalid_field"),
        ({"micros_per_month": -1}, 422, "invalid_field"),
        ({"nodes": 1, "cluster_id": "clu_00000000000000000000000000"}, 404, "cluster_not_found"),
    ],
)
def test_bad_ceilings_are_refused_and_change_nothing(
    api: ApiClient, tenant: Tenant, body: dict[str, Any], status: int, code: str
):
    answer = api.put("/ceilings", body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert not Ceiling.objects.exists()


def test_who_orders_does_not_raise_it(api: ApiClient, tenant: Tenant):
    made = api.put("/ceilings", {"nodes": 3}).json()
    operator = tenant.api(tenant.member(Role.OPERATOR))
    assert operator.get("/ceilings").json()["items"][0]["allowed_actions"][0]["allowed"] is False
    assert operator.put("/ceilings", {"nodes": 30}).status_code == 403
    assert operator.delete(f"/ceilings/{made['id']}").status_code == 403
    assert Ceiling.objects.get().nodes == 3


def test_nobody_sees_or_moves_anothers(api: ApiClient, tenant: Tenant, foreign: ApiClient, active: Cluster):
    made = api.put("/ceilings", {"nodes": 3}).json()
    nothing = {"nodes": 0, "micros_per_month": 0, "unpriced_nodes": 0}
    assert foreign.get("/ceilings").json() == {"items": [], "next_cursor": None, "held": nothing}
    assert foreign.delete(f"/ceilings/{made['id']}").status_code == 404
    assert foreign.put("/ceilings", {"nodes": 1, "cluster_id": active.id}).status_code == 404
    assert foreign.put("/ceilings", {"nodes": 1}).status_code == 200
    assert api.get("/ceilings").json()["items"][0]["nodes"] == 3


def test_pages_hold_together_and_deleted_clusters_are_left_out(api: ApiClient, tenant: Tenant):
    rows = [cluster(tenant, f"c{number}") for number in range(3)]
    for row in rows:
        api.put("/ceilings", {"cluster_id": row.id, "nodes": 1})
    first = api.get("/ceilings?limit=2").json()
    second = api.get(f"/ceilings?limit=2&cursor={first['next_cursor']}").json()
    assert [one["cluster"]["name"] for page in (first, second) for one in page["items"]] == ["c2", "c1", "c0"]
    Cluster.objects.filter(id=rows[0].id).update(deleted_at=rows[0].created_at)
    assert len(api.get("/ceilings").json()["items"]) == 2
