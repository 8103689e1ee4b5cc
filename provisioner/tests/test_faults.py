"""docs/faults.md has a line for every fault of the catalogue, and every test that it names exists."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINE = re.compile(r"^\| F-(\d\d) \| [^|]+ \| (.+) \|$", re.MULTILINE)
TEST = re.compile(r"`([\w/.]+\.py)::(\w+)`")


def lines() -> dict[int, str]:
    return {int(number): answer for number, answer in LINE.findall((ROOT / "docs" / "faults.md").read_text())}


def test_every_fault_has_one_line() -> None:
    text = (ROOT / "docs" / "faults.md").read_text()
    assert [text.count(f"| F-{number:02} |") for number in range(1, 56)] == [1] * 55
    assert sorted(lines()) == list(range(1, 56))


def test_every_test_that_is_named_exists() -> None:
    named = [found for answer in lines().values() for found in TEST.findall(answer)]
    missing = [f"{path}::{name}" for path, name in named if not _exists(ROOT / path, name)]
    assert missing == []


def test_every_line_names_a_test_or_says_why_not() -> None:
    bare = [number for number, answer in lines().items() if not TEST.search(answer) and len(answer.split()) < 2]
    assert bare == []


def _exists(path: Path, name: str) -> bool:
    return path.exists() and re.search(rf"^\s*(async )?def {name}\(", path.read_text(), re.MULTILINE) is not None
