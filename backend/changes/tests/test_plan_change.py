from collections.abc import Callable
from typing import Any

import pytest

from backend.accounts.states import Permission, Role
from backend.clusters.models import Cluster, Node
from backend.clusters.states import NodeState
from backend.conftest import ApiClient, Tenant
from backend.operations import actions as operations
from backend.operations.models import Operation
from backend.prices import actions as prices


def plan(api: ApiClient, cluster: Cluster, **body: Any) -> dict[str, Any]:
    answer = api.post(f"/clusters/{cluster.id}/plan", body)
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def test_it_says_what_would_happen_and_changes_nothing(api: ApiClient, active: Cluster):
    operations_before = Operation.objects.count()
    found = plan(api, active, kind="scale", nodes_per_zone=2)
    (change,) = found["changes"]
    assert found["possible"] is True
    assert change["reason"] is None
    assert (change["kind"], change["mode"]) == ("scale", "membership")
    assert change["title"] == "Add 3 nodes to local-local-1, 1 per zone"
    new = ["orders-local-1a-2", "orders-local-1b-2", "orders-local-1c-2"]
    assert change["nodes_touched"] == new
    assert {"title": "Join the ring", "nodes": new} in change["steps"]
    assert change["steps_total"] > len(change["steps"])
    assert found["expected_seconds"] == change["expected_seconds"] > 0
    assert found["cost_per_month_micros"] is None
    assert change["cancellable"].startswith("It can be cancelled until this begins: ")
    assert (Node.objects.count(), Operation.objects.count()) == (3, operations_before)


def test_it_says_what_the_change_costs_a_month(api: ApiClient, active: Cluster):
    prices.load()
    # Three more at 0.02 an hour: 3 × 0.02 × 730. All three from 0.02 to 0.03: 3 × 0.01 × 730.
    assert plan(api, active, kind="scale", nodes_per_zone=2)["cost_per_month_micros"] == 43_800_000
    assert plan(api, active, kind="machine_type", machine_type="local.medium")["cost_per_month_micros"] == 21_900_000
    both = plan(api, active, kind="desired_state", nodes_per_zone=2, machine_type="local.medium")
    costs = [change["cost_per_month_micros"] for change in both["changes"]]
    # 6 × 0.03 × 730 − 3 × 0.02 × 730, whatever comes first.
    assert sum(costs) == both["cost_per_month_micros"] == 87_600_000
    assert plan(api, active, kind="rolling_restart")["cost_per_month_micros"] == 0


def test_what_is_not_possible_has_the_reason_and_a_hint(
    api: ApiClient, active: Cluster, budget: Callable[[int | None], None]
):
    budget(2400)
    found = plan(api, active, kind="scale", nodes_per_zone=2)
    (change,) = found["changes"]
    assert found["possible"] is False
    assert change["mode"] == "not_possible"
    assert change["reason"] == "local-1 has room for 1 more node of type local.small; this change needs 3."
    assert change["hint"]
    assert change["steps"] == []


def test_nothing_to_do_is_an_empty_plan(api: ApiClient, active: Cluster):
    assert plan(api, active, kind="scale", nodes_per_zone=1) == {
        "possible": True,
        "changes": [],
        "expected_seconds": 0,
        "cost_per_month_micros": 0,
    }
    assert plan(api, active, kind="desired_state", engine_version="5.0.5")["changes"] == []


def test_a_desired_state_becomes_several_changes_in_order(api: ApiClient, active: Cluster):
    found = plan(
        api,
        active,
        kind="desired_state",
        nodes_per_zone=2,
        machine_type="local.medium",
        engine_version="5.0.9",
        settings={"read_timeout_ms": 7000},
    )
    assert [change["kind"] for change in found["changes"]] == ["machine_type", "scale", "settings", "upgrade"]
    assert found["expected_seconds"] == sum(change["expected_seconds"] for change in found["changes"])
    upgraded = found["changes"][-1]["nodes_touched"]
    # On the nodes that the changes before lead to.
    assert len(upgraded) == 6
    assert upgraded[0] == "orders-local-1a-2"


def test_after_one_that_is_not_possible_nothing_is_planned(api: ApiClient, active: Cluster):
    found = plan(api, active, kind="desired_state", machine_type="mars.large", engine_version="5.0.9")
    assert found["possible"] is False
    assert [change["kind"] for change in found["changes"]] == ["machine_type"]


def test_during_another_change_it_names_it_and_shows_the_steps_all_the_same(api: ApiClient, active: Cluster):
    started = api.post(f"/clusters/{active.id}/changes", {"kind": "rolling_restart"}).json()["operation"]
    (change,) = plan(api, active, kind="upgrade", engine_version="5.0.9")["changes"]
    assert (change["mode"], change["code"]) == ("not_possible", "operation_in_progress")
    assert change["reason"].startswith(
        f"The operation {started['id']} (restart node by node) is working on this cluster."
    )
    assert change["steps"]
    refused = api.post(f"/clusters/{active.id}/changes", {"kind": "upgrade", "engine_version": "5.0.9"})
    assert refused.json()["error"]["message"] == change["reason"]


def test_what_it_would_wait_for_is_a_warning(api: ApiClient, active: Cluster):
    operations.start(
        organisation_id=active.organisation_id,
        kind="backup",
        cluster_id=active.id,
        cluster_name=active.name,
        actor="test",
        parameters={},
        groups=[[operations.PlannedStep("copy", "Copy")]],
        expected_seconds=1,
        exclusive=False,
    )
    (change,) = plan(api, active, kind="rolling_restart")["changes"]
    assert change["reason"] is None
    assert "The backup that is being made ends first" in change["warnings"][-1]


def test_it_is_for_everybody_who_may_see_clusters(tenant: Tenant, active: Cluster):
    assert plan(tenant.api(tenant.member(Role.VIEWER)), active, kind="rolling_restart")["possible"]
    blind = tenant.api(scopes=[Permission.CLUSTERS_WRITE])
    assert blind.post(f"/clusters/{active.id}/plan", {"kind": "rolling_restart"}).status_code == 403


def test_others_do_not_find_the_cluster(foreign: ApiClient, active: Cluster):
    assert foreign.post(f"/clusters/{active.id}/plan", {"kind": "rolling_restart"}).status_code == 404


def test_of_a_deleted_cluster_nothing_is_planned(api: ApiClient, deleted: Cluster):
    answer = api.post(f"/clusters/{deleted.id}/plan", {"kind": "rolling_restart"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "cluster_deleted")


def test_of_one_that_is_being_made_nothing_is_possible(api: ApiClient, creating: Cluster):
    (change,) = plan(api, creating, kind="rotate_certificates")["changes"]
    assert change["mode"] == "not_possible"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "kind"),
        ({"kind": "shrink"}, "kind"),
        ({"kind": "scale"}, ""),
        ({"kind": "scale", "nodes_per_zone": 1, "nodes_total": 3}, ""),
        ({"kind": "scale", "nodes_per_zone": "2"}, "nodes_per_zone"),
        ({"kind": "scale", "nodes_per_zone": 31}, "nodes_per_zone"),
        ({"kind": "scale", "nodes_per_zone": 2, "fast": True}, "fast"),
        ({"kind": "restart_node", "node_id": "orders-local-1a-1"}, "node_id"),
        ({"kind": "add_datacenter", "region": "local-1", "zones": ["!"]}, "zones.0"),
    ],
)
def test_problems_are_named_by_their_field(api: ApiClient, active: Cluster, body: dict[str, Any], field: str):
    answer = api.post(f"/clusters/{active.id}/plan", body)
    assert answer.status_code == 422
    assert field in [found["field"] for found in answer.json()["error"]["fields"]]


def test_a_node_that_is_down_counts_for_the_others(api: ApiClient, active: Cluster):
    Node.objects.filter(name="orders-local-1b-1").update(state=NodeState.DOWN)
    node = Node.objects.get(name="orders-local-1a-1")
    (change,) = plan(api, active, kind="stop_node", node_id=node.id)["changes"]
    assert change["reason"] == "Stopping orders-local-1a-1 would leave 1 of 3 replicas; QUORUM needs 2."


SMALL = {"region": "local-1", "zones": ["local-1a", "local-1b", "local-1c"], "machine_type": "local.small"}


def test_each_planned_change_names_the_body_that_carries_it_out(api: ApiClient, active: Cluster):
    wanted = {"datacenters": [SMALL | {"nodes_per_zone": 2}], "settings": {"read_timeout_ms": 7000}}
    found = plan(api, active, kind="desired_state", engine="cassandra", provider="local", cloud_account="", **wanted)
    assert [change["change"] for change in found["changes"]] == [
        {"kind": "scale", "nodes_per_zone": 2, "datacenter": "local-local-1"},
        {"kind": "settings", "settings": {"read_timeout_ms": 7000}},
    ]
    begun = api.post(f"/clusters/{active.id}/changes", found["changes"][0]["change"])
    assert begun.json()["operation"]["kind"] == "scale_cluster"


def test_what_can_never_be_changed_is_told_by_field_with_what_to_do_instead(api: ApiClient, active: Cluster):
    other = SMALL | {"zones": ["local-1a"], "nodes_per_zone": 4}
    found = plan(
        api,
        active,
        kind="desired_state",
        engine="scylla",
        provider="aws",
        cloud_account="acc_other",
        datacenters=[other],
        engine_version="5.0.9",
    )
    assert found["possible"] is False
    assert [change["field"] for change in found["changes"]] == [
        "engine",
        "provider",
        "cloud_account",
        "datacenters.0.zones",
    ]
    for change in found["changes"]:
        assert (change["kind"], change["mode"], change["change"]) == ("desired_state", "not_possible", None)
        assert "stay" in change["reason"]
        assert "another" in change["hint"].lower()


def test_data_centres_are_all_that_there_should_be(api: ApiClient, active: Cluster):
    one = plan(api, active, kind="desired_state", datacenters=[SMALL | {"nodes_per_zone": 1}])
    assert one["changes"] == []
    elsewhere = {"region": "local-9", "zones": ["local-9a"], "machine_type": "local.small", "nodes_per_zone": 1}
    found = plan(api, active, kind="desired_state", datacenters=[elsewhere])
    assert found["changes"][0]["change"] == {"kind": "add_datacenter"} | elsewhere
    assert found["changes"][0]["reason"].startswith("There is no region of local local-9.")


@pytest.mark.parametrize(
    "body",
    [
        {"datacenters": []},
        {"datacenters": [SMALL | {"nodes_per_zone": 1}], "nodes_per_zone": 2},
        {"datacenters": [SMALL | {"nodes_per_zone": 1}, SMALL | {"nodes_per_zone": 2}]},
        {"datacenters": [SMALL]},
    ],
)
def test_a_desired_state_that_contradicts_itself_is_refused(api: ApiClient, active: Cluster, body: dict[str, Any]):
    answer = api.post(f"/clusters/{active.id}/plan", {"kind": "desired_state"} | body)
    assert answer.status_code == 422
