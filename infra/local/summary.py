"""Add up what the test runners report: JUnit's XML (pytest, Vitest, Playwright) and `go test -json`."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path


class ReportError(ValueError):
    """A report that is missing or damaged: the runner did not get to its end."""


@dataclass(frozen=True)
class Count:
    """Tests by outcome. An error counts as a failure."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def read(path: Path) -> Count:
    """The counts of one report, by the kind its name says (.xml or .jsonl). Raises ReportError."""
    try:
        text = path.read_text(errors="replace")
    except FileNotFoundError as error:
        raise ReportError(f"no report at {path}") from error
    return _junit(text, path) if path.suffix == ".xml" else _go(text)


def _junit(text: str, path: Path) -> Count:
    try:
        cases = list(ElementTree.fromstring(text).iter("testcase"))
    except ElementTree.ParseError as error:
        raise ReportError(f"{path} is damaged: {error}") from error
    # pytest writes a test that was run again once more, and a failure only of the last time.
    tests: dict[tuple[str | None, str | None], set[str]] = {}
    for case in cases:
        tests.setdefault((case.get("classname"), case.get("name")), set()).update(child.tag for child in case)
    total = Count()
    for outcomes in tests.values():
        if outcomes & {"failure", "error"}:
            total += Count(failed=1)
        elif "skipped" in outcomes:
            total += Count(skipped=1)
        else:
            total += Count(passed=1)
    return total


def _go(text: str) -> Count:
    """Counts tests and subtests that have none of their own; a package that fails to build counts as one failure."""
    ended: dict[tuple[str, str], str] = {}
    packages: dict[str, str] = {}
    for line in text.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue  # compiler output goes between the events
        if not isinstance(event, dict) or event.get("Action") not in {"pass", "fail", "skip"}:
            continue
        if "Test" in event:
            ended[str(event.get("Package")), str(event["Test"])] = str(event["Action"])
        else:
            packages[str(event.get("Package"))] = str(event["Action"])
    parents = {(package, test.rpartition("/")[0]) for package, test in ended if "/" in test}
    outcomes = [action for key, action in ended.items() if key not in parents]
    failing = {package for (package, _), action in ended.items() if action == "fail"}
    broken = sum(1 for package, action in packages.items() if action == "fail" and package not in failing)
    return Count(outcomes.count("pass"), outcomes.count("fail") + broken, outcomes.count("skip"))
