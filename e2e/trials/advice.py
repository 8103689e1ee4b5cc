"""A piece of advice from real numbers, applied and taken back, with what changed measured: on real nodes.

A table of rows of a KiB has chunks of 64 KiB and is read at random. The advisor must find that from the metrics, the
dry run say what would be done, applying do it (64 to 4 KiB, files written anew), and undoing put it back. Before and
after, the same reads are measured twice, by two clients that ask one after another at LOCAL_ONE:

- `cached`: the table's files are in the page cache. What a read costs is CPU, to unpack a chunk.
- `uncached`: the page cache is emptied of the table's files all the time (posix_fadvise), as if data were much larger
  than memory. The disk is this machine's; what it does for others is not counted, only what the engines ask of it.

The nodes share this machine with each other and the clients: throughput is that of all of them together. Ends with one
line of JSON; exit code 1 if anything is off.

    python -m e2e.trials.advice
"""

import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import psutil

from e2e.product import change, follow, order, product
from e2e.trials.application import Connecting
from e2e.trials.clusters import connecting
from e2e.trials.load import KEYSPACE, Load, fill, percentile, side_by_side
from e2e.trials.told import next_span

_TABLE = "items"
_ENGINE = "org.apache.cassandra.service.CassandraDaemon"
_CLIENTS, _NO_PACE = 2, 1e6
_SPAN_SECONDS, _CACHED_SECONDS = 90, 15.0
# Of a client's process until its first request, and at its end: on a busy machine.
_STARTING_SECONDS = 15.0
_EVICT_SECONDS = 0.02
_CHARTS = ["table-read-latency", "table-memory", "table-size"]


@dataclass(frozen=True)
class Reads:
    """As the clients saw them; of the engines the CPU, and what they had the disk read, for each."""

    per_second: float
    p50_ms: float
    p99_ms: float
    engine_cpu_ms: float
    disk_kib: float


@dataclass(frozen=True)
class Measured:
    """`replica_…`: of the uncached reads, as the table's page tells. `off_heap_bytes`: of all nodes, for chunks."""

    cached: Reads
    uncached: Reads
    replica_p50_ms: float
    replica_p99_ms: float
    off_heap_bytes: float


@dataclass(frozen=True)
class Ground:
    api: httpx.Client
    cluster: str
    known: Connecting
    run: Path

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        answer = self.api.post(f"/clusters/{self.cluster}{path}", json=body)
        found: dict[str, Any] = answer.raise_for_status().json()
        return found

    def ask(self, path: str, **query: Any) -> dict[str, Any]:
        answer = self.api.get(f"/clusters/{self.cluster}{path}", params=query)
        found: dict[str, Any] = answer.raise_for_status().json()
        return found

    def chunk(self) -> str:
        """What the engine says, read anew."""
        self.review()
        options = self.ask(f"/tables/{KEYSPACE}/{_TABLE}/schema")["options"]
        [compression] = [one["value"] for one in options if one["name"] == "compression"]
        return str(compression["chunk_length_in_kb"])

    def review(self) -> None:
        self.post("/advice/review")
        while self.ask("/advice")["review"]["waiting"]:
            time.sleep(0.5)

    def advice(self) -> dict[str, Any] | None:
        items = self.ask("/advice", keyspace=KEYSPACE, table=_TABLE)["items"]
        return next((one for one in items if one["rule"] == "chunk-length"), None)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="rm-advice-") as scratch:
        run = Path(scratch) / "run"
        with product(run) as api:
            cluster, _ = order(api)
            known = replace(connecting(api, cluster), consistency="LOCAL_ONE")
            found = _tried(Ground(api, cluster, known, run))
    print(json.dumps({"trial": "advice", **found}))
    return 0 if found["good"] else 1


def _tried(here: Ground) -> dict[str, Any]:
    fill(replace(here.known, consistency="QUORUM"), [_TABLE])
    follow(here.api, change(here.api, here.cluster, "run_command", command="flush", keyspace=KEYSPACE, table=_TABLE))
    before = _measured(here)
    here.review()
    advice = here.advice()
    if advice is None:
        raise RuntimeError(f"nothing was advised: {here.ask('/advice')}")
    path = f"/advice/{advice['id']}"
    plan = here.post(f"{path}/plan", rewrite=True)
    untouched = here.chunk()
    applied_seconds, made = _done(here, f"{path}/apply")
    chunk = here.chunk()
    gone = here.advice() is None
    after = _measured(here)
    undo_plan = here.post(f"/table-changes/{made}/undo/plan", rewrite=True)
    undone_seconds, _ = _done(here, f"/table-changes/{made}/undo")
    back = here.chunk()
    again = here.advice()
    checks = {
        "the dry run is possible and changes nothing": plan["possible"] and untouched == "64",
        "it is applied": chunk == "4" and gone,
        "the way back is possible": undo_plan["possible"],
        "it is taken back, and advised again": back == "64" and again is not None,
        "less is read from the disk": after.uncached.disk_kib < before.uncached.disk_kib / 2,
        "the bytes off the heap are what was foretold": 8 <= after.off_heap_bytes / before.off_heap_bytes <= 20,
    }
    return {
        "good": all(checks.values()),
        "off": [name for name, holds in checks.items() if not holds],
        "finding": advice["finding"],
        "cost": advice["cost"],
        "statement": plan["statement"],
        "way_back": plan["way_back"],
        "before": asdict(before),
        "after": asdict(after),
        "applied_seconds": applied_seconds,
        "undone_seconds": undone_seconds,
    }


def _done(here: Ground, path: str) -> tuple[float, str]:
    """The change is ordered and waited for: the seconds it took, and its id."""
    began = time.monotonic()
    started = here.post(path, rewrite=True)
    follow(here.api, started["operation"]["id"])
    return round(time.monotonic() - began, 1), str(started["change"]["id"])


def _measured(here: Ground) -> Measured:
    _read(here, _CACHED_SECONDS)
    cached = _read(here, _CACHED_SECONDS)
    with _without_page_cache(here.run):
        span = next_span(_SPAN_SECONDS)
        span.wait()
        uncached = _read(here, span.work_seconds - _STARTING_SECONDS)
    told = span.told(here.api, here.cluster, (KEYSPACE, _TABLE), ["table-read-latency", "table-memory"])
    return Measured(
        cached=cached,
        uncached=uncached,
        replica_p50_ms=round(1e3 * (told["table-read-latency p50"] or 0), 3),
        replica_p99_ms=round(1e3 * (told["table-read-latency p99"] or 0), 3),
        off_heap_bytes=told["table-memory compression"] or 0.0,
    )


def _read(here: Ground, seconds: float) -> Reads:
    before = _used(here.run)
    load = Load(shape=_TABLE, seconds=seconds, per_second=_NO_PACE, write_share=0)
    found = side_by_side(here.known, [load] * _CLIENTS)
    after = _used(here.run)
    reads = [sample for one in found for sample in one["read"]]
    return Reads(
        per_second=round(len(reads) / seconds, 1),
        p50_ms=round(1e3 * percentile(reads, 0.5), 3),
        p99_ms=round(1e3 * percentile(reads, 0.99), 3),
        engine_cpu_ms=round(1e3 * (after[0] - before[0]) / len(reads), 3),
        disk_kib=round((after[1] - before[1]) / 1024 / len(reads), 2),
    )


def _used(run: Path) -> tuple[float, float]:
    """CPU seconds of the engines of this product, and bytes that they had the disk read."""
    cpu, read = 0.0, 0.0
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if _ENGINE in words and any(str(run) in word for word in words):
            times = process.cpu_times()
            cpu += times.user + times.system
            read += process.io_counters().read_bytes
    return cpu, read


@contextmanager
def _without_page_cache(run: Path) -> Iterator[None]:
    """The table's files are dropped from the page cache again and again, until the block ends."""
    over = threading.Event()

    def evict() -> None:
        opened: dict[Path, int] = {}
        try:
            while not over.wait(_EVICT_SECONDS):
                if not opened:
                    found = (run / "machines").glob(f"*/data/**/{KEYSPACE}/{_TABLE}-*/*-Data.db")
                    opened = {path: os.open(path, os.O_RDONLY) for path in found}
                for file in opened.values():
                    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            for file in opened.values():
                os.close(file)

    thread = threading.Thread(target=evict, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


if __name__ == "__main__":
    sys.exit(main())
