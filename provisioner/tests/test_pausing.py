"""The runner pauses between groups, rings for those whose turn it is, and goes on where it was."""

import threading
from collections.abc import Iterator, Mapping

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from backend.operations import actions, turns
from backend.operations.actions import PlannedStep
from backend.operations.models import Operation, OperationStep
from backend.operations.states import OperationState, StepState
from provisioner import runner
from provisioner.operations.base import Done, OperationCode, Outcome, Standing, StepCode, StepContext, Wait
from provisioner.runner import Ending
from provisioner.sweep import settle_turns
from provisioner.tests.plans import ask, code, done, organisation, start

pytestmark = pytest.mark.django_db(transaction=True)


def order(kind: str, *groups: str, pausable: bool = False, cluster_id: str = "clu_1") -> Operation:
    """As an app orders it: through the coordinator."""
    with transaction.atomic():
        operation = actions.start(
            organisation_id=organisation().id,
            kind=kind,
            cluster_id=cluster_id,
            cluster_name="demo",
            actor="tests",
            parameters={},
            groups=[[PlannedStep(group, group.capitalize())] for group in groups],
            expected_seconds=10,
            pausable=pausable,
        )
    return operation


def states(operation: Operation) -> list[str]:
    return list(operation.steps.order_by("position").values_list("state", flat=True))


def pausing(operation: Operation) -> Operation:
    Operation.objects.filter(id=operation.id).update(pausable=True)
    return operation


def test_it_finishes_the_group_it_has_begun_and_stops() -> None:
    calls: list[str] = []

    def note(context: StepContext) -> Outcome:
        calls.append(context.step.name)
        if context.step.name == "a":
            ask(context.operation.id, "pause")
        return Done()

    operation = pausing(start(["a"], ["b"], ["c"]))
    codes = code(dict.fromkeys("abc", note))
    assert runner.run(operation.id, find_code=codes).ending is Ending.PAUSED
    operation.refresh_from_db()
    assert calls == ["a"]
    assert states(operation) == [StepState.DONE, StepState.PENDING, StepState.PENDING]
    assert (operation.state, operation.due_at, operation.lease_token) == (OperationState.PAUSED, None, None)
    assert runner.run(operation.id, find_code=codes).ending is Ending.NOT_DUE
    Operation.objects.filter(id=operation.id).update(**turns.going_on(operation))
    assert runner.run(operation.id, find_code=codes).ending is Ending.SUCCEEDED
    assert calls == ["a", "b", "c"]


def test_no_pause_falls_where_something_is_half_done() -> None:
    calls: list[str] = []

    def note(context: StepContext) -> Outcome:
        calls.append(context.step.name)
        if context.step.name == "a":
            ask(context.operation.id, "pause")
        return Done()

    operation = pausing(start(["a"], ["b"], ["c"], ["d"]))
    operation.steps.filter(name__in=["b", "c"]).update(mid_way=True)
    assert runner.run(operation.id, find_code=code(dict.fromkeys("abcd", note))).ending is Ending.PAUSED
    assert calls == ["a", "b", "c"]
    assert states(operation) == [StepState.DONE, StepState.DONE, StepState.DONE, StepState.PENDING]


def test_a_group_with_a_step_still_to_do_is_not_left() -> None:
    looks: Iterator[Outcome] = iter([Wait(30, "the engine"), Wait(30, "the engine"), Done()])
    operation = pausing(start(["quick", "slow"], ["last"]))
    codes = code({"quick": done, "slow": lambda context: next(looks), "last": done})
    assert runner.run(operation.id, find_code=codes).ending is Ending.HANDED_BACK
    for ending in (Ending.HANDED_BACK, Ending.PAUSED):
        ask(operation.id, "pause")
        OperationStep.objects.filter(operation=operation, due_at__isnull=False).update(due_at=Now())
        assert runner.run(operation.id, find_code=codes).ending is ending
    assert states(operation) == [StepState.DONE, StepState.DONE, StepState.PENDING]


def test_a_long_step_stands_still_when_it_is_asked_to() -> None:
    running, seen = ["a segment"], []

    def long(context: StepContext) -> Outcome:
        seen.append(context.pause_wanted)
        if not context.pause_wanted:
            if len(seen) > 1:
                return Done()
            ask(context.operation.id, "pause")
            return Wait(0, "the first segment", 0.1)
        if running:
            running.pop()
            return Wait(0, "the segment that runs to end", 0.2)
        return Standing("3 of 10 ranges are done")

    operation = pausing(start(["long"], ["last"]))
    codes = code({"long": long, "last": done})
    assert runner.run(operation.id, find_code=codes).ending is Ending.PAUSED
    operation.refresh_from_db()
    assert seen == [False, True, True]
    assert (operation.state, operation.due_at, operation.lease_token) == (OperationState.PAUSED, None, None)
    assert states(operation) == [StepState.RUNNING, StepState.PENDING]
    assert operation.steps.get(name="long").message == "3 of 10 ranges are done"
    Operation.objects.filter(id=operation.id).update(**turns.going_on(operation))
    assert runner.run(operation.id, find_code=codes).ending is Ending.SUCCEEDED
    assert seen[3:] == [False]


def test_steps_beside_each_other_all_stand_before_it_pauses() -> None:
    looks: Iterator[Outcome] = iter([Wait(0, "still busy"), Standing("now I stand, too")])

    def slow(context: StepContext) -> Outcome:
        if not context.pause_wanted:
            ask(context.operation.id, "pause")
            return Wait(0, "began")
        return next(looks)

    def quick(context: StepContext) -> Outcome:
        if context.pause_wanted:
            return Standing("at once")
        return Wait(0, "")

    operation = pausing(start(["quick", "slow"]))
    codes = code({"quick": quick, "slow": slow})
    assert runner.run(operation.id, find_code=codes).ending is Ending.PAUSED
    assert states(operation) == [StepState.RUNNING, StepState.RUNNING]
    assert next(looks, None) is None


def test_a_step_that_stood_is_undone_when_it_is_cancelled_while_it_stands() -> None:
    undone: list[str] = []

    def undo(context: StepContext) -> Outcome:
        assert not context.pause_wanted
        undone.append(context.step.name)
        return Done()

    def long(context: StepContext) -> Outcome:
        if context.pause_wanted:
            return Standing("it stands")
        ask(context.operation.id, "pause")
        return Wait(0, "something", 0.1)

    operation = pausing(start(["long"]))
    codes = code({"long": StepCode(do=long, undo=undo)})
    assert runner.run(operation.id, find_code=codes).ending is Ending.PAUSED
    Operation.objects.filter(id=operation.id).update(cancel_requested_at=Now(), **turns.going_on(operation))
    assert runner.run(operation.id, find_code=codes).ending is Ending.CANCELLED
    assert undone == ["long"]


def test_before_the_first_step_and_after_the_last() -> None:
    first = pausing(start(["a"]))
    ask(first.id, "pause")
    assert runner.run(first.id, find_code=code({"a": done})).ending is Ending.PAUSED

    def ask_at_the_end(context: StepContext) -> Outcome:
        ask(context.operation.id, "pause")
        return Done()

    last = pausing(start(["a"]))
    assert runner.run(last.id, find_code=code({"a": ask_at_the_end})).ending is Ending.SUCCEEDED


def test_a_paused_one_is_cancelled_and_undone() -> None:
    undone: list[str] = []

    def undo(context: StepContext) -> Outcome:
        undone.append(context.step.name)
        return Done()

    def first(context: StepContext) -> Outcome:
        ask(context.operation.id, "pause")
        return Done()

    operation = pausing(start(["a"], ["b"]))
    codes = code({"a": StepCode(do=first, undo=undo), "b": done})
    assert runner.run(operation.id, find_code=codes).ending is Ending.PAUSED
    ask(operation.id, "cancel")
    assert runner.run(operation.id, find_code=codes).ending is Ending.CANCELLED
    assert undone == ["a"]


def test_a_request_that_was_taken_back_meanwhile_pauses_nothing() -> None:
    operation = pausing(start(["a"], ["b"]))

    def ask_and_take_back(context: StepContext) -> Outcome:
        ask(context.operation.id, "pause")
        Operation.objects.filter(id=context.operation.id).update(pause_requested_at=None)
        return Done()

    assert runner.run(operation.id, find_code=code({"a": ask_and_take_back, "b": done})).ending is Ending.SUCCEEDED


def codes_of(steps: Mapping[str, Mapping[str, StepCode]]) -> dict[str, OperationCode]:
    return {kind: OperationCode(kind=kind, steps=of_kind) for kind, of_kind in steps.items()}


def test_replace_beats_repair_from_beginning_to_end() -> None:
    calls: list[str] = []
    replaces: list[Operation] = []

    def note(context: StepContext) -> Outcome:
        calls.append(f"{context.operation.kind} {context.step.name}")
        if context.step.name == "range1":
            # Ordered while the repair runs, by somebody else: a connection of its own.
            thread = threading.Thread(target=order_replacement)
            thread.start()
            thread.join(10)
        return Done()

    def order_replacement() -> None:
        replaces.append(order("replace_node", "swap"))
        connection.close()

    step = StepCode(do=note)
    codes = codes_of(
        {
            "repair": {f"range{number}": step for number in (1, 2, 3)},
            "replace_node": {"swap": step},
        }
    ).get
    repair = order("repair", "range1", "range2", "range3", pausable=True)
    paused = runner.run(repair.id, find_code=codes)
    (replace,) = replaces
    assert paused == runner.Result(Ending.PAUSED, woken=(replace.id,))
    ended = runner.run(replace.id, find_code=codes)
    assert ended == runner.Result(Ending.SUCCEEDED, woken=(repair.id,))
    assert runner.run(repair.id, find_code=codes).ending is Ending.SUCCEEDED
    assert calls == ["repair range1", "replace_node swap", "repair range2", "repair range3"]


def test_what_waits_is_not_run_and_is_woken_by_the_end() -> None:
    codes = codes_of({"scale_cluster": {"join": StepCode(do=done)}, "backup": {"copy": StepCode(do=done)}}).get
    scale, backup = order("scale_cluster", "join"), order("backup", "copy")
    assert runner.run(backup.id, find_code=codes).ending is Ending.NOT_DUE
    assert runner.run(scale.id, find_code=codes).woken == (backup.id,)
    assert runner.run(backup.id, find_code=codes).ending is Ending.SUCCEEDED


def test_what_waits_is_cancelled_without_having_begun() -> None:
    codes = codes_of({"scale_cluster": {"join": StepCode(do=done)}, "backup": {"copy": StepCode(do=done)}}).get
    order("scale_cluster", "join")
    backup = order("backup", "copy")
    ask(backup.id, "cancel")
    assert runner.run(backup.id, find_code=codes).ending is Ending.CANCELLED
    assert states(backup) == [StepState.SKIPPED]


def test_a_deletion_ends_what_is_paused_on_its_cluster() -> None:
    codes = codes_of({"delete_cluster": {"delete": StepCode(do=done)}, "repair": {"range": StepCode(do=done)}}).get
    repair = order("repair", "range", pausable=True)
    delete = order("delete_cluster", "delete")
    assert runner.run(delete.id, find_code=codes).ending is Ending.SUCCEEDED
    repair.refresh_from_db()
    assert (repair.state, repair.reason_code) == (OperationState.CANCELLED, "cluster-deleted")
    assert states(repair) == [StepState.SKIPPED]


def test_the_sweep_finds_those_whose_turn_nobody_saw() -> None:
    codes = codes_of({"scale_cluster": {"join": StepCode(do=done)}, "backup": {"copy": StepCode(do=done)}}).get
    scale, backup = order("scale_cluster", "join"), order("backup", "copy")
    Operation.objects.filter(id=scale.id).update(state=OperationState.SUCCEEDED, due_at=None)
    assert settle_turns() == [backup.id]
    assert settle_turns() == []
    assert runner.run(backup.id, find_code=codes).ending is Ending.SUCCEEDED


def test_an_estimate_is_kept_and_forgotten_with_the_step() -> None:
    looks: Iterator[Outcome] = iter([Wait(30, "streaming", eta_seconds=90), Done()])
    operation = start(["stream"], ["end"])
    codes = code({"stream": lambda context: next(looks), "end": lambda context: Wait(30, "something")})
    runner.run(operation.id, find_code=codes)
    left = OperationStep.objects.annotate(now=Now()).get(operation=operation, name="stream")
    assert left.eta_at is not None
    assert (left.eta_at - left.now).total_seconds() == pytest.approx(90, abs=5)
    Operation.objects.filter(id=operation.id).update(due_at=Now())
    OperationStep.objects.filter(id=left.id).update(due_at=Now())
    runner.run(operation.id, find_code=codes)
    assert operation.steps.get(name="stream").eta_at is None
