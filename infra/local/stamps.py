"""Skip work whose inputs have not changed since it was last done: a stamp holds the hash of what went in.

Standard library only: it is used before anything is installed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

_NOT_SOURCES = {"node_modules", "dist", "__pycache__", ".vite", "test-results", "playwright-report", "tests"}


def fingerprint(paths: Iterable[Path], *, facts: Iterable[str] = ()) -> str:
    """A hash over files (folders are walked, without build results and tests) and over `facts`, such as a version.

    Names count as well as contents; a path that does not exist counts as absent.
    """
    digest = hashlib.sha256()
    for fact in facts:
        digest.update(f"fact {fact}\0".encode())
    for path in paths:
        for file in _files(path):
            digest.update(f"file {file}\0".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif path.is_dir():
        for child in sorted(path.iterdir()):
            if child.name not in _NOT_SOURCES and not child.name.endswith((".pyc", ".tsbuildinfo")):
                yield from _files(child)


def is_current(folder: Path, name: str, value: str, outputs: Iterable[Path]) -> bool:
    """Whether `name` was last done with this very input and all that it makes is still there."""
    stamp = folder / name
    return stamp.is_file() and stamp.read_text() == value and all(output.exists() for output in outputs)


def record(folder: Path, name: str, value: str) -> None:
    """Note that `name` was done with this input."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(value)


def forget(folder: Path, name: str) -> None:
    """Note that `name` is being done: interrupted half-way, it must not pass for done."""
    (folder / name).unlink(missing_ok=True)
