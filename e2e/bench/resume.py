"""How long an operation stands still when the worker that holds it is shot, until another moves it on.

Ten operations run all the time on five real workers of two processes each. In every round the process that holds each
of them is sent SIGKILL at a moment of chance, and the time is taken until the next step of the operation begins under
another lease. Nobody may begin before the lease of the dead has ended. The other side is the bare loop of ten
processes with the same lease, each of which looks for due rows every second. Prints one JSON object as its
last line.

    python -m e2e.bench.resume [--kills 50] [--seed 1]
"""

import argparse
import json
import math
import os
import random
import signal
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from e2e.bench.bare_loop import SCHEMA
from e2e.bench.durable import Processes, Stores, durable_stores

AT_ONCE = 10
MOST_SECONDS = 10.0
FOR_EVER = 10**6  # steps of a bare row


@dataclass
class Journal:
    """Ticks as the workers write them, read as they come."""

    path: Path
    latest: dict[str, dict[str, Any]] = field(default_factory=dict)
    _read: int = 0

    def read(self) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        with self.path.open("rb") as file:
            file.seek(self._read)
            whole = file.read().rpartition(b"\n")
        self._read += len(whole[0]) + len(whole[1])
        fresh = [json.loads(line) for line in whole[0].splitlines()]
        self.latest.update({tick["operation"]: tick for tick in fresh})
        return fresh


@dataclass(frozen=True)
class Side:
    """One side: its journal, how to read a held lease, and how to replace what was shot.

    `lease` answers the token and the end (seconds since 1970) of the lease on an operation, or None.
    """

    name: str
    journal: Journal
    lease: Callable[[str], tuple[str, float] | None]
    replace: Callable[[int], None]


@dataclass
class Found:
    seconds: list[float] = field(default_factory=list)
    early: int = 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with durable_stores() as stores:
        processes = Processes(stores.folder)
        try:
            found = {}
            for start_side in (start_ours, start_bare):
                side = start_side(stores, processes)
                found[side.name] = shoot(side, options.kills, random.Random(options.seed))
        finally:
            processes.end_all()
    ours, bare = found["ours"], found["bare"]
    ratio = percentile(ours.seconds, 99) / percentile(bare.seconds, 99)
    print(
        json.dumps(
            {
                "name": "resume",
                "ours": round(percentile(ours.seconds, 99), 2),
                "other": round(percentile(bare.seconds, 99), 2),
                "unit": "seconds from SIGKILL until it moves on, p99",
                "ratio": round(ratio, 3),
                "runs": len(ours.seconds),
                "notes": (
                    f"medians {statistics.median(ours.seconds):.2f} and {statistics.median(bare.seconds):.2f} s; "
                    f"early take-overs {ours.early} and {bare.early}; lease 8 s on both sides"
                ),
            }
        )
    )
    return 0 if percentile(ours.seconds, 99) <= MOST_SECONDS and not ours.early else 1


def shoot(side: Side, kills: int, choose: random.Random) -> Found:
    """Kill holders, all ten at once, until `kills` of them were really holding; then see who moves on, and when."""
    found = Found()
    while len(found.seconds) < kills:
        _wait_until_all_run(side.journal)
        time.sleep(choose.uniform(0.0, 3.0))
        shot: dict[str, tuple[float, str, float]] = {}
        for operation in list(side.journal.latest):
            side.journal.read()
            tick, held = side.journal.latest[operation], side.lease(operation)
            if held is None or held[0] != tick["token"]:
                continue  # between two leases: nobody to shoot
            with suppress(ProcessLookupError):
                os.kill(tick["pid"], signal.SIGKILL)
                shot[operation] = (time.time(), *held)
                side.replace(tick["pid"])
        # Some gave their lease back with their last breath: that statement was on its way already. They held nothing.
        time.sleep(0.1)
        shot = {operation: one for operation, one in shot.items() if side.lease(operation) == one[1:]}
        deadline = time.monotonic() + 60
        while shot and time.monotonic() < deadline:
            for tick in side.journal.read():
                at, token, lease_until = shot.get(tick["operation"], (0.0, tick["token"], 0.0))
                if tick["token"] != token:
                    found.seconds.append(tick["at"] - at)
                    found.early += tick["at"] < lease_until
                    del shot[tick["operation"]]
            time.sleep(0.02)
        if shot:
            raise RuntimeError(f"{side.name}: {', '.join(shot)} did not move on within a minute")
        print(f"{side.name}: {len(found.seconds)} kills, slowest {max(found.seconds):.2f} s", flush=True)
    return found


def start_ours(stores: Stores, processes: Processes) -> Side:
    from django.db import connection

    from provisioner.tests.plans import start

    processes.start_beat()
    for number in range(AT_ONCE // 2):
        processes.start_worker(f"worker{number}", concurrency=2)
    for _ in range(AT_ONCE):
        start(["tick"], kind="bench_ticks")

    def lease(operation: str) -> tuple[str, float] | None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT lease_token::text, EXTRACT(EPOCH FROM lease_until)::float8 FROM operations_operation"
                " WHERE id = %s AND lease_until > now()",
                [operation],
            )
            row: tuple[str, float] | None = cursor.fetchone()
        return row

    def replaced_by_celery(pid: int) -> None:
        pass  # a Celery worker replaces its dead children itself

    return Side("ours", Journal(stores.folder / "ours.journal"), lease, replaced_by_celery)


def start_bare(stores: Stores, processes: Processes) -> Side:
    from django.db import connection

    for name in ("beat", *(f"worker{number}" for number in range(AT_ONCE // 2))):
        processes.end(name)
    with connection.cursor() as cursor:
        cursor.execute(SCHEMA)
        cursor.execute(
            "INSERT INTO bare SELECT gen_random_uuid()::text, 0, %s, NULL, NULL, now() FROM generate_series(1, %s)",
            [FOR_EVER, AT_ONCE],
        )
    loops = {processes.start(f"loop{n}", "e2e.bench.bare_loop", "ticks"): f"loop{n}" for n in range(AT_ONCE)}

    def lease(operation: str) -> tuple[str, float] | None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT lease_token::text, EXTRACT(EPOCH FROM lease_until)::float8 FROM bare"
                " WHERE id = %s AND lease_until > now()",
                [operation],
            )
            row: tuple[str, float] | None = cursor.fetchone()
        return row

    def replace(pid: int) -> None:
        name = loops.pop(pid)
        processes.end(name)
        loops[processes.start(name, "e2e.bench.bare_loop", "ticks")] = name

    return Side("bare", Journal(stores.folder / "bare.journal"), lease, replace)


def percentile(values: list[float], percent: int) -> float:
    """The smallest value that `percent` per cent of all do not exceed."""
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


def _wait_until_all_run(journal: Journal) -> None:
    seen: set[str] = set()
    deadline = time.monotonic() + 120
    while len(seen) < AT_ONCE:
        if time.monotonic() > deadline:
            raise RuntimeError(f"only {len(seen)} of {AT_ONCE} operations run: see the logs beside {journal.path}")
        seen |= {tick["operation"] for tick in journal.read()}
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
