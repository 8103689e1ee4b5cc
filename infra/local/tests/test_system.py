import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from infra.local import system
from infra.local.system import MissingError, Requirement

PRESENT = Requirement("There", "there", lambda: True)
ABSENT = Requirement("Absent", "absent-package", lambda: False)
UNAVAILABLE = Requirement("Rare", None, lambda: False, "build it yourself")


def never(command: Sequence[str], variables: Mapping[str, str]) -> None:
    raise AssertionError(f"ran {command}")


def test_nothing_is_installed_when_nothing_is_missing() -> None:
    system.ensure((PRESENT,), never)


def test_who_may_not_install_is_told_what_is_missing_and_what_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    with pytest.raises(MissingError, match=r"sudo apt-get update && sudo apt-get install .* absent-package"):
        system.ensure((PRESENT, ABSENT), never)


def test_what_debian_does_not_have_is_named_with_its_remedy() -> None:
    with pytest.raises(MissingError, match="Rare: build it yourself"):
        system.ensure((UNAVAILABLE,), never)


def test_root_installs_what_is_missing_and_no_server_is_started_by_that(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed: list[str] = []
    policies: list[str] = []

    def install(command: Sequence[str], variables: Mapping[str, str]) -> None:
        policies.append(policy.read_text())
        installed.extend(command)

    policy = tmp_path / "policy-rc.d"
    monkeypatch.setattr(system, "_POLICY", policy)
    monkeypatch.setattr(os, "getuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    wanted = Requirement("Wanted", "wanted-package", lambda: "wanted-package" in installed)
    system.ensure((PRESENT, wanted), install)
    assert installed[:2] == ["apt-get", "update"]
    assert installed[-1] == "wanted-package"
    assert policies == ["#!/bin/sh\nexit 101\n"] * 2
    assert not policy.exists()


def test_a_package_that_did_not_bring_what_was_missing_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(system, "_POLICY", tmp_path / "policy-rc.d")
    monkeypatch.setattr(os, "getuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    with pytest.raises(MissingError, match="still not found: Absent"):
        system.ensure((ABSENT,), lambda command, variables: None)
