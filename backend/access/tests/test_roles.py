import secrets
from typing import Any

import pytest

from backend.access import actions, passwords, queries
from backend.access.models import RolePassword, RoleReading
from backend.accounts.states import Permission, Role
from backend.audit.models import AuditRecord
from backend.clusters import lifecycle
from backend.clusters.models import Cluster, Secret
from backend.clusters.states import SecretPurpose
from backend.clusters.tests.conftest import finish_operations
from backend.conftest import ApiClient, Tenant
from backend.operations.models import Operation

BOB = {"name": "bob", "permissions": [{"resource": "data/shop", "permissions": ["SELECT"]}], "member_of": ["readers"]}


def _operation(answer: Any) -> Operation:
    assert answer.status_code == 202, answer.content
    return Operation.objects.get(id=answer.json()["operation"]["id"])


def _done(operation: Operation) -> None:
    actions.role_changed(operation)
    finish_operations()


def test_it_shows_what_each_role_may_do_and_through_whom(api: ApiClient, read: Cluster):
    shown = api.get(f"/clusters/{read.id}/roles").json()
    assert shown["read_at"] is not None
    ann = next(role for role in shown["items"] if role["name"] == "ann")
    assert ann["permissions"] == [{"resource": "data/shop/orders", "permission": "ALTER"}]
    assert ann["effective"] == [
        {"resource": "data/shop", "permission": "MODIFY", "sources": ["writers"]},
        {"resource": "data/shop", "permission": "SELECT", "sources": ["writers", "readers"]},
        {"resource": "data/shop/orders", "permission": "ALTER", "sources": ["ann"]},
    ]
    assert (ann["superuser_through"], ann["is_administrator"], ann["password"]) == (None, False, None)
    admin = shown["items"][0]
    assert (admin["superuser_through"], admin["is_administrator"]) == ("admin", True)
    against = {action["action"]: action["reason"] for action in admin["allowed_actions"]}
    assert against["delete_role"] == "admin is the administrator: without it nobody could manage roles."


def test_looking_keeps_the_reading_fresh_for_a_while(api: ApiClient, active: Cluster):
    assert api.get(f"/clusters/{active.id}/roles").json()["read_at"] is None
    assert [c.id for c in queries.clusters_to_read(older_than=queries.INTEREST, at_most=9)] == [active.id]
    actions.roles_read(active.id, {"roles": [], "permissions": []})
    assert queries.clusters_to_read(older_than=queries.INTEREST, at_most=9) == []
    RoleReading.objects.update(looked_at="2000-01-01T00:00Z", read_at="2000-01-01T00:00Z")
    assert queries.clusters_to_read(older_than=queries.INTEREST, at_most=9) == []


def test_a_role_is_made_with_a_password_that_is_shown_once(api: ApiClient, read: Cluster):
    operation = _operation(api.post(f"/clusters/{read.id}/roles", BOB))
    assert operation.parameters == {
        "role": "bob",
        "changes": [
            {"action": "create", "can_login": True, "password": True},
            {"action": "grant", "resource": "data/shop", "permissions": ["SELECT"]},
            {"action": "grant", "member_of": "readers"},
        ],
        "undo": [{"action": "uncreate"}],
    }
    early = api.post(f"/clusters/{read.id}/roles/bob/reveal")
    assert (early.status_code, early.json()["error"]["code"]) == (409, "password_not_set")
    password = passwords.find(read.id, "bob", "next")
    _done(operation)
    headers = {"Idempotency-Key": secrets.token_hex(8)}
    shown = api.post(f"/clusters/{read.id}/roles/bob/reveal", **headers)
    assert (shown.status_code, shown.json()) == (200, {"username": "bob", "password": password})
    assert shown["Cache-Control"] == "no-store"
    assert api.post(f"/clusters/{read.id}/roles/bob/reveal", **headers).json() == shown.json()
    again = api.post(f"/clusters/{read.id}/roles/bob/reveal")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "already_revealed")
    assert password not in str(
        [*AuditRecord.objects.values(), *Operation.objects.values(), *RolePassword.objects.values()]
    )


def test_a_role_that_does_not_sign_in_has_no_password(api: ApiClient, read: Cluster):
    operation = _operation(api.post(f"/clusters/{read.id}/roles", {"name": "crew", "can_login": False}))
    assert operation.parameters["changes"] == [{"action": "create", "can_login": False, "password": False}]
    _done(operation)
    assert api.post(f"/clusters/{read.id}/roles/crew/reveal").status_code == 404
    assert not Secret.objects.filter(owner=read.id, purpose=SecretPurpose.ROLE_PASSWORDS).exists()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "bob; DROP"}, "name"),
        ({"name": "a/b"}, "name"),
        (
            {"name": "bob", "permissions": [{"resource": "data/shop;x", "permissions": ["SELECT"]}]},
            "permissions.0.resource",
        ),
        (
            {"name": "bob", "permissions": [{"resource": "data/a/b/c", "permissions": ["SELECT"]}]},
            "permissions.0.resource",
        ),
        (
            {"name": "bob", "permissions": [{"resource": "roles", "permissions": ["SELECT"]}]},
            "permissions.0.permissions",
        ),
        ({"name": "bob", "permissions": [{"resource": "data", "permissions": []}]}, "permissions.0.permissions"),
        ({"name": "bob", "is_superuser": True}, "is_superuser"),
    ],
)
def test_what_no_role_can_be_is_refused(api: ApiClient, read: Cluster, body: dict[str, Any], field: str):
    answer = api.post(f"/clusters/{read.id}/roles", body)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)
    assert not Operation.objects.filter(kind="change_access").exists()


def test_names_that_are_taken_or_the_machinerys_are_refused(api: ApiClient, read: Cluster):
    for name, code in (("ann", "role_exists"), ("ringmaster", "role_reserved"), ("cassandra", "role_reserved")):
        answer = api.post(f"/clusters/{read.id}/roles", {"name": name})
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, code)
    assert api.delete(f"/clusters/{read.id}/roles/ringmaster").json()["error"]["code"] == "role_reserved"


def test_the_administrator_can_be_neither_dropped_nor_weakened(api: ApiClient, read: Cluster):
    for answer in (
        api.delete(f"/clusters/{read.id}/roles/admin"),
        api.patch(f"/clusters/{read.id}/roles/admin", {"can_login": False}),
        api.post(f"/clusters/{read.id}/roles/admin/rotate-password"),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "role_protected")


def test_a_cancel_takes_back_only_what_was_changed(api: ApiClient, read: Cluster):
    body = {"resource": "data/shop/orders", "permissions": ["ALTER", "DROP"]}
    operation = _operation(api.post(f"/clusters/{read.id}/roles/ann/grants", body))
    assert operation.parameters["changes"] == [{"action": "grant", **body}]
    assert operation.parameters["undo"] == [
        {"action": "revoke", "resource": "data/shop/orders", "permissions": ["DROP"]}
    ]
    _done(operation)
    revoked = _operation(api.delete(f"/clusters/{read.id}/roles/ann/grants?member_of=writers"))
    assert revoked.parameters["undo"] == [{"action": "grant", "member_of": "writers"}]
    _done(revoked)
    nothing = _operation(api.delete(f"/clusters/{read.id}/roles/ann/grants?member_of=readers"))
    assert nothing.parameters["undo"] == []


def test_a_grant_is_about_one_of_two_things(api: ApiClient, read: Cluster):
    for body in ({}, {"member_of": "readers", "resource": "data"}, {"resource": "data"}, {"permissions": ["SELECT"]}):
        answer = api.post(f"/clusters/{read.id}/roles/ann/grants", body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_grant")


def test_a_new_password_counts_when_the_database_has_it(api: ApiClient, read: Cluster):
    first = _operation(api.post(f"/clusters/{read.id}/roles/ann/rotate-password"))
    busy = api.post(f"/clusters/{read.id}/roles/ann/rotate-password")
    assert (busy.status_code, busy.json()["error"]["code"]) == (409, "password_being_set")
    _done(first)
    old = api.post(f"/clusters/{read.id}/roles/ann/reveal").json()["password"]
    second = _operation(api.post(f"/clusters/{read.id}/roles/ann/rotate-password"))
    actions.role_change_cancelled(second)
    finish_operations()
    assert passwords.find(read.id, "ann", "current") == old
    third = _operation(api.post(f"/clusters/{read.id}/roles/ann/rotate-password"))
    _done(third)
    assert api.post(f"/clusters/{read.id}/roles/ann/reveal").json()["password"] != old


def test_roles_that_are_not_there_are_not_found(api: ApiClient, read: Cluster):
    answer = api.delete(f"/clusters/{read.id}/roles/ghost")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "role_not_found")


def test_the_end_of_a_cluster_is_the_end_of_its_passwords(api: ApiClient, read: Cluster):
    _done(_operation(api.post(f"/clusters/{read.id}/roles", BOB)))
    lifecycle.cluster_deleted(read.id)
    assert passwords.find(read.id, "bob", "current") is None


PATHS = [
    ("GET", "/roles", None),
    ("POST", "/roles", {"name": "bob"}),
    ("POST", "/roles/refresh", None),
    ("PATCH", "/roles/ann", {"can_login": False}),
    ("DELETE", "/roles/ann", None),
    ("POST", "/roles/ann/grants", {"member_of": "readers"}),
    ("DELETE", "/roles/ann/grants?resource=data/shop/orders&permissions=ALTER&permissions=DROP", None),
    ("POST", "/roles/ann/rotate-password", None),
    ("POST", "/roles/ann/reveal", None),
]


@pytest.mark.parametrize(("method", "path", "body"), PATHS)
def test_strangers_see_nothing_and_viewers_change_nothing(
    tenant: Tenant, foreign: ApiClient, read: Cluster, method: str, path: str, body: dict[str, Any] | None
):
    answer = foreign._send(method, f"/clusters/{read.id}{path}", body, {})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "cluster_not_found")
    viewer = tenant.api(tenant.member(Role.VIEWER))
    assert viewer._send(method, f"/clusters/{read.id}{path}", body, {}).status_code == (200 if method == "GET" else 403)
    assert not Operation.objects.filter(kind__in=["change_access", "read_access"]).exists()


def test_a_token_needs_the_scope_to_reveal(tenant: Tenant, read: Cluster):
    api = tenant.api(scopes=[Permission.CLUSTERS_READ, Permission.CLUSTERS_WRITE])
    answer = api.post(f"/clusters/{read.id}/roles/ann/reveal")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "missing_scope")


def test_roles_of_an_engine_that_cannot_be_managed_from_here_say_so(api: ApiClient, active: Cluster):
    Cluster.objects.filter(id=active.id).update(engine="scylla")
    shown = api.get(f"/clusters/{active.id}/roles").json()
    reason = "Roles of this engine are changed over CQL, as the administrator; the allowlist is not for it."
    assert [action["reason"] for action in shown["allowed_actions"]] == [reason, reason]
    assert api.get(f"/clusters/{active.id}/allowlist").json()["allowed_actions"][0]["reason"] == reason
    for answer in (
        api.post(f"/clusters/{active.id}/roles", BOB),
        api.post(f"/clusters/{active.id}/roles/refresh"),
        api.put(f"/clusters/{active.id}/allowlist", {"entries": [{"cidr": "10.0.0.0/8", "description": ""}]}),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "access_not_managed"), answer.content
    assert queries.clusters_to_read(older_than=queries.INTEREST, at_most=9) == []
