"""A worker with one more kind of operation, whose effects are files and which writes down when it does what.

    celery -A provisioner.tests.chaos_worker worker

The folder RINGMASTER_CHAOS_FOLDER holds `world/` (one file per thing that was made) and `journal` (one line per event).
"""

import json
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from celery import Celery, signals

from provisioner.worker import app as worker_app
from provisioner.worker import watchdog

KIND = "chaos"
FOLDER = Path(os.environ["RINGMASTER_CHAOS_FOLDER"])
WORLD = FOLDER / "world"
JOURNAL = FOLDER / "journal"

app: Celery = worker_app

# Groups of a plan; steps named the same differ by target.
PLAN = [["network"], ["machine@a", "machine@b", "machine@c"], ["boot@a", "boot@b", "boot@c"], ["secure"], ["prove"]]


@signals.worker_init.connect
def _know_the_kind(**_: object) -> None:
    from provisioner.operations import registry
    from provisioner.operations.base import Done, OperationCode, Outcome, StepCode, StepContext, Wait

    def thing(context: StepContext) -> Path:
        return WORLD / f"{context.operation.id}.{context.step.name}.{context.step.target}"

    @contextmanager
    def written_down(context: StepContext, doing: str) -> Iterator[None]:
        note(context, f"enter {doing}")
        time.sleep(random.uniform(0.005, 0.04))
        try:
            yield
            time.sleep(random.uniform(0.005, 0.04))
            if random.random() < 0.04:
                raise ConnectionError("the effect is there, the answer was lost")
        finally:
            note(context, f"exit {doing}")

    def note(context: StepContext, event: str) -> None:
        line = json.dumps(
            {
                "at": time.monotonic_ns(),
                "pid": os.getpid(),
                "operation": context.operation.id,
                "token": str(context.operation.lease_token),
                "step": context.step.position,
                "event": event,
            }
        )
        descriptor = os.open(JOURNAL, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line.encode() + b"\n")
        finally:
            os.close(descriptor)

    def make(context: StepContext) -> Outcome:
        with written_down(context, "do"):
            if not thing(context).exists():
                thing(context).touch(exist_ok=False)
                note(context, "create")
        return Done()

    def boot(context: StepContext) -> Outcome:
        make(context)
        if time.time() - thing(context).stat().st_mtime < 0.8:
            return Wait(0.25, "the machine to boot")
        return Done()

    def unmake(context: StepContext) -> Outcome:
        with written_down(context, "undo"):
            thing(context).unlink(missing_ok=True)
        return Done()

    steps = {name: StepCode(do=make, undo=unmake) for name in ("network", "machine", "secure", "prove")}
    registry.register(OperationCode(kind=KIND, steps=steps | {"boot": StepCode(do=boot, undo=unmake)}))


# A worker that never hears anything of itself, for the test of the watchdog.
if os.environ.get("RINGMASTER_CHAOS_DEAF"):
    watchdog.every, watchdog.deaf_after = 0.2, 1.0
    watchdog.heard = lambda: None  # type: ignore[method-assign]
