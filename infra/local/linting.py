"""`make lint`: every check that needs no database, several at a time; all of them run whatever the others find."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from infra.local import generating
from infra.local.layout import Layout, layout

_STATICCHECK = "honnef.co/go/tools/cmd/staticcheck@v0.8.2"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ \\;]+)", re.MULTILINE)


@dataclass(frozen=True)
class Check:
    """A command that must succeed, or a function that returns complaints."""

    name: str
    command: tuple[str, ...] = ()
    cwd: Path | None = None
    function: Callable[[], str] | None = None


def checks(place: Layout) -> list[Check]:
    """All the checks, the slow ones first."""
    root = place.checkout
    tools = place.venv / "bin"
    agent = root / "images" / "agent"
    terraform = root / "infra" / "terraform-provider"
    python = str(place.python)
    compose = ("docker-compose",) if shutil.which("docker-compose") else ("docker", "compose")
    return [
        Check("mypy", (str(tools / "mypy"),), root),
        Check("go vet", ("go", "vet", "-tags", "engine,bench", "./..."), agent),
        Check("staticcheck", (*_staticcheck(agent), "-tags", "engine,bench", "./..."), agent),
        Check("go vet, Terraform", ("go", "vet", "./..."), terraform),
        Check("staticcheck, Terraform", (*_staticcheck(terraform), "./..."), terraform),
        Check("gofmt", function=lambda: _gofmt(agent, terraform, root / "infra" / "deploy" / "helm" / "tools")),
        Check("console", (str(tools / "npm"), "run", "--silent", "lint"), root / "frontend"),
        *([Check("e2e", (str(tools / "npm"), "run", "--silent", "lint"), root / "e2e")] if _has_lint(root) else []),
        Check("generated files", function=lambda: generating.out_of_date(place)),
        Check("migrations", (python, "-m", "backend.manage", "makemigrations", "--check", "--dry-run"), root),
        Check("ruff check", (str(tools / "ruff"), "check", "."), root),
        Check("ruff format", (str(tools / "ruff"), "format", "--check", "--quiet", "--diff", "."), root),
        Check("imports", (str(tools / "lint-imports"),), root),
        Check("shellcheck", ("shellcheck", *_shell_scripts(root)), root),
        Check("contract", (python, "-m", "infra.contract"), root),
        Check("docker-compose", (*compose, "--file", "docker-compose.yml", "config", "--quiet"), root),
        Check("locks", function=lambda: _locks(root)),
    ]


def main() -> int:
    """Returns 0 when all is well, 1 when a check complains, 130 when interrupted."""
    argparse.ArgumentParser(prog="lint", description=__doc__).parse_args()
    place = layout()
    environment = {
        **os.environ,
        "PATH": f"{place.venv / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
        # Throw-away values: nothing is run against a database here.
        "DJANGO_SETTINGS_MODULE": "backend.config.offline_settings",
    }
    children: set[subprocess.Popen[str]] = set()
    pool = ThreadPoolExecutor(max_workers=max(2, os.cpu_count() or 2))
    try:
        pending = [pool.submit(_run, check, environment, children) for check in checks(place)]
        failed = [name for future in as_completed(pending) if (name := future.result())]
    except KeyboardInterrupt:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in list(children):
            os.killpg(child.pid, signal.SIGTERM)
        print("\ninterrupted", file=sys.stderr)
        return 130
    print(f"lint: {', '.join(sorted(failed))} complained" if failed else "lint: all is well")
    return 1 if failed else 0


_printing = threading.Lock()


def _run(check: Check, environment: dict[str, str], children: set[subprocess.Popen[str]]) -> str:
    """Runs one check and shows how it went; returns its name when it complained, else nothing."""
    began = time.monotonic()
    if check.function is not None:
        output = check.function()
        good = not output
    else:
        output, good = _execute(check, environment, children)
    with _printing:
        print(f"  {'✓' if good else '✗'} {check.name:<16} {time.monotonic() - began:5.1f} s", flush=True)
        if not good:
            print("\n".join(f"      {line}" for line in output.strip().splitlines()), flush=True)
    return "" if good else check.name


def _execute(check: Check, environment: dict[str, str], children: set[subprocess.Popen[str]]) -> tuple[str, bool]:
    try:
        child = subprocess.Popen(
            check.command,
            cwd=check.cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        return f"{error.filename} is missing: run `make setup`", False
    children.add(child)
    output, _ = child.communicate()
    children.discard(child)
    return output, child.returncode == 0


def _staticcheck(agent: Path) -> tuple[str, ...]:
    """The version that the module pins as a tool, if it does."""
    pinned = "cmd/staticcheck" in (agent / "go.mod").read_text()
    return ("go", "tool", "staticcheck") if pinned else ("go", "run", _STATICCHECK)


def _gofmt(*folders: Path) -> str:
    """Names what is not formatted."""
    found = subprocess.run(("gofmt", "-l", *folders), capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return found.stdout + found.stderr


def _has_lint(root: Path) -> bool:
    package = root / "e2e" / "package.json"
    return package.exists() and '"lint"' in package.read_text()


def _shell_scripts(root: Path) -> list[str]:
    """Every committed file that begins like a shell script."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL
    )
    found = []
    for name in filter(None, listed.stdout.split("\0")):
        path = root / name
        if path.is_file() and not path.suffix.startswith((".py", ".ts", ".go", ".json", ".svg", ".png")):
            with path.open("rb") as file:
                line = file.readline(80)
            if re.match(rb"#!.*\b(sh|bash|dash)\b", line):
                found.append(name)
    return found


def _locks(root: Path) -> str:
    """All that pyproject.toml names is pinned, the same in both files: tests run what is delivered."""
    delivered = dict(_PIN.findall((root / "requirements.txt").read_text()))
    tested = dict(_PIN.findall((root / "requirements-dev.txt").read_text()))
    project = tomllib.loads((root / "pyproject.toml").read_text())
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    names = {re.split(r"[\[<>=~! ]", line, maxsplit=1)[0] for line in wanted}
    unpinned = [f"{name} is in pyproject.toml but not pinned; run `make lock`" for name in sorted(names - set(tested))]
    return "\n".join(
        unpinned
        + [
            f"{name}: {version} in requirements.txt, {tested.get(name)} in requirements-dev.txt; run `make lock`"
            for name, version in delivered.items()
            if tested.get(name) != version
        ]
    )
