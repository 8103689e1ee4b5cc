"""What holds for every route on a cluster: strangers see nothing, expired tokens open nothing, scopes are enough."""

from datetime import timedelta

import pytest
from django.utils import timezone

from backend.accounts.states import Permission
from backend.clusters.models import Cluster
from backend.clusters.tests.conftest import ORDER
from backend.conftest import ApiClient, Tenant
from backend.operations.models import Operation

READS = [
    "/clusters/{cluster}",
    "/clusters/{cluster}/nodes",
    "/clusters/{cluster}/findings",
    "/clusters/{cluster}/maintenance-windows",
    "/clusters/{cluster}/connection",
    "/clusters/{cluster}/connection/bundle",
    "/clusters/{cluster}/connection/ca",
    "/operations/{operation}",
]
WRITES = [
    ("DELETE", "/clusters/{cluster}"),
    ("POST", "/clusters/{cluster}/credentials/reveal"),
    ("POST", "/clusters/{cluster}/credentials/rotate"),
    ("POST", "/operations/{operation}/cancel"),
    ("POST", "/operations/{operation}/retry"),
]
ALL = [("GET", path) for path in READS] + WRITES


def send(api: ApiClient, method: str, path: str, cluster: Cluster):
    operation = Operation.objects.filter(cluster_id=cluster.id).first()
    assert operation is not None
    return api._send(method, path.format(cluster=cluster.id, operation=operation.id), None, {})


@pytest.mark.parametrize(("method", "path"), ALL)
def test_another_organisation_gets_the_answer_for_what_never_was(
    foreign: ApiClient, active: Cluster, method: str, path: str
):
    answer = send(foreign, method, path, active)
    assert answer.status_code == 404
    never = foreign._send(method, path.format(cluster="clu_never", operation="op_never"), None, {})
    for body in (answer.json(), never.json()):
        body["error"].pop("request_id")
    first, second = answer.json()["error"], never.json()["error"]
    assert (first["code"], first["message"]) == (second["code"], second["message"])
    active.refresh_from_db()
    assert (active.state, active.admin_revealed_at) == ("active", None)


def test_lists_of_another_organisation_are_empty(foreign: ApiClient, active: Cluster):
    for path in ("/clusters", "/clusters?name=orders", f"/clusters?q={active.id}", "/operations"):
        assert foreign.get(path).json()["items"] == []
    assert foreign.get(f"/operations?cluster_id={active.id}").json()["items"] == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *ALL,
        ("GET", "/clusters"),
        ("GET", "/operations"),
        ("GET", "/catalog"),
        ("GET", "/events"),
        ("POST", "/clusters"),
    ],
)
def test_an_expired_token_opens_nothing(tenant: Tenant, active: Cluster, method: str, path: str):
    secret = tenant.token(expires_at=timezone.now() - timedelta(seconds=1))
    answer = send(ApiClient(authorization=f"Bearer {secret}"), method, path, active)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "token_expired")


@pytest.mark.parametrize(("method", "path"), [*WRITES, ("POST", "/clusters"), ("POST", "/clusters/check")])
def test_a_reading_token_changes_nothing(tenant: Tenant, active: Cluster, method: str, path: str):
    api = tenant.api(scopes=[Permission.CLUSTERS_READ])
    body = ORDER | {"name": "second"} if path.startswith("/clusters") and "{" not in path else None
    operation = Operation.objects.get(cluster_id=active.id)
    answer = api._send(method, path.format(cluster=active.id, operation=operation.id), body, {})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "missing_scope")
    assert Cluster.objects.count() == 1


@pytest.mark.parametrize("path", [*READS, "/clusters", "/operations", "/catalog", "/events"])
def test_reading_needs_the_scope_too(tenant: Tenant, active: Cluster, path: str):
    answer = send(tenant.api(scopes=[Permission.MEMBERS_READ]), "GET", path, active)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "missing_scope")
