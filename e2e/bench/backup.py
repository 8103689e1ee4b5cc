"""MB/s of a first backup of about 1 GB to a folder, against a plain copy of the same files with two threads.

Ours is what a node does from the snapshot to the last stored object: flush and link, hash, encrypt, store, with every
object made to last on the disk. The copy reads the same files and writes them beside, made to last too. Both read from
the page cache and write to the same disk, in turn. Also: a backup of what has not changed, and CPU of the agent; and
cassandra-medusa of the same table to a folder beside, with two transfers at once, neither encrypted nor made to last.
Prints one JSON object as its last line; `ratio` is ours divided by the copy, in MB/s.

    python -m e2e.bench.backup [--pairs 3] [--mebibytes 1024]
"""

import argparse
import base64
import json
import os
import shutil
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from e2e.bench.one_node import KEYSPACE, TABLE, OneNode, files_of, fill, one_node
from e2e.medusa import VERSION, CannotInstall, Medusa

LEAST_RATIO = 0.85
LEAST_OF_MEDUSA = 3.0
MOST_UNCHANGED_SECONDS = 0.5
ENCRYPTION = {"key": base64.b64encode(bytes(range(32))).decode()}


def main() -> int:
    given = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    given.add_argument("--pairs", type=int, default=3)
    given.add_argument("--mebibytes", type=int, default=1024)
    options = given.parse_args()
    ours: list[float] = []
    copies: list[float] = []
    unchanged: list[float] = []
    cpu: list[float] = []
    theirs = Theirs()
    with tempfile.TemporaryDirectory(prefix="rm-bench-") as scratch, one_node(Path(scratch)) as node:
        fill(node, mebibytes=options.mebibytes)
        snapshot(node, "copied")
        files = files_of(node, "copied")
        size = sum(path.stat().st_size for path in files)
        for number in range(options.pairs):
            for side in ("ours", "copy") if number % 2 else ("copy", "ours"):
                settle()
                if side == "copy":
                    copies.append(size / copy(files, Path(scratch) / "copy") / 1e6)
                    continue
                before = node.cpu_seconds()
                store = Path(scratch) / "store"
                ours.append(size / back_up(node, f"first-{number}", store, first=True) / 1e6)
                cpu.append((node.cpu_seconds() - before) / (size / 1e9))
                unchanged.append(back_up(node, f"again-{number}", store, first=False))
                shutil.rmtree(store)
            theirs.run(node, Path(scratch) / "medusa", number, size)
            print(f"pair {number + 1}: ours {ours[-1]:.0f} MB/s, copy {copies[-1]:.0f} MB/s", flush=True)
    ratio = statistics.median(ours) / statistics.median(copies)
    figures = {
        "name": "backup",
        "ours": round(statistics.median(ours), 1),
        "other": round(statistics.median(copies), 1),
        "unit": "MB/s",
        "ratio": round(ratio, 3),
        "runs": options.pairs,
        "notes": (
            f"{size / 1e9:.2f} GB in {len(files)} files, a copy with two threads, both with fsync; "
            f"ours {min(ours):.0f}-{max(ours):.0f}, copy {min(copies):.0f}-{max(copies):.0f}; "
            f"unchanged {statistics.median(unchanged):.2f} s ({min(unchanged):.2f}-{max(unchanged):.2f}); "
            f"{statistics.median(cpu):.2f} CPU-s of the agent a GB; {theirs.said(statistics.median(ours))}"
        ),
    }
    print(json.dumps(figures))
    good = ratio >= LEAST_RATIO and statistics.median(unchanged) <= MOST_UNCHANGED_SECONDS
    return 0 if good and theirs.beaten(statistics.median(ours)) else 1


@dataclass
class Theirs:
    """Medusa's runs: MB/s of first backups, seconds of unchanged ones, CPU-seconds a GB."""

    first: list[float] = field(default_factory=list)
    unchanged: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    missing: str = ""

    def run(self, node: OneNode, place: Path, number: int, size: int) -> None:
        """A first backup in its differential mode, and another of what has not changed."""
        if self.missing:
            return
        try:
            medusa = medusa_of(node, place)
        except CannotInstall as error:
            self.missing = str(error)
            return
        settle()
        for turn in ("first", "again"):
            name = f"medusa-{number}-{turn}"
            seconds, began = snapshot(node, name), time.monotonic()
            used = medusa.back_up(name, mode="differential")
            seconds += time.monotonic() - began
            node.do("clear-snapshot", {"tag": name})
            if turn == "first":
                self.first.append(size / seconds / 1e6)
                self.cpu.append(used / (size / 1e9))
            else:
                self.unchanged.append(seconds)
        shutil.rmtree(place)

    def beaten(self, ours: float) -> bool:
        return not self.first or ours / statistics.median(self.first) >= LEAST_OF_MEDUSA

    def said(self, ours: float) -> str:
        if not self.first:
            return f"cassandra-medusa {VERSION} could not be installed: {self.missing}"
        first = statistics.median(self.first)
        return (
            f"cassandra-medusa {VERSION} {first:.0f} MB/s ({min(self.first):.0f}-{max(self.first):.0f}), ours "
            f"{ours / first:.2f} times that; unchanged {statistics.median(self.unchanged):.2f} s, "
            f"{statistics.median(self.cpu):.2f} CPU-s a GB"
        )


def medusa_of(node: OneNode, place: Path) -> Medusa:
    """Backs this node up to a folder in `place`. Raises CannotInstall."""
    place.mkdir(parents=True, exist_ok=True)
    authority = place / "authority.pem"
    authority.write_text(node.known.ca_certificate)
    return Medusa.of(
        place,
        place / "store",
        engine_settings=node.folder / "cassandra" / "conf" / "cassandra.yaml",
        address=node.known.contact_points[0],
        login=(node.known.username, node.known.password),
        authority=authority,
    )


def settle() -> None:
    """What was written before is on the disk before the next begins."""
    os.sync()
    time.sleep(1)


def snapshot(node: OneNode, tag: str) -> float:
    tables = [{"keyspace": KEYSPACE, "table": TABLE}]
    return node.do("snapshot", {"tag": tag, "ttl_seconds": 3600, "tables": tables})[1]


def back_up(node: OneNode, tag: str, store: Path, *, first: bool) -> float:
    """Seconds of work. What is in the store already is not stored again, as the control plane does it."""
    if first:
        store.mkdir()
        (node.folder / "cassandra" / "backups" / "known.jsonl").unlink(missing_ok=True)
    seconds = snapshot(node, tag)
    seconds += node.do("index-snapshot", {"tag": tag, "encryption": ENCRYPTION})[1]
    began = time.monotonic()
    keys = [bundle.key for bundle in node.client.bundles(tag).items]
    new = [key for key in keys if not (store / "objects" / key[:2] / key).exists()]
    seconds += time.monotonic() - began
    if bool(new) != first:
        raise RuntimeError(f"{len(new)} of {len(keys)} bundles are new")
    if new:
        seconds += upload(node, tag, store, new)[1]
    node.do("clear-snapshot", {"tag": tag})
    return seconds


def upload(node: OneNode, tag: str, store: Path, keys: list[str]) -> tuple[dict[str, Any], float]:
    parameters = {
        "tag": tag,
        "store": {"kind": "folder", "folder": str(store)},
        "encryption": ENCRYPTION,
        "keys": keys,
        "parallel": 2,
    }
    return node.do("upload-bundles", parameters)


def copy(files: list[Path], to: Path) -> float:
    """Seconds for a copy of the files with two threads, each made to last."""
    to.mkdir()
    began = time.monotonic()
    with ThreadPoolExecutor(2) as threads:
        # The largest first, as ours does it.
        list(threads.map(lambda path: _copy(path, to), sorted(files, key=lambda path: -path.stat().st_size)))
    seconds = time.monotonic() - began
    shutil.rmtree(to)
    return seconds


def _copy(path: Path, to: Path) -> None:
    target = to / path.name
    shutil.copyfile(path, target)
    descriptor = os.open(target, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


if __name__ == "__main__":
    raise SystemExit(main())
