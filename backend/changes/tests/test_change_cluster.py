from collections.abc import Callable
from typing import Any

import pytest
from pydantic import TypeAdapter

from backend.accounts.states import Role
from backend.audit.models import AuditRecord
from backend.changes.planning import OPERATION_KINDS, propose
from backend.changes.queries import facts_of
from backend.changes.schemas import Change
from backend.clusters.models import Cluster, Datacenter, Node
from backend.clusters.states import NodeState
from backend.clusters.tests.conftest import finish_operations
from backend.conftest import ApiClient, Tenant
from backend.operations.models import Operation, OperationStep


def change(api: ApiClient, cluster: Cluster, **body: Any) -> Any:
    return api.post(f"/clusters/{cluster.id}/changes", body)


def error(answer: Any) -> tuple[int, str, str]:
    found = answer.json()["error"]
    return answer.status_code, found["code"], found["message"]


def test_it_begins_with_rows_operation_and_audit_record(api: ApiClient, active: Cluster):
    answer = change(api, active, kind="scale", nodes_per_zone=2)
    assert answer.status_code == 202
    body = answer.json()
    operation = Operation.objects.get(id=body["operation"]["id"])
    assert (operation.kind, operation.exclusive) == ("scale_cluster", True)
    assert (
        operation.cancellable_until
        == OperationStep.objects.get(
            operation=operation, name="clean_up", target=Node.objects.get(name="orders-local-1a-1").id
        ).position
    )
    assert operation.parameters["nodes_per_zone"] == 2
    assert body["cluster"]["current_operation"]["id"] == operation.id
    assert body["cluster"]["nodes_total"] == 6
    new = list(Node.objects.filter(state=NodeState.PENDING).order_by("position"))
    assert [node.name for node in new] == ["orders-local-1a-2", "orders-local-1b-2", "orders-local-1c-2"]
    assert all(len(node.tokens) == 16 for node in new)
    tokens = [token for node in Node.objects.all() for token in node.tokens]
    assert len(set(tokens)) == 6 * 16
    # What it has is written down when it has it.
    assert Datacenter.objects.get().nodes_per_zone == 1
    record = AuditRecord.objects.get(action="cluster.scale")
    assert (record.target_id, record.target_name) == (active.id, "orders")
    assert record.before == {"datacenter": "local-local-1", "nodes_per_zone": 1}
    assert record.after == {"nodes_per_zone": 2}


def test_the_steps_name_nodes_that_exist(api: ApiClient, active: Cluster):
    change(api, active, kind="scale", nodes_per_zone=3)
    operation = Operation.objects.get(kind="scale_cluster")
    known = {*Node.objects.values_list("id", flat=True), *Datacenter.objects.values_list("id", flat=True), ""}
    assert set(OperationStep.objects.filter(operation=operation).values_list("target", flat=True)) <= known


def test_a_refused_change_leaves_nothing_behind(api: ApiClient, active: Cluster, budget: Callable[[int | None], None]):
    budget(2400)
    operations_before, records_before = Operation.objects.count(), AuditRecord.objects.count()
    answer = change(api, active, kind="scale", nodes_per_zone=2)
    sentence = "local-1 has room for 1 more node of type local.small; this change needs 3."
    assert error(answer) == (409, "not_enough_memory", sentence)
    assert Node.objects.count() == 3
    assert (Operation.objects.count(), AuditRecord.objects.count()) == (operations_before, records_before)


def test_nodes_of_a_change_that_meets_another_are_not_kept(api: ApiClient, active: Cluster):
    first = change(api, active, kind="rolling_restart").json()["operation"]
    answer = change(api, active, kind="scale", nodes_per_zone=2)
    status, code, message = error(answer)
    assert (status, code) == (409, "operation_in_progress")
    assert f"The operation {first['id']} (restart node by node)" in message
    assert Node.objects.count() == 3


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"kind": "scale", "nodes_per_zone": 1}, 409, "nothing_to_change"),
        ({"kind": "scale", "nodes_per_zone": 0}, 409, "racks_not_even"),
        ({"kind": "scale", "nodes_per_zone": 2, "datacenter": "mars"}, 422, "unknown_datacenter"),
        ({"kind": "upgrade", "engine_version": "4.0"}, 422, "unknown_engine_version"),
        ({"kind": "settings", "settings": {"nonsense": 1, "read_timeout_ms": 1}}, 422, "invalid_setting"),
        ({"kind": "remove_datacenter", "datacenter": "local-local-1"}, 409, "last_datacenter"),
        ({"kind": "replace_node", "node_id": "nod_0"}, 422, "unknown_node"),
        ({"kind": "desired_state"}, 422, "invalid_field"),
    ],
)
def test_what_is_refused_has_a_code(api: ApiClient, active: Cluster, body: dict[str, Any], status: int, code: str):
    assert error(change(api, active, **body))[:2] == (status, code)


def test_every_wrong_setting_is_named(api: ApiClient, active: Cluster):
    answer = change(api, active, kind="settings", settings={"nonsense": 1, "read_timeout_ms": 1})
    fields = [found["field"] for found in answer.json()["error"]["fields"]]
    assert fields == ["settings.nonsense", "settings.read_timeout_ms"]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"kind": "rolling_restart"}, "rolling_restart"),
        ({"kind": "rotate_certificates"}, "rotate_certificates"),
        ({"kind": "upgrade", "engine_version": "5.0.9"}, "upgrade_cluster"),
        ({"kind": "settings", "settings": {"read_timeout_ms": 7000}}, "apply_settings"),
        ({"kind": "machine_type", "machine_type": "local.medium"}, "change_machine_type"),
    ],
)
def test_each_change_is_an_operation(api: ApiClient, active: Cluster, body: dict[str, Any], kind: str):
    answer = change(api, active, **body)
    assert answer.status_code == 202, answer.content
    assert answer.json()["operation"]["kind"] == kind


@pytest.mark.parametrize("kind", ["restart_node", "stop_node", "replace_node"])
def test_a_single_node_is_changed_by_its_id(api: ApiClient, active: Cluster, kind: str):
    node = Node.objects.get(name="orders-local-1b-1")
    answer = change(api, active, kind=kind, node_id=node.id)
    assert answer.status_code == 202, answer.content
    assert answer.json()["operation"]["kind"] == kind
    record = AuditRecord.objects.get(action=f"cluster.{kind}")
    assert record.before == {"node": node.name, "state": "up"}


def test_a_replacement_takes_the_place_of_the_old_node(api: ApiClient, active: Cluster):
    old = Node.objects.get(name="orders-local-1b-1")
    Node.objects.filter(id=old.id).update(state=NodeState.DOWN)
    change(api, active, kind="replace_node", node_id=old.id)
    new = Node.objects.get(replaces_id=old.id)
    assert (new.tokens, new.zone, new.datacenter_id) == (old.tokens, old.zone, old.datacenter_id)


def test_a_second_data_centre_gets_its_row(api: ApiClient, active: Cluster):
    answer = change(
        api,
        active,
        kind="add_datacenter",
        region="local-2",
        zones=["local-2a"],
        machine_type="local.small",
        nodes_per_zone=1,
    )
    assert answer.status_code == 202, answer.content
    assert [found["name"] for found in answer.json()["cluster"]["datacenters"]] == ["local-local-1", "local-local-2"]
    assert Node.objects.get(datacenter__name="local-local-2").name == "orders-local-2a-1"


def test_others_do_not_find_the_cluster(foreign: ApiClient, active: Cluster):
    assert change(foreign, active, kind="rolling_restart").status_code == 404


def test_a_viewer_may_not(tenant: Tenant, active: Cluster):
    assert change(tenant.api(tenant.member(Role.VIEWER)), active, kind="rolling_restart").status_code == 403


def test_it_needs_a_cluster_that_serves(api: ApiClient, creating: Cluster):
    status, code, message = error(change(api, creating, kind="rolling_restart"))
    assert (status, code) == (409, "operation_in_progress")
    assert "The cluster is still being created" in message
    finish_operations()
    assert error(change(api, creating, kind="rolling_restart"))[:2] == (409, "cluster_not_active")


def test_nodes_that_are_joining_are_no_reason_but_the_operation_is(api: ApiClient, active: Cluster):
    first = change(api, active, kind="scale", nodes_per_zone=2).json()["operation"]
    status, code, message = error(change(api, active, kind="scale", nodes_per_zone=3))
    assert (status, code) == (409, "operation_in_progress")
    assert first["id"] in message


def test_every_change_is_the_operation_that_the_table_of_kinds_says(api: ApiClient, active: Cluster):
    node_id = active.nodes.all()[0].id
    for body in (
        {"kind": "scale", "nodes_per_zone": 2},
        {"kind": "replace_node", "node_id": node_id},
        {"kind": "restart_node", "node_id": node_id},
        {"kind": "stop_node", "node_id": node_id},
        {"kind": "rolling_restart"},
        {"kind": "upgrade", "engine_version": "5.0.9"},
        {"kind": "machine_type", "machine_type": "local.medium"},
        {"kind": "settings", "settings": {"read_timeout_ms": 7000}},
        {"kind": "rotate_certificates"},
    ):
        wanted = TypeAdapter[Any](Change).validate_python(body)
        assert propose(facts_of(active), wanted).planned.kind == OPERATION_KINDS[wanted.kind]


def test_a_deleted_cluster_is_not_changed(api: ApiClient, deleted: Cluster):
    assert error(change(api, deleted, kind="rolling_restart"))[:2] == (409, "cluster_deleted")


def test_the_same_request_twice_is_one_change(api: ApiClient, active: Cluster):
    path, body, headers = (
        f"/clusters/{active.id}/changes",
        {"kind": "scale", "nodes_per_zone": 2},
        {"idempotency-key": "a"},
    )
    first, second = api.post(path, body, **headers), api.post(path, body, **headers)
    assert first.json() == second.json()
    assert Node.objects.count() == 6
