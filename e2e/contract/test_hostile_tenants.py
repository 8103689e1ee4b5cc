"""The hostile tenant: every operation × every role of another organisation × this organisation's ids.

In the path, behind an own id, in bodies and in queries. A stranger must not be able to tell what is somebody else's
from what never was, whatever their role; and afterwards nothing of the owner's has changed.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from e2e.contract.server import Api, serving_api
from e2e.contract.tenants import MARK, PROVIDER
from e2e.contract.test_isolation import BODIES, DESCRIPTION, NEW_CLUSTER, NOBODYS, operations_with_ids

ROLES = ("owner", "admin", "operator", "viewer", "custom", "by-tags", "service-account")
# What the path of an own thing is followed by; of the owner's organisation each time but the first.
_PARAMETER = re.compile(r"\{(\w+)\}")

# Where ids stand besides paths: the operation, and what is sent, with the parameter whose id is in FOREIGN's place.
FOREIGN = "the other's"
SOON = (datetime.now(UTC) + timedelta(days=1)).isoformat()
SIZE = {
    "engine": "cassandra",
    "provider": "aws",
    "reads_per_second": 10,
    "writes_per_second": 10,
    "data_bytes": 10**9,
}
SCHEDULE = {"name": "nightly", "cron": "0 3 * * *", "keep_count": 1}
MENTIONS: list[tuple[str, str, str, dict[str, Any]]] = [
    (
        "create_alert_receiver",
        "cluster_ids",
        "cluster_id",
        {"name": "x", "kind": "webhook", "url": "https://hooks.example.com/x"},
    ),
    ("update_alert_receiver", "cluster_ids", "cluster_id", {}),
    ("create_alert_silence", "node_id", "node_id", {"ends_at": SOON, "comment": "quiet"}),
    ("create_budget", "cluster_id", "cluster_id", {"name": "x", "scope": "cluster", "micros": 1}),
    ("set_ceiling", "cluster_id", "cluster_id", {"nodes": 10}),
    ("create_backup_schedule", "location_id", "location_id", SCHEDULE),
    ("create_backup_schedule", "second_location_id", "location_id", SCHEDULE),
    ("replace_backup_schedule", "location_id", "location_id", SCHEDULE),
    ("replace_backup_schedule", "second_location_id", "location_id", SCHEDULE),
    ("create_backup", "location_id", "location_id", {}),
    ("estimate_backup", "location_id", "location_id", {}),
    ("download_backup", "location_id", "location_id", {}),
    ("set_log_archive", "location_id", "location_id", {"enabled": True}),
    ("restore_backup", "cluster_id", "cluster_id", {"mode": "cluster"}),
    ("plan_restore", "cluster_id", "cluster_id", {"mode": "cluster"}),
    ("clone_cluster", "location_id", "location_id", {"new_cluster": NEW_CLUSTER}),
    ("plan_clone", "location_id", "location_id", {"new_cluster": NEW_CLUSTER}),
    ("start_drill", "backup_id", "backup_id", {}),
    ("plan_drill", "backup_id", "backup_id", {}),
    ("create_import", "location_id", "location_id", {"path": "old"}),
    ("plan_import", "location_id", "location_id", {"path": "old"}),
    ("change_cluster", "node_id", "changed_node_id", {"kind": "restart_node"}),
    ("plan_change", "node_id", "changed_node_id", {"kind": "restart_node"}),
    ("read_cql_schema", "session_id", "session_id", {}),
    ("run_cql", "session_id", "session_id", {"statement": "SELECT 1"}),
    ("plan_size", "like_cluster_id", "cluster_id", SIZE),
    ("create_invitation", "custom_role_id", "role_id", {"role": "custom", "email": "new@elsewhere.example"}),
    ("change_member_role", "custom_role_id", "role_id", {"role": "custom"}),
    (
        "create_service_account",
        "custom_role_id",
        "role_id",
        {"role": "custom", "name": "x", "contact": "x@elsewhere.example"},
    ),
    ("update_service_account", "custom_role_id", "role_id", {"role": "custom"}),
    (
        "create_group_role",
        "custom_role_id",
        "role_id",
        {"role": "custom", "group": "x", "identity_provider_id": PROVIDER},
    ),
    ("update_group_role", "custom_role_id", "role_id", {"role": "custom"}),
    ("create_token", "service_account_id", "service_account_id", {"name": "x", "scopes": ["clusters:read"]}),
    ("create_deletion_request", "target_id", "cluster_id", {"target_type": "cluster"}),
    ("create_deletion_request", "target_id", "backup_id", {"target_type": "backup"}),
    ("create_deletion_request", "target_id", "organisation_id", {"target_type": "access_settings"}),
    ("list_deletion_requests", "target_id", "cluster_id", {}),
    ("get_cluster_metrics", "node_id", "node_id", {}),
    ("get_costs", "cluster_id", "cluster_id", {}),
    ("get_cost_changes", "cluster_id", "cluster_id", {}),
    ("export_costs", "cluster_id", "cluster_id", {}),
    ("get_cost_forecast", "cluster_id", "cluster_id", {}),
    ("list_operations", "cluster_id", "cluster_id", {}),
    ("list_usage", "cluster_id", "cluster_id", {}),
    ("list_usage", "node_id", "node_id", {}),
    ("list_audit_records", "target_id", "cluster_id", {}),
    ("export_audit_records", "target_id", "cluster_id", {}),
]
# Named like ids of things, and are none: a cloud's own, a key's public half, an image's build. And nodes to restart are
# asked for among those of the cluster, one or several. Identity providers are the installation's.
NO_IDS = {"access_key_id", "cloud_id", "build_id", "identity_provider_id", "node_ids"}
# One's own is refused too when it was not busy for a week.
MEASURED = {"plan_size"}
# Of a database, which is asked for whatever name there could be; and rules are the product's.
NO_THINGS = {"keyspace", "table", "role", "rule"}
# These answer alike whether there is such a thing, because it is gone then.
GONE = {"close_cql_session"}


# One for all: making one takes longer than an answer.
_CLIENT = httpx.Client(timeout=30, trust_env=False)


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    """One of its own, so that what is the owner's can be compared before and after."""
    with serving_api() as running:
        before = owners(running)
        yield running
        assert owners(running) == before


def owners(api: Api) -> dict[str, Any]:
    """All that the owner can read of what is theirs, but for what changes by looking at it or by the clock."""
    listed = ("clusters", "members", "tokens", "backups", "backup-locations", "budgets", "ceilings", "audit")
    listed += (
        "invitations",
        "service-accounts",
        "organisation/roles",
        "organisation/group-roles",
        "cloud-accounts",
        "alert-receivers",
        "operations",
        "deletion-requests",
    )
    return {path: [_still(item) for item in items(api, path)] for path in listed}


def items(api: Api, path: str) -> list[dict[str, Any]]:
    answer = httpx.get(f"{api.url}/api/v1/{path}", headers=api.headers(api.tenants.owner_token), timeout=30)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["items"]
    assert found, path
    return found


def _still(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key != "last_used_at"}


def described() -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Method, path and description of every operation by its name."""
    paths = json.loads(DESCRIPTION.read_text())["paths"]
    return {
        operation["operationId"]: (method, path, operation)
        for path, item in paths.items()
        for method, operation in item.items()
    }


def ask(
    api: Api, token: str, method: str, path: str, body: dict[str, Any] | None, query: dict[str, str] | None = None
) -> httpx.Response:
    return _CLIENT.request(method, api.url + path, headers=api.headers(token), json=body, params=query)


def without(answer: httpx.Response, *ids: str) -> str:
    """What was answered, without what names the request and the ids that were asked for."""
    text = re.sub(r"req_\w+", "REQUEST", answer.text)
    for each in ids:
        text = text.replace(each, "ID")
    assert MARK not in text, text
    return text


def never(identifier: str) -> str:
    """An id of the same shape that nobody has."""
    return identifier[:-8] + "0" * 8


def address(path: str, ids: dict[str, str]) -> str:
    return _PARAMETER.sub(lambda found: (ids | NOBODYS)[found[1]], path)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(("method", "path", "name"), operations_with_ids())
def test_no_role_elsewhere_can_tell_it_from_what_never_was(
    api: Api, method: str, path: str, name: str, role: str
) -> None:
    token, ids = api.tenants.stranger_roles[role], api.tenants.ids
    nobodys = {key: never(value) for key, value in ids.items()}
    foreign, none = (ask(api, token, method, address(path, each), BODIES.get(name)) for each in (ids, nobodys))
    assert foreign.status_code in ({404} if role == "owner" else {403, 404}), foreign.text
    assert (foreign.status_code, without(foreign)) == (none.status_code, without(none))


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [each for each in operations_with_ids() if set(_PARAMETER.findall(each[1])[1:]) - NO_THINGS],
)
def test_behind_an_own_id_the_others_are_not_found(api: Api, method: str, path: str, name: str) -> None:
    behind = [each for each in _PARAMETER.findall(path)[1:] if each in api.tenants.ids]
    token, own = api.tenants.stranger_token, api.tenants.stranger_ids
    theirs = {each: api.tenants.ids[each] for each in behind}
    nobodys = {each: never(api.tenants.ids[each]) for each in behind}
    asked = [ask(api, token, method, address(path, own | ids), BODIES.get(name)) for ids in (theirs, nobodys)]
    told = [
        (answer.status_code, without(answer, *ids.values()))
        for answer, ids in zip(asked, (theirs, nobodys), strict=True)
    ]
    assert told[0] == told[1]
    assert told[0][0] == 404 or name in GONE


@pytest.mark.parametrize(("name", "field", "parameter", "content"), MENTIONS)
def test_an_id_in_a_body_or_a_query_is_looked_up_among_ones_own(
    api: Api, name: str, field: str, parameter: str, content: dict[str, Any]
) -> None:
    method, path, operation = described()[name]
    token, own = api.tenants.stranger_token, api.tenants.stranger_ids
    in_query = any(one.get("in") == "query" and one["name"] == field for one in operation["parameters"])
    place = address(
        path, own | {"cluster_id": own["changed_cluster_id"]} if "restart_node" in content.values() else own
    )

    def mention(identifier: str, **query: str) -> tuple[int, str]:
        value: Any = [identifier] if field.endswith("_ids") else identifier
        body = None if in_query else content | {field: value}
        answer = ask(api, token, method, place, body, {field: identifier} if in_query else query)
        return answer.status_code, without(answer, identifier)

    theirs = mention(api.tenants.ids[parameter])
    assert theirs == mention(never(api.tenants.ids[parameter]))
    if in_query or name in MEASURED:
        return
    assert theirs[0] in {404, 409, 422} or name.startswith("plan_"), theirs
    # It was the id that was looked at: with an own one there is another answer. Nothing need come of it.
    assert theirs != mention(own[parameter], **({} if name.startswith("plan_") else {"dry_run": "true"}))


def test_every_id_in_a_body_or_a_query_is_in_the_table() -> None:
    schemas = json.loads(DESCRIPTION.read_text())["components"]["schemas"]

    def fields(schema: dict[str, Any], seen: frozenset[str] = frozenset()) -> Iterator[str]:
        if name := schema.get("$ref", "").rpartition("/")[2]:
            if name not in seen:
                yield from fields(schemas[name], seen | {name})
            return
        for field, inner in schema.get("properties", {}).items():
            yield field
            yield from fields(inner, seen)
        for inner in [
            *filter(None, [schema.get("items")]),
            *(each for key in ("anyOf", "oneOf") for each in schema.get(key, [])),
        ]:
            yield from fields(inner, seen)

    found = set()
    for name, (_, _, operation) in described().items():
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        named = {*fields(body), *(one["name"] for one in operation["parameters"] if one.get("in") == "query")}
        found |= {(name, field) for field in named - NO_IDS if field.endswith(("_id", "_ids"))}
    lacking = found - {(name, field) for name, field, _, _ in MENTIONS}
    assert not lacking
