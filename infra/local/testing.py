"""`make test`: every runner, whatever the others found; one line at the end adds them up."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from infra.local import summary, system
from infra.local.layout import Layout, layout
from infra.local.summary import Count, ReportError


@dataclass(frozen=True)
class Part:
    """One runner. It writes the report itself."""

    name: str
    command: tuple[str, ...]
    cwd: Path
    report: Path
    variables: tuple[tuple[str, str], ...] = ()
    # Runs while the next part does: it waits for engines most of the time. What it says comes when it has ended.
    beside: bool = False
    # Run only when named: it takes long, or needs what `make setup` does not install.
    on_demand: bool = False


def parts(place: Layout, reports: Path) -> list[Part]:
    """All the runners, cheapest answers first."""
    root = place.checkout
    # What fails is run once more and named as such (decision 0046); a defect fails twice.
    pytest = (str(place.python), "-m", "pytest", "--reruns=1", "-r", "fER", "--durations=10", "--durations-min=20")
    unit, chaos, change = reports / "python.xml", reports / "chaos.xml", reports / "change.xml"
    slow, images = reports / "slow.xml", reports / "images.xml"
    npx = str(place.venv / "bin" / "npx")
    console, agent = reports / "console.xml", reports / "agent.jsonl"
    listing = [
        Part(
            "console",
            (npx, "vitest", "run", "--reporter=dot", "--reporter=junit", f"--outputFile.junit={console}"),
            root / "frontend",
            console,
        ),
        Part(
            "agent",
            (
                "go",
                "tool",
                "gotestsum",
                "--format=pkgname",
                "--hide-summary=skipped",
                f"--jsonfile={agent}",
                "--rerun-fails=1",
                "--rerun-fails-run-root-test",
                "--packages=./...",
                "--",
                "-tags=engine",
                "-timeout=20m",
            ),
            root / "images" / "agent",
            agent,
            beside=True,
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
        # Real clusters for many minutes, and kits of very many steps.
        Part(
            "slow",
            (*pytest, "-m", "slow", "-v", f"--junitxml={slow}", "e2e", "provisioner", "infra"),
            root,
            slow,
            on_demand=True,
        ),
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
    for ended in _ended(chosen, environment):
        print(ended.said, end="", flush=True)
        count, complaint = _count(ended.part, ended.code)
        all_good = all_good and ended.code == 0 and not complaint and count.failed == 0
        total += count
        lines.append(f"{ended.part.name:<8} {count}  ({ended.seconds:.0f} s){complaint}")
    print("──", *lines, sep="\n", flush=True)
    print(total, flush=True)
    result.write_text(f"{total}\n")
    return 0 if all_good else 1


@dataclass(frozen=True)
class Ended:
    """A part that has run: with its exit code, how long it took, and what it said that was not shown yet."""

    part: Part
    code: int
    seconds: float
    said: str


def _ended(chosen: list[Part], environment: dict[str, str]) -> Iterator[Ended]:
    """Run the parts, in their order but for those that run beside the next one."""
    with ThreadPoolExecutor(max_workers=len(chosen) or 1) as threads:
        running: list[Future[Ended]] = []
        try:
            for part in chosen:
                print(f"── {part.name}: {' '.join(Path(word).name for word in part.command[:4])} …", flush=True)
                running.append(threads.submit(_run, part, environment))
                if part.beside and part is not chosen[-1]:
                    continue
                for one in running:
                    yield one.result()
                running.clear()
        except BaseException:
            # On Ctrl-C: threads would be waited for, and they for their programs.
            _end_all()
            raise


def _count(part: Part, code: int) -> tuple[Count, str]:
    """What the report says; a runner that failed without a failed test counts as one failure."""
    try:
        count = summary.read(part.report)
    except ReportError as error:
        return Count(failed=1), f"  {error}"
    if code != 0 and count.failed == 0:
        return count + Count(failed=1), f"  ended with {code}"
    return count, ""


_children: list[subprocess.Popen[str]] = []


def _run(part: Part, environment: dict[str, str]) -> Ended:
    began = time.monotonic()
    variables = {**environment, **dict(part.variables)}
    # A session of its own, so that on Ctrl-C all that the runner started can be ended, not only the runner.
    child = subprocess.Popen(
        part.command,
        cwd=part.cwd,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if part.beside else None,
        stderr=subprocess.STDOUT if part.beside else None,
        text=True,
        start_new_session=True,
    )
    _children.append(child)
    said = child.stdout.read() if child.stdout is not None else ""
    code = child.wait()
    _children.remove(child)
    return Ended(part, code, time.monotonic() - began, said)


def _end_all() -> None:
    """SIGINT for every runner and all that it started; SIGKILL after twenty seconds."""
    for child in list(_children):
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGINT)
    for child in list(_children):
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)


def _environment(place: Layout) -> dict[str, str]:
    home = system.java_home()
    # Dozens of processes import the same packages: compiled ones save each of them ten seconds.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {
        **inherited,
        **({} if home is None else {"JAVA_HOME": str(home)}),
        "PATH": f"{place.venv / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
        # Where the tests that start real engines find them.
        "RINGMASTER_CACHE_DIR": str(place.engines),
        "RINGMASTER_AGENT_BINARY": str(place.agent),
    }
