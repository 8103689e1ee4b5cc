from datetime import timedelta
from urllib.parse import urlencode

import pytest

from backend.accounts.queries import Identity
from backend.accounts.states import Role
from backend.audit.actions import record
from backend.audit.models import AuditRecord
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


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("acme", 2),
        ("OWNER acme cluster", 1),
        ("clus", 1),
        ("owner@acme.example", 1),
        ("orders", 1),
        ("ord jürg", 1),
        ("orders cluster", 0),
        ("lsters", 0),
        ("clu_1", 2),
        ("'; --\\ \"x", 0),
    ],
)
def test_it_finds_words_and_beginnings_of_words(tenant: Tenant, stranger: Tenant, q: str, found: int):
    note(tenant, "cluster.create")
    note(tenant, "backup.create", email="Jürgen@acme.example")
    note(stranger, "cluster.create")
    who = Identity(
        organisation_id=tenant.organisation.id,
        user_id="",
        user_email="jürgen",
        role=Role.OWNER,
        permissions=frozenset(),
    )
    record(who, action="token.create", target_type="token", target_id="tok_1", after={"name": "orders"})
    assert len(tenant.api().get(f"/audit?{urlencode({'q': q})}").json()["items"]) == found


def test_what_is_no_word_is_refused(tenant: Tenant):
    error = tenant.api().get("/audit?q=%27%26").json()["error"]
    assert (error["code"], error["field"]) == ("invalid_field", "q")


def test_it_lists_a_time(tenant: Tenant):
    note(tenant, "cluster.create")
    at = AuditRecord.objects.get().created_at
    api, later = tenant.api(), at + timedelta(microseconds=1)
    for query, found in (
        ({"from": at}, 1),
        ({"from": later}, 0),
        ({"to": at}, 0),
        ({"from": at, "to": later}, 1),
    ):
        words = urlencode({name: moment.isoformat() for name, moment in query.items()})
        assert len(api.get(f"/audit?{words}").json()["items"]) == found
    refused = api.get("/audit?" + urlencode({"from": later.isoformat(), "to": at.isoformat()}))
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "from")


def test_very_long_facts_are_recorded_and_found_by_their_beginning(tenant: Tenant):
    who = Identity(
        organisation_id=tenant.organisation.id, user_id="", user_email="me", role=Role.OWNER, permissions=frozenset()
    )
    words = " ".join(f"word{number}" for number in range(200_000))
    record(who, action="x.y", target_type="x", target_id="x", after={"much": words, "more": "a" * 5000})
    assert len(tenant.api().get("/audit?q=word1").json()["items"]) == 1
