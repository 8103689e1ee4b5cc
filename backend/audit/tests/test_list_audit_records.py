import pytest

from backend.accounts.queries import Identity
from backend.accounts.states import Role
from backend.audit.actions import record
from backend.conftest import Tenant


def note(tenant: Tenant, action: str, target_id: str = "clu_1", email: str = "owner@acme.example") -> None:
    who = Identity(
        organisation_id=tenant.organisation.id,
        user_id=tenant.owner.id,
        user_email=email,
        role=Role.OWNER,
        permissions=frozenset(),
        request_id="req_1",
    )
    record(who, action=action, target_type="cluster", target_id=target_id, before={"a": 1}, after=None)


def test_it_lists_what_was_done_newest_first(tenant: Tenant, stranger: Tenant):
    note(tenant, "cluster.create")
    note(tenant, "cluster.delete")
    note(stranger, "cluster.create")
    items = tenant.api().get("/audit").json()["items"]
    assert [item["action"] for item in items] == ["cluster.delete", "cluster.create"]
    assert items[0]["before"] == {"a": 1}
    assert items[0]["after"] is None
    assert items[0]["source_address"] is None


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("target_id=clu_2", ["cluster.delete"]),
        ("action=cluster.create", ["cluster.create"]),
        ("action=token", ["token.revoke"]),
        ("actor=else@", ["token.revoke"]),
        ("actor=nobody", []),
        ("action=cluster&target_id=clu_1", ["cluster.create"]),
    ],
)
def test_it_filters(tenant: Tenant, query: str, found: list[str]):
    note(tenant, "cluster.create")
    note(tenant, "cluster.delete", "clu_2")
    note(tenant, "token.revoke", "tok_1", email="else@acme.example")
    assert [item["action"] for item in tenant.api().get(f"/audit?{query}").json()["items"]] == found


def test_a_page_costs_one_query(tenant: Tenant, django_assert_num_queries):
    api = tenant.api()
    api.get("/audit")
    for _ in range(4):
        note(tenant, "cluster.create")
    with django_assert_num_queries(2):
        page = api.get("/audit?limit=2").json()
    assert len(page["items"]) == 2
    assert api.get(f"/audit?limit=2&cursor={page['next_cursor']}").json()["next_cursor"] is None


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
def test_only_admins_and_owners_read_it(tenant: Tenant, role: Role):
    assert tenant.api(tenant.member(role)).get("/audit").status_code == 403
