"""Budgets over HTTP: who may, what is refused, and that nobody sees another's."""

from typing import Any

import pytest

from backend.accounts.states import Role
from backend.audit.models import AuditRecord
from backend.budgets import actions
from backend.budgets.models import Budget
from backend.budgets.tests.conftest import cluster
from backend.conftest import ApiClient, Tenant

ORDER = {"name": "all", "micros": 5_000_000}


def test_it_is_made_changed_and_deleted_and_the_audit_log_tells(api: ApiClient, tenant: Tenant):
    made = api.post("/budgets", ORDER | {"spent_percents": [90, 10, 90]}).json()
    assert (made["scope"], made["spent_percents"], made["forecast_percents"]) == ("organisation", [10, 90], [100])
    assert (made["currency"], made["spent"], made["crossings"]) == ("USD", 0, [])
    changed = api.patch(f"/budgets/{made['id']}", {"name": "live", "forecast_percents": []}).json()
    assert (changed["name"], changed["forecast_percents"], changed["micros"]) == ("live", [], 5_000_000)
    assert api.patch(f"/budgets/{made['id']}", {"name": "live"}).status_code == 200
    assert api.get("/budgets").json()["items"] == [changed]
    assert api.delete(f"/budgets/{made['id']}").status_code == 204
    assert api.get("/budgets").json()["items"] == []
    assert api.get(f"/budgets/{made['id']}").json()["error"]["code"] == "budget_not_found"
    rows = AuditRecord.objects.filter(target_type="budget").order_by("id")
    assert [row.action for row in rows] == ["budget.create", "budget.update", "budget.delete"]
    assert (rows[1].before["name"], rows[1].after["name"]) == ("all", "live")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"micros": 0}, 422, "invalid_field"),
        ({"micros": "5"}, 422, "invalid_field"),
        ({"micros": 10**15 + 1}, 422, "invalid_field"),
        ({"name": " "}, 422, "invalid_field"),
        ({"spent_percents": [0]}, 422, "invalid_field"),
        ({"forecast_percents": list(range(1, 12))}, 422, "invalid_field"),
        ({"scope": "moon"}, 422, "invalid_field"),
        ({"colour": "red"}, 422, "invalid_field"),
        ({"scope": "cluster"}, 422, "field_missing"),
        ({"scope": "tag", "tag_key": "team"}, 422, "field_missing"),
        ({"tag_key": "team", "tag_value": "shop"}, 422, "field_not_taken"),
        ({"scope": "tag", "tag_key": "Team=", "tag_value": "shop"}, 422, "invalid_field"),
        ({"scope": "cluster", "cluster_id": "clu_00000000000000000000000000"}, 404, "cluster_not_found"),
    ],
)
def test_bad_budgets_are_refused_and_change_nothing(
    api: ApiClient, tenant: Tenant, body: dict[str, Any], status: int, code: str
):
    answer = api.post("/budgets", ORDER | body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert not Budget.objects.exists()
    assert not AuditRecord.objects.exists()


def test_a_name_is_taken_once(api: ApiClient, tenant: Tenant, stranger: Tenant):
    made = api.post("/budgets", ORDER).json()
    assert api.post("/budgets", ORDER | {"name": "ALL"}).json()["error"]["code"] == "name_taken"
    other = api.post("/budgets", ORDER | {"name": "other"}).json()
    assert api.patch(f"/budgets/{other['id']}", {"name": "All"}).status_code == 409
    assert stranger.api().post("/budgets", ORDER).status_code == 201
    api.delete(f"/budgets/{made['id']}")
    assert api.post("/budgets", ORDER).status_code == 201


def test_there_is_room_for_so_many(api: ApiClient, tenant: Tenant, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(actions, "MOST_BUDGETS", 1)
    api.post("/budgets", ORDER)
    answer = api.post("/budgets", ORDER | {"name": "b"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "too_many_budgets")


def test_operators_and_viewers_look_and_do_not_touch(api: ApiClient, tenant: Tenant):
    made = api.post("/budgets", ORDER).json()
    for role in (Role.OPERATOR, Role.VIEWER):
        other = tenant.api(tenant.member(role))
        found = other.get(f"/budgets/{made['id']}").json()
        assert [each["allowed"] for each in found["allowed_actions"]] == [False, False]
        for answer in (
            other.post("/budgets", ORDER | {"name": "b"}),
            other.patch(f"/budgets/{made['id']}", {"micros": 1}),
            other.delete(f"/budgets/{made['id']}"),
        ):
            assert answer.status_code == 403
    admin = tenant.api(tenant.member(Role.ADMIN))
    assert admin.patch(f"/budgets/{made['id']}", {"micros": 1}).status_code == 200
    assert tenant.api(scopes=[]).get("/budgets").status_code == 403


def test_nobody_sees_anothers(api: ApiClient, tenant: Tenant, foreign: ApiClient):
    made = api.post("/budgets", ORDER).json()
    assert foreign.get("/budgets").json()["items"] == []
    for answer in (
        foreign.get(f"/budgets/{made['id']}"),
        foreign.patch(f"/budgets/{made['id']}", {"micros": 1}),
        foreign.delete(f"/budgets/{made['id']}"),
        foreign.post("/budgets", ORDER | {"scope": "cluster", "cluster_id": cluster(tenant, "mine").id}),
    ):
        assert answer.status_code == 404
    assert api.get(f"/budgets/{made['id']}").json()["micros"] == 5_000_000


def test_pages_hold_together_and_a_key_makes_one(api: ApiClient, tenant: Tenant):
    for number in range(5):
        api.post("/budgets", ORDER | {"name": f"b{number}"})
    first = api.get("/budgets?limit=2").json()
    second = api.get(f"/budgets?limit=2&cursor={first['next_cursor']}").json()
    third = api.get(f"/budgets?limit=2&cursor={second['next_cursor']}").json()
    names = [one["name"] for page in (first, second, third) for one in page["items"]]
    assert (names, third["next_cursor"]) == (["b4", "b3", "b2", "b1", "b0"], None)
    key = {"Idempotency-Key": "4711"}
    assert [api.post("/budgets", ORDER, **key).status_code for _ in range(2)] == [201, 201]
    assert Budget.objects.filter(name="all").count() == 1
