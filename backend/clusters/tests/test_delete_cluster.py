import pytest

from backend.accounts.states import Role
from backend.audit.models import AuditRecord
from backend.clusters import lifecycle, plans
from backend.clusters.models import Cluster, Datacenter, Node, NodeEnrolment, Secret
from backend.conftest import ApiClient, Tenant
from backend.operations.models import Operation, OperationStep


def test_it_starts_a_deletion(api: ApiClient, active: Cluster):
    answer = api.delete(f"/clusters/{active.id}")
    assert answer.status_code == 202
    assert answer.json()["cluster"]["state"] == "deleting"
    assert answer.json()["operation"]["kind"] == "delete_cluster"
    assert AuditRecord.objects.get(action="cluster.delete").before == {"state": "active"}
    assert Node.objects.filter(deleted_at=None).count() == 3


def test_a_second_one_names_the_first(api: ApiClient, active: Cluster):
    first = api.delete(f"/clusters/{active.id}").json()["operation"]["id"]
    answer = api.delete(f"/clusters/{active.id}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "operation_in_progress")
    assert first in answer.json()["error"]["message"]
    assert Operation.objects.filter(kind="delete_cluster").count() == 1


def test_a_cluster_that_is_being_created_is_cancelled_instead(api: ApiClient, creating: Cluster):
    answer = api.delete(f"/clusters/{creating.id}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "operation_in_progress")
    assert "cancel" in answer.json()["error"]["hint"]


def test_a_deleted_cluster_is_not_deleted_again(api: ApiClient, deleted: Cluster):
    answer = api.delete(f"/clusters/{deleted.id}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "cluster_deleted")


def test_it_can_be_cancelled_only_before_it_begins(api: ApiClient, active: Cluster):
    operation = api.delete(f"/clusters/{active.id}").json()["operation"]
    assert operation["allowed_actions"][0] == {"action": "cancel_operation", "allowed": True, "reason": None}
    OperationStep.objects.filter(operation_id=operation["id"], position=0).update(state="running")
    shown = api.get(f"/operations/{operation['id']}").json()
    assert shown["allowed_actions"][0]["allowed"] is False


def test_a_cancelled_deletion_leaves_the_cluster(api: ApiClient, active: Cluster):
    api.delete(f"/clusters/{active.id}")
    lifecycle.cluster_kept(active.id)
    assert api.get(f"/clusters/{active.id}").json()["state"] == "active"


def test_a_viewer_may_not(tenant: Tenant, active: Cluster):
    assert tenant.api(tenant.member(Role.VIEWER)).delete(f"/clusters/{active.id}").status_code == 403


def test_when_it_is_done_secrets_are_destroyed_and_history_stays(api: ApiClient, active: Cluster):
    api.delete(f"/clusters/{active.id}")
    assert lifecycle.cluster_deleted(active.id)
    shown = api.get(f"/clusters/{active.id}").json()
    assert (shown["state"], shown["nodes_total"]) == ("deleted", 0)
    assert shown["deleted_at"] is not None
    assert not Secret.objects.filter(owner=active.id).exists()
    assert not NodeEnrolment.objects.exists()
    assert set(Node.objects.values_list("state", flat=True)) == {"deleted"}
    assert len(api.get(f"/operations?cluster_id={active.id}").json()["items"]) == 2
    assert not lifecycle.cluster_deleted(active.id)


@pytest.mark.parametrize("cluster_id", ["clu_missing", "x", "clu_%00", "a" * 300])
def test_a_cluster_that_never_was_is_not_found(api: ApiClient, cluster_id: str):
    answer = api.delete(f"/clusters/{cluster_id}")
    assert answer.status_code in (400, 404)


def test_the_network_of_each_data_centre_is_deleted():
    here, there = Datacenter(id="dce_1", name="here"), Datacenter(id="dce_2", name="there")
    nodes = [Node(id=f"nod_{number}", datacenter=one) for number, one in enumerate((here, here, there))]
    steps = [step for group in plans.delete_cluster(nodes, connections=False) for step in group]
    assert [step.target for step in steps if step.name == "delete_network"] == ["dce_1", "dce_2"]
