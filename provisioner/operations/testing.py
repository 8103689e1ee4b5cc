"""What every kind of operation must stand: the checks of docs/operations.md, for any kind, in one process.

A kind plugs in with its `OperationCode` and a way to make worlds:

    @contextmanager
    def fresh() -> Iterator[World]: ...            # a fake provider, fake agents, rows

    def test_every_step_run_twice(): check_every_step_twice(CODE, fresh)

The real runner runs against the real database (tests need `django_db(transaction=True)`). Waiting is skipped: what is
due later is made due at once. A worker is killed by `Killed`, which no step and no runner catches, after which its
lease is made to end. Steps run one at a time, so that a snapshot shows the effect of one step.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Protocol

from django.db.models.functions import Now

from backend.operations.models import Operation, OperationStep
from backend.operations.states import FINISHED, OPEN, OperationState, StepState
from provisioner import runner
from provisioner.operations.base import Done, OperationCode, Outcome, StepCode, StepContext, StepFunction
from provisioner.runner import Limits

# More calls of the runner than any operation needs: past this it is going round in circles.
_MOST_ROUNDS = 200
_LIMITS = Limits(nap=0.0, threads=1, lease=60.0, budget=30.0, barren_claims=10_000)


class World(Protocol):
    """One installation with nothing in it but what the operation needs to begin."""

    def start(self) -> Operation:
        """Order the operation; called once per world."""
        ...

    def snapshot(self) -> object:
        """Everything the operation can change, comparable with `==` with that of another world in the same state.

        So without times and without random ids: names, counts and states.
        """
        ...

    def leftovers(self) -> list[str]:
        """What is there now, outside and in rows, that was not there before `start`; history does not count."""
        ...


Worlds = Callable[[], AbstractContextManager[World]]


@dataclass(frozen=True)
class _Quiet:
    """What a run that nothing disturbed has shown. `late` are the steps from which on cancelling is refused."""

    snapshot: object
    positions: list[int]
    late: list[int]

    @property
    def early(self) -> list[int]:
        return [position for position in self.positions if position not in self.late]


_quiet_runs: dict[tuple[str, Worlds], _Quiet] = {}


class Killed(BaseException):
    """The worker dies here."""


class AnswerLost(Exception):
    """The call failed on the way there, or its answer on the way back."""


class _RuleBroken(BaseException):
    """Found while a step ran. Not an Exception, which the runner would take for a failing step and try again."""


class Moment(StrEnum):
    BEFORE = "before its effect"
    AFTER = "after its effect, before it was recorded"


class _Doing(StrEnum):
    DO = "do"
    UNDO = "undo"


_Around = Callable[[_Doing, StepContext, StepFunction], Outcome]


def check_every_step_twice(code: OperationCode, worlds: Worlds) -> None:
    """Every finished step is called once more; the world must not notice."""
    with worlds() as world:
        operation = world.start()
        _drive(operation, _with(code, _twice(world, _Doing.DO)))
        _expect_state(operation, OperationState.SUCCEEDED, "with every step run twice")


def check_killed_after_every_step(code: OperationCode, worlds: Worlds) -> None:
    """The worker is killed after the effect of every step, before it was recorded, and while it closes the operation.

    A kill before an effect leaves what the step before has left, which the runner's own tests and failing steps cover.
    One operation stands all the kills; one that does not goes through them one by one, to tell which it was.
    """
    quiet = _undisturbed(code, worlds)

    def check(strikes: list[_Strike]) -> None:
        when = f"killed at {_names(strikes)} and while closing"
        with worlds() as world:
            operation = world.start()
            _drive(operation, _killed_while_closing(_with(code, _each(strikes))))
            missed = [strike.position for strike in strikes if strike.struck != 1]
            _expect(not missed, f"steps {missed} were never reached")
            _expect_state(operation, OperationState.SUCCEEDED, when)
            _expect_same(quiet.snapshot, world.snapshot(), when)

    _together_or_one_by_one(check, lambda: [_death(_Doing.DO, position) for position in quiet.positions])


def check_failing_at_every_step_and_cancelled(code: OperationCode, worlds: Worlds, *, again: bool = False) -> None:
    """Every step in turn fails for good, before its effect and with its answer lost; then a person cancels.

    The world must be as it was. Past the point of no return cancelling is refused: there the step recovers and the
    operation must end well. `again`: what was cancelled can be ordered again in the same world, and is.
    """
    quiet = _undisturbed(code, worlds)

    def check_cancelled(world: World, failing: _Strike) -> None:
        when = f"failing at {failing}, then cancelled"
        operation = world.start()
        _drive(operation, _with(code, failing.around), until=failing.has_struck_twice)
        _expect(failing.has_struck_twice(), f"step {failing.position} was never reached")
        _cancel(operation)
        _drive(operation, _with(code, failing.around))
        _expect_state(operation, OperationState.CANCELLED, when)
        _expect_nothing_left(world, when)

    def check_carried_on(strikes: list[_Strike]) -> None:
        when = f"failing at {_names(strikes)}, too late to cancel"
        with worlds() as world:
            operation = world.start()
            _drive(operation, _with(code, _each(strikes)), until=strikes[0].has_struck_twice)
            _cancel(operation)
            _drive(operation, _with(code, _each(strikes)))
            missed = [strike.position for strike in strikes if not strike.has_struck_twice()]
            _expect(not missed, f"steps {missed} were never reached")
            _expect_state(operation, OperationState.SUCCEEDED, when)
            _expect_same(quiet.snapshot, world.snapshot(), when)

    failing = [
        _Strike(_Doing.DO, position, moment, AnswerLost, times=_MOST_ROUNDS)
        for position in quiet.early
        for moment in Moment
    ]
    for together in [failing] if again else [[one] for one in failing]:
        with worlds() as world:
            for one in together:
                check_cancelled(world, one)
    for moment in Moment:
        _together_or_one_by_one(check_carried_on, partial(_fail_twice, quiet.late, moment))


def check_undo_twice(code: OperationCode, worlds: Worlds) -> None:
    """Cancelled as late as can be, every finished undo is called once more; then the world must be as it was.

    Also with the worker killed after every undo, before it was recorded: as in `check_killed_after_every_step`. A kind
    that cannot be cancelled passes.
    """
    early = _undisturbed(code, worlds).early
    if not early:
        return
    with worlds() as world:
        operation = world.start()
        _run_up_to(operation, code, early[-1])
        _drive(operation, _with(code, _twice(world, _Doing.UNDO)))
        _expect_state(operation, OperationState.CANCELLED, "with every undo run twice")
        _expect_nothing_left(world, "with every undo run twice")

    def check(strikes: list[_Strike]) -> None:
        when = f"killed at {_names(strikes)}"
        with worlds() as world:
            operation = world.start()
            _run_up_to(operation, code, early[-1])
            _drive(operation, _with(code, _each(strikes)))
            _expect_state(operation, OperationState.CANCELLED, when)
            _expect_nothing_left(world, when)

    _together_or_one_by_one(check, lambda: [_death(_Doing.UNDO, position) for position in early])


@dataclass
class _Strike:
    """Raises `error` at one moment of one step, `times` times."""

    doing: _Doing
    position: int
    moment: Moment
    error: type[BaseException]
    times: int = 1
    struck: int = 0

    def __str__(self) -> str:
        return f"{self.doing} of step {self.position}, {self.moment}"

    def has_struck_twice(self) -> bool:
        return self.struck > 1

    def around(self, doing: _Doing, context: StepContext, function: StepFunction) -> Outcome:
        mine = doing is self.doing and context.step.position == self.position and self.struck < self.times
        if mine and self.moment is Moment.BEFORE:
            self._strike()
        outcome = function(context)
        if mine and self.moment is Moment.AFTER:
            self._strike()
        return outcome

    def _strike(self) -> None:
        self.struck += 1
        raise self.error(str(self))


def _each(strikes: list[_Strike]) -> _Around:
    """Every one at its step."""
    of_step = {strike.position: strike for strike in strikes}

    def around(doing: _Doing, context: StepContext, function: StepFunction) -> Outcome:
        strike = of_step.get(context.step.position)
        return function(context) if strike is None else strike.around(doing, context, function)

    return around


def _together_or_one_by_one(check: Callable[[list[_Strike]], None], strikes: Callable[[], list[_Strike]]) -> None:
    """Worlds are dear: a world for each strike is made only when one world for all of them has found something."""
    try:
        if together := strikes():
            check(together)
    except AssertionError:
        for one in strikes():
            check([one])
        raise


def _death(doing: _Doing, position: int) -> _Strike:
    return _Strike(doing, position, Moment.AFTER, Killed)


def _fail_twice(positions: list[int], moment: Moment) -> list[_Strike]:
    return [_Strike(_Doing.DO, position, moment, AnswerLost, times=2) for position in positions]


def _names(strikes: list[_Strike]) -> str:
    return ", ".join(map(str, strikes))


def _twice(world: World, doing_twice: _Doing) -> _Around:
    def around(doing: _Doing, context: StepContext, function: StepFunction) -> Outcome:
        outcome = function(context)
        if doing is doing_twice and isinstance(outcome, Done):
            once = world.snapshot()
            again = function(context)
            name = f"{doing} of {context.step.name} {context.step.target}".strip()
            try:
                _expect(isinstance(again, Done), f"the second {name} is not done: {again}")
                _expect_same(once, world.snapshot(), f"the second {name}")
            except AssertionError as error:
                raise _RuleBroken(str(error)) from error
        return outcome

    return around


def _with(code: OperationCode, around: _Around) -> OperationCode:
    """The code with every call of a step going through `around`."""

    def through(doing: _Doing, function: StepFunction) -> StepFunction:
        return lambda context: around(doing, context, function)

    steps = {
        name: StepCode(
            do=through(_Doing.DO, step.do), undo=None if step.undo is None else through(_Doing.UNDO, step.undo)
        )
        for name, step in code.steps.items()
    }
    return replace(code, steps=steps)


def _killed_while_closing(code: OperationCode) -> OperationCode:
    """The code whose worker dies once after `on_succeeded`, before the transaction is committed."""
    lives = iter([Killed("while closing")])

    def on_succeeded(operation: Operation) -> None:
        if code.on_succeeded is not None:
            code.on_succeeded(operation)
        for death in lives:
            raise death

    return replace(code, on_succeeded=on_succeeded)


def _undisturbed(code: OperationCode, worlds: Worlds) -> _Quiet:
    """A quiet run. The checks of one kind, which name the same `worlds`, share one.

    Disturbed are, of the steps of one name, the first and the last: those on the nodes in between do the same again.
    """
    if (code.kind, worlds) in _quiet_runs:
        return _quiet_runs[code.kind, worlds]
    with worlds() as world:
        operation = world.start()
        _drive(operation, code)
        _expect_state(operation, OperationState.SUCCEEDED, "undisturbed")
        of_name: dict[str, list[int]] = {}
        for step in operation.steps.order_by("position"):
            of_name.setdefault(step.name, []).append(step.position)
        positions = sorted({end for several in of_name.values() for end in (several[0], several[-1])})
        late = [position for position in positions if not _can_be_cancelled(operation, position)]
        return _quiet_runs.setdefault((code.kind, worlds), _Quiet(world.snapshot(), positions, late))


def _run_up_to(operation: Operation, code: OperationCode, position: int) -> None:
    """Run until the step at `position` has had its effect, then ask to cancel."""
    reached = _Strike(_Doing.DO, position, Moment.AFTER, AnswerLost, times=_MOST_ROUNDS)
    _drive(operation, _with(code, reached.around), until=lambda: reached.struck > 0)
    _cancel(operation)


def _drive(operation: Operation, code: OperationCode, *, until: Callable[[], bool] = lambda: False) -> None:
    """Call the runner as workers would, without the waiting, until the end, a block, or `until`."""
    find_code = {code.kind: code}.get
    for _ in range(_MOST_ROUNDS):
        _let_time_pass(operation)
        try:
            runner.run(operation.id, find_code=find_code, limits=_LIMITS)
        except Killed:
            pass  # whoever comes next finds the lease ended
        except _RuleBroken as error:
            raise AssertionError(str(error)) from error
        operation.refresh_from_db()
        if operation.state in {*FINISHED, OperationState.BLOCKED} or until():
            return
    _expect(False, f"{operation.kind} does not end: {operation.reason or operation.state}")


def _let_time_pass(operation: Operation) -> None:
    rows = Operation.objects.filter(id=operation.id, state__in=OPEN, due_at__isnull=False)
    rows.update(due_at=Now(), lease_until=None)
    OperationStep.objects.filter(operation=operation, due_at__isnull=False).update(due_at=Now())


def _cancel(operation: Operation) -> None:
    Operation.objects.filter(id=operation.id, state__in=OPEN).update(cancel_requested_at=Now(), due_at=Now())


def _can_be_cancelled(operation: Operation, position: int) -> bool:
    """Whether it may still be cancelled once the step at `position`, and with it its group, has begun."""
    if operation.cancellable_until is None:
        return True
    group = OperationStep.objects.get(operation=operation, position=position).group
    begun = OperationStep.objects.filter(operation=operation, group__lte=group)
    return all(step.position < operation.cancellable_until for step in begun)


def _expect(condition: bool, otherwise: str) -> None:
    if not condition:
        raise AssertionError(otherwise)


def _expect_state(operation: Operation, state: OperationState, when: str) -> None:
    operation.refresh_from_db()
    if operation.state != state:
        steps = ", ".join(f"{s.position} {s.name} {s.state}" for s in operation.steps.exclude(state=StepState.PENDING))
        raise AssertionError(f"{when}: {operation.state} instead of {state}: {operation.reason} ({steps})")


def _expect_same(expected: object, found: object, when: str) -> None:
    _expect(expected == found, f"{when}: the world is different.\nexpected: {expected}\nfound:    {found}")


def _expect_nothing_left(world: World, when: str) -> None:
    left = world.leftovers()
    _expect(not left, f"{when}: left behind: {', '.join(left)}")
