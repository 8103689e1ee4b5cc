"""Identities that are no person: their tokens outlive people, end with them, and do what their role allows."""

from typing import Any

import pytest

from backend.accounts.models import ApiToken, ServiceAccount, User
from backend.accounts.states import Permission, Role
from backend.audit.models import AuditRecord
from backend.conftest import ApiClient, Tenant

DEPLOYER = {"name": "deployer", "contact": "Ops@acme.example", "role": "operator"}
TOKEN = {"name": "ci", "scopes": ["clusters:read", "tokens:write", "members:read"]}


def made(api: ApiClient, **changes: Any) -> dict[str, Any]:
    answer = api.post("/service-accounts", DEPLOYER | changes)
    assert answer.status_code == 201, answer.content
    return answer.json()  # type: ignore[no-any-return]


def token_of(api: ApiClient, account: dict[str, Any], **changes: Any) -> tuple[dict[str, Any], ApiClient]:
    answer = api.post("/tokens", TOKEN | {"service_account_id": account["id"]} | changes)
    assert answer.status_code == 201, answer.content
    body = answer.json()
    return body["token"], ApiClient(authorization=f"Bearer {body['secret']}")


def test_a_token_of_a_service_account_outlives_who_made_it_and_tells_whose_it_is(tenant: Tenant):
    admin = tenant.member(Role.ADMIN)
    account = made(tenant.api(admin))
    assert (account["contact"], account["tokens"]) == ("ops@acme.example", 0)
    token, program = token_of(tenant.api(admin), account)
    assert token["service_account"] == {"id": account["id"], "name": "deployer"}
    assert (token["user_id"], token["made_by"].startswith(admin.email)) == (None, True)
    tenant.api().delete(f"/members/{tenant.membership(admin).id}")
    User.objects.filter(id=admin.id).update(is_active=False)
    assert program.get("/clusters").status_code == 200
    session = program.get("/session").json()
    assert (session["user"], session["service_account"]["name"]) == (None, "deployer")
    assert session["organisation"]["id"] == tenant.organisation.id
    assert tenant.api().get(f"/service-accounts/{account['id']}").json()["tokens"] == 1


def test_what_a_program_does_is_written_down_as_done_by_the_account(tenant: Tenant):
    _, program = token_of(tenant.api(), account := made(tenant.api()))
    answer = program.post("/tokens", {"name": "own", "scopes": ["clusters:read"]})
    assert answer.json()["token"]["service_account"]["id"] == account["id"]
    record = AuditRecord.objects.latest("id")
    assert (record.actor, record.actor_user_id) == ("deployer (service account) [ci]", account["id"])
    assert {each["name"] for each in program.get("/tokens").json()["items"]} == {"ci", "own"}


def test_a_token_of_a_service_account_is_proved_with_one_query(tenant: Tenant, django_assert_num_queries: Any):
    _, program = token_of(tenant.api(), made(tenant.api()))
    program.get("/members")
    with django_assert_num_queries(2):
        assert program.get("/members").status_code == 200


def test_disabling_ends_its_tokens_for_good(tenant: Tenant):
    api = tenant.api()
    _, program = token_of(api, account := made(api))
    path = f"/service-accounts/{account['id']}"
    disabled = api.patch(path, {"disabled": True}).json()
    assert (disabled["disabled_at"] is None, disabled["tokens"]) == (False, 0)
    assert program.get("/clusters").status_code == 401
    refused = api.post("/tokens", TOKEN | {"service_account_id": account["id"]})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "service_account_disabled")
    assert api.patch(path, {"disabled": False}).json()["disabled_at"] is None
    assert program.get("/clusters").json()["error"]["code"] == "token_revoked"
    assert ApiToken.objects.get(service_account_id=account["id"]).revoked_at is not None
    actions = AuditRecord.objects.filter(target_id=account["id"]).order_by("id").values_list("action", "after")
    assert actions[1] == ("service_account.update", {"disabled": True})


def test_it_may_do_what_its_role_and_the_scopes_allow(tenant: Tenant):
    api = tenant.api()
    _, program = token_of(api, account := made(api, role="viewer"), scopes=[*TOKEN["scopes"], "clusters:write"])
    assert program.get("/session").json()["permissions"] == ["clusters:read", "members:read"]
    role = api.post("/organisation/roles", {"name": "Some", "permissions": ["clusters:read"]}).json()
    change = {"role": "custom", "custom_role_id": role["id"]}
    assert api.patch(f"/service-accounts/{account['id']}", change).json()["custom_role"]["name"] == "Some"
    assert program.get("/members").json()["error"]["message"] == "Your role (Some) does not include members:read."
    assert api.delete(f"/organisation/roles/{role['id']}").json()["error"]["code"] == "role_in_use"


def test_nobody_makes_one_that_holds_more_than_they_do(tenant: Tenant):
    staff = ["members:read", "members:write", "tokens:write", "clusters:read"]
    role = tenant.api().post("/organisation/roles", {"name": "Staff", "permissions": staff}).json()
    user = tenant.member(Role.VIEWER)
    member = tenant.membership(user)
    tenant.api().patch(f"/members/{member.id}", {"role": "custom", "custom_role_id": role["id"]})
    theirs, strong = tenant.api(user), made(tenant.api())
    for answer in (
        theirs.post("/service-accounts", DEPLOYER | {"name": "mine"}),
        theirs.patch(f"/service-accounts/{strong['id']}", {"name": "mine"}),
        theirs.post("/tokens", {"name": "x", "scopes": ["clusters:write"], "service_account_id": strong["id"]}),
    ):
        assert answer.status_code == 403, answer.content
    operator = tenant.api(tenant.member(Role.OPERATOR))
    assert operator.post("/tokens", TOKEN | {"service_account_id": strong["id"]}).status_code == 403


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"role": "owner"}, 422, "owner_is_a_person"),
        ({"name": "Deployer"}, 409, "service_account_name_taken"),
        ({"name": ""}, 422, "invalid_field"),
        ({"contact": "nobody"}, 422, "invalid_field"),
        ({"role": "custom"}, 422, "invalid_field"),
        ({"role": "custom", "custom_role_id": "rol_never"}, 404, "role_not_found"),
    ],
)
def test_a_bad_one_is_refused(tenant: Tenant, changes: dict[str, Any], status: int, code: str):
    made(tenant.api())
    answer = tenant.api().post("/service-accounts", DEPLOYER | changes)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert ServiceAccount.objects.count() == 1


def test_those_of_another_organisation_do_not_exist(tenant: Tenant, stranger: Tenant):
    account, theirs = made(tenant.api()), stranger.api()
    path = f"/service-accounts/{account['id']}"
    for answer in (
        theirs.get(path),
        theirs.patch(path, {"disabled": True}),
        theirs.post("/tokens", TOKEN | {"service_account_id": account["id"]}),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "service_account_not_found")
    assert theirs.get("/service-accounts").json()["items"] == []


def test_who_may_not_change_members_may_not_make_them(tenant: Tenant):
    api = tenant.api(scopes=[Permission.MEMBERS_READ])
    assert api.get("/service-accounts").status_code == 200
    assert api.post("/service-accounts", DEPLOYER).status_code == 403
