import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from backend.accounts.states import PERMISSIONS
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
