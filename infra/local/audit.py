"""`make audit`: asks the vulnerability databases of npm, PyPI and Go about what is delivered.

A database that cannot be asked is not one that knows of nothing: it is said, and `make audit` fails. CI goes on
without (`--when-asked`), because it also runs where no database is in reach; it fails for what is found.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from infra.local.layout import Layout, layout

_GOVULNCHECK = "golang.org/x/vuln/cmd/govulncheck@v1.1.4"
# Seconds, with what has to be fetched and built first.
_PATIENCE = 240
_SAYS_NOTHING = ("exit status", "npm error A complete log", "npm warn", "go: downloading")


class NotAskedError(RuntimeError):
    """The database did not answer. The text says why."""


@dataclass(frozen=True)
class Question:
    """`read` makes lines of what was found, from the answer; it raises ValueError, LookupError or TypeError for what is
    no answer.
    """

    name: str
    command: tuple[str, ...]
    cwd: Path
    read: Callable[[str], list[str]]


def questions(place: Layout) -> list[Question]:
    root = place.checkout
    npm, uv = str(place.venv / "bin" / "npm"), str(place.cache / "boot" / "bin" / "uv")
    pip_audit = ("pip-audit", "--require-hashes", "--disable-pip", "-r", "requirements.txt", "--format", "json")
    govulncheck = ("go", "run", _GOVULNCHECK, "-format", "json", "./...")
    return [
        Question("npm, console", (npm, "audit", "--omit=dev", "--json"), root / "frontend", npm_found),
        Question("PyPI, control plane", (uv, "tool", "run", *pip_audit), root, pypi_found),
        Question("Go, agent", govulncheck, root / "images" / "agent", go_found),
        Question("Go, Terraform provider", govulncheck, root / "infra" / "terraform-provider", go_found),
    ]


def npm_found(answer: str) -> list[str]:
    """Of `npm audit --json`."""
    found = json.loads(answer)["vulnerabilities"]
    return [f"{name} {each['range']}: {each['severity']}" for name, each in sorted(found.items())]


def pypi_found(answer: str) -> list[str]:
    """Of `pip-audit --format json`. Raises NotAskedError for packages that the database was not told of."""
    packages = json.loads(answer)["dependencies"]
    skipped = [each for each in packages if "skip_reason" in each]
    if skipped:
        raise NotAskedError(f"{len(skipped)} of {len(packages)} packages; {skipped[0]['skip_reason']}")
    return [f"{each['name']} {each['version']}: {bug['id']}" for each in packages for bug in each.get("vulns", [])]


def go_found(answer: str) -> list[str]:
    """Of `govulncheck -format json`, documents one after the other: what our code calls, not what lies beside it."""
    decoder, place, documents = json.JSONDecoder(), 0, []
    answer = answer.strip()
    while place < len(answer):
        document, place = decoder.raw_decode(answer, place)
        documents.append(document)
        while place < len(answer) and answer[place].isspace():
            place += 1
    if not documents:
        raise ValueError("nothing was said")
    found = [each["finding"] for each in documents if "finding" in each]
    called = [each for each in found if each["trace"][0].get("function")]
    return sorted({f"{each['trace'][0]['module']} {each['trace'][0]['version']}: {each['osv']}" for each in called})


def ask(question: Question) -> list[str]:
    """What is known of it. Raises NotAskedError."""
    try:
        done = subprocess.run(question.command, cwd=question.cwd, capture_output=True, text=True, timeout=_PATIENCE)
    except (subprocess.TimeoutExpired, OSError) as error:
        raise NotAskedError(str(error)) from error
    try:
        found = question.read(done.stdout)
    except (ValueError, LookupError, TypeError) as error:
        raise NotAskedError(_last_line(done.stderr) or _last_line(done.stdout) or "no answer") from error
    # All three end with another status than 0 when something is found, and when they cannot ask.
    if done.returncode != 0 and not found:
        raise NotAskedError(_last_line(done.stderr) or f"it ended with {done.returncode}")
    return found


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(_SAYS_NOTHING)]
    return lines[-1][:200] if lines else ""


def main() -> int:
    """Returns 1 when something was found, 2 when a database could not be asked and had to be."""
    parser = argparse.ArgumentParser(prog="audit", description=__doc__)
    parser.add_argument("--when-asked", action="store_true", help="do not fail for a database that cannot be asked")
    when_asked = parser.parse_args().when_asked
    any_found = any_silent = False
    for question in questions(layout()):
        try:
            found = ask(question)
        except NotAskedError as error:
            any_silent = True
            print(f"  ? {question.name}: NOT ASKED: {error}")
            continue
        any_found = any_found or bool(found)
        print(f"  {'✗' if found else '✓'} {question.name}: {len(found) or 'nothing'} known")
        for line in found:
            print(f"      {line}")
    return 1 if any_found else 2 if any_silent and not when_asked else 0


if __name__ == "__main__":
    sys.exit(main())
