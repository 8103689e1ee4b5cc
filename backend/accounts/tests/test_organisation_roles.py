"""Roles that an organisation made: who may make them, who may hold them, and that they count at once."""

from typing import Any

import pytest

from backend.accounts.models import CustomRole, Membership
from backend.accounts.states import Permission, Role
from backend.audit.models import AuditRecord
from backend.conftest import ApiClient, Tenant

READER = {"name": "Reader", "description": "Looks", "permissions": ["clusters:read"]}


def made(api: ApiClient, **changes: Any) -> dict[str, Any]:
    answer = api.post("/organisation/roles", READER | changes)
    assert answer.status_code == 201, answer.content
    return answer.json()  # type: ignore[no-any-return]


def give(tenant: Tenant, user: Any, role_id: str) -> Any:
    body = {"role": "custom", "custom_role_id": role_id}
    return tenant.api().patch(f"/members/{tenant.membership(user).id}", body)


def test_a_role_is_made_listed_changed_and_deleted_and_all_of_it_is_written_down(tenant: Tenant):
    api = tenant.api()
    role = made(api, tags={"env": ["test", "dev"]})
    assert (role["members"], role["tags"]) == (0, {"env": ["dev", "test"]})
    assert [each["id"] for each in api.get("/organisation/roles").json()["items"]] == [role["id"]]
    path = f"/organisation/roles/{role['id']}"
    assert api.patch(path, {"name": "Looker"}).json() == role | {"name": "Looker"}
    assert api.patch(path, {"tags": None}).json()["tags"] is None
    assert api.delete(path).status_code == 204
    assert api.get(path).json()["error"]["code"] == "role_not_found"
    records = list(AuditRecord.objects.order_by("id").values_list("action", "before", "after"))
    assert [action for action, _, _ in records] == ["role.create", "role.update", "role.update", "role.delete"]
    assert records[1][1:] == ({"name": "Reader"}, {"name": "Looker"})


def test_a_member_who_holds_a_role_may_do_what_it_holds_and_a_change_of_it_counts_at_once(tenant: Tenant):
    role = made(tenant.api())
    user = tenant.member(Role.VIEWER)
    theirs = tenant.api(user)
    assert theirs.get("/members").status_code == 200
    assert give(tenant, user, role["id"]).json()["custom_role"] == {"id": role["id"], "name": "Reader"}
    refused = theirs.get("/members")
    assert refused.json()["error"]["message"] == "Your role (Reader) does not include members:read."
    session = theirs.get("/session").json()
    assert (session["role"], session["permissions"]) == ("custom", ["clusters:read"])
    changed = {"permissions": ["clusters:read", "members:read"]}
    assert tenant.api().patch(f"/organisation/roles/{role['id']}", changed).status_code == 200
    assert theirs.get("/members").status_code == 200


def test_a_token_of_theirs_costs_no_more_queries_than_that_of_a_built_in_role(
    tenant: Tenant, django_assert_num_queries: Any
):
    user = tenant.member(Role.VIEWER)
    give(tenant, user, made(tenant.api(), permissions=["members:read"])["id"])
    theirs = tenant.api(user)
    theirs.get("/members")
    with django_assert_num_queries(2):
        assert theirs.get("/members").status_code == 200


def test_a_role_that_somebody_holds_or_is_invited_to_is_not_deleted(tenant: Tenant):
    api, user = tenant.api(), tenant.member(Role.VIEWER)
    held, offered = made(api), made(api, name="Other")
    give(tenant, user, held["id"])
    invited = {"email": "new@acme.example", "role": "custom", "custom_role_id": offered["id"]}
    invitation = api.post("/invitations", invited).json()
    assert invitation["custom_role"]["name"] == "Other"
    for role in (held, offered):
        answer = api.delete(f"/organisation/roles/{role['id']}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "role_in_use")
    secret = invitation["url"].partition("#")[2]
    accepted = {"secret": secret, "name": "New", "password": "a long enough password"}
    assert ApiClient().post("/invitations/accept", accepted).status_code == 200
    assert Membership.objects.get(user__email="new@acme.example").custom_role_id == offered["id"]
    give(tenant, user, offered["id"])
    assert api.delete(f"/organisation/roles/{held['id']}").status_code == 204


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"name": "Owner"}, 422, "role_name_built_in"),
        ({"name": "reader"}, 409, "role_name_taken"),
        ({"name": " "}, 422, "invalid_field"),
        ({"permissions": []}, 422, "invalid_field"),
        ({"permissions": ["clusters:fly"]}, 422, "invalid_field"),
        ({"permissions": ["images:write"]}, 422, "permission_of_platform"),
        ({"name": "a", "permissions": ["members:write"], "tags": {"env": ["dev"]}}, 422, "permission_not_by_tags"),
        ({"name": "a", "tags": {}}, 422, "invalid_field"),
        ({"name": "a", "tags": {"env": []}}, 422, "invalid_field"),
        ({"name": "a", "tags": {"Env!": ["dev"]}}, 422, "invalid_field"),
    ],
)
def test_a_bad_role_is_refused_and_nothing_is_made(tenant: Tenant, changes: dict[str, Any], status: int, code: str):
    api = tenant.api()
    made(api)
    answer = api.post("/organisation/roles", READER | changes)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert CustomRole.objects.count() == 1


def test_tags_cannot_be_put_on_a_role_that_holds_what_is_of_the_organisation(tenant: Tenant):
    role = made(tenant.api(), permissions=["members:read"])
    answer = tenant.api().patch(f"/organisation/roles/{role['id']}", {"tags": {"env": ["dev"]}})
    error = answer.json()["error"]
    assert error["code"] == "permission_not_by_tags"
    assert "belong to the organisation" in error["message"]


def test_nobody_gives_by_a_role_what_they_do_not_hold(tenant: Tenant):
    staff = made(tenant.api(), name="Staff", permissions=["members:read", "members:write", "clusters:read"])
    strong = made(tenant.api(), name="Strong", permissions=["clusters:read", "clusters:write"])
    user, other = tenant.member(Role.VIEWER), tenant.member(Role.OPERATOR)
    give(tenant, user, staff["id"])
    theirs = tenant.api(user)
    member = tenant.membership(other)
    for answer in (
        theirs.post("/organisation/roles", READER | {"permissions": ["clusters:write"]}),
        theirs.patch(f"/organisation/roles/{staff['id']}", {"permissions": ["audit:read"]}),
        theirs.patch(f"/organisation/roles/{strong['id']}", {"permissions": ["clusters:read"]}),
        theirs.delete(f"/organisation/roles/{strong['id']}"),
        theirs.post("/invitations", {"email": "a@b.example", "role": "viewer"}),  # has cql:read too
        theirs.post("/invitations", {"email": "a@b.example", "role": "custom", "custom_role_id": strong["id"]}),
        theirs.patch(f"/members/{tenant.membership(user).id}", {"role": "owner"}),
        theirs.patch(f"/members/{member.id}", {"role": "custom", "custom_role_id": staff["id"]}),
        theirs.delete(f"/members/{member.id}"),
    ):
        assert answer.status_code == 403, answer.content
    assert theirs.post("/organisation/roles", READER).status_code == 201


def test_a_token_gives_no_more_than_its_scopes(tenant: Tenant):
    api = tenant.api(scopes=[Permission.MEMBERS_WRITE, Permission.MEMBERS_READ])
    member = tenant.membership(tenant.member(Role.VIEWER))
    answer = api.patch(f"/members/{member.id}", {"role": "operator"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "role_above_own")
    assert api.post("/organisation/roles", READER).status_code == 403


def test_roles_of_another_organisation_do_not_exist(tenant: Tenant, stranger: Tenant):
    role, theirs = made(tenant.api()), stranger.api()
    path = f"/organisation/roles/{role['id']}"
    member = stranger.membership(stranger.member(Role.VIEWER))
    for answer in (
        theirs.get(path),
        theirs.patch(path, {"name": "Mine"}),
        theirs.delete(path),
        theirs.patch(f"/members/{member.id}", {"role": "custom", "custom_role_id": role["id"]}),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "role_not_found")
    assert theirs.get("/organisation/roles").json()["items"] == []


@pytest.mark.parametrize("body", [{"role": "custom"}, {"role": "viewer", "custom_role_id": "rol_x"}])
def test_a_custom_role_is_named_and_no_other(tenant: Tenant, body: dict[str, str]):
    member = tenant.membership(tenant.member(Role.OPERATOR))
    answer = tenant.api().patch(f"/members/{member.id}", body)
    assert answer.status_code == 422
    assert "ustom_role_id is needed" in answer.json()["error"]["message"]


def test_who_may_not_change_members_may_not_change_roles(tenant: Tenant):
    api = tenant.api(tenant.member(Role.OPERATOR))
    assert api.get("/organisation/role-choices").json()["built_in"][0]["role"] == "owner"
    assert api.post("/organisation/roles", READER).json()["error"]["code"] == "forbidden"
