from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from backend.accounts.states import Role
from backend.clusters import lifecycle
from backend.clusters.models import Cluster
from backend.clusters.tests.conftest import ORDER
from backend.conftest import ApiClient, Tenant


def names(api: ApiClient, **filters: Any) -> list[str]:
    answer = api.get(f"/clusters?{urlencode(filters)}")
    assert answer.status_code == 200, answer.content
    return [cluster["name"] for cluster in answer.json()["items"]]


def test_it_lists_newest_first_and_page_by_page(api: ApiClient):
    for number in range(5):
        api.post("/clusters", ORDER | {"name": f"c{number}"})
    assert names(api) == ["c4", "c3", "c2", "c1", "c0"]
    first = api.get("/clusters?limit=2").json()
    second = api.get(f"/clusters?limit=2&cursor={first['next_cursor']}").json()
    third = api.get(f"/clusters?limit=2&cursor={second['next_cursor']}").json()
    assert [c["name"] for page in (first, second, third) for c in page["items"]] == ["c4", "c3", "c2", "c1", "c0"]
    assert third["next_cursor"] is None


def test_a_listed_cluster_is_what_getting_it_shows(api: ApiClient, active: Cluster):
    (listed,) = api.get("/clusters").json()["items"]
    assert listed == api.get(f"/clusters/{active.id}").json()
    assert (listed["nodes_total"], listed["nodes_up"]) == (3, 3)


def test_it_filters(api: ApiClient, active: Cluster):
    api.post("/clusters", ORDER | {"name": "payments-eu", "zones": ["local-1a"]})
    assert names(api, state="active") == ["orders"]
    assert names(api, state="creating") == ["payments-eu"]
    assert names(api, zone="local-1c") == ["orders"]
    assert names(api, engine="cassandra") == ["payments-eu", "orders"]
    assert names(api, engine="scylla") == []
    assert names(api, name="orders") == ["orders"]
    assert names(api, name="order") == []
    assert names(api, q="MENTS") == ["payments-eu"]
    assert names(api, q=active.id) == ["orders"]
    assert names(api, q="%") == names(api, q="_") == []


def test_deleted_clusters_are_shown_only_when_asked_for(api: ApiClient, deleted: Cluster):
    assert names(api) == []
    assert names(api, state="deleted") == ["orders"]


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=201", "limit=x", "cursor=../..", "state=funny", "zone=a%20b", "q=" + "x" * 101]
)
def test_it_refuses_filters_that_cannot_be(api: ApiClient, query: str):
    answer = api.get(f"/clusters?{query}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_field")


def test_the_number_of_queries_does_not_depend_on_the_number_of_clusters(api: ApiClient, active: Cluster):
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert api.get("/clusters?state=active&limit=100").status_code == 200
        return len(captured)

    api.get("/clusters")  # notes the use of the token, once a minute
    few = queries()
    for number in range(10):
        api.post("/clusters", ORDER | {"name": f"c{number}"})
    assert queries() == few <= 3


def allowed(api: ApiClient, cluster: Cluster) -> dict[str, Any]:
    shown = api.get(f"/clusters/{cluster.id}").json()["allowed_actions"]
    return {action["action"]: action["reason"] for action in shown if action["allowed"] == (action["reason"] is None)}


# They say of any other cluster that it is none.
OF_TEST_DRIVES = {"extend_test_drive", "keep_test_drive"}


def allowed_of_ordinary(api: ApiClient, cluster: Cluster) -> set[Any]:
    return {reason for action, reason in allowed(api, cluster).items() if action not in OF_TEST_DRIVES}


def test_it_says_what_may_be_done_and_why_not(api: ApiClient, tenant: Tenant, creating: Cluster):
    reasons = allowed(api, creating)
    waiting = {"change_cluster", "delete_cluster", "rotate_credentials", "reveal_credentials"}
    assert set(reasons) == waiting | OF_TEST_DRIVES | {"plan_change", "update_cluster"}
    assert all("being created" in reasons[action] for action in waiting)
    assert reasons["plan_change"] is reasons["update_cluster"] is None
    assert "Cancel" in reasons["delete_cluster"]


def test_everything_may_be_done_with_an_active_cluster(api: ApiClient, tenant: Tenant, active: Cluster):
    assert allowed_of_ordinary(api, active) == {None}
    viewer = tenant.api(tenant.member(Role.VIEWER))
    reasons = allowed(viewer, active)
    assert reasons.pop("plan_change") is None
    assert all("role or token" in reason for reason in reasons.values())
    api.post(f"/clusters/{active.id}/credentials/reveal")
    assert "Set a new one" in allowed(api, active)["reveal_credentials"]


def test_nothing_may_be_done_with_a_deleted_one(api: ApiClient, deleted: Cluster):
    assert set(allowed(api, deleted).values()) == {"The cluster is deleted."}


def test_a_degraded_cluster_still_serves(api: ApiClient, active: Cluster):
    lifecycle.cluster_degraded(active.id)
    assert allowed_of_ordinary(api, active) == {None}


def test_passwords_are_set_while_the_ring_changes(api: ApiClient, active: Cluster):
    api.post(f"/clusters/{active.id}/changes", {"kind": "scale", "nodes_per_zone": 2})
    reasons = allowed(api, active)
    assert reasons["change_cluster"] == reasons["delete_cluster"] == "The number of its nodes is being changed."
    assert reasons["rotate_credentials"] is None
    assert api.post(f"/clusters/{active.id}/credentials/rotate").status_code == 202
