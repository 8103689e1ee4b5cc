"""Who holds a role that is limited by tags gets, of every other cluster, what another organisation gets."""

import re
from typing import Any

import pytest
from django.utils import timezone

from backend.accounts.models import CustomRole, Membership
from backend.accounts.states import NOT_BY_TAGS, PLATFORM, Permission, Role
from backend.alerts.models import AlertEvent
from backend.budgets.tests.conftest import cluster
from backend.catalog import actions as catalog
from backend.clusters.models import Cluster
from backend.clusters.tests.conftest import ORDER
from backend.config.api import api as routes
from backend.config.reach import NARROWED, OF_A_NAMED_CLUSTER, OF_NO_CLUSTER
from backend.conftest import ApiClient, Tenant, described_api
from backend.operations.models import Operation

LIMITABLE = sorted(set(Permission) - NOT_BY_TAGS.keys() - PLATFORM)
DEV = {"env": ["dev", "test"], "team": ["shop"]}


@pytest.fixture
def limited(tenant: Tenant) -> ApiClient:
    """Holds everything that a role limited by tags can hold, of clusters that are not there."""
    return limited_to(tenant, DEV)


def limited_to(tenant: Tenant, tags: dict[str, list[str]]) -> ApiClient:
    user = tenant.member(Role.VIEWER)
    role = CustomRole.objects.create(
        organisation=tenant.organisation, name="Some", permissions=LIMITABLE, tags=tags, created_by="test"
    )
    Membership.objects.filter(user=user).update(role=Role.CUSTOM, custom_role=role)
    return tenant.api(user)


def alert(tenant: Tenant, about: Cluster) -> None:
    now = timezone.now()
    AlertEvent.objects.create(
        organisation=tenant.organisation,
        cluster=about,
        rule="disk-space",
        severity="warning",
        fingerprint="a" * 16,
        labels={},
        sentence="It fires.",
        starts_at=now,
        told_at=now,
    )


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method.upper(), path.removeprefix("/api/v1"), found)
        for path, methods in described_api()["paths"].items()
        for method, found in methods.items()
        if "operationId" in found
    ]


def example(schema: dict[str, Any]) -> Any:
    """A value that fits, so that what is refused is not refused for its form."""
    if "$ref" in schema:
        return example(described_api()["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    for words in ("const", "default"):
        if words in schema:
            return schema[words]
    if "enum" in schema:
        return schema["enum"][0]
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return example(schema[several][0])
    match schema.get("type"):
        case "object":
            return {name: example(schema["properties"][name]) for name in schema.get("required", [])}
        case "array":
            return [example(schema["items"])] * schema.get("minItems", 0)
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case "string":
            return (
                timezone.now().isoformat() if schema.get("format") == "date-time" else "a" * schema.get("minLength", 1)
            )
    return None


def body_of(found: dict[str, Any]) -> Any:
    content = found.get("requestBody", {}).get("content", {}).get("application/json")
    return example(content["schema"]) if content else None


OF_CLUSTERS = [(method, path, found) for method, path, found in operations() if "{cluster_id}" in path]


def test_there_are_routes_to_walk():
    assert len(OF_CLUSTERS) > 80


@pytest.mark.parametrize(("method", "path", "found"), OF_CLUSTERS, ids=[each[2]["operationId"] for each in OF_CLUSTERS])
def test_of_other_clusters_they_get_what_strangers_get(
    tenant: Tenant,
    stranger: Tenant,
    limited: ApiClient,
    method: str,
    path: str,
    found: dict[str, Any],
):
    other = cluster(tenant, "orders", env="prod", team="shop")
    before = Cluster.objects.values().get()
    address = address_of(path, other)
    theirs, strangers = (each._send(method, address, body_of(found), {}) for each in (limited, stranger.api()))
    assert (theirs.status_code, _error(theirs)) == (strangers.status_code, _error(strangers))
    assert theirs.status_code in (401, 404, 422), theirs.content
    assert Cluster.objects.values().get() == before


def address_of(path: str, about: Cluster | None = None) -> str:
    """With an id for everything: that of the cluster, and of things that are not there."""
    found = path.replace("{cluster_id}", about.id) if about else path
    return re.sub(r"\{\w+\}", "x_1", found)


def _error(answer: Any) -> Any:
    return {name: value for name, value in answer.json()["error"].items() if name != "request_id"}


def test_few_routes_are_refused_for_their_form_before_anybody_is_asked(tenant: Tenant, limited: ApiClient):
    """Else the test above would prove little."""
    other = cluster(tenant, "orders", env="prod", team="shop")
    answers = {
        found["operationId"]: limited._send(method, address_of(path, other), body_of(found), {}).status_code
        for method, path, found in OF_CLUSTERS
    }
    formal = [name for name, status in answers.items() if status != 404]
    assert len(formal) < 0.15 * len(answers), formal


OWN_IDS = (
    "{cluster_id}",
    "{backup_id}",
    "{deletion_request_id}",
    "{drill_id}",
    "{import_id}",
    "{operation_id}",
    "{restore_id}",
)
PUBLIC = {"accept_invitation", "get_invitation_offer", "get_session", "list_identity_providers"}


def test_every_route_is_of_a_cluster_or_listed_or_closed(limited: ApiClient):
    listed = NARROWED | OF_A_NAMED_CLUSTER | OF_NO_CLUSTER
    assert listed <= {found["operationId"] for _, _, found in operations()}
    formal = []
    for method, path, found in operations():
        if found["operationId"] in listed | PUBLIC or any(word in path for word in OWN_IDS):
            continue
        answer = limited._send(method, address_of(path), body_of(found), {})
        if answer.status_code == 422:
            formal.append(path)
            continue
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "role_by_tags"), (path, answer.content)
    assert len(formal) < 8, formal


@pytest.mark.parametrize("path", [path for _, path, _ in operations() if any(word in path for word in OWN_IDS[1:])])
def test_what_is_not_there_is_not_there_for_them(limited: ApiClient, path: str):
    for method, each, found in operations():
        if each == path:
            answer = limited._send(method, address_of(path), body_of(found), {})
            assert answer.status_code in (404, 422), answer.content


def test_functions_have_the_names_of_their_operations():
    """By which the routes are listed."""
    for _, router in routes._routers:
        for path in router.path_operations.values():
            for operation in path.operations:
                assert operation.view_func.__name__ == operation.operation_id


def test_lists_leave_other_clusters_out_and_a_new_tag_counts_at_once(tenant: Tenant, limited: ApiClient):
    mine = cluster(tenant, "orders", env="prod", team="shop")
    alert(tenant, mine)
    operation = Operation.objects.create(
        organisation=tenant.organisation,
        kind="restart_cluster",
        cluster_id=mine.id,
        cluster_name=mine.name,
        actor="x",
        expected_seconds=1,
    )
    for env, seen in (("prod", 0), ("dev", 1), ("test", 1), ("devil", 0)):
        Cluster.objects.filter(id=mine.id).update(options={"tags": {"env": env, "team": "shop"}})
        for path in ("/clusters", "/clusters?q=o", "/operations", "/alerts"):
            assert len(limited.get(path).json()["items"]) == seen, path
        for path in (f"/clusters/{mine.id}", f"/operations/{operation.id}", f"/costs?cluster_id={mine.id}"):
            assert limited.get(path).status_code == (200 if seen else 404), path
    for path in ("/costs", "/costs/forecast", "/usage", "/budgets", "/members"):
        refused = limited.get(path)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "role_by_tags"), path
    assert "env is dev or test and team is shop" in refused.json()["error"]["message"]


def test_clusters_do_not_leave_their_reach_by_new_tags_nor_are_ordered_beyond_it(tenant: Tenant, limited: ApiClient):
    catalog.load(with_tests=True)
    mine = cluster(tenant, "orders", env="dev", team="shop")
    beyond = {"env": "prod", "team": "shop"}
    order = ORDER | {"name": "second", "options": {"tags": beyond}}
    for answer in (
        limited.patch(f"/clusters/{mine.id}", {"tags": beyond}),
        limited.post("/clusters", order),
        limited.post("/clusters/check", order),
    ):
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["field"]) == (403, "tags_beyond_role", "tags")
    assert Cluster.objects.count() == 1
    assert limited.patch(f"/clusters/{mine.id}", {"tags": {"env": "test", "team": "shop"}}).status_code == 200
    assert limited.post("/clusters", order | {"options": {"tags": {"env": "dev", "team": "shop"}}}).status_code == 202


def test_a_tag_can_have_the_name_of_an_operator_of_the_database(tenant: Tenant):
    api = limited_to(tenant, {"contains": ["x"]})
    cluster(tenant, "orders", contains="x")
    cluster(tenant, "other", contains="y")
    assert [each["name"] for each in api.get("/clusters").json()["items"]] == ["orders"]


def test_clusters_are_listed_by_tag(tenant: Tenant):
    cluster(tenant, "orders", env="dev")
    cluster(tenant, "other", env="prod")
    api = tenant.api()
    assert [each["name"] for each in api.get("/clusters?tag=env%3Ddev").json()["items"]] == ["orders"]
    assert api.get("/clusters?tag=env").status_code == 422
