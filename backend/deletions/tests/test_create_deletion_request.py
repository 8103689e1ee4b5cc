import pytest

from backend.accounts.models import DeletionRequest, ServiceAccount
from backend.accounts.states import Role
from backend.backups.models import Backup
from backend.clusters.models import Cluster
from backend.conftest import ApiClient, Tenant
from backend.deletions.tests.conftest import asked, code, decided, of_tags


@pytest.mark.usefixtures("two")
def test_it_tells_what_is_asked_for_by_whom_and_until_when(api: ApiClient, active: Cluster):
    made = asked(api, "cluster", active.id)
    assert (made["target_name"], made["state"], made["confirmed_by"]) == ("orders", "pending", None)
    assert made["requested_by"].startswith("owner@acme.example")
    assert made["created_at"][:10] < made["expires_at"][:10]
    assert api.get(f"/deletion-requests/{made['id']}").json() == made


def test_nobody_asks_where_one_person_is_enough(api: ApiClient, active: Cluster):
    refused = api.post("/deletion-requests", {"target_type": "cluster", "target_id": active.id})
    assert code(refused) == (409, "second_person_not_needed")


@pytest.mark.usefixtures("two")
def test_a_thing_is_asked_for_once(api: ApiClient, second: ApiClient, active: Cluster):
    first = asked(api, "cluster", active.id)
    again = second.post("/deletion-requests", {"target_type": "cluster", "target_id": active.id})
    assert code(again) == (409, "deletion_request_exists")
    assert first["id"] in again.json()["error"]["message"]
    decided(api, first, "withdraw")
    assert asked(second, "cluster", active.id)["id"] != first["id"]


@pytest.mark.usefixtures("two")
def test_it_takes_what_deleting_takes(tenant: Tenant, active: Cluster):
    viewer = tenant.api(tenant.member(Role.VIEWER))
    refused = viewer.post("/deletion-requests", {"target_type": "cluster", "target_id": active.id})
    assert code(refused) == (403, "forbidden")
    operator = tenant.api(tenant.member(Role.OPERATOR))
    about = {"target_type": "access_settings", "target_id": tenant.organisation.id}
    assert code(operator.post("/deletion-requests", about)) == (403, "forbidden")


@pytest.mark.usefixtures("two")
def test_a_service_account_does_not_ask_as_it_could_be_the_same_person(tenant: Tenant, api: ApiClient, active: Cluster):
    account = ServiceAccount.objects.create(
        organisation=tenant.organisation, name="ci", contact="x@acme.example", role="operator"
    )
    made = api.post("/tokens", {"name": "t", "scopes": ["clusters:write"], "service_account_id": account.id})
    program = ApiClient(authorization=f"Bearer {made.json()['secret']}")
    refused = program.post("/deletion-requests", {"target_type": "cluster", "target_id": active.id})
    assert code(refused) == (403, "person_needed")


@pytest.mark.usefixtures("two")
def test_a_stranger_finds_nothing_to_ask_for(foreign: ApiClient, active: Cluster, backup: Backup):
    foreign.patch("/organisation/access-settings", {"deletes_need_two": True})
    for kind, identifier in (("cluster", active.id), ("backup", backup.id)):
        refused = foreign.post("/deletion-requests", {"target_type": kind, "target_id": identifier})
        assert code(refused) == (404, f"{kind}_not_found")
    about = {"target_type": "access_settings", "target_id": active.organisation_id}
    assert code(foreign.post("/deletion-requests", about)) == (404, "organisation_not_found")
    assert not DeletionRequest.objects.exists()


@pytest.mark.usefixtures("two")
def test_a_role_of_other_tags_finds_nothing_to_ask_for(tenant: Tenant, active: Cluster, backup: Backup):
    other = of_tags(tenant, {"env": ["dev"]}, email="dev@acme.example")
    for kind, identifier in (("cluster", active.id), ("backup", backup.id)):
        refused = other.post("/deletion-requests", {"target_type": kind, "target_id": identifier})
        assert code(refused) == (404, f"{kind}_not_found")
    Cluster.objects.update(options={"tags": {"env": "dev"}})
    assert asked(other, "cluster", active.id)["state"] == "pending"


@pytest.mark.usefixtures("two")
def test_what_has_gone_is_not_asked_for(api: ApiClient, deleted: Cluster):
    refused = api.post("/deletion-requests", {"target_type": "cluster", "target_id": deleted.id})
    assert code(refused) == (409, "target_gone")
