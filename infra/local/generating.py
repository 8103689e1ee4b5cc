"""`make generate`: files that are made from others and committed all the same, because people read and compare them."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from infra.local.layout import Layout, layout


class GenerateError(RuntimeError):
    """A generator failed. The text is its output."""


@dataclass(frozen=True)
class Generator:
    """A command and what it writes: files, or folders that it owns. Later ones read what earlier ones wrote."""

    name: str
    command: tuple[str, ...]
    cwd: Path
    writes: tuple[Path, ...]


def generators(place: Layout) -> list[Generator]:
    """All of them, in order."""
    root = place.checkout
    python = str(place.python)
    return [
        Generator(
            "OpenAPI document",
            (python, "-m", "backend.manage", "export_openapi"),
            root,
            (root / "backend" / "openapi.json",),
        ),
        Generator(
            "console's client",
            (str(place.venv / "bin" / "npm"), "run", "--silent", "generate"),
            root / "frontend",
            (root / "frontend" / "src" / "api" / "__generated__",),
        ),
        Generator(
            "agent's types",
            (python, "-m", "provisioner.agent.generate", str(place.agent)),
            root,
            (root / "provisioner" / "agent" / "schema.py",),
        ),
    ]


def generate(place: Layout) -> None:
    """Run every generator. Raises GenerateError with the output of the first that fails."""
    environment = {
        **os.environ,
        "PATH": f"{place.venv / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}",
        "DJANGO_SETTINGS_MODULE": "backend.config.offline_settings",
    }
    for generator in generators(place):
        try:
            result = subprocess.run(
                generator.command,
                cwd=generator.cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
        except FileNotFoundError as error:
            raise GenerateError(f"{generator.name}: {error.filename} is missing: run `make setup`") from error
        if result.returncode != 0:
            raise GenerateError(f"{generator.name}: {' '.join(generator.command)}\n{result.stdout.strip()}")


def out_of_date(place: Layout) -> str:
    """Which committed files differ from what would be generated now; they are left as they are. Empty when none."""
    written = [path for generator in generators(place) for path in generator.writes]
    before = _contents(written)
    try:
        generate(place)
        after = _contents(written)
    except GenerateError as error:
        return str(error)
    finally:
        _put_back(before, _contents(written))
    changed = sorted(str(path) for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    return "\n".join(f"{path} is not what `make generate` makes" for path in changed)


def _contents(paths: list[Path]) -> dict[Path, bytes]:
    files = [file for path in paths for file in (path.rglob("*") if path.is_dir() else [path])]
    return {file: file.read_bytes() for file in files if file.is_file()}


def _put_back(before: dict[Path, bytes], after: dict[Path, bytes]) -> None:
    for path in after.keys() - before.keys():
        path.unlink()
    for path, content in before.items():
        if after.get(path) != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def main() -> int:
    """Returns 0, or 1 with the generator's output."""
    argparse.ArgumentParser(prog="generate", description=__doc__).parse_args()
    try:
        generate(layout())
    except GenerateError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0
