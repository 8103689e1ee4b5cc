from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connections
from django.utils import timezone

from backend.accounts.models import DeletionRequest, ServiceAccount
from backend.accounts.states import Role
from backend.audit.models import AuditRecord
from backend.catalog import actions as catalog
from backend.clusters.models import Cluster
from backend.clusters.tests.conftest import ORDER, finish_operations
from backend.conftest import ApiClient, Tenant
from backend.deletions.tests.conftest import asked, code, decided, of_tags


def may(api: ApiClient, request: dict[str, Any]) -> dict[str, str | None]:
    shown = api.get(f"/deletion-requests/{request['id']}").json()["allowed_actions"]
    return {each["action"].partition("_")[0]: each["reason"] for each in shown}


@pytest.mark.usefixtures("two")
def test_nobody_confirms_what_they_asked_for_with_whichever_token(tenant: Tenant, api: ApiClient, active: Cluster):
    request = asked(api, "cluster", active.id)
    assert code(decided(api, request)) == (403, "own_deletion_request")
    assert code(decided(tenant.api(), request)) == (403, "own_deletion_request")
    assert may(api, request) == {
        "confirm": "You asked for it yourself: somebody else has to confirm it.",
        "withdraw": None,
    }
    assert DeletionRequest.objects.get().state == "pending"


@pytest.mark.usefixtures("two")
def test_the_database_holds_it_too(api: ApiClient, active: Cluster):
    asked(api, "cluster", active.id)
    row = DeletionRequest.objects.get()
    with pytest.raises(IntegrityError, match="of_two"):
        DeletionRequest.objects.update(state="confirmed", confirmed_by_user_id=row.requested_by_user_id)


@pytest.mark.usefixtures("two")
def test_a_service_account_confirms_nothing(tenant: Tenant, api: ApiClient, active: Cluster):
    request = asked(api, "cluster", active.id)
    account = ServiceAccount.objects.create(
        organisation=tenant.organisation, name="ci", contact="x@acme.example", role="operator"
    )
    scopes = ["clusters:read", "clusters:write"]
    made = api.post("/tokens", {"name": "t", "scopes": scopes, "service_account_id": account.id})
    program = ApiClient(authorization=f"Bearer {made.json()['secret']}")
    assert code(decided(program, request)) == (403, "person_needed")
    assert may(program, request)["confirm"] == "A service account is no person: somebody who is one has to do it."


@pytest.mark.usefixtures("two")
def test_a_service_account_deletes_what_two_people_agreed_on(
    tenant: Tenant, api: ApiClient, second: ApiClient, active: Cluster
):
    account = ServiceAccount.objects.create(
        organisation=tenant.organisation, name="ci", contact="x@acme.example", role="operator"
    )
    made = api.post("/tokens", {"name": "t", "scopes": ["clusters:write"], "service_account_id": account.id})
    program = ApiClient(authorization=f"Bearer {made.json()['secret']}")
    decided(second, asked(api, "cluster", active.id))
    assert program.delete(f"/clusters/{active.id}").status_code == 202


@pytest.mark.usefixtures("two")
def test_a_viewer_sees_it_and_does_not_decide(tenant: Tenant, api: ApiClient, active: Cluster):
    request = asked(api, "cluster", active.id)
    viewer = tenant.api(tenant.member(Role.VIEWER))
    assert code(decided(viewer, request)) == (403, "forbidden")
    assert code(decided(viewer, request, "withdraw")) == (403, "forbidden")
    assert set(may(viewer, request).values()) == {"Your role or token may not delete this."}


@pytest.mark.usefixtures("two")
def test_a_role_of_other_tags_does_not_see_it_and_one_of_its_tags_confirms(
    tenant: Tenant, api: ApiClient, active: Cluster
):
    Cluster.objects.update(options={"tags": {"env": "prod"}})
    request = asked(api, "cluster", active.id)
    dev = of_tags(tenant, {"env": ["dev"]}, email="dev@acme.example")
    assert code(decided(dev, request)) == (404, "deletion_request_not_found")
    assert code(dev.get(f"/deletion-requests/{request['id']}")) == (404, "deletion_request_not_found")
    prod = of_tags(tenant, {"env": ["prod"]}, email="prod@acme.example")
    assert decided(prod, request).status_code == 200


@pytest.mark.usefixtures("two")
def test_a_stranger_finds_no_request(foreign: ApiClient, api: ApiClient, active: Cluster):
    request = asked(api, "cluster", active.id)
    for word in ("confirm", "withdraw"):
        assert code(decided(foreign, request, word)) == (404, "deletion_request_not_found")
    assert DeletionRequest.objects.get().state == "pending"


@pytest.mark.usefixtures("two")
def test_it_waits_for_a_day(api: ApiClient, second: ApiClient, active: Cluster):
    request = asked(api, "cluster", active.id)
    DeletionRequest.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert code(decided(second, request)) == (409, "deletion_request_closed")
    assert may(second, request)["confirm"] == "The request is expired."


@pytest.mark.usefixtures("two")
def test_it_is_confirmed_once(tenant: Tenant, api: ApiClient, second: ApiClient, active: Cluster):
    request = asked(api, "cluster", active.id)
    third = tenant.api(tenant.member(Role.ADMIN))
    assert decided(second, request).status_code == 200
    assert code(decided(third, request)) == (409, "deletion_request_closed")
    assert DeletionRequest.objects.get().confirmed_by.startswith("second@acme.example")


def _closing(act: Any) -> int:
    try:
        return act().status_code  # type: ignore[no-any-return]
    finally:
        connections.close_all()


@pytest.mark.django_db(transaction=True)
def test_of_many_who_confirm_at_once_one_does_and_of_many_deletes_one_begins(tenant: Tenant):
    catalog.load(with_tests=True)
    api = tenant.api()
    api.post("/clusters", ORDER)
    finish_operations()
    Cluster.objects.update(state="active")
    cluster = Cluster.objects.get()
    api.patch("/organisation/access-settings", {"deletes_need_two": True})
    about = {"target_type": "cluster", "target_id": cluster.id}
    others = [tenant.api(tenant.member(Role.OPERATOR, email=f"{number}@acme.example")) for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        made = pool.map(lambda who: _closing(lambda: who.post("/deletion-requests", about)), [api] * 4)
        assert sorted(made) == [201, 409, 409, 409]
        request = api.get("/deletion-requests").json()["items"][0]
        confirmed = pool.map(lambda who: _closing(lambda: decided(who, request)), others)
        assert sorted(confirmed) == [200, 409, 409, 409]
        deleted = pool.map(lambda who: _closing(lambda: who.delete(f"/clusters/{cluster.id}")), others)
        assert sorted(deleted) == [202, 409, 409, 409]
    assert AuditRecord.objects.filter(action="deletion_request.confirm").count() == 1
    assert DeletionRequest.objects.get().state == "done"
