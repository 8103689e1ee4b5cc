"""What databases of vulnerabilities answer is read, and silence is not taken for good news."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from infra.local import audit
from infra.local.audit import NotAskedError, Question

NPM = {"vulnerabilities": {"left-pad": {"severity": "high", "range": "<1.3"}}}
PYPI = {
    "dependencies": [
        {"name": "django", "version": "5.2", "vulns": [{"id": "PYSEC-1"}]},
        {"name": "ninja", "version": "1", "vulns": []},
    ]
}
GO = [
    {"config": {"protocol_version": "v1"}},
    {"osv": {"id": "GO-1"}},
    {"finding": {"osv": "GO-1", "trace": [{"module": "example.org/a", "version": "v1.0.0"}]}},
    {"finding": {"osv": "GO-2", "trace": [{"module": "example.org/a", "version": "v1.0.0", "function": "Parse"}]}},
]


def says(tmp_path: Path, text: str, status: int, read: Callable[[str], list[str]] = audit.npm_found) -> Question:
    (tmp_path / "said").write_text(text)
    program = f"import sys; print(open('said').read()); print('why not', file=sys.stderr); sys.exit({status})"
    return Question("test", (sys.executable, "-c", program), tmp_path, read)


def test_what_is_known_is_told_with_its_package_and_name(tmp_path: Path):
    assert audit.ask(says(tmp_path, json.dumps(NPM), 1)) == ["left-pad <1.3: high"]
    assert audit.ask(says(tmp_path, json.dumps(PYPI), 1, audit.pypi_found)) == ["django 5.2: PYSEC-1"]
    told = "\n".join(json.dumps(each, indent=2) for each in GO)
    assert audit.ask(says(tmp_path, told, 0, audit.go_found)) == ["example.org/a v1.0.0: GO-2"]


def test_an_answer_without_any_is_good_news(tmp_path: Path):
    assert audit.ask(says(tmp_path, '{"vulnerabilities": {}}', 0)) == []
    assert audit.ask(says(tmp_path, json.dumps(GO[0]), 0, audit.go_found)) == []


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", 1),
        ("", 0),
        ('{"error": {"code": "ENOTFOUND"}}', 1),
        ("<html>", 0),
        ("[]", 1),
        ('{"vulnerabilities": {}}', 1),
    ],
)
@pytest.mark.parametrize("read", [audit.npm_found, audit.pypi_found, audit.go_found])
def test_silence_is_not(tmp_path: Path, text: str, status: int, read: Callable[[str], list[str]]):
    with pytest.raises(NotAskedError):
        audit.ask(says(tmp_path, text, status, read))


def test_packages_that_a_database_does_not_have_were_not_asked_about(tmp_path: Path):
    told = {"dependencies": [*PYPI["dependencies"], {"name": "odd", "skip_reason": "not found on PyPI"}]}
    with pytest.raises(NotAskedError, match="1 of 3 packages; not found on PyPI"):
        audit.ask(says(tmp_path, json.dumps(told), 0, audit.pypi_found))


@pytest.mark.parametrize(
    ("text", "status", "arguments", "ends"),
    [
        (json.dumps(NPM), 1, ["--when-asked"], 1),
        ("", 1, ["--when-asked"], 0),
        ("", 1, [], 2),
        ('{"vulnerabilities": {}}', 0, [], 0),
    ],
)
def test_it_fails_for_what_is_found_and_for_silence_unless_that_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, status: int, arguments: list[str], ends: int
):
    monkeypatch.setattr(audit, "questions", lambda place: [says(tmp_path, text, status)])
    monkeypatch.setattr(sys, "argv", ["audit", *arguments])
    assert audit.main() == ends
