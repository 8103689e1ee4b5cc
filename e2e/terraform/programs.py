"""Running a real Terraform in a folder of its own, and reading what it says as a program would."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infra.local.layout import layout

HEAD = """
terraform {
  required_providers {
    ringmaster = { source = "ringmaster.internal/ringmaster/ringmaster" }
  }
}
"""


PROGRAM = "RINGMASTER_TERRAFORM"
"""Names another program than the first of terraform and tofu in the path."""


def program() -> str:
    """Raises RuntimeError when there is neither Terraform nor OpenTofu."""
    found = os.environ.get(PROGRAM) or shutil.which("terraform") or shutil.which("tofu")
    if found is None:
        raise RuntimeError("Install Terraform 1.11 or OpenTofu 1.11, or newer: these tests run it.")
    return found


@dataclass(frozen=True)
class Said:
    """What one command came to: exit code, and errors and warnings as (attribute, text) with the attribute dotted."""

    code: int
    errors: list[tuple[str, str]]
    warnings: list[tuple[str, str]]
    changes: dict[str, str]
    """By address: create, update, delete, replace, read ..."""
    text: str

    def error(self) -> str:
        return "\n".join(text for _, text in self.errors)

    def warning(self) -> str:
        return "\n".join(text for _, text in self.warnings)


@dataclass
class Terraform:
    folder: Path
    environment: Mapping[str, str]
    seconds: int = 300
    """How long one command may take."""
    ready: bool = field(default=False)

    def write(self, configuration: str) -> None:
        (self.folder / "main.tf").write_text(HEAD + configuration)
        if not self.ready:
            done = self._run("init", "-input=false", "-no-color")
            assert done.returncode == 0, done.stdout + done.stderr
            self.ready = True

    def plan(self, *words: str) -> Said:
        """Code 0: nothing to do; 2: something; 1: not possible."""
        return self._said("plan", "-detailed-exitcode", *words)

    def apply(self, *words: str) -> Said:
        return self._said("apply", "-auto-approve", *words)

    def destroy(self) -> Said:
        return self._said("destroy", "-auto-approve")

    def do(self, *words: str) -> str:
        """Any other command, which must succeed."""
        done = self._run(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def values(self, address: str) -> dict[str, Any]:
        """Of a resource or data source, as the state has them."""
        found = json.loads(self.do("show", "-json"))["values"]["root_module"]["resources"]
        values: dict[str, Any] = next(each["values"] for each in found if each["address"] == address)
        return values

    def interrupted(self, when: Callable[[], bool], then: Callable[[], None] = lambda: None) -> Said:
        """An apply that gets Ctrl-C as soon as something is so, and what happens when it has had it."""
        process = self._start("apply", "-auto-approve", "-input=false", "-json")
        while process.poll() is None and not when():
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        then()
        out, _ = process.communicate(timeout=60)
        return _read(process.returncode, out)

    def _said(self, command: str, *words: str) -> Said:
        done = self._run(command, "-input=false", "-json", *words)
        return _read(done.returncode, done.stdout)

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        process = self._start(*words)
        out, err = process.communicate(timeout=self.seconds)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def _start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            (program(), *words),
            cwd=self.folder,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def environment(url: str, token: str) -> dict[str, str]:
    settings = layout().terraform / "terraformrc"
    return {
        "PATH": os.environ["PATH"],
        "HOME": os.environ.get("HOME", "/"),
        "TF_CLI_CONFIG_FILE": str(settings),
        "TF_IN_AUTOMATION": "1",
        "CHECKPOINT_DISABLE": "1",
        "RINGMASTER_URL": url,
        "RINGMASTER_TOKEN": token,
    }


def _read(code: int, out: str) -> Said:
    """Terraform's machine-readable output: a JSON object a line."""
    told: dict[str, list[tuple[str, str]]] = {"error": [], "warning": []}
    changes = {}
    for line in out.splitlines():
        one = json.loads(line)
        if one["type"] == "diagnostic":
            found = one["diagnostic"]
            where = (found.get("snippet") or {}).get("code", "").strip().partition(" ")[0]
            told[found["severity"]].append((where, f"{found['summary']}\n{found.get('detail', '')}"))
        if one["type"] == "planned_change":
            changes[one["change"]["resource"]["addr"]] = one["change"]["action"]
    return Said(code, told["error"], told["warning"], changes, out)
