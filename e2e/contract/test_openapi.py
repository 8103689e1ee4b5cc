"""What backend/openapi.json promises is what the API does, whoever asks, and nobody sees what is not theirs.

Every documented operation is called with made-up requests, valid and invalid, by three people: a viewer, a stranger
from another organisation, and an owner (last, because owners change things). The requests are the same in every run.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from e2e.contract.server import Api
from e2e.contract.tenants import MARK

DESCRIPTION = Path(__file__).resolve().parents[2] / "backend" / "openapi.json"
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
# What the catalogue has; name and options stay made up.
ORDER = {
    "engine": "cassandra",
    "engine_version": None,
    "provider": "local",
    "region": "local-1",
    "zones": ["local-1a", "local-1b", "local-1c"],
    "machine_type": "local.small",
    "nodes_per_zone": 1,
}

# Changes of what the organisations have; "nod_..." stands for a node of the cluster.
CHANGES: list[dict[str, Any]] = [
    {"kind": "scale", "nodes_per_zone": 2},
    {"kind": "scale", "nodes_per_zone": 0},
    {"kind": "scale", "nodes_total": 4},
    {"kind": "replace_node", "node_id": "nod_..."},
    {"kind": "restart_node", "node_id": "nod_..."},
    {"kind": "measure_disks", "node_id": "nod_...", "rounds": 1},
    {"kind": "stop_node", "node_id": "nod_..."},
    {"kind": "start_node", "node_id": "nod_..."},
    {"kind": "rolling_restart"},
    {"kind": "upgrade", "engine_version": "5.0.9"},
    {"kind": "machine_type", "machine_type": "local.medium"},
    {"kind": "settings", "settings": {"read_timeout_ms": 7000}},
    {"kind": "remove_datacenter", "datacenter": "local-local-1"},
    {"kind": "rotate_certificates"},
    {"kind": "run_command", "command": "compact", "keyspace": "shop", "table": "orders"},
    {"kind": "desired_state", "nodes_per_zone": 2, "engine_version": "5.0.9"},
]
# What these operations are about: of the others the clusters stay as they are.
TARGETS = {"delete_cluster": "doomed_cluster_id", "change_cluster": "changed_cluster_id"}

schema = schemathesis.openapi.from_path(str(DESCRIPTION))
# Not schema.parametrize(): its tests share one id, and pytest-xdist runs only one test of an id.
# The event stream never ends; it has a test of its own.
operations = pytest.mark.parametrize(
    "name",
    [
        operation["operationId"]
        for item in json.loads(DESCRIPTION.read_text())["paths"].values()
        for operation in item.values()
        if operation["operationId"] != "stream_events"
    ],
)


@operations
def test_a_viewer_gets_what_is_documented(name: str, api: Api) -> None:
    ask(name, api, api.tenants.viewer_token, examples=4)


@operations
def test_a_stranger_gets_what_is_documented_and_nothing_of_others(name: str, api: Api) -> None:
    ask(name, api, api.tenants.stranger_token, examples=6, check=partial(expect_no_leak, api))


@operations
def test_an_owner_gets_what_is_documented(name: str, api: Api) -> None:
    ask(name, api, api.tenants.owner_token, examples=12)


def ask(name: str, api: Api, token: str, *, examples: int, check: Callable[[Any], None] = lambda answer: None) -> None:
    """Calls an operation with so many requests, valid and invalid, and compares each answer with what is promised."""
    operation = schema.find_operation_by_id(name)
    valid, invalid = (operation.as_strategy(generation_mode=mode) for mode in GenerationMode)

    @settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=valid | invalid)
    def call(case: Any) -> None:
        aim(case, name, api.tenants.ids)
        check(case.call_and_validate(base_url=api.url, headers=api.headers(token), checks=CHECKS, timeout=30))

    call()


def aim(case: Any, name: str, ids: dict[str, str]) -> None:
    """Points two of three requests at things that exist: made-up words alone would only ever meet 404 and 422."""
    # Chosen fields take away what is promised otherwise (backend/config/tests/test_sparse.py); made-up tags never fit.
    (case.query or {}).pop("fields", None)
    if len(str(case.path_parameters)) % 3:
        (case.headers or {}).pop("If-Match", None)
    for parameter, value in (case.path_parameters or {}).items():
        if parameter in ids and len(str(value)) % 3:
            case.path_parameters[parameter] = ids[TARGETS.get(name, parameter)]
    if name in {"create_cluster", "check_cluster_order"} and isinstance(case.body, dict) and len(str(case.body)) % 3:
        case.body.update(ORDER)
    if name in {"plan_change", "change_cluster"} and len(str(case.body)) % 3:
        change = CHANGES[len(str(case.body)) % len(CHANGES)]
        node = ids["changed_node_id" if name == "change_cluster" else "node_id"]
        case.body = change | ({"node_id": node} if "node_id" in change else {})


def expect_no_leak(api: Api, answer: Any) -> None:
    """No id and no name of the owner's organisation in a stranger's answer, but for those the stranger sent along."""
    asked = f"{answer.request.url} {answer.request.body}"
    words = [MARK, *api.tenants.ids.values()]
    assert [word for word in words if word in answer.text and word not in asked] == []
