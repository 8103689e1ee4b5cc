from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from backend.accounts.states import Role
from backend.audit.models import AuditRecord
from backend.catalog import actions as catalog
from backend.clusters import queries
from backend.clusters.models import Cluster, Node, Secret
from backend.clusters.states import SecretPurpose
from backend.clusters.tests.conftest import ORDER
from backend.conftest import ApiClient, Tenant
from backend.operations.models import Operation, OperationStep


def test_it_answers_with_the_cluster_and_the_operation_that_makes_it(api: ApiClient, tenant: Tenant):
    answer = api.post("/clusters", ORDER | {"nodes_per_zone": 2, "options": {"tags": {"team": "Checkout"}}})
    assert answer.status_code == 202
    cluster, operation = answer.json()["cluster"], answer.json()["operation"]
    assert cluster["state"] == "creating"
    assert cluster["engine_version"] == queries.get_catalog()["engines"][0]["versions"][0]["version"]
    assert [datacenter["name"] for datacenter in cluster["datacenters"]] == ["local-local-1"]
    assert (cluster["nodes_total"], cluster["nodes_up"]) == (6, 0)
    assert cluster["options"] == {"tags": {"team": "Checkout"}}
    assert cluster["created_by"].startswith("owner@acme.example")
    assert cluster["current_operation"] == {
        "id": operation["id"],
        "kind": "create_cluster",
        "state": "pending",
        "progress": 0,
    }
    assert operation["title"] == "Create cluster"
    assert operation["cluster_id"] == cluster["id"]
    assert operation["steps_total"] == OperationStep.objects.count() > 6
    assert operation["eta_seconds"] == operation["expected_seconds"] > 0


def test_its_nodes_have_names_racks_seeds_and_balanced_tokens(api: ApiClient):
    api.post("/clusters", ORDER | {"nodes_per_zone": 2})
    nodes = list(Node.objects.order_by("position"))
    assert [node.name for node in nodes] == [f"orders-local-1{zone}-{turn}" for turn in (1, 2) for zone in "abc"]
    assert [node.is_seed for node in nodes] == [True] * 3 + [False] * 3
    tokens = [token for node in nodes for token in node.tokens]
    assert len(set(tokens)) == 6 * 16


def test_the_operation_is_due_and_the_workers_are_told(
    api: ApiClient, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
):
    sent: list[Any] = []
    monkeypatch.setattr("backend.operations.actions.current_app.send_task", lambda *a, **_: sent.append(a))
    with django_capture_on_commit_callbacks(execute=True):
        api.post("/clusters", ORDER)
    operation = Operation.objects.get()
    assert sent == [("provisioner.run_operation", [operation.id])]
    assert operation.due_at is not None


def test_nothing_secret_is_stored_in_the_clear_or_answered(api: ApiClient):
    answer = api.post("/clusters", ORDER)
    cluster = Cluster.objects.get()
    passwords = [
        queries.secret(cluster.id, purpose).decode()
        for purpose in (SecretPurpose.ADMIN_PASSWORD, SecretPurpose.CONTROL_PASSWORD)
    ]
    assert all(len(password) >= 32 for password in passwords)
    key = queries.secret(cluster.id, SecretPurpose.CLUSTER_CA_KEY).decode()
    with connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(s::text, '') FROM clusters_secret s")
        stored = cursor.fetchone()[0]
    everything = (
        stored
        + answer.content.decode()
        + str(list(AuditRecord.objects.values()))
        + str(list(Operation.objects.values()))
    )
    for secret in (*passwords, key):
        assert secret not in everything
        assert secret.encode().hex() not in everything
    assert Secret.objects.count() == 3


def test_it_is_audited(api: ApiClient):
    api.post("/clusters", ORDER, **{"X-Request-Id": "my-request-1"})
    record = AuditRecord.objects.get(action="cluster.create")
    assert record.target_name == "orders"
    assert record.request_id == "my-request-1"
    assert record.after["zones"] == ORDER["zones"]


@pytest.mark.parametrize(
    ("change", "status", "code", "field", "words"),
    [
        ({"engine": "mysql"}, 422, "unknown_engine", "engine", "Known: cassandra"),
        ({"engine_version": "1.2.3"}, 422, "unknown_engine_version", "engine_version", "Known: "),
        ({"provider": "azure"}, 422, "unknown_provider", "provider", "local"),
        ({"region": "mars-1"}, 422, "unknown_region", "region", "local-1"),
        ({"zones": ["local-1a", "local-1x"]}, 422, "unknown_zone", "zones.1", "local-1a, local-1b, local-1c"),
        ({"machine_type": "huge"}, 422, "unknown_machine_type", "machine_type", "local.small"),
        ({"zones": ["local-1a", "local-1a"]}, 422, "duplicate_zone", "zones", "more than once"),
        ({"zones": []}, 422, "invalid_field", "zones", ""),
        ({"zones": "local-1a"}, 422, "invalid_field", "zones", ""),
        ({"nodes_per_zone": 0}, 422, "invalid_field", "nodes_per_zone", ""),
        ({"nodes_per_zone": -1}, 422, "invalid_field", "nodes_per_zone", ""),
        ({"nodes_per_zone": 2**63}, 422, "invalid_field", "nodes_per_zone", ""),
        ({"nodes_per_zone": "1"}, 422, "invalid_field", "nodes_per_zone", ""),
        ({"nodes_per_zone": 1.5}, 422, "invalid_field", "nodes_per_zone", ""),
        ({"name": ""}, 422, "invalid_field", "name", "Give the cluster a name"),
        ({"name": "Orders"}, 422, "invalid_field", "name", "lower-case"),
        ({"name": "1orders"}, 422, "invalid_field", "name", "start with a lower-case letter"),
        ({"name": "orders-"}, 422, "invalid_field", "name", "end with a hyphen"),
        ({"name": "or ders"}, 422, "invalid_field", "name", "hyphens only"),
        ({"name": "or\x00ders"}, 422, "invalid_field", "name", "hyphens only"),
        ({"name": "orders\n"}, 422, "invalid_field", "name", "hyphens only"),
        ({"name": "ordеrs"}, 422, "invalid_field", "name", "hyphens only"),
        ({"name": "x" * 49}, 422, "invalid_field", "name", "49 characters; at most 48"),
        ({"name": None}, 422, "invalid_field", "name", ""),
        ({"state": "active"}, 422, "invalid_field", "state", ""),
        ({"organisation_id": "org_x"}, 422, "invalid_field", "organisation_id", ""),
        ({"options": {"debug": True}}, 422, "invalid_field", "options.debug", ""),
        ({"options": {"tags": {"Team!": "x"}}}, 422, "invalid_field", "options.tags.Team!.[key]", ""),
        ({"options": {"tags": {"team": "a\x00b"}}}, 422, "invalid_field", "options.tags.team", ""),
    ],
)
def test_it_refuses_what_cannot_be_and_says_why(
    api: ApiClient, change: dict[str, Any], status: int, code: str, field: str, words: str
):
    answer = api.post("/clusters", ORDER | change)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["field"]) == (status, code, field)
    assert words in error["message"]
    assert error["hint"]
    assert not Cluster.objects.exists()
    assert not Operation.objects.exists()
    assert not Secret.objects.exists()


def test_it_names_every_wrong_field_at_once(api: ApiClient):
    error = api.post("/clusters", ORDER | {"engine": "mysql", "machine_type": "huge"}).json()["error"]
    assert [field["field"] for field in error["fields"]] == ["engine", "machine_type"]


def test_a_name_is_taken_once(api: ApiClient, creating: Cluster):
    answer = api.post("/clusters", ORDER)
    assert answer.status_code == 409
    assert answer.json()["error"]["code"] == "name_taken"
    assert answer.json()["error"]["field"] == "name"
    assert Cluster.objects.count() == 1


def test_another_organisation_may_have_the_same_name(api: ApiClient, creating: Cluster, foreign: ApiClient):
    assert foreign.post("/clusters", ORDER).status_code == 202


def test_the_name_of_a_deleted_cluster_is_free(api: ApiClient, deleted: Cluster):
    assert api.post("/clusters", ORDER).status_code == 202


@pytest.mark.parametrize(
    ("mib", "words"),
    [
        (1799, "room for 2 more nodes of type local.small; this order needs 3"),
        (600, "room for 1 more node of"),
        (0, "room for no more nodes of"),
    ],
)
def test_it_says_how_many_nodes_fit(api: ApiClient, budget: Callable[[int | None], None], mib: int, words: str):
    budget(mib)
    answer = api.post("/clusters", ORDER)
    assert answer.status_code == 409
    assert answer.json()["error"]["code"] == "not_enough_memory"
    assert words in answer.json()["error"]["message"]
    assert not Cluster.objects.exists()


def test_living_nodes_count_and_deleted_ones_do_not(
    api: ApiClient, deleted: Cluster, budget: Callable[[int | None], None]
):
    budget(3 * 600 + 599)
    assert api.post("/clusters", ORDER).status_code == 202
    answer = api.post("/clusters", ORDER | {"name": "second", "zones": ["local-1a"]})
    assert answer.json()["error"]["code"] == "not_enough_memory"


def test_a_region_without_a_budget_takes_what_comes(api: ApiClient, budget: Callable[[int | None], None]):
    budget(None)
    assert api.post("/clusters", ORDER | {"nodes_per_zone": 30}).status_code == 202


def test_the_same_key_is_one_cluster(api: ApiClient):
    first = api.post("/clusters", ORDER, **{"Idempotency-Key": "k-1"})
    again = api.post("/clusters", ORDER, **{"Idempotency-Key": "k-1"})
    assert first.json() == again.json()
    assert Cluster.objects.count() == 1
    other = api.post("/clusters", ORDER | {"name": "other"}, **{"Idempotency-Key": "k-1"})
    assert other.status_code == 422


def test_a_viewer_may_not_order(api: ApiClient, tenant: Tenant):
    answer = tenant.api(tenant.member(Role.VIEWER)).post("/clusters", ORDER)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")
    assert not Cluster.objects.exists()


def test_an_engine_that_a_provider_cannot_run_is_refused_with_the_reason(api: ApiClient):
    answer = api.post("/clusters", ORDER | {"engine": "scylla"})
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert (error["code"], error["field"]) == ("engine_not_on_provider", "provider")
    assert error["message"].startswith("ScyllaDB cannot run here. ScyllaDB comes as packages for machines of its own")
    assert not Cluster.objects.exists()


def test_scylladb_can_be_ordered_on_a_cloud(api: ApiClient):
    catalog.load(with_tests=False, clouds={"aws": ["us-east-1"]})
    place = {"provider": "aws", "region": "us-east-1", "zones": ["us-east-1a"], "machine_type": "i4i.large"}
    answer = api.post("/clusters", ORDER | {"engine": "scylla"} | place)
    assert answer.status_code == 202, answer.content
    assert answer.json()["cluster"]["engine_version"] == "2026.1.8"
