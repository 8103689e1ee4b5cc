"""What an operation is made of. The rules are in docs/operations.md; the runner (provisioner/runner.py) obeys them.

A step is a function. It makes one outside change, looks before it creates, derives names instead of remembering them,
returns in seconds and never sleeps. It answers `Done` or `Wait`; it raises `Blocked` when a person must decide; any
other exception means: shown, backed off, tried again. Steps may be run twice at any time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from backend.operations.models import Operation, OperationStep


@dataclass(frozen=True)
class Done:
    """The step's world is as wanted. `output` holds small facts for later steps and is stored; never a secret."""

    message: str = ""
    output: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Wait:
    """Not yet: look again in `seconds`. `progress` is 0 to 1 within this step.

    `eta_seconds`: in how many seconds the step will probably be done, where something outside tells (an engine that
    streams does); None: not known, and the usual time of the whole operation is what is shown.
    """

    seconds: float
    what_for: str
    progress: float | None = None
    eta_seconds: float | None = None


@dataclass(frozen=True)
class Standing:
    """In answer to `StepContext.pause_wanted`: nothing that this step began runs any more, so the operation may stand
    still here for hours. When it goes on, the step is called again.
    """

    message: str


class Blocked(Exception):
    """A person must decide: retry or cancel. The words are shown as they are."""

    def __init__(self, code: str, sentence: str, hint: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence
        self.hint = hint


Outcome = Done | Wait | Standing


@dataclass(frozen=True, kw_only=True)
class StepContext:
    """What a step function gets: the rows as read under the lease. Step functions do not write to them."""

    operation: Operation
    step: OperationStep
    plan: Sequence[OperationStep] = ()
    pause_wanted: bool = False
    """Somebody wants it to stand still. A long step begins nothing more, and answers `Standing` at last."""

    def output(self, name: str, target: str = "") -> Mapping[str, Any]:
        """What an earlier step of this operation stored with `Done.output`; empty when it is not done."""
        for step in self.plan:
            if step.name == name and step.target == target:
                outcome: Mapping[str, Any] = step.output
                return outcome
        return {}


StepFunction = Callable[[StepContext], Outcome]


@dataclass(frozen=True, kw_only=True)
class StepCode:
    """How to do a step and how to take it back. `undo` None: there is nothing to take back."""

    do: StepFunction
    undo: StepFunction | None = None


@dataclass(frozen=True, kw_only=True)
class OperationCode:
    """The code behind one kind of operation: its steps by name, and what happens to the target at the end.

    `on_cancelled` and `on_succeeded` are plain database writes; the runner calls them inside the transaction that
    closes the operation.
    """

    kind: str
    steps: Mapping[str, StepCode]
    on_succeeded: Callable[[Operation], None] | None = None
    on_cancelled: Callable[[Operation], None] | None = None
