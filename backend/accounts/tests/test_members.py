import pytest

from backend.accounts.states import Permission, Role
from backend.audit.models import AuditRecord
from backend.conftest import Tenant


def test_it_lists_members_newest_first_with_what_may_be_done(tenant: Tenant, stranger: Tenant):
    viewer = tenant.member(Role.VIEWER)
    items = tenant.api().get("/members").json()["items"]
    assert [item["email"] for item in items] == [viewer.email, tenant.owner.email]
    assert {a["action"]: a["allowed"] for a in items[0]["allowed_actions"]} == {
        "change_member_role": True,
        "remove_member": True,
        "reset_member_second_factor": False,
    }
    last = "An organisation needs an owner, and this is the last one."
    assert [a["reason"] for a in items[1]["allowed_actions"]] == [last, last, "They have none."]


def test_a_page_costs_one_query_however_many_members(tenant: Tenant, django_assert_num_queries):
    api = tenant.api()
    api.get("/members")
    for number in range(5):
        tenant.member(Role.VIEWER, email=f"v{number}@acme.example")
    with django_assert_num_queries(2):
        page = api.get("/members?limit=3").json()
    assert len(page["items"]) == 3
    rest = api.get(f"/members?limit=3&cursor={page['next_cursor']}").json()
    assert len(rest["items"]) == 3
    assert rest["next_cursor"] is None
    assert not {i["id"] for i in page["items"]} & {i["id"] for i in rest["items"]}


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "limit=x", "cursor=nonsense", "cursor="])
def test_it_refuses_a_bad_page(tenant: Tenant, query: str):
    answer = tenant.api().get(f"/members?{query}")
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "invalid_field"
    assert answer.json()["error"]["field"] == query.split("=")[0]


def test_an_admin_changes_a_role_and_it_is_written_down(tenant: Tenant):
    admin, viewer = tenant.member(Role.ADMIN), tenant.member(Role.VIEWER)
    member = tenant.membership(viewer)
    answer = tenant.api(admin).patch(f"/members/{member.id}", {"role": "operator"})
    assert answer.status_code == 200
    assert answer.json()["role"] == "operator"
    record = AuditRecord.objects.get()
    assert record.action == "member.change_role"
    assert (record.before, record.after) == ({"role": "viewer"}, {"role": "operator"})
    assert record.actor.startswith(admin.email + " [")
    assert record.source_address == "127.0.0.1"
    assert record.request_id == answer["X-Request-Id"]


def test_nobody_gives_a_role_above_their_own(tenant: Tenant):
    admin, viewer = tenant.member(Role.ADMIN), tenant.member(Role.VIEWER)
    answer = tenant.api(admin).patch(f"/members/{tenant.membership(viewer).id}", {"role": "owner"})
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "role_above_own"
    assert tenant.membership(viewer).role == Role.VIEWER


def test_only_owners_touch_owners(tenant: Tenant):
    admin = tenant.member(Role.ADMIN)
    tenant.member(Role.OWNER, email="second@acme.example")
    member = tenant.membership(tenant.owner)
    for answer in (
        tenant.api(admin).patch(f"/members/{member.id}", {"role": "viewer"}),
        tenant.api(admin).delete(f"/members/{member.id}"),
    ):
        assert answer.status_code == 403
        assert "Only owners" in answer.json()["error"]["message"]


def test_the_last_owner_can_neither_be_demoted_nor_removed(tenant: Tenant):
    member = tenant.membership(tenant.owner)
    for answer in (
        tenant.api().patch(f"/members/{member.id}", {"role": "viewer"}),
        tenant.api().delete(f"/members/{member.id}"),
    ):
        assert answer.status_code == 403
        assert "last one" in answer.json()["error"]["message"]


def test_it_removes_a_member_and_ends_their_tokens(tenant: Tenant):
    user = tenant.member(Role.OPERATOR)
    theirs = tenant.api(user)
    member = tenant.membership(user)
    assert tenant.api().delete(f"/members/{member.id}").status_code == 204
    assert theirs.get("/organisation").status_code == 401
    assert user.api_tokens.get().revoked_at is not None
    assert tenant.api().delete(f"/members/{member.id}").status_code == 404


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
def test_others_may_look_but_not_change(tenant: Tenant, role: Role):
    api = tenant.api(tenant.member(role))
    assert api.get("/members").status_code == 200
    answer = api.delete(f"/members/{tenant.membership(tenant.owner).id}")
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "forbidden"


def test_a_token_without_the_scope_may_not_change_members(tenant: Tenant):
    viewer = tenant.member(Role.VIEWER)
    api = tenant.api(scopes=[Permission.MEMBERS_READ])
    assert api.delete(f"/members/{tenant.membership(viewer).id}").json()["error"]["code"] == "missing_scope"


def test_another_organisations_member_answers_404(tenant: Tenant, stranger: Tenant):
    member = stranger.membership(stranger.owner)
    assert tenant.api().delete(f"/members/{member.id}").status_code == 404
    assert tenant.api().patch(f"/members/{member.id}", {"role": "viewer"}).status_code == 404


def test_it_refuses_an_unknown_role_and_unknown_fields(tenant: Tenant):
    member = tenant.membership(tenant.owner)
    answer = tenant.api().patch(f"/members/{member.id}", {"role": "king", "crown": True})
    error = answer.json()["error"]
    assert answer.status_code == 422
    assert {f["field"] for f in error["fields"]} == {"role", "crown"}
