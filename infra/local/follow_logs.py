"""`make logs`: what the programs write, line by line as it comes, each behind its program's name."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from infra.local.layout import Layout

_POLL_SECONDS = 0.2
_BEGIN_BYTES = 2000  # of each log's end are shown first
_QUIET = {"postgres", "redis", "prometheus", "prometheus-history", "alertmanager"}  # shown only when they are asked for


def follow(place: Layout) -> int:
    """Print until interrupted. P=name,name in the environment chooses. Returns 1 when there is no such log."""
    wanted = {name for name in os.environ.get("P", "").split(",") if name}
    files = {path.stem: path for path in sorted(place.logs.glob("*.log"))}
    chosen = {name: path for name, path in files.items() if (name in wanted if wanted else name not in _QUIET)}
    if not chosen:
        print(f"No such log. There are: {', '.join(files) or 'none yet'}", file=sys.stderr)
        return 1
    width = max(len(name) for name in chosen)
    tails = {name: _lines(path) for name, path in chosen.items()}
    while True:
        for name, tail in tails.items():
            for line in tail:
                if line is None:
                    break
                print(f"{name:>{width}} │ {line}", flush=True)
        time.sleep(_POLL_SECONDS)


def _lines(path: Path) -> Iterator[str | None]:
    """Endless: whole lines as they are written, None when there is none for now. Follows a log that is rotated."""
    file: TextIO = path.open(errors="replace")
    file.seek(max(0, path.stat().st_size - _BEGIN_BYTES))
    if file.tell():
        file.readline()
    unfinished = ""
    while True:
        text = file.readline()
        if text.endswith("\n"):
            yield (unfinished + text).rstrip("\n")
            unfinished = ""
            continue
        unfinished += text
        if not text and _is_replaced(path, file):
            file.close()
            file = path.open(errors="replace")
        yield None


def _is_replaced(path: Path, file: TextIO) -> bool:
    try:
        status = path.stat()
    except FileNotFoundError:
        return False
    opened = os.fstat(file.fileno())
    return (status.st_dev, status.st_ino) != (opened.st_dev, opened.st_ino) or status.st_size < file.tell()
