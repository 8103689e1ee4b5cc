"""A change that would break a program is named, and one that would not is let through."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.contract import compatibility

Document = dict[str, Any]


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """A small API: of the real one every comparison would take seconds."""
    thing = {
        "type": "object",
        "required": ["id", "state"],
        "properties": {
            "id": {"type": "string"},
            "state": {"type": "string", "enum": ["active", "deleted"]},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
    }
    order = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "maxLength": 64},
            "count": {"type": "integer", "maximum": 9},
            "kind": {"type": "string", "enum": ["small", "large"]},
        },
    }
    answer = {
        "200": {
            "description": "OK",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}},
        }
    }
    parameters = [
        {"name": "thing_id", "in": "path", "required": True, "schema": {"type": "string"}},
        {"name": "depth", "in": "query", "required": False, "schema": {"type": "integer"}},
    ]
    body = {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}},
    }
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Things", "version": "1"},
        "paths": {
            "/things/{thing_id}": {
                "get": {"operationId": "get_thing", "parameters": parameters, "responses": answer},
                "delete": {"operationId": "delete_thing", "parameters": parameters[:1], "responses": answer},
            },
            "/things": {"post": {"operationId": "create_thing", "requestBody": body, "responses": answer}},
        },
        "components": {"schemas": {"Thing": thing, "Order": order}},
    }
    path = tmp_path / "released.json"
    path.write_text(json.dumps(document))
    return path


def _thing(document: Document) -> Any:
    return document["components"]["schemas"]["Thing"]


def _order(document: Document) -> Any:
    return document["components"]["schemas"]["Order"]


def _get(document: Document) -> Any:
    return document["paths"]["/things/{thing_id}"]["get"]


BREAKS: dict[str, tuple[Callable[[Document], object], str]] = {
    "an operation goes": (
        lambda document: document["paths"]["/things/{thing_id}"].pop("delete"),
        "api-removed-without-deprecation",
    ),
    "an address goes": (lambda document: document["paths"].pop("/things"), "api-path-removed-without-deprecation"),
    "a parameter goes": (lambda document: _get(document)["parameters"].pop(), "request-parameter-removed"),
    "a parameter is newly required": (
        lambda document: _get(document)["parameters"][1].update(required=True),
        "request-parameter-became-required",
    ),
    "a field of a body is newly required": (
        lambda document: _order(document)["required"].append("count"),
        "request-property-became-required",
    ),
    "a limit is narrower": (
        lambda document: _order(document)["properties"]["count"].update(maximum=3),
        "request-property-max-decreased",
    ),
    "a choice goes": (
        lambda document: _order(document)["properties"]["kind"]["enum"].remove("large"),
        "request-property-enum-value-removed",
    ),
    "a type changes": (
        lambda document: _thing(document)["properties"]["id"].update(type="integer"),
        "response-property-type-changed",
    ),
    "a field of an answer goes": (
        lambda document: (_thing(document)["properties"].pop("state"), _thing(document)["required"].remove("state")),
        "response-required-property-removed",
    ),
    "a field of an answer may be missing": (
        lambda document: _thing(document)["required"].remove("state"),
        "response-property-became-optional",
    ),
}
HARMLESS: dict[str, Callable[[Document], object]] = {
    "nothing": lambda document: None,
    "a new operation": lambda document: document["paths"].update(
        {"/more": {"get": _get(document) | {"parameters": []}}}
    ),
    "a new optional parameter": lambda document: _get(document)["parameters"].append(
        {"name": "fields", "in": "query", "required": False, "schema": {"type": "string"}}
    ),
    "a new field of an answer": lambda document: _thing(document)["properties"].update(size={"type": "integer"}),
    "a new optional field of a body": lambda document: _order(document)["properties"].update(size={"type": "integer"}),
    "a wider limit": lambda document: _order(document)["properties"]["count"].update(maximum=99),
    "a new word in an answer": lambda document: _thing(document)["properties"]["state"]["enum"].append("resting"),
    "other words": lambda document: _get(document).update(description="Reads a thing."),
}


def changed(released: Path, change: Callable[[Document], object]) -> Path:
    document = json.loads(released.read_text())
    change(document)
    now = released.with_name("now.json")
    now.write_text(json.dumps(document))
    return now


@pytest.mark.parametrize("what", BREAKS)
def test_it_names_what_breaks(released: Path, what: str):
    change, rule = BREAKS[what]
    found = compatibility.breaks(released, changed(released, change))
    assert any(rule in line for line in found), found


@pytest.mark.parametrize("what", HARMLESS)
def test_it_lets_through_what_breaks_nothing(released: Path, what: str):
    assert compatibility.breaks(released, changed(released, HARMLESS[what])) == []


def test_a_break_that_is_accepted_with_its_reason_is_let_through(released: Path, tmp_path: Path):
    now = changed(released, BREAKS["an operation goes"][0])
    accepted = tmp_path / "accepted.txt"
    accepted.write_text("# Nobody could call it.\nDELETE /things/{thing_id} api removed without deprecation\n")
    assert compatibility.breaks(released, now, accepted) == []
    assert compatibility.without_reason(accepted) == []
    accepted.write_text("# About another.\n\nDELETE /things/{thing_id} api removed without deprecation\n")
    assert len(compatibility.without_reason(accepted)) == 1


def test_what_cannot_be_read_is_no_agreement(released: Path, tmp_path: Path):
    (tmp_path / "now.json").write_text("{")
    with pytest.raises(RuntimeError, match="oasdiff"):
        compatibility.breaks(released, tmp_path / "now.json")


def test_todays_api_keeps_to_the_released_one():
    assert compatibility.breaks() == []
    assert compatibility.without_reason() == []
