import os
from collections.abc import Mapping, Sequence

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
