from typing import Any

import pytest
from django.db import transaction
from kombu.exceptions import OperationalError

from backend.core.errors import Conflict
from backend.operations import actions
from backend.operations.models import Operation, OperationStep
from backend.operations.tests.conftest import Start


def test_it_stores_the_whole_plan_and_is_due(start: Start):
    operation = start()
    assert (operation.state, operation.exclusive) == ("pending", True)
    assert operation.due_at is not None
    steps = list(OperationStep.objects.filter(operation=operation).values_list("position", "group", "name", "target"))
    assert steps == [
        (0, 0, "prepare", ""),
        (1, 1, "boot", "nod_1"),
        (2, 1, "boot", "nod_2"),
        (3, 1, "boot", "nod_3"),
        (4, 2, "finish", ""),
    ]


def test_the_last_step_that_can_be_undone_is_kept_by_position(start: Start):
    assert start(cancellable_until="boot").cancellable_until == 1
    assert start("clu_2").cancellable_until is None


def test_a_second_one_on_a_cluster_is_told_of_the_first(start: Start):
    first = start()
    with pytest.raises(Conflict) as refused, transaction.atomic():
        start(kind="delete_cluster")
    assert refused.value.code == "operation_in_progress"
    assert first.id in refused.value.message
    assert "create cluster" in refused.value.message
    assert Operation.objects.count() == 1


def test_one_that_is_not_exclusive_may_run_beside_it(start: Start):
    start()
    start(kind="diagnose", exclusive=False)
    start("", kind="sweep")
    start("", kind="sweep")
    assert Operation.objects.count() == 4


def test_after_the_first_has_ended_there_may_be_another(start: Start):
    start(columns={"state": "cancelled", "due_at": None})
    start()


@pytest.mark.parametrize("error", [OperationalError("away"), ConnectionRefusedError(), TimeoutError()])
def test_a_broker_that_is_away_does_not_matter(
    start: Start, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any, error: Exception
):
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(actions.current_app, "send_task", fail)
    with django_capture_on_commit_callbacks(execute=True) as callbacks:
        start()
    assert len(callbacks) == 1
