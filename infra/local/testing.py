"""`make test`: every runner, one after another, whatever the others found; one line at the end adds them up."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from infra.local import summary, system
from infra.local.layout import Layout, layout
from infra.local.summary import Count, ReportError


@dataclass(frozen=True)
class Part:
    """One runner. `to_report` pipes its output into the report (go), others write the report themselves."""

    name: str
    command: tuple[str, ...]
    cwd: Path
    report: Path
    variables: tuple[tuple[str, str], ...] = ()
    to_report: bool = False
    # Run only when named: it takes long, or needs what `make setup` does not install.
    on_demand: bool = False


def parts(place: Layout, reports: Path) -> list[Part]:
    """All the runners, cheapest answers first."""
    root = place.checkout
    pytest = (str(place.python), "-m", "pytest", "-p", "no:cacheprovider")
    unit, chaos, change = reports / "python.xml", reports / "chaos.xml", reports / "change.xml"
    slow, images = reports / "slow.xml", reports / "images.xml"
    npx = str(place.venv / "bin" / "npx")
    console = reports / "console.xml"
    listing = [
        Part(
            "console",
            (npx, "vitest", "run", "--reporter=dot", "--reporter=junit", f"--outputFile.junit={console}"),
            root / "frontend",
            console,
        ),
        Part(
            "agent",
            ("go", "test", "-tags", "engine", "-timeout", "20m", "-json", "./..."),
            root / "images" / "agent",
            reports / "agent.jsonl",
            to_report=True,
        ),
        Part(
            "python",
            (
                *pytest,
                "-n",
                "2",
                "--dist",
                "worksteal",
                "-m",
                "not chaos and not change and not slow and not images",
                f"--junitxml={unit}",
            ),
            root,
            unit,
        ),
        # Alone: it measures seconds and would blame its neighbours' load on the runner.
        Part("chaos", (*pytest, "-m", "chaos", f"--junitxml={chaos}"), root, chaos),
        # Alone too: an application's requests have time limits.
        Part("change", (*pytest, "-m", "change and not slow", f"--junitxml={change}", "e2e/change"), root, change),
        # Real clusters for many minutes.
        Part("slow", (*pytest, "-m", "slow", "-v", f"--junitxml={slow}", "e2e"), root, slow, on_demand=True),
        Part(
            "images",
            (*pytest, "-m", "images", "-v", f"--junitxml={images}", "images/machine"),
            root,
            images,
            on_demand=True,
        ),
    ]
    if (root / "e2e" / "playwright.config.ts").exists():
        listing.append(
            Part(
                "e2e",
                (npx, "playwright", "test", "--reporter=list,junit"),
                root / "e2e",
                reports / "e2e.xml",
                (("PLAYWRIGHT_JUNIT_OUTPUT_NAME", str(reports / "e2e.xml")),),
            )
        )
    return listing


def main() -> int:
    """Returns 0 when every part passed, 1 otherwise, 130 when interrupted."""
    parser = argparse.ArgumentParser(prog="test", description="Run the tests.")
    parser.add_argument("only", nargs="*", help="parts to run; default: all but slow and images")
    only = set(parser.parse_args().only)
    place = layout()
    reports = place.cache / "reports"
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir(parents=True)
    listing = parts(place, reports)
    unknown = only - {part.name for part in listing}
    if unknown:
        parser.error(
            f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(part.name for part in listing)}"
        )
    chosen = [part for part in listing if part.name in only or not (only or part.on_demand)]
    try:
        return _run_all(chosen, _environment(place), reports / "summary")
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130


def _run_all(chosen: list[Part], environment: dict[str, str], result: Path) -> int:
    total, lines, all_good = Count(), [], True
    for part in chosen:
        print(f"── {part.name}: {' '.join(Path(word).name for word in part.command[:4])} …", flush=True)
        began = time.monotonic()
        code = _run(part, environment)
        count, complaint = _count(part, code)
        good = code == 0 and not complaint and count.failed == 0
        all_good = all_good and good
        total += count
        lines.append(f"{part.name:<8} {count}  ({time.monotonic() - began:.0f} s){complaint}")
    print("──", *lines, sep="\n", flush=True)
    print(total, flush=True)
    result.write_text(f"{total}\n")
    return 0 if all_good else 1


def _count(part: Part, code: int) -> tuple[Count, str]:
    """What the report says; a runner that failed without a failed test counts as one failure."""
    try:
        count = summary.read(part.report)
    except ReportError as error:
        return Count(failed=1), f"  {error}"
    if code != 0 and count.failed == 0:
        return count + Count(failed=1), f"  ended with {code}"
    return count, ""


def _run(part: Part, environment: dict[str, str]) -> int:
    variables = {**environment, **dict(part.variables)}
    # A session of its own, so that on Ctrl-C all that the runner started can be ended, not only the runner.
    child = subprocess.Popen(
        part.command,
        cwd=part.cwd,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if part.to_report else None,
        text=True,
        start_new_session=True,
    )
    try:
        if child.stdout is not None:
            _copy_go(child.stdout.readline, part.report)
        return child.wait()
    except KeyboardInterrupt:
        os.killpg(child.pid, signal.SIGINT)
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
        raise


def _copy_go(read_line: Callable[[], str], report: Path) -> None:
    """Keep Go's events, and show the output of what failed and one line per package."""
    with report.open("w") as file:
        said: dict[tuple[str, str], list[str]] = {}
        while line := read_line():
            file.write(line)
            try:
                event = json.loads(line)
            except ValueError:
                print(line, end="", flush=True)
                continue
            key = (str(event.get("Package")), str(event.get("Test", "")))
            match event.get("Action"):
                case "output":
                    said.setdefault(key, []).append(str(event.get("Output", "")))
                case "build-output":
                    print(event.get("Output", ""), end="", flush=True)
                case "fail":
                    print("".join(said.pop(key, [])), end="", flush=True)
                case "pass" | "skip":
                    said.pop(key, None)


def _environment(place: Layout) -> dict[str, str]:
    home = system.java_home()
    return {
        **os.environ,
        **({} if home is None else {"JAVA_HOME": str(home)}),
        "PATH": f"{place.venv / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
        # Where the tests that start real engines find them.
        "RINGMASTER_CACHE_DIR": str(place.engines),
        "RINGMASTER_AGENT_BINARY": str(place.agent),
    }
