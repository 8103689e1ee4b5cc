"""The kit passes a kind that keeps the rules and catches each one that breaks a rule."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from backend.operations.models import Operation
from provisioner.operations.base import Done, OperationCode, Outcome, StepCode, StepContext, Wait
from provisioner.operations.testing import (
    World,
    check_every_step_twice,
    check_failing_at_every_step_and_cancelled,
    check_killed_after_every_step,
    check_undo_twice,
)
from provisioner.tests import plans

pytestmark = pytest.mark.django_db(transaction=True)


@dataclass
class Shelf:
    """A world of things with counts."""

    things: dict[str, int] = field(default_factory=dict)
    closed: list[str] = field(default_factory=list)
    cancellable_until: int | None = None

    def start(self) -> Operation:
        return plans.start(["network"], ["machine@a", "machine@b"], ["ring"], cancellable_until=self.cancellable_until)

    def snapshot(self) -> object:
        return dict(self.things)

    def leftovers(self) -> list[str]:
        return sorted(self.things)


SHELF = Shelf()


def worlds(cancellable_until: int | None = None) -> Callable[[], object]:
    @contextmanager
    def fresh() -> Iterator[World]:
        SHELF.things.clear()
        SHELF.cancellable_until = cancellable_until
        yield SHELF

    return fresh


def name(context: StepContext) -> str:
    return f"{context.step.name} {context.step.target}".strip()


def make(context: StepContext) -> Outcome:
    if name(context) not in SHELF.things:
        SHELF.things[name(context)] = 1
        return Wait(30, "it to settle")
    return Done()


def unmake(context: StepContext) -> Outcome:
    SHELF.things.pop(name(context), None)
    return Done()


RULES_KEPT = StepCode(do=make, undo=unmake)
CODE = OperationCode(kind=plans.KIND, steps=dict.fromkeys(["network", "machine", "ring"], RULES_KEPT))


def with_step(step: str, code: StepCode) -> OperationCode:
    return replace(CODE, steps={**CODE.steps, step: code})


@pytest.mark.parametrize("cancellable_until", [None, 3, 0])
def test_a_kind_that_keeps_the_rules_passes(cancellable_until: int | None) -> None:
    fresh = worlds(cancellable_until)
    check_every_step_twice(CODE, fresh)
    check_killed_after_every_step(CODE, fresh)
    check_failing_at_every_step_and_cancelled(CODE, fresh)
    check_undo_twice(CODE, fresh)


def test_a_step_that_does_not_look_before_it_creates_is_caught() -> None:
    def blind(context: StepContext) -> Outcome:
        SHELF.things[name(context)] = SHELF.things.get(name(context), 0) + 1
        return Done()

    code = with_step("machine", StepCode(do=blind, undo=unmake))
    with pytest.raises(AssertionError, match="the second do of machine a"):
        check_every_step_twice(code, worlds())
    with pytest.raises(AssertionError, match="killed at do of step 1, after its effect"):
        check_killed_after_every_step(code, worlds())


def test_a_step_without_undo_that_leaves_something_is_caught() -> None:
    code = with_step("network", StepCode(do=make))
    with pytest.raises(AssertionError, match="left behind: network"):
        check_failing_at_every_step_and_cancelled(code, worlds())
    with pytest.raises(AssertionError, match="left behind: network"):
        check_undo_twice(code, worlds())


def test_an_undo_that_fails_when_there_is_nothing_to_undo_is_caught() -> None:
    def fragile(context: StepContext) -> Outcome:
        del SHELF.things[name(context)]
        return Done()

    code = with_step("ring", StepCode(do=make, undo=fragile))
    with pytest.raises(AssertionError, match="does not end"):
        check_failing_at_every_step_and_cancelled(code, worlds())
    with pytest.raises((AssertionError, KeyError)):
        check_undo_twice(code, worlds())


def test_a_step_that_never_ends_is_caught() -> None:
    code = with_step("ring", StepCode(do=lambda context: Wait(1, "for ever")))
    with pytest.raises(AssertionError, match="does not end"):
        check_every_step_twice(code, worlds())


def test_what_happens_at_the_end_happens_once_even_when_killed_there() -> None:
    def count(operation: Operation) -> None:
        Operation.objects.filter(id=operation.id).update(actor=operation.actor + "+")

    check_killed_after_every_step(replace(CODE, on_succeeded=count), worlds())
    assert set(Operation.objects.values_list("actor", flat=True)) == {"tests+"}
