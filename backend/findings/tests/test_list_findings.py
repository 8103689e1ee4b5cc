import pytest

from backend.accounts.states import Permission
from backend.clusters.models import Cluster
from backend.clusters.tests.conftest import _catalog, active, api, creating, foreign
from backend.conftest import ApiClient, Tenant
from backend.findings import actions
from backend.findings.states import Severity

__all__ = ["_catalog", "active", "api", "creating", "foreign"]


@pytest.fixture
def findings(active: Cluster) -> Cluster:
    """One that is over, with what was done about it, and two that are open."""
    node = active.nodes.all()[0]
    about = {"cluster": active, "subject": node.id, "subject_name": node.name}
    first = actions.found(
        **about,
        code="engine-down",
        severity=Severity.WARNING,
        sentence="The engine has died.",
        hint="Look at its log.",
    )
    actions.acted(first.id, "It was started again.", operation_id="op_1")
    actions.over(subject=node.id)
    actions.found(**about, code="disk-filling", severity=Severity.WARNING, sentence="Its disk is 80 % full.")
    actions.found(**about, code="machine-dead", severity=Severity.CRITICAL, sentence="Its machine is gone.")
    actions.found(
        cluster=None, subject="m-1", subject_name="m-1", code="orphan", severity=Severity.INFO, sentence="Whose is it?"
    )
    return active


def codes(api: ApiClient, path: str) -> list[str]:
    answer = api.get(path)
    assert answer.status_code == 200, answer.content
    return [item["code"] for item in answer.json()["items"]]


@pytest.mark.parametrize("of_cluster", [False, True])
def test_they_are_listed_newest_first_with_filters(api: ApiClient, findings: Cluster, of_cluster: bool):
    path = f"/clusters/{findings.id}/findings" if of_cluster else "/findings"
    assert codes(api, path) == ["machine-dead", "disk-filling", "engine-down"]
    assert codes(api, f"{path}?state=open") == ["machine-dead", "disk-filling"]
    assert codes(api, f"{path}?state=closed") == ["engine-down"]
    assert codes(api, f"{path}?severity=critical") == ["machine-dead"]
    assert codes(api, f"{path}?code=disk-filling") == ["disk-filling"]
    assert api.get(f"{path}?severity=terrible").status_code == 422


def test_they_come_page_by_page(api: ApiClient, findings: Cluster):
    first = api.get("/findings?limit=2").json()
    assert [item["code"] for item in first["items"]] == ["machine-dead", "disk-filling"]
    rest = api.get(f"/findings?limit=2&cursor={first['next_cursor']}").json()
    assert [item["code"] for item in rest["items"]] == ["engine-down"]
    assert rest["next_cursor"] is None


def test_one_says_what_was_found_and_what_was_done(api: ApiClient, findings: Cluster):
    (over,) = api.get("/findings?state=closed").json()["items"]
    assert over["sentence"] == "The engine has died."
    assert over["hint"] == "Look at its log."
    assert (over["action"], over["operation_id"]) == ("It was started again.", "op_1")
    assert (over["cluster_id"], over["cluster_name"]) == (findings.id, "orders")
    assert over["closed_at"] >= over["first_seen_at"]
    (still,) = api.get("/findings?severity=critical").json()["items"]
    assert (still["operation_id"], still["closed_at"], still["action"]) == (None, None, "")


def test_those_of_others_and_of_nobody_are_not_listed(foreign: ApiClient, findings: Cluster):
    assert codes(foreign, "/findings") == []
    assert foreign.get(f"/clusters/{findings.id}/findings").status_code == 404


def test_a_token_needs_the_scope(tenant: Tenant, findings: Cluster):
    assert tenant.api(scopes=[Permission.CLUSTERS_WRITE]).get("/findings").status_code == 403
