"""A worker with two more kinds of operation, whose steps do as little as a step can.

`bench_machines`: every step makes a machine at the fake provider. `bench_ticks`: one step that never ends; a look at it
takes a fifth of a second and writes down who looked and under which lease.
"""

import json
import os
import time
from pathlib import Path

from celery import signals

from provisioner.worker import app

__all__ = ["MACHINES", "TICKS", "app", "write_tick"]

MACHINES = "bench_machines"
TICKS = "bench_ticks"
TICK_SECONDS = 0.2
FOLDER = Path(os.environ["RINGMASTER_BENCH_FOLDER"])


def write_tick(journal: Path, operation: str, token: str) -> None:
    """One line per tick; short enough that the kernel appends it whole."""
    line = json.dumps({"at": time.time(), "pid": os.getpid(), "operation": operation, "token": token})
    descriptor = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line.encode() + b"\n")
    finally:
        os.close(descriptor)


@signals.worker_init.connect
def _know_the_kinds(**_: object) -> None:
    from e2e.bench.bare_loop import machine_spec
    from provisioner.operations import registry
    from provisioner.operations.base import Done, OperationCode, Outcome, StepCode, StepContext, Wait
    from provisioner.providers.fake import FakeProvider, FakeSettings

    provider = FakeProvider(FakeSettings(path=FOLDER / "provider.sqlite"))

    def machine(context: StepContext) -> Outcome:
        made = provider.ensure_machine(machine_spec(context.operation.id, context.step.position))
        return Done(made.address)

    def tick(context: StepContext) -> Outcome:
        write_tick(FOLDER / "ours.journal", context.operation.id, str(context.operation.lease_token))
        time.sleep(TICK_SECONDS)
        return Wait(0, "the end of the benchmark")

    def nothing(context: StepContext) -> Outcome:
        return Done()

    steps = {"machine": StepCode(do=machine), "nothing": StepCode(do=nothing)}
    registry.register(OperationCode(kind=MACHINES, steps=steps))
    registry.register(OperationCode(kind=TICKS, steps={"tick": StepCode(do=tick)}))
