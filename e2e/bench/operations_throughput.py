"""Durable steps per second: two workers on the fake provider against two bare loops of lease and advance.

Both sides make the same machines at the fake provider and commit once per step to the same Postgres with fsync on. Ours
are real Celery workers of one process each, rung by messages; a step is a step of the product: plan, activity log,
progress, events, fence. Rounds are interleaved. The notes give the same without the provider, where nothing but the
recording is left. Prints one JSON object as its last line.

    python -m e2e.bench.operations_throughput [--operations 100] [--steps 20] [--rounds 5]
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable

from e2e.bench.bare_loop import SCHEMA, network_spec
from e2e.bench.durable import Processes, Stores, durable_stores

WORKERS = 2
LEAST_RATIO = 0.5


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--operations", type=int, default=100)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with durable_stores() as stores:
        return run(stores, options.operations, options.steps, options.rounds)


def run(stores: Stores, operations: int, steps: int, rounds: int) -> int:
    from provisioner.providers.fake import FakeProvider, FakeSettings

    FakeProvider(FakeSettings(path=stores.folder / "provider.sqlite")).ensure_network(network_spec())
    processes = Processes(stores.folder)
    rates: dict[tuple[str, str], list[float]] = {}
    try:
        for number in range(rounds + 1):
            for what in ("machines", "nothing"):
                sides = [("ours", ours), ("bare", bare)]
                for side, measure in sides if number % 2 else reversed(sides):
                    seconds = measure(processes, what, operations, steps)
                    rate = operations * steps / seconds
                    if number:  # the first round warms the files
                        rates.setdefault((side, what), []).append(rate)
                    print(f"round {number}: {side}, {what}: {rate:.0f} steps/s", flush=True)
    finally:
        processes.end_all()
    medians = {key: statistics.median(values) for key, values in rates.items()}
    ratio = medians["ours", "machines"] / medians["bare", "machines"]
    without = medians["ours", "nothing"], medians["bare", "nothing"]
    print(
        json.dumps(
            {
                "name": "operations_throughput",
                "ours": round(medians["ours", "machines"], 1),
                "other": round(medians["bare", "machines"], 1),
                "unit": "durable steps per second",
                "ratio": round(ratio, 3),
                "runs": rounds,
                "notes": (
                    f"{operations} operations of {steps} steps per round, {WORKERS} processes on each side, fsync on; "
                    f"without the provider's work {without[0]:.0f} against {without[1]:.0f}, "
                    f"ratio {without[0] / without[1]:.2f}"
                ),
            }
        )
    )
    return 0 if ratio >= LEAST_RATIO else 1


def ours(processes: Processes, what: str, operations: int, steps: int) -> float:
    """Seconds from the first nudge until the last operation has succeeded. The workers are up and warm before."""
    from backend.operations.actions import _ring
    from backend.operations.models import Operation
    from provisioner.tests.plans import start

    names = [f"worker{number}" for number in range(WORKERS)]
    for name in names:
        processes.start_worker(name, concurrency=1)
    step = "machine" if what == "machines" else "nothing"

    def order(number: int) -> list[str]:
        return [start(*([step] for _ in range(steps)), kind="bench_machines").id for _ in range(number)]

    def drive(ids: list[str]) -> float:
        began = time.monotonic()
        for operation_id in ids:
            _ring(operation_id)
        _wait(lambda: not Operation.objects.filter(id__in=ids).exclude(state="succeeded").exists())
        return time.monotonic() - began

    drive(order(4))
    seconds = drive(order(operations))
    for name in names:
        processes.end(name)
    return seconds


def bare(processes: Processes, what: str, operations: int, steps: int) -> float:
    """Seconds from the rows being due until the last has advanced to its end. The loops are up and warm before."""
    from django.db import connection

    names = [f"loop{number}" for number in range(WORKERS)]
    with connection.cursor() as cursor:
        cursor.execute(SCHEMA)

        def drive(number: int) -> float:
            cursor.execute(
                "INSERT INTO bare SELECT gen_random_uuid()::text, 0, %s, NULL, NULL, now() FROM generate_series(1, %s)",
                [steps, number],
            )
            began = time.monotonic()

            def over() -> bool:
                cursor.execute("SELECT NOT EXISTS (SELECT 1 FROM bare WHERE due_at IS NOT NULL)")
                return bool(cursor.fetchone()[0])

            _wait(over)
            return time.monotonic() - began

        for name in names:
            processes.start(name, "e2e.bench.bare_loop", what)
        drive(4)
        seconds = drive(operations)
    for name in names:
        processes.end(name)
    return seconds


def _wait(over: Callable[[], bool]) -> None:
    while not over():
        time.sleep(0.02)


if __name__ == "__main__":
    sys.exit(main())
