from typing import Any

import pytest

from backend.accounts.states import Role
from backend.audit.models import AuditRecord
from backend.clusters.models import Cluster
from backend.clusters.tests.conftest import ORDER, finish_operations
from backend.conftest import ApiClient, Tenant


def update(api: ApiClient, cluster: Cluster, **body: Any) -> Any:
    return api.patch(f"/clusters/{cluster.id}", body)


def test_what_is_not_named_stays(api: ApiClient, active: Cluster):
    answer = update(api, active, tags={"team": "checkout"}, healing={"grace_seconds": 60})
    assert answer.status_code == 200
    body = answer.json()
    assert body["options"] == {"tags": {"team": "checkout"}}
    assert body["healing"] == {"mode": "act", "grace_seconds": 60, "replacements_per_day": 3}
    assert (body["name"], body["termination_protection"]) == ("orders", False)
    again = update(api, active, healing={"mode": "tell", "replacements_per_day": 0}).json()
    assert again["healing"] == {"mode": "tell", "grace_seconds": 60, "replacements_per_day": 0}
    assert again["options"] == {"tags": {"team": "checkout"}}


def test_a_renamed_cluster_keeps_the_name_of_its_ring(api: ApiClient, active: Cluster):
    assert update(api, active, name="carts").json()["name"] == "carts"
    renamed = Cluster.objects.get()
    assert renamed.ring_name == active.ring_name
    assert [node.name for node in renamed.nodes.all()] == [node.name for node in active.nodes.all()]


def test_nodes_that_come_later_have_the_new_name(api: ApiClient, active: Cluster):
    update(api, active, name="carts")
    api.post(f"/clusters/{active.id}/changes", {"kind": "scale", "nodes_per_zone": 2})
    assert active.nodes.order_by("position").last().name == "carts-local-1c-2"  # type: ignore[union-attr]


def test_a_name_is_given_once(api: ApiClient, active: Cluster):
    api.post("/clusters", ORDER | {"name": "carts"})
    answer = update(api, active, name="carts")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "name_taken")
    assert Cluster.objects.get(id=active.id).name == "orders"


def test_what_was_before_is_in_the_audit_log(api: ApiClient, active: Cluster):
    update(api, active, name="carts", termination_protection=True, healing={"mode": "act"})
    record = AuditRecord.objects.get(action="cluster.update")
    assert record.before == {"name": "orders", "termination_protection": False}
    assert record.after == {"name": "carts", "termination_protection": True}


def test_the_same_again_is_no_change(api: ApiClient, active: Cluster):
    assert update(api, active, name="orders").status_code == 200
    assert not AuditRecord.objects.filter(action="cluster.update").exists()


def test_a_protected_cluster_is_not_deleted(api: ApiClient, active: Cluster):
    protected = update(api, active, termination_protection=True).json()
    reasons = {entry["action"]: entry["reason"] for entry in protected["allowed_actions"]}
    assert "protected against termination" in reasons["delete_cluster"]
    answer = api.delete(f"/clusters/{active.id}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "termination_protected")
    update(api, active, termination_protection=False)
    assert api.delete(f"/clusters/{active.id}").status_code == 202


def test_an_order_may_bring_protection_and_healing_along(api: ApiClient):
    healing = {"mode": "tell", "grace_seconds": 10}
    body = api.post("/clusters", ORDER | {"termination_protection": True, "healing": healing}).json()["cluster"]
    assert body["termination_protection"] is True
    assert body["healing"] == {"mode": "tell", "grace_seconds": 10, "replacements_per_day": 3}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "Orders"}, "name"),
        ({"name": ""}, "name"),
        ({"healing": {"mode": "sleep"}}, "healing.mode"),
        ({"healing": {"grace_seconds": 9}}, "healing.grace_seconds"),
        ({"healing": {"grace_seconds": 86_401}}, "healing.grace_seconds"),
        ({"healing": {"replacements_per_day": 101}}, "healing.replacements_per_day"),
        ({"engine": "scylla"}, "engine"),
        ({"tags": {"Team": "x"}}, "tags.Team"),
        ({"termination_protection": "yes"}, "termination_protection"),
    ],
)
def test_wrong_fields_are_named(api: ApiClient, active: Cluster, body: dict[str, Any], field: str):
    answer = api.patch(f"/clusters/{active.id}", body)
    assert answer.status_code == 422
    assert answer.json()["error"]["field"].startswith(field)


def test_it_is_possible_while_an_operation_works_on_it(api: ApiClient, creating: Cluster):
    assert update(api, creating, termination_protection=True).status_code == 200
    finish_operations()


def test_a_deleted_cluster_stays_as_it_was(api: ApiClient, deleted: Cluster):
    answer = update(api, deleted, name="carts")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "cluster_deleted")


def test_a_viewer_may_not(tenant: Tenant, active: Cluster):
    assert update(tenant.api(tenant.member(Role.VIEWER)), active, name="carts").status_code == 403


def test_others_do_not_find_it(foreign: ApiClient, active: Cluster):
    assert update(foreign, active, name="carts").status_code == 404
