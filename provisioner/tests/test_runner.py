"""The runner obeys the rules of docs/operations.md, on a real Postgres and without Celery."""

import threading
import time
from collections.abc import Callable
from datetime import timedelta

import psycopg
import pytest
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now

from backend.operations.models import Operation, OperationStep
from backend.operations.states import OperationState, StepState
from provisioner import runner
from provisioner.operations.base import Blocked, Done, Outcome, StepCode, StepContext, Wait
from provisioner.providers.base import OutOfCapacity
from provisioner.runner import Ending, Limits
from provisioner.tests.plans import ask, code, done, start

pytestmark = pytest.mark.django_db(transaction=True)


def states(operation: Operation) -> list[str]:
    return list(operation.steps.order_by("position").values_list("state", flat=True))


def make_due(operation: Operation) -> None:
    """As if the time until it is due had passed."""
    Operation.objects.filter(id=operation.id, due_at__isnull=False).update(due_at=Now())
    OperationStep.objects.filter(operation=operation, due_at__isnull=False).update(due_at=Now())


def test_it_runs_every_step_in_order_within_one_lease() -> None:
    calls: list[str] = []

    def note(context: StepContext) -> Outcome:
        calls.append(context.step.name)
        return Done(message=f"did {context.step.name}")

    operation = start(["a"], ["b"], ["c"])
    result = runner.run(operation.id, find_code=code({"a": note, "b": note, "c": note}))
    operation.refresh_from_db()
    assert result.ending is Ending.SUCCEEDED
    assert calls == ["a", "b", "c"]
    assert states(operation) == [StepState.DONE] * 3
    assert operation.state == OperationState.SUCCEEDED
    assert operation.progress == 1
    assert operation.due_at is None
    assert operation.lease_token is None
    assert operation.finished_at is not None
    step = operation.steps.get(position=1)
    assert step.message == "did b"
    assert step.started_at is not None
    assert step.finished_at is not None
    assert step.finished_at >= step.started_at


def test_it_hands_later_steps_what_earlier_ones_found() -> None:
    seen: list[object] = []

    def find(context: StepContext) -> Outcome:
        return Done(output={"address": "10.0.0.7"})

    def use(context: StepContext) -> Outcome:
        seen.append(context.output("find", "node-1")["address"])
        return Done()

    operation = start(["find@node-1"], ["use"])
    runner.run(operation.id, find_code=code({"find": find, "use": use}))
    assert seen == ["10.0.0.7"]
    assert operation.steps.get(name="find").output == {"address": "10.0.0.7"}


def test_it_does_nothing_for_an_operation_that_is_finished_not_due_or_unknown() -> None:
    codes = code({"a": done})
    operation = start(["a"])
    assert runner.run(operation.id, find_code=codes).ending is Ending.SUCCEEDED
    assert runner.run(operation.id, find_code=codes).ending is Ending.NOT_DUE
    later = start(["a"])
    Operation.objects.filter(id=later.id).update(due_at=Now() + timedelta(minutes=1))
    assert runner.run(later.id, find_code=codes).ending is Ending.NOT_DUE
    assert runner.run("op_unknown", find_code=codes).ending is Ending.NOT_DUE


def test_it_books_the_retry_before_the_work_starts() -> None:
    booked: list[bool] = []

    def look(context: StepContext) -> Outcome:
        row = Operation.objects.annotate(now=Now()).get(id=context.operation.id)
        assert row.due_at is not None
        assert row.lease_until is not None
        booked.append(row.due_at == row.lease_until and row.due_at > row.now)
        return Done()

    operation = start(["look"])
    runner.run(operation.id, find_code=code({"look": look}))
    assert booked == [True]


def test_nobody_else_gets_in_while_the_lease_is_held() -> None:
    endings: list[Ending] = []

    def intrude(context: StepContext) -> Outcome:
        Operation.objects.filter(id=context.operation.id).update(due_at=Now())
        endings.append(runner.run(context.operation.id, find_code=codes).ending)
        return Done()

    codes = code({"intrude": intrude})
    operation = start(["intrude"])
    runner.run(operation.id, find_code=codes)
    assert endings == [Ending.NOT_DUE]


def test_eight_at_once_run_it_once() -> None:
    calls: list[str] = []

    def slow(context: StepContext) -> Outcome:
        calls.append(context.step.name)
        time.sleep(0.05)
        return Done()

    operation = start(["a"], ["b"])
    endings: list[Ending] = []

    def take() -> None:
        try:
            endings.append(runner.run(operation.id, find_code=code({"a": slow, "b": slow})).ending)
        finally:
            connection.close()

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == ["a", "b"]
    assert sorted(endings) == sorted([Ending.SUCCEEDED] + [Ending.NOT_DUE] * 7)


def test_whoever_lost_the_lease_records_nothing_and_stops() -> None:
    calls: list[str] = []

    def robbed(context: StepContext) -> Outcome:
        calls.append(context.step.name)
        Operation.objects.filter(id=context.operation.id).update(
            lease_token="00000000-0000-0000-0000-000000000001", lease_until=Now() + timedelta(seconds=8)
        )
        return Done()

    operation = start(["a"], ["b"])
    assert runner.run(operation.id, find_code=code({"a": robbed, "b": robbed})).ending is Ending.LOST
    assert calls == ["a"]
    assert states(operation) == [StepState.RUNNING, StepState.PENDING]


def test_no_transaction_is_open_while_a_step_runs() -> None:
    inside: list[bool] = []

    def look(context: StepContext) -> Outcome:
        inside.append(connection.in_atomic_block)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE state = 'idle in transaction' AND datname = current_database()"
            )
            inside.append(cursor.fetchone()[0] > 0)
        return Done()

    operation = start(["look"])
    runner.run(operation.id, find_code=code({"look": look}))
    assert inside == [False, False]


def test_steps_of_a_group_run_side_by_side() -> None:
    barrier = threading.Barrier(3, timeout=5)

    def meet(context: StepContext) -> Outcome:
        barrier.wait()
        return Done(output={"threads": OperationStep.objects.filter(operation=context.operation).count()})

    operation = start(["meet@1", "meet@2", "meet@3"], ["end"])
    assert runner.run(operation.id, find_code=code({"meet": meet, "end": done})).ending is Ending.SUCCEEDED
    assert states(operation) == [StepState.DONE] * 4


def test_a_group_is_passed_only_when_all_its_steps_are_done() -> None:
    order: list[str] = []
    looks = iter([Wait(0.05, "warming up"), Wait(0.05, "warming up"), Done()])

    def slow(context: StepContext) -> Outcome:
        outcome = next(looks)
        order.append("slow" if isinstance(outcome, Done) else "look")
        return outcome

    def note(context: StepContext) -> Outcome:
        order.append(context.step.name)
        return Done()

    operation = start(["slow", "quick"], ["last"])
    codes = code({"slow": slow, "quick": note, "last": note})
    assert runner.run(operation.id, find_code=codes).ending is Ending.SUCCEEDED
    assert order.count("quick") == 1
    assert order[-2:] == ["slow", "last"]


def test_a_short_wait_is_waited_for_and_a_long_one_gives_the_lease_back() -> None:
    looks = iter([Wait(0.1, "soon"), Wait(4, "the machine to start", progress=0.5), Done()])
    operation = start(["wait"])
    codes = code({"wait": lambda context: next(looks)})
    result = runner.run(operation.id, find_code=codes)
    assert result.ending is Ending.HANDED_BACK
    assert result.again_in == pytest.approx(4, abs=0.2)
    step = operation.steps.get()
    assert step.message == "the machine to start"
    assert step.progress == 0.5
    operation.refresh_from_db()
    assert operation.lease_token is None
    assert operation.progress == 0.5
    assert runner.run(operation.id, find_code=codes).ending is Ending.NOT_DUE
    make_due(operation)
    assert runner.run(operation.id, find_code=codes).ending is Ending.SUCCEEDED


def test_in_a_group_a_step_that_waits_long_is_not_called_early_for_one_that_polls() -> None:
    calls: list[str] = []

    def long(context: StepContext) -> Outcome:
        calls.append("long")
        return Wait(30, "a slow one")

    def short(context: StepContext) -> Outcome:
        calls.append("short")
        return Wait(0.5, "a quick one")

    operation = start(["long", "short"])
    codes = code({"long": long, "short": short})
    assert runner.run(operation.id, find_code=codes).again_in == pytest.approx(0.5, abs=0.1)
    time.sleep(0.5)
    runner.run(operation.id, find_code=codes)
    assert sorted(calls) == ["long", "short", "short"]


def test_after_its_budget_it_hands_the_lease_back_and_is_due_at_once() -> None:
    def slow(context: StepContext) -> Outcome:
        time.sleep(0.15)
        return Done()

    operation = start(["a"], ["b"], ["c"], ["d"])
    codes = code(dict.fromkeys("abcd", slow))
    limits = Limits(budget=0.2)
    result = runner.run(operation.id, find_code=codes, limits=limits)
    assert result == runner.Result(Ending.HANDED_BACK, 0.0)
    assert states(operation) == [StepState.DONE, StepState.DONE, StepState.RUNNING, StepState.PENDING]
    assert runner.run(operation.id, find_code=codes, limits=limits).ending is Ending.SUCCEEDED


def test_an_exception_is_shown_backed_off_and_tried_again() -> None:
    tries = iter([ConnectionError("the agent does not answer"), ConnectionError("still not"), None])

    def flaky(context: StepContext) -> Outcome:
        error = next(tries)
        if error is not None:
            raise error
        return Done()

    operation = start(["flaky"], ["end"])
    codes = code({"flaky": flaky, "end": done})
    # Without naps: a back-off that happens to be short would be slept through, and the second try be made at once.
    limits = Limits(nap=0.0)
    began = time.monotonic()
    first = runner.run(operation.id, find_code=codes, limits=limits)
    took = time.monotonic() - began
    assert first.ending is Ending.HANDED_BACK
    assert first.again_in is not None
    assert 0.25 - took <= first.again_in <= 0.5
    operation.refresh_from_db()
    assert (operation.state, operation.attempt) == (OperationState.RUNNING, 1)
    assert operation.reason == "Flaky: the agent does not answer"
    make_due(operation)
    second = runner.run(operation.id, find_code=codes, limits=limits)
    assert second.again_in is not None
    assert 0 < second.again_in <= 1.0
    assert operation.steps.get(name="flaky").attempt == 2
    make_due(operation)
    assert runner.run(operation.id, find_code=codes).ending is Ending.SUCCEEDED
    operation.refresh_from_db()
    assert (operation.attempt, operation.reason) == (0, "")


def test_back_off_grows_to_a_minute_and_not_further() -> None:
    def broken(context: StepContext) -> Outcome:
        raise ConnectionError("no")

    operation = start(["broken"])
    OperationStep.objects.filter(operation=operation).update(attempt=40)
    result = runner.run(operation.id, find_code=code({"broken": broken}))
    assert result.again_in is not None
    assert 29 <= result.again_in <= 60


def test_blocked_waits_for_a_person_who_retries() -> None:
    answers: list[Callable[[], Outcome]] = [lambda: Done()]

    def stuck(context: StepContext) -> Outcome:
        if answers and len(answers) == 1 and not OperationStep.objects.get(id=context.step.id).attempt:
            raise Blocked("no-image", "There is no image for 5.0.9.", "Bake it, then retry.")
        return Done()

    operation = start(["stuck"])
    codes = code({"stuck": stuck})
    assert runner.run(operation.id, find_code=codes).ending is Ending.BLOCKED
    operation.refresh_from_db()
    assert operation.state == OperationState.BLOCKED
    assert operation.due_at is None
    assert (operation.reason_code, operation.reason_hint) == ("no-image", "Bake it, then retry.")
    assert runner.run(operation.id, find_code=codes).ending is Ending.NOT_DUE
    ask(operation.id, "retry")
    assert runner.run(operation.id, find_code=codes).ending is Ending.SUCCEEDED


def test_a_provider_error_that_cannot_be_retried_blocks() -> None:
    def full(context: StepContext) -> Outcome:
        raise OutOfCapacity("zone a is full", hint="Order a smaller machine.")

    operation = start(["full"])
    assert runner.run(operation.id, find_code=code({"full": full})).ending is Ending.BLOCKED
    operation.refresh_from_db()
    assert (operation.reason_code, operation.reason) == ("out-of-capacity", "zone a is full")


def test_a_missed_deadline_is_flagged_and_the_step_goes_on() -> None:
    operation = start(["late"], deadline=1)
    codes = code({"late": lambda context: Wait(1, "a slow machine")})
    runner.run(operation.id, find_code=codes)
    assert not operation.steps.get().overdue
    OperationStep.objects.filter(operation=operation).update(started_at=F("started_at") - timedelta(seconds=5))
    make_due(operation)
    assert runner.run(operation.id, find_code=codes).ending is Ending.HANDED_BACK
    assert operation.steps.get().overdue


def test_cancel_is_seen_between_steps_and_undoes_in_reverse() -> None:
    order: list[str] = []
    closed: list[str] = []

    def do(context: StepContext) -> Outcome:
        order.append(f"do {context.step.name}")
        if context.step.name == "b":
            ask(context.operation.id, "cancel")
        return Done()

    def undo(context: StepContext) -> Outcome:
        order.append(f"undo {context.step.name}")
        return Done()

    step = StepCode(do=do, undo=undo)
    operation = start(["a"], ["b"], ["c"])
    codes = code({"a": step, "b": step, "c": step}, on_cancelled=lambda operation: closed.append(operation.id))
    assert runner.run(operation.id, find_code=codes).ending is Ending.CANCELLED
    operation.refresh_from_db()
    assert order == ["do a", "do b", "undo b", "undo a"]
    assert states(operation) == [StepState.UNDONE, StepState.UNDONE, StepState.SKIPPED]
    assert operation.state == OperationState.CANCELLED
    assert closed == [operation.id]
    assert operation.steps.get(name="a").undone_at is not None


def test_cancel_undoes_the_half_done_step_too() -> None:
    order: list[str] = []

    def half(context: StepContext) -> Outcome:
        raise ConnectionError("made it, but the answer was lost")

    def undo(context: StepContext) -> Outcome:
        order.append(context.step.name)
        return Done()

    operation = start(["half"], ["never"])
    codes = code({"half": StepCode(do=half, undo=undo), "never": StepCode(do=done, undo=undo)})
    runner.run(operation.id, find_code=codes)
    ask(operation.id, "cancel")
    assert runner.run(operation.id, find_code=codes).ending is Ending.CANCELLED
    assert order == ["half"]


def test_cancel_before_the_first_step_touches_nothing() -> None:
    operation = start(["a"])
    ask(operation.id, "cancel")
    assert runner.run(operation.id, find_code=code({})).ending is Ending.CANCELLED
    assert states(operation) == [StepState.SKIPPED]


def test_undo_waits_fails_blocks_and_is_retried_like_any_step() -> None:
    tries = iter([Wait(2, "the machine to go"), ConnectionError("no"), Blocked("stuck", "It is stuck.", "Kick it.")])

    def undo(context: StepContext) -> Outcome:
        outcome = next(tries, Done())
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    operation = start(["a"], ["b"])
    codes = code({"a": StepCode(do=done, undo=undo), "b": lambda context: Wait(9, "b")})
    runner.run(operation.id, find_code=codes)
    ask(operation.id, "cancel")
    endings = []
    for _ in range(3):
        # Without naps: a short back-off would be slept through, and the third try be made in the second call.
        endings.append(runner.run(operation.id, find_code=codes, limits=Limits(nap=0.0)).ending)
        make_due(operation)
    assert endings == [Ending.HANDED_BACK, Ending.HANDED_BACK, Ending.BLOCKED]
    ask(operation.id, "retry")
    assert runner.run(operation.id, find_code=codes).ending is Ending.CANCELLED


def test_undo_runs_side_by_side_within_a_group() -> None:
    barrier = threading.Barrier(2, timeout=5)

    def undo(context: StepContext) -> Outcome:
        barrier.wait()
        return Done()

    operation = start(["a@1", "a@2"], ["b"])
    codes = code({"a": StepCode(do=done, undo=undo), "b": lambda context: Wait(9, "b")})
    runner.run(operation.id, find_code=codes)
    ask(operation.id, "cancel")
    assert runner.run(operation.id, find_code=codes).ending is Ending.CANCELLED


def test_a_cancel_past_the_point_of_no_return_is_refused_and_said_so() -> None:
    operation = start(["a"], ["b"], ["c"], cancellable_until=1)
    looks = iter([Wait(5, "b"), Done()])
    codes = code({"a": done, "b": lambda context: next(looks), "c": done})
    runner.run(operation.id, find_code=codes)
    ask(operation.id, "cancel")
    assert runner.run(operation.id, find_code=codes).ending is Ending.HANDED_BACK
    operation.refresh_from_db()
    assert operation.cancel_requested_at is None
    assert operation.reason_code == "cancel-too-late"
    make_due(operation)
    assert runner.run(operation.id, find_code=codes).ending is Ending.SUCCEEDED


def test_cancel_after_the_last_step_still_undoes() -> None:
    undone: list[str] = []

    def last(context: StepContext) -> Outcome:
        ask(context.operation.id, "cancel")
        return Done()

    def undo(context: StepContext) -> Outcome:
        undone.append(context.step.name)
        return Done()

    operation = start(["last"])
    assert runner.run(operation.id, find_code=code({"last": StepCode(do=last, undo=undo)})).ending is Ending.CANCELLED
    assert undone == ["last"]


def test_a_request_made_while_it_works_shortens_the_wait() -> None:
    def ask_and_wait(context: StepContext) -> Outcome:
        ask(context.operation.id, "retry")
        return Wait(30, "something slow")

    operation = start(["a"])
    assert runner.run(operation.id, find_code=code({"a": ask_and_wait})) == runner.Result(Ending.HANDED_BACK, 0.0)


def test_what_this_release_does_not_know_is_left_alone() -> None:
    operation = start(["a"], ["newer"])
    result = runner.run(operation.id, find_code=code({"a": done}))
    assert result.ending is Ending.HANDED_BACK
    assert result.again_in == pytest.approx(30, abs=0.5)
    operation.refresh_from_db()
    assert states(operation) == [StepState.DONE, StepState.PENDING]
    assert operation.reason_code == "unknown-here"
    unknown = start(["a"], kind="from_the_future")
    assert runner.run(unknown.id, find_code=code({"a": done})).ending is Ending.HANDED_BACK
    make_due(operation)
    assert runner.run(operation.id, find_code=code({"a": done, "newer": done})).ending is Ending.SUCCEEDED


def test_what_happens_at_the_end_and_the_end_are_one_transaction() -> None:
    faults = iter([RuntimeError("the row is locked")])

    def succeed(operation: Operation) -> None:
        Operation.objects.filter(id=operation.id).update(actor="changed at the end")
        for fault in faults:
            raise fault

    operation = start(["a"])
    codes = code({"a": done}, on_succeeded=succeed)
    assert runner.run(operation.id, find_code=codes).ending is Ending.HANDED_BACK
    operation.refresh_from_db()
    assert (operation.state, operation.actor) == (OperationState.RUNNING, "tests")
    assert operation.reason == "Finishing: the row is locked"
    make_due(operation)
    assert runner.run(operation.id, find_code=codes).ending is Ending.SUCCEEDED
    operation.refresh_from_db()
    assert operation.actor == "changed at the end"


class Shot(BaseException):
    """The worker dies here."""


def test_an_operation_that_kills_every_worker_is_parked_until_a_person_decides() -> None:
    def deadly(context: StepContext) -> Outcome:
        raise Shot

    operation = start(["deadly"])
    for _ in range(10):
        with pytest.raises(Shot):
            runner.run(operation.id, find_code=code({"deadly": deadly}))
        Operation.objects.filter(id=operation.id).update(due_at=Now(), lease_until=Now())
    assert runner.run(operation.id, find_code=code({"deadly": deadly})).ending is Ending.BLOCKED
    operation.refresh_from_db()
    assert operation.reason_code == "worker-dies"
    ask(operation.id, "retry")
    assert runner.run(operation.id, find_code=code({"deadly": done})).ending is Ending.SUCCEEDED


def test_progress_only_grows() -> None:
    seen: list[float] = []
    looks = iter([Wait(0.01, "x", progress=0.8), Wait(0.01, "y", progress=0.2)])

    def watch(context: StepContext) -> Outcome:
        seen.append(Operation.objects.get(id=context.operation.id).progress)
        return next(looks, Done())

    operation = start(["watch"], ["end"])
    runner.run(operation.id, find_code=code({"watch": watch, "end": watch}))
    assert seen == sorted(seen)
    assert seen[1] == pytest.approx(0.4)


def test_listeners_hear_of_it_in_the_same_commit() -> None:
    operation = start(["a"])
    settings = connection.get_connection_params()
    with psycopg.connect(
        host=settings.get("host"), user=settings.get("user"), dbname=settings["dbname"], autocommit=True
    ) as listener:
        listener.execute("LISTEN ringmaster_events")
        runner.run(operation.id, find_code=code({"a": done}))
        heard = [note.payload for note in listener.notifies(timeout=1, stop_after=2)]
    assert heard
    assert all(operation.id in payload and operation.organisation_id in payload for payload in heard)
