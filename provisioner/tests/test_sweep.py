"""The sweep nudges what is due and free, once, and again when the nudge was lost."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from backend.operations.models import Operation
from provisioner import runner
from provisioner.operations.base import Wait
from provisioner.sweep import AGAIN_AFTER, AGAIN_AFTER_WITH_BACKLOG, mark_nudged
from provisioner.tests.plans import code, start

pytestmark = pytest.mark.django_db(transaction=True)


def nudged_ago(operation: Operation, seconds: float) -> None:
    Operation.objects.filter(id=operation.id).update(nudged_at=Now() - timedelta(seconds=seconds))


def test_what_is_due_is_nudged_once() -> None:
    operations = [start(["a"]) for _ in range(3)]
    assert sorted(mark_nudged(again_after=AGAIN_AFTER)) == sorted(operation.id for operation in operations)
    assert mark_nudged(again_after=AGAIN_AFTER) == []


def test_a_lost_nudge_is_repeated_sooner_when_nothing_is_queued() -> None:
    operation = start(["a"])
    nudged_ago(operation, 3)
    assert mark_nudged(again_after=AGAIN_AFTER_WITH_BACKLOG) == []
    assert mark_nudged(again_after=AGAIN_AFTER) == [operation.id]
    nudged_ago(operation, 11)
    assert mark_nudged(again_after=AGAIN_AFTER_WITH_BACKLOG) == [operation.id]


def test_what_is_held_finished_blocked_or_not_due_is_left_alone() -> None:
    held, blocked, later = start(["a"]), start(["a"]), start(["a"])
    Operation.objects.filter(id=held.id).update(lease_until=Now() + timedelta(seconds=8))
    Operation.objects.filter(id=blocked.id).update(due_at=None)
    Operation.objects.filter(id=later.id).update(due_at=Now() + timedelta(seconds=8))
    assert mark_nudged(again_after=AGAIN_AFTER) == []


def test_a_lease_that_ended_is_found_at_once() -> None:
    operation = start(["a"])
    Operation.objects.filter(id=operation.id).update(due_at=Now(), lease_until=Now())
    assert mark_nudged(again_after=AGAIN_AFTER_WITH_BACKLOG) == [operation.id]


def test_what_the_runner_handed_back_counts_as_nudged_for_when_it_is_due() -> None:
    operation = start(["a"])
    runner.run(operation.id, find_code=code({"a": lambda context: Wait(1, "something")}))
    Operation.objects.filter(id=operation.id).update(due_at=Now())
    assert mark_nudged(again_after=AGAIN_AFTER) == []
