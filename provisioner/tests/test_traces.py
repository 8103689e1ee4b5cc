"""One order is one trace: the operation, its steps and every attempt at them, as a real collector decodes it."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from backend.operations import actions
from backend.operations.actions import PlannedStep
from backend.operations.models import Operation, OperationStep
from e2e.collector import Collector, Span, collecting, tracing_here
from provisioner import runner, traces
from provisioner.agent.spans import read
from provisioner.operations.base import Blocked, Done, Outcome, StepCode, StepContext, Wait
from provisioner.tests.plans import KIND, ask, code, done, organisation

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as running, tracing_here(running.url, "ringmaster-worker"):
        yield running


def order(*groups: list[str]) -> Operation:
    """As the API orders one. `name@target` names a target too."""
    with transaction.atomic():
        return actions.start(
            organisation_id=organisation().id,
            kind=KIND,
            cluster_id="",
            cluster_name="",
            actor="tests",
            parameters={"password": "s3cret"},
            groups=[[_planned(step) for step in group] for group in groups],
            expected_seconds=1,
        )


def _planned(step: str) -> PlannedStep:
    name, _, target = step.partition("@")
    return PlannedStep(name, name.capitalize(), target=target)


def make_due(operation: Operation) -> None:
    Operation.objects.filter(id=operation.id, due_at__isnull=False).update(due_at=Now())
    OperationStep.objects.filter(operation=operation, due_at__isnull=False).update(due_at=Now())


def only(spans: list[Span]) -> Span:
    (span,) = spans
    return span


def test_an_operation_is_one_trace_with_its_steps_and_attempts(collector: Collector) -> None:
    operation = order(["a@nod_1", "b@nod_2"], ["c"])
    runner.run(operation.id, find_code=code({"a": done, "b": done, "c": done}))
    collector.wait(lambda: collector.named(f"operation {KIND}"))
    collector.wait(lambda: len(collector.spans) == 8)
    assert len({span.trace for span in collector.spans}) == 1
    assert {span.service for span in collector.spans} == {"ringmaster-worker"}
    attempt = only(collector.named("attempt b"))
    assert collector.above(attempt) == ["step b", f"operation {KIND}", f"order {KIND}"]
    assert attempt.attributes == {
        "ringmaster.operation.id": operation.id,
        "ringmaster.operation.kind": KIND,
        "ringmaster.organisation.id": operation.organisation_id,
        "ringmaster.cluster.id": "",
        "ringmaster.step.id": operation.steps.get(name="b").id,
        "ringmaster.step.name": "b",
        "ringmaster.node.id": "nod_2",
        "ringmaster.step.attempt": 1,
        "ringmaster.outcome": "done",
    }
    whole = only(collector.named(f"operation {KIND}"))
    assert whole.attributes["ringmaster.outcome"] == "succeeded"
    assert only(collector.named("step a")).attributes["ringmaster.outcome"] == "done"
    assert all(whole.start <= span.start + 1e7 for span in collector.named("attempt c"))


def test_attempts_of_several_claims_hang_below_the_same_step(collector: Collector) -> None:
    calls: list[str] = []

    def third_time(context: StepContext) -> Outcome:
        calls.append(context.step.name)
        if len(calls) == 1:
            return Wait(5, "for s3cret")
        if len(calls) == 2:
            raise RuntimeError("SELECT * FROM s3cret")
        return Done()

    operation = order(["a"])
    for _ in range(3):
        runner.run(operation.id, find_code=code({"a": third_time}))
        make_due(operation)
    collector.wait(lambda: collector.named(f"operation {KIND}"))
    attempts = sorted(collector.named("attempt a"), key=lambda span: span.start)
    assert [span.attributes["ringmaster.outcome"] for span in attempts] == ["wait", "failed", "done"]
    assert [span.attributes["ringmaster.step.attempt"] for span in attempts] == [1, 1, 2]
    assert [span.error for span in attempts] == [None, "RuntimeError", None]
    assert {span.parent for span in attempts} == {only(collector.named("step a")).id}
    assert b"s3cret" not in b"".join(collector.raw)


def test_a_blocked_step_tells_its_code_and_its_undoing_is_traced_too(collector: Collector) -> None:
    def stuck(context: StepContext) -> Outcome:
        raise Blocked("no-capacity", "There is none.", "Wait.")

    operation = order(["a"], ["b"])
    codes = code({"a": StepCode(do=done, undo=done), "b": StepCode(do=stuck)})
    runner.run(operation.id, find_code=codes)
    ask(operation.id, "cancel")
    runner.run(operation.id, find_code=codes)
    collector.wait(lambda: collector.named(f"operation {KIND}"))
    (failed, _) = sorted(collector.named("attempt b"), key=lambda span: span.start)
    assert (failed.error, failed.attributes["ringmaster.outcome"]) == ("no-capacity", "blocked")
    undone = only(collector.named("undo a"))
    assert undone.attributes["ringmaster.outcome"] == "undone"
    assert undone.id != only(collector.named("step a")).id
    assert collector.above(undone) == [f"operation {KIND}", f"order {KIND}"]
    assert only(collector.named(f"operation {KIND}")).attributes["ringmaster.outcome"] == "cancelled"


def test_a_step_that_begins_hours_later_has_a_trace_of_its_own_linked_to_the_orders(collector: Collector) -> None:
    operation = order(["a"])
    Operation.objects.filter(id=operation.id).update(created_at=F("created_at") - timedelta(hours=7))
    runner.run(operation.id, find_code=code({"a": done}))
    collector.wait(lambda: collector.named(f"operation {KIND}"))
    step, whole = only(collector.named("step a")), only(collector.named(f"operation {KIND}"))
    assert step.trace != whole.trace
    assert step.parent == ""
    assert step.links == ((whole.trace, whole.id),)
    assert only(collector.named("attempt a")).trace == step.trace
    assert only(collector.named("attempt a")).parent == step.id


def test_a_step_that_waits_for_a_day_is_not_a_day_of_spans(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    operation = order(["a"])
    OperationStep.objects.filter(operation=operation).update(started_at=Now() - timedelta(hours=5), state="running")
    monkeypatch.setattr(traces.random, "random", lambda: 0.5)
    runner.run(operation.id, find_code=code({"a": done}))
    collector.wait(lambda: collector.named("step a"))
    assert collector.named("attempt a") == []


def test_an_order_that_is_taken_back_leaves_nothing(collector: Collector) -> None:
    with transaction.atomic():
        order(["a"])
        transaction.set_rollback(True)
    kept = order(["a"])
    collector.wait(lambda: collector.named(f"order {KIND}"))
    assert only(collector.spans).attributes["ringmaster.operation.id"] == kept.id


def test_without_tracing_an_operation_keeps_no_trace_and_runs(collector: Collector) -> None:
    traced = order(["a"])
    assert len(traced.traceparent) == 55
    Operation.objects.filter(id=traced.id).update(traceparent="")
    assert runner.run(traced.id, find_code=code({"a": done})).ending is runner.Ending.SUCCEEDED
    collector.wait(lambda: collector.named(f"order {KIND}"))
    assert collector.named("attempt a") == []


def test_tracing_that_is_off_keeps_no_trace() -> None:
    assert order(["a"]).traceparent == ""


def test_what_a_node_hands_back_is_sent_in_its_name(collector: Collector) -> None:
    handed = (
        '[{"trace":"4bf92f3577b34da6a3ce929d0e0e4736","span":"00f067aa0ba902b7","parent":"00f067aa0ba902b8",'
        '"name":"job start","kind":"internal","start":1,"end":2,"error":"engine-exited",'
        '"attributes":{"ringmaster.node.id":"nod_other","ringmaster.job.kind":"start","x":"y"}}]'
    )
    traces.take_over("nod_1", read(handed))
    collector.wait(lambda: collector.spans)
    span = only(collector.spans)
    assert (span.service, span.name, span.error) == ("ringmaster-agent", "job start", "engine-exited")
    assert span.attributes == {"ringmaster.node.id": "nod_1", "ringmaster.job.kind": "start"}
    assert (span.trace, span.parent, span.start, span.end) == (
        "4bf92f3577b34da6a3ce929d0e0e4736",
        "00f067aa0ba902b8",
        1,
        2,
    )
