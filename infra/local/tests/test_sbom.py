"""The bill of materials names what the lock files pin, and what is built into the programs."""

import json

from infra.local import sbom
from infra.local.layout import CHECKOUT


def test_it_names_what_python_delivers_and_nothing_that_only_tests_need():
    found = {each.purl for each in sbom.python((CHECKOUT / "requirements.txt").read_text())}
    assert any(purl.startswith("pkg:pypi/django@5.2") for purl in found)
    assert not any(purl.startswith("pkg:pypi/pytest@") for purl in found)
    lines = [line for line in (CHECKOUT / "requirements.txt").read_text().splitlines() if line[0].isalnum()]
    assert len(found) == len(lines)


def test_it_names_what_the_console_delivers_with_its_checksum():
    lock = json.loads((CHECKOUT / "frontend" / "package-lock.json").read_text())
    found = {each.name: each for each in sbom.console(lock)}
    assert len(found["react"].sha512) == 128
    assert found["@cloudscape-design/components"].purl.startswith("pkg:npm/%40cloudscape-design/components@")
    assert "vitest" not in found


def test_it_leaves_out_a_programs_own_module():
    (only,) = sbom.go(["ringmaster/agent ", "golang.org/x/sys v0.30.0"], "agent")
    assert only.purl == "pkg:golang/golang.org/x/sys@v0.30.0"


def test_it_is_the_same_for_the_same_packages():
    twice = [*sbom.go(["b v1", "a v1"], "agent"), *sbom.go(["a v1"], "agent")]
    written = sbom.bill(twice, version="1")
    assert [each["name"] for each in written["components"]] == ["a", "b"]
    assert written == sbom.bill(reversed(twice), version="1")
