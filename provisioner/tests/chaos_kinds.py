"""Kinds of operations whose effects are files, and which write down when they do what: for tests with real workers.

The folder RINGMASTER_CHAOS_FOLDER holds `world/` (one file per thing that was made) and `journal` (one line per event).
`chaos` belongs to no cluster.
"""

import json
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from backend.operations.models import Operation
from provisioner.operations import registry
from provisioner.operations.base import Done, OperationCode, Outcome, StepCode, StepContext, Wait

CHAOS = "chaos"
FOLDER = Path(os.environ["RINGMASTER_CHAOS_FOLDER"])
WORLD = FOLDER / "world"
JOURNAL = FOLDER / "journal"

# Groups of a plan; steps named the same differ by target.
PLAN = [["network"], ["machine@a", "machine@b", "machine@c"], ["boot@a", "boot@b", "boot@c"], ["secure"], ["prove"]]


def know_the_kinds() -> None:
    if registry.find(CHAOS) is None:
        registry.register(OperationCode(kind=CHAOS, steps=_STEPS))


def things(operation: Operation) -> set[str]:
    """The names of the files that the operation leaves when it succeeds."""
    return {f"{operation.id}.{step.name}.{step.target}" for step in operation.steps.all()}


def _thing(context: StepContext) -> Path:
    return WORLD / f"{context.operation.id}.{context.step.name}.{context.step.target}"


def _note(context: StepContext, event: str) -> None:
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


@contextmanager
def _written_down(context: StepContext, doing: str) -> Iterator[None]:
    _note(context, f"enter {doing}")
    time.sleep(random.uniform(0.005, 0.04))
    try:
        yield
        time.sleep(random.uniform(0.005, 0.04))
        if random.random() < 0.04:
            raise ConnectionError("the effect is there, the answer was lost")
    finally:
        _note(context, f"exit {doing}")


def _make(context: StepContext) -> Outcome:
    with _written_down(context, "do"):
        if not _thing(context).exists():
            _thing(context).touch(exist_ok=False)
            _note(context, "create")
    return Done()


def _boot(context: StepContext) -> Outcome:
    _make(context)
    if time.time() - _thing(context).stat().st_mtime < 0.8:
        return Wait(0.25, "the machine to boot", eta_seconds=0.8)
    return Done()


def _unmake(context: StepContext) -> Outcome:
    with _written_down(context, "undo"):
        _thing(context).unlink(missing_ok=True)
    return Done()


_STEPS = {name: StepCode(do=_make, undo=_unmake) for name in ("network", "machine", "secure", "prove")} | {
    "boot": StepCode(do=_boot, undo=_unmake)
}
