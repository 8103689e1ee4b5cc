import json
from collections.abc import Callable
from typing import Any

import pytest

from backend.accounts.states import Permission, Role
from backend.audit.models import AuditRecord
from backend.cloud_accounts.models import CloudAccount
from backend.cloud_accounts.tests.conftest import AWS, GCP, bring, found
from backend.clusters.models import Cluster
from backend.conftest import ApiClient, Tenant
from backend.operations.models import Operation

ORDER: dict[str, Any] = {
    "name": "orders",
    "engine": "cassandra",
    "provider": "aws",
    "region": "eu-west-1",
    "zones": ["eu-west-1a", "eu-west-1b", "eu-west-1c"],
    "machine_type": "i4i.large",
    "nodes_per_zone": 1,
}


def test_an_account_is_checked_as_soon_as_it_is_brought(api: ApiClient) -> None:
    answer = api.post("/cloud-accounts", AWS)
    assert answer.status_code == 202
    account, operation = answer.json()["cloud_account"], answer.json()["operation"]
    assert account["check"]["state"] == "checking"
    assert account["check"]["operation_id"] == operation["id"]
    assert operation["kind"] == "check_cloud_account"
    steps = api.get(f"/operations/{operation['id']}").json()["steps"]
    assert [step["title"] for step in steps] == ["Try every permission"] * 2
    assert [step["target_title"] for step in steps] == ["eu-west-1", "us-east-1"]
    assert api.get("/cloud-accounts").json()["items"][0]["id"] == account["id"]
    assert AuditRecord.objects.get(action="cloud_account.create").target_id == account["id"]


def test_the_external_id_is_made_here_and_is_another_for_each_account(api: ApiClient) -> None:
    first, second = bring(api, AWS), bring(api, {**AWS, "name": "Shop 2"})
    assert len(first.external_id) >= 32
    assert first.external_id != second.external_id
    assert api.post("/cloud-accounts", {**AWS, "name": "x", "external_id": "mine"}).status_code == 422


def test_the_setup_of_an_aws_account_is_filled_in(api: ApiClient) -> None:
    account = bring(api, AWS)
    steps = api.get(f"/cloud-accounts/{account.id}").json()["setup"]
    by_file = {step["file_name"]: step["content"] for step in steps}
    (trust,) = json.loads(by_file["trust.json"])["Statement"]
    assert trust["Condition"] == {"StringEquals": {"sts:ExternalId": account.external_id}}
    allowed = {statement["Sid"] for statement in json.loads(by_file["policy.json"])["Statement"]}
    assert "OwnMachines" in allowed
    assert "AccountsThatAreBrought" not in allowed
    assert "create-role --role-name ringmaster-shop" in by_file[None]


def test_the_service_account_of_a_google_project_can_only_be_this_account_s(api: ApiClient) -> None:
    answer = api.post("/cloud-accounts", GCP).json()["cloud_account"]
    name = answer["service_account"].partition("@")[0]
    assert name == f"ringmaster-{answer['external_id']}"
    assert len(name) <= 30
    assert answer["service_account"].endswith("@acme-shop.iam.gserviceaccount.com")
    assert any(f"service-accounts create {name}" in step["content"] for step in answer["setup"])


@pytest.mark.parametrize(
    ("order", "field"),
    [
        ({**AWS, "role_arn": "arn:aws:iam::123456789012:role/admin"}, "role_arn"),
        ({**AWS, "role_arn": None}, ""),
        ({**AWS, "project": "acme-shop"}, ""),
        ({**GCP, "settings": {"vpcs": {"eu-west-1": "vpc-1"}}}, ""),
        ({**AWS, "settings": {"vpcs": {"mars-1": "vpc-1"}}}, "settings.vpcs"),
        ({**AWS, "settings": {"networks": "10.0.0.0/24"}}, "settings.networks"),
        ({**AWS, "settings": {"networks": "home"}}, "settings.networks"),
        ({**AWS, "provider": "azure"}, "provider"),
        ({**AWS, "name": ""}, "name"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_stored(api: ApiClient, order: dict[str, Any], field: str) -> None:
    answer = api.post("/cloud-accounts", order)
    assert answer.status_code == 422
    assert answer.json()["error"].get("field", "") == field
    assert not CloudAccount.objects.exists()
    assert not Operation.objects.exists()


def test_a_check_tells_what_is_missing_and_can_be_repeated(api: ApiClient) -> None:
    account = bring(api, AWS)
    assert api.post(f"/cloud-accounts/{account.id}/check").json()["error"]["code"] == "check_in_progress"
    found(account, missing=["ec2:RunInstances"])
    check = api.get(f"/cloud-accounts/{account.id}").json()["check"]
    assert (check["state"], check["missing"], check["operation_id"]) == ("incomplete", ["ec2:RunInstances"], None)
    again = api.post(f"/cloud-accounts/{account.id}/check")
    assert again.status_code == 202
    assert again.json()["cloud_account"]["check"]["state"] == "checking"
    account.refresh_from_db()
    found(account, problem="The control plane cannot take on the role.")
    check = api.get(f"/cloud-accounts/{account.id}").json()["check"]
    assert check["state"] == "refused"
    assert {result["problem"] for result in check["results"]} == {"The control plane cannot take on the role."}


def test_what_a_check_of_before_finds_late_is_not_written_down(api: ApiClient) -> None:
    account = bring(api, AWS)
    found(account)
    api.post(f"/cloud-accounts/{account.id}/check")
    found(account, missing=["ec2:RunInstances"])
    account.refresh_from_db()
    assert account.check_state == "ready"


def test_names_are_unique_among_the_living(api: ApiClient, account: CloudAccount) -> None:
    other = bring(api, GCP)
    assert api.post("/cloud-accounts", {**AWS, "name": "shop"}).json()["error"]["code"] == "name_taken"
    assert api.patch(f"/cloud-accounts/{other.id}", {"name": "SHOP"}).json()["error"]["code"] == "name_taken"
    assert api.patch(f"/cloud-accounts/{other.id}", {"name": "Search"}).json()["name"] == "Search"
    assert api.delete(f"/cloud-accounts/{account.id}").status_code == 204
    assert api.get(f"/cloud-accounts/{account.id}").status_code == 404
    bring(api, AWS)


def test_a_cluster_is_ordered_into_an_account_and_keeps_it(api: ApiClient, account: CloudAccount) -> None:
    order = {**ORDER, "cloud_account": account.id}
    assert api.post("/clusters/check", order).status_code == 200
    answer = api.post("/clusters", order)
    assert answer.status_code == 202
    assert answer.json()["cluster"]["cloud_account"] == {"id": account.id, "name": "Shop"}
    assert Cluster.objects.get().cloud_account_id == account.id
    refused = api.delete(f"/cloud-accounts/{account.id}")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "cloud_account_in_use")
    shown = api.get(f"/cloud-accounts/{account.id}").json()
    assert shown["clusters"] == 1
    assert {"action": "delete_cloud_account", "allowed": False, "reason": "A cluster is in this account."} in shown[
        "allowed_actions"
    ]
    assert api.get("/clusters").json()["items"][0]["cloud_account"]["name"] == "Shop"


def test_a_cluster_without_an_account_is_in_the_installation_s_own(api: ApiClient) -> None:
    assert api.post("/clusters", ORDER).json()["cluster"]["cloud_account"] is None


@pytest.mark.parametrize("result", [{}, {"missing": ["ec2:RunInstances"]}, {"problem": "No."}])
def test_nothing_is_ordered_into_an_account_that_is_not_ready(api: ApiClient, result: dict[str, Any]) -> None:
    account = bring(api, AWS)
    if result:
        found(account, **result)
    for path in ("/clusters", "/clusters/check"):
        answer = api.post(path, {**ORDER, "cloud_account": account.id})
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "cloud_account_not_ready")
    assert not Cluster.objects.exists()


def test_an_account_is_of_one_provider(api: ApiClient, account: CloudAccount) -> None:
    order = {**ORDER, "provider": "local", "region": "local-1", "zones": ["local-1a"], "machine_type": "local.small"}
    answer = api.post("/clusters", {**order, "cloud_account": account.id})
    assert answer.json()["error"]["code"] == "cloud_account_elsewhere"


def test_nobody_sees_or_uses_the_account_of_another_organisation(
    api: ApiClient, stranger: Tenant, account: CloudAccount
) -> None:
    foreign = stranger.api()
    path = f"/cloud-accounts/{account.id}"
    assert foreign.get("/cloud-accounts").json()["items"] == []
    answers = [foreign.get(path), foreign.patch(path, {"name": "x"}), foreign.delete(path)]
    assert {answer.status_code for answer in [*answers, foreign.post(f"{path}/check")]} == {404}
    for order_path in ("/clusters", "/clusters/check"):
        used = foreign.post(order_path, {**ORDER, "cloud_account": account.id})
        unknown = foreign.post(order_path, {**ORDER, "cloud_account": account.id[:-1] + "0"})
        assert (used.status_code, used.json()["error"]["code"]) == (422, "unknown_cloud_account")
        assert (unknown.status_code, unknown.json()["error"]["code"]) == (422, "unknown_cloud_account")
    account.refresh_from_db()
    assert (account.name, account.deleted_at) == ("Shop", None)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
def test_only_admins_change_accounts_and_everybody_sees_them(
    tenant: Tenant, api: ApiClient, account: CloudAccount, role: Role
) -> None:
    member = tenant.api(tenant.member(role))
    path = f"/cloud-accounts/{account.id}"
    writes: list[Callable[[], Any]] = [
        lambda: member.post("/cloud-accounts", GCP),
        lambda: member.patch(path, {"name": "x"}),
        lambda: member.post(f"{path}/check"),
        lambda: member.delete(path),
    ]
    assert {write().status_code for write in writes} == {403}
    shown = member.get(path).json()
    assert {each["action"] for each in shown["allowed_actions"] if each["allowed"]} == {"create_cluster"}
    token = tenant.api(scopes=[Permission.CLUSTERS_READ, Permission.CLUSTERS_WRITE])
    assert token.delete(path).json()["error"]["code"] == "missing_scope"
