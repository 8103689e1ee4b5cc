import pytest

from backend.accounts.states import Role
from backend.clusters import lifecycle
from backend.clusters.models import Cluster, Node
from backend.clusters.states import NodeState
from backend.conftest import ApiClient, Tenant


def test_it_lists_the_nodes_in_their_order(api: ApiClient, active: Cluster):
    nodes = api.get(f"/clusters/{active.id}/nodes").json()["items"]
    assert [node["name"] for node in nodes] == [f"orders-local-1{zone}-1" for zone in "abc"]
    assert nodes[0] == nodes[0] | {
        "zone": "local-1a",
        "rack": "local-1a",
        "state": "up",
        "address": "127.1.0.1",
        "is_seed": True,
        "tokens_count": 16,
        "engine_version": "5.0.5",
        "agent_version": None,
    }


def test_page_by_page(api: ApiClient, active: Cluster):
    first = api.get(f"/clusters/{active.id}/nodes?limit=2").json()
    second = api.get(f"/clusters/{active.id}/nodes?limit=2&cursor={first['next_cursor']}").json()
    assert [node["name"][-3:] for node in first["items"] + second["items"]] == ["a-1", "b-1", "c-1"]
    assert second["next_cursor"] is None


def test_what_is_not_known_yet_is_null(api: ApiClient, creating: Cluster):
    node = api.get(f"/clusters/{creating.id}/nodes").json()["items"][0]
    assert (node["state"], node["address"], node["host_id"], node["observed_at"]) == ("pending", None, None, None)


def test_a_machine_that_is_ready_is_starting(creating: Cluster):
    node = Node.objects.filter(cluster=creating)[0]
    for _ in range(2):
        lifecycle.node_machine_ready(node.id, machine_id="m-1", address="127.1.0.1", agent_address="127.1.0.1:7443")
    node.refresh_from_db()
    assert (node.state, node.machine_id, node.address) == ("starting", "m-1", "127.1.0.1")


def test_a_proved_node_does_not_go_back_when_its_machine_is_noted_again(active: Cluster):
    node = Node.objects.filter(cluster=active)[0]
    lifecycle.node_machine_ready(node.id, machine_id="m-0", address="127.9.0.1", agent_address="127.9.0.1:7443")
    node.refresh_from_db()
    assert (node.state, node.address) == ("up", "127.9.0.1")


def test_a_look_changes_what_was_seen_and_says_whether_it_did(api: ApiClient, active: Cluster):
    node = Node.objects.filter(cluster=active)[0]
    assert lifecycle.node_observed(
        node.id, state=NodeState.DOWN, reason="The engine does not run.", agent_version="0.1.0"
    )
    assert not lifecycle.node_observed(node.id, state=NodeState.DOWN, reason="The engine does not run.")
    shown = api.get(f"/clusters/{active.id}/nodes").json()["items"][0]
    assert (shown["state"], shown["state_reason"]) == ("down", "The engine does not run.")
    assert (shown["agent_version"], shown["engine_version"]) == ("0.1.0", "5.0.5")
    assert api.get(f"/clusters/{active.id}").json()["nodes_up"] == 2


def test_nobody_hears_of_a_deleted_node_again(deleted: Cluster):
    node = Node.objects.filter(cluster=deleted)[0]
    assert not lifecycle.node_observed(node.id, state=NodeState.UP)
    lifecycle.node_proved(node.id, host_id="x", engine_version="5")
    node.refresh_from_db()
    assert node.state == "deleted"


@pytest.mark.parametrize("late", [lifecycle.cluster_active, lifecycle.cluster_degraded, lifecycle.cluster_recovered])
def test_late_news_does_not_bring_a_cluster_back(deleted: Cluster, late):
    assert not late(deleted.id)
    deleted.refresh_from_db()
    assert deleted.state == "deleted"


def test_degraded_and_back(active: Cluster):
    assert not lifecycle.cluster_recovered(active.id)
    assert lifecycle.cluster_degraded(active.id)
    assert lifecycle.cluster_recovered(active.id)
    first_active = Cluster.objects.get().active_at
    assert first_active == active.active_at


def reasons(api: ApiClient, cluster: Cluster, name: str) -> dict[str, str | None]:
    nodes = api.get(f"/clusters/{cluster.id}/nodes").json()["items"]
    (actions,) = [node["allowed_actions"] for node in nodes if node["name"] == name]
    return {action["action"]: action["reason"] for action in actions}


def test_it_says_what_may_be_done_with_a_node_and_why_not(api: ApiClient, active: Cluster):
    name = "orders-local-1a-1"
    assert reasons(api, active, name) == {
        "replace_node": None,
        "restart_node": None,
        "stop_node": None,
        "start_node": f"{name} runs already.",
        "measure_disks": None,
    }
    Node.objects.filter(name=name).update(state=NodeState.STOPPED, stop_wanted=True)
    assert reasons(api, active, name)["restart_node"] == f"{name} is stopped; start it instead."
    assert reasons(api, active, name)["start_node"] is None
    assert reasons(api, active, name)["measure_disks"] == f"{name} is stopped; start it instead."
    other = "orders-local-1b-1"
    assert reasons(api, active, other)["stop_node"] == (
        f"Stopping {other} would leave 1 of 3 replicas; QUORUM needs 2."
    )


def test_nothing_may_be_done_with_a_node_while_the_cluster_changes(api: ApiClient, active: Cluster, tenant: Tenant):
    viewer = tenant.api(tenant.member(Role.VIEWER))
    assert set(reasons(viewer, active, "orders-local-1a-1").values()) == {"Your role or token may not change clusters."}
    api.post(f"/clusters/{active.id}/changes", {"kind": "rolling_restart"})
    assert set(reasons(api, active, "orders-local-1a-1").values()) == {"It is being restarted node by node."}
