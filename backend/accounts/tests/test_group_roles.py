"""Members by their groups at an identity provider: who may say so, and what each sign-in makes of it."""

from typing import Any

import pytest

from backend.accounts import provider_actions
from backend.accounts.models import ApiToken, GroupRole, IdentityProvider, Membership, User
from backend.accounts.states import Permission, Role
from backend.accounts.tests.providers import Browser, LyingProvider, known, lying_provider
from backend.accounts.tests.test_get_session import sign_in as sign_in_by_password
from backend.audit.models import AuditRecord
from backend.conftest import ApiClient, Tenant

PATH = "/organisation/group-roles"
SETTINGS = "/organisation/access-settings"


def mapped(api: ApiClient, corp: IdentityProvider, group: str, role: str, **more: Any) -> dict[str, Any]:
    answer = api.post(PATH, {"identity_provider_id": corp.id, "group": group, "role": role, **more})
    assert answer.status_code == 201, answer.content
    return answer.json()  # type: ignore[no-any-return]


def signed_in(liar: LyingProvider, corp: IdentityProvider, *groups: str, who: str = "jane") -> Browser:
    liar.claims = {"groups": list(groups), "sub": who, "email": f"{who}@corp.example"}
    browser = Browser()
    answer = browser.come_back(liar.send_back(browser.start(corp).json()["url"]))
    assert answer["Location"] == "/members", answer["Location"]
    return browser


def actions() -> list[tuple[str, str]]:
    members = AuditRecord.objects.filter(target_type="member").order_by("id")
    return list(members.values_list("action", "actor"))


def test_memberships_are_made_changed_and_taken_away_as_groups_say(
    liar: LyingProvider, corp: IdentityProvider, tenant: Tenant
):
    api = tenant.api()
    mapped(api, corp, "dba", "operator", rank=2)
    mapped(api, corp, "staff", "viewer", rank=3)
    browser = signed_in(liar, corp, "staff", "dba")
    assert browser.api.get("/session").json()["role"] == "operator"
    listed = api.get("/members").json()["items"][0]
    assert (listed["email"], listed["source"]) == ("jane@corp.example", "groups")
    assert listed["identity_provider"] == {"id": corp.id, "name": "Corp"}
    assert api.get("/members").json()["items"][1]["source"] == "invitation"
    later = signed_in(liar, corp, "staff")
    assert browser.api.get("/session").json()["role"] == "viewer"
    secret = tenant.token(User.objects.get(email="jane@corp.example"))
    signed_in(liar, corp)
    for theirs in (browser, later):
        assert theirs.api.get("/members").json()["error"]["code"] == "no_organisation"
    assert ApiClient(authorization=f"Bearer {secret}").get("/members").status_code == 401
    assert ApiToken.objects.get(user__email="jane@corp.example").revoked_at is not None
    by = "Corp (identity provider)"
    assert actions() == [("member.add", by), ("member.change_role", by), ("member.remove", by)]
    assert AuditRecord.objects.get(action="member.add").after == {"role": "operator", "group": "dba"}


def test_members_by_invitation_stay_as_they_are(liar: LyingProvider, corp: IdentityProvider, tenant: Tenant):
    tenant.member(Role.VIEWER, email="jane@corp.example")
    mapped(tenant.api(), corp, "dba", "admin")
    assert signed_in(liar, corp, "dba").api.get("/session").json()["role"] == "viewer"
    signed_in(liar, corp)
    assert Membership.objects.filter(user__email="jane@corp.example", role="viewer").exists()


def test_what_another_provider_gave_is_not_taken_away(liar: LyingProvider, corp: IdentityProvider, tenant: Tenant):
    mapped(tenant.api(), corp, "dba", "viewer")
    signed_in(liar, corp, "dba")
    with lying_provider() as liar2:
        second = known(liar2.issuer, name="Second")
        mapped(tenant.api(), second, "dba", "admin")
        signed_in(liar2, second)
        assert signed_in(liar2, second, "dba").api.get("/session").json()["role"] == "viewer"


def test_the_last_owner_never_goes(liar: LyingProvider, corp: IdentityProvider, tenant: Tenant):
    mapping = mapped(tenant.api(), corp, "boss", "owner")
    signed_in(liar, corp, "boss")
    Membership.objects.filter(user=tenant.owner).update(role="viewer")
    GroupRole.objects.filter(id=mapping["id"]).update(role="viewer")
    assert signed_in(liar, corp, "boss").api.get("/session").json()["role"] == "owner"
    assert signed_in(liar, corp).api.get("/session").json()["role"] == "owner"
    assert provider_actions.remove_provider(corp) == (3, 0)
    assert Membership.objects.get(role="owner").source == "invitation"


def test_a_provider_that_is_removed_takes_its_members_along(
    liar: LyingProvider, corp: IdentityProvider, tenant: Tenant
):
    mapped(tenant.api(), corp, "dba", "operator")
    browser = signed_in(liar, corp, "dba")
    assert provider_actions.remove_provider(corp) == (1, 1)
    assert browser.api.get("/members").status_code == 401
    assert Membership.objects.count() == 1
    assert not GroupRole.objects.exists()


def test_a_changed_mapping_counts_at_once(liar: LyingProvider, corp: IdentityProvider, tenant: Tenant):
    api = tenant.api()
    first = mapped(api, corp, "dba", "operator", rank=1)
    second = mapped(api, corp, "staff", "viewer")
    browser = signed_in(liar, corp, "dba", "staff")
    assert api.patch(f"{PATH}/{first['id']}", {"role": "admin"}).json() == first | {"role": "admin"}
    assert browser.api.get("/session").json()["role"] == "admin"
    api.patch(f"{PATH}/{first['id']}", {"rank": 200})
    assert browser.api.get("/session").json()["role"] == "viewer"
    assert api.delete(f"{PATH}/{second['id']}").status_code == 204
    assert browser.api.get("/session").json()["role"] == "admin"
    api.delete(f"{PATH}/{first['id']}")
    assert browser.api.get("/members").json()["error"]["code"] == "no_organisation"
    assert [each["id"] for each in api.get(PATH).json()["items"]] == []
    told = AuditRecord.objects.filter(target_type="group_role").order_by("id").values_list("action", flat=True)
    assert list(told) == [f"group_role.{verb}" for verb in ("create", "create", "update", "update", "delete", "delete")]


def test_a_role_by_groups_is_not_changed_by_hand_but_taken_away(
    liar: LyingProvider, corp: IdentityProvider, tenant: Tenant
):
    mapped(tenant.api(), corp, "dba", "operator")
    browser = signed_in(liar, corp, "dba")
    member = tenant.api().get("/members").json()["items"][0]
    may = {each["action"]: each["allowed"] for each in member["allowed_actions"]}
    assert (may["change_member_role"], may["remove_member"]) == (False, True)
    answer = tenant.api().patch(f"/members/{member['id']}", {"role": "viewer"})
    assert (answer.status_code, "groups" in answer.json()["error"]["message"]) == (403, True)
    assert tenant.api().delete(f"/members/{member['id']}").status_code == 204
    assert browser.api.get("/members").status_code == 403


def test_roles_limited_by_tags_can_be_given_and_are_not_deleted_meanwhile(
    liar: LyingProvider, corp: IdentityProvider, tenant: Tenant
):
    api = tenant.api()
    body = {"name": "Dev", "permissions": ["clusters:read"], "tags": {"env": ["dev"]}}
    role = api.post("/organisation/roles", body).json()
    mapping = mapped(api, corp, "dev", "custom", custom_role_id=role["id"])
    assert mapping["custom_role"] == {"id": role["id"], "name": "Dev"}
    assert signed_in(liar, corp, "dev").api.get("/session").json()["tags"] == {"env": ["dev"]}
    answer = api.delete(f"/organisation/roles/{role['id']}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "role_in_use")
    assert api.get(f"/organisation/roles/{role['id']}").json()["group_roles"] == 1


def test_nobody_gives_by_a_group_what_they_do_not_hold(corp: IdentityProvider, tenant: Tenant):
    strong = mapped(tenant.api(), corp, "boss", "owner")
    admin = tenant.api(tenant.member(Role.ADMIN))
    viewer = tenant.api(tenant.member(Role.VIEWER))
    narrow = tenant.api(scopes=[Permission.MEMBERS_WRITE, Permission.MEMBERS_READ])
    order = {"identity_provider_id": corp.id, "group": "x", "role": "owner"}
    for answer in (
        admin.post(PATH, order),
        narrow.post(PATH, order | {"role": "operator"}),
        viewer.post(PATH, order | {"role": "viewer"}),
        admin.patch(f"{PATH}/{strong['id']}", {"role": "viewer"}),
        admin.patch(f"{PATH}/{strong['id']}", {"rank": 1}),
        admin.delete(f"{PATH}/{strong['id']}"),
    ):
        assert answer.status_code == 403, answer.content
    assert [each["allowed"] for each in admin.get(PATH).json()["items"][0]["allowed_actions"]] == [False, False]
    assert viewer.get(PATH).status_code == 200


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"identity_provider_id": "idp_none"}, 404, "identity_provider_not_found"),
        ({"group": ""}, 422, "invalid_field"),
        ({"group": "a\nb"}, 422, "invalid_field"),
        ({"role": "custom"}, 422, "invalid_field"),
        ({"role": "custom", "custom_role_id": "rol_none"}, 404, "role_not_found"),
        ({"rank": 0}, 422, "invalid_field"),
        ({}, 409, "group_role_exists"),
    ],
)
def test_a_bad_mapping_is_refused(
    corp: IdentityProvider, tenant: Tenant, changes: dict[str, Any], status: int, code: str
):
    mapped(tenant.api(), corp, "dba", "viewer")
    answer = tenant.api().post(PATH, {"identity_provider_id": corp.id, "group": "dba", "role": "viewer"} | changes)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), answer.content
    assert GroupRole.objects.count() == 1


def test_mappings_of_another_organisation_do_not_exist(
    liar: LyingProvider, corp: IdentityProvider, tenant: Tenant, stranger: Tenant
):
    mine = mapped(tenant.api(), corp, "dba", "viewer")
    theirs = stranger.api()
    for answer in (theirs.patch(f"{PATH}/{mine['id']}", {"rank": 1}), theirs.delete(f"{PATH}/{mine['id']}")):
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "group_role_not_found")
    assert theirs.get(PATH).json()["items"] == []
    browser = signed_in(liar, corp, "dba")
    assert [each["id"] for each in browser.api.get("/session").json()["organisations"]] == [tenant.organisation.id]


def test_an_organisation_can_be_closed_to_passwords_but_for_owners(
    liar: LyingProvider, corp: IdentityProvider, tenant: Tenant, stranger: Tenant
):
    user = tenant.member(Role.ADMIN, email="jane@corp.example")
    _, by_password = sign_in_by_password(user.email)
    _, owner = sign_in_by_password(tenant.owner.email)
    assert tenant.api().patch(SETTINGS, {"password_sign_in": False}).json()["password_sign_in"] is False
    refused = by_password.get("/members")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "provider_sign_in_needed")
    session = by_password.get("/session").json()
    assert (session["authenticated"], session["permissions"]) == (True, [])
    assert owner.get("/members").status_code == 200
    assert tenant.api(user).get("/members").status_code == 200
    # Another organisation of theirs is not concerned, and is what they come to.
    Membership.objects.create(organisation=stranger.organisation, user=user, role="viewer")
    assert by_password.get("/organisation").json()["id"] == stranger.organisation.id
    assert signed_in(liar, corp).api.get("/organisation").json()["id"] == tenant.organisation.id


def test_passwords_are_not_refused_where_there_is_no_other_way_in(tenant: Tenant):
    answer = tenant.api().patch(SETTINGS, {"password_sign_in": False})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "no_identity_provider")
    assert tenant.api().get(SETTINGS).json()["password_sign_in"] is True
