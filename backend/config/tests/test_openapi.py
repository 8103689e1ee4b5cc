import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from backend.accounts.states import PERMISSIONS
from backend.config.openapi import describe_path_parameters
from backend.conftest import described_api


def operations() -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in described_api()["paths"].items():
        for method, operation in methods.items():
            yield f"{method} {path}", operation


def test_the_committed_description_is_the_one_the_code_gives():
    call_command("export_openapi", check=True)


def test_an_outdated_description_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(settings, "BASE_DIR", tmp_path)
    with pytest.raises(CommandError):
        call_command("export_openapi", check=True)
    call_command("export_openapi")
    call_command("export_openapi", check=True)
    assert json.loads((tmp_path / "openapi.json").read_text())["openapi"].startswith("3.1")


def test_every_operation_has_a_name_of_its_own_and_says_what_it_does():
    names = [operation["operationId"] for _, operation in operations()]
    assert len(names) == len(set(names))
    tags = {tag["name"] for tag in described_api()["tags"]}
    for where, operation in operations():
        assert operation.get("description"), where
        assert set(operation.get("tags", ["none"])) <= tags, where


def properties(schema: Any, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every property of a schema, those of its parts too; what is referred to is told where it is defined."""
    if isinstance(schema, list):
        for position, part in enumerate(schema):
            yield from properties(part, f"{where}[{position}]")
    elif isinstance(schema, dict):
        for name, part in schema.items():
            if name == "properties":
                for field, inner in part.items():
                    yield f"{where}.{field}", inner
                    yield from properties(inner, f"{where}.{field}")
            else:
                yield from properties(part, where)


def test_every_field_and_every_parameter_has_words():
    """A field that is one of the named things has theirs."""
    schemas = described_api()["components"]["schemas"]
    mute = [
        where
        for name, schema in schemas.items()
        for where, one in properties(schema, name)
        if "description" not in one and "$ref" not in one
    ]
    for where, operation in operations():
        for one in operation["parameters"]:
            if "$ref" not in one and "description" not in one:
                mute.append(f"{where} {one['name']}")
    assert mute == []


def test_examples_of_parameters_are_what_openapi_allows():
    """Ninja copies a list of examples to the parameter, where OpenAPI has names for them."""
    for where, operation in operations():
        for one in operation["parameters"]:
            assert isinstance(one.get("examples", {}), dict), (where, one["name"])


def test_a_parameter_of_a_path_without_words_is_refused():
    operation = {"parameters": [{"in": "path", "name": "wizard_id", "schema": {"type": "string"}, "required": True}]}
    with pytest.raises(LookupError, match="wizard_id"):
        describe_path_parameters("/api/v1/wizards/{wizard_id}", operation)


def test_every_error_code_is_listed():
    code = described_api()["components"]["schemas"]["ErrorDetail"]["properties"]["code"]
    assert {"cluster_not_found", "rate_limited", "precondition_failed"} <= set(code["x-extensible-enum"])


def test_every_error_has_the_one_body():
    description = described_api()
    for where, operation in operations():
        for status, answer in operation["responses"].items():
            if int(status) >= 400:
                if "$ref" in answer:
                    answer = description["components"]["responses"][answer["$ref"].rpartition("/")[2]]
                assert answer["content"]["application/json"]["schema"]["$ref"].endswith("/Error"), (where, status)


def test_every_write_by_somebody_takes_an_idempotency_key():
    for where, operation in operations():
        takes = {"$ref": "#/components/parameters/IdempotencyKey"} in operation["parameters"]
        assert takes == (not where.startswith("get") and "security" in operation), where


def test_a_higher_role_may_do_everything_a_lower_one_may():
    viewer, operator, admin, owner = (PERMISSIONS[role] for role in ("viewer", "operator", "admin", "owner"))
    assert viewer < operator < admin <= owner
