"""A worker's standby begins when the broker is away for a while and ends when it is back."""

import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.db.models.functions import Now

from backend.operations.models import Operation
from backend.operations.states import OperationState
from infra.local import services
from provisioner import standby
from provisioner.operations import registry
from provisioner.operations.base import OperationCode, StepCode
from provisioner.standby import Standby, run_due
from provisioner.tests.plans import done, start

FOR_EVER = (sys.executable, "-c", "import time; time.sleep(600)")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[services.Redis]:
    redis = services.start_redis(tmp_path / "redis")
    yield redis
    redis.stop()


def test_it_comes_and_goes_with_the_absence_of_the_broker(
    broker: services.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standby, "AWAY_FOR", 0.0)
    watched = Standby(broker.url, FOR_EVER)
    watched.check()
    assert watched._runs is None
    broker.kill()
    watched.check()
    first = watched._runs
    assert first is not None
    watched.check()
    assert watched._runs is first
    first.kill()
    first.wait()
    watched.check()
    assert watched._runs is not None
    assert watched._runs is not first
    second = watched._runs
    broker.start()
    watched.check()
    assert watched._runs is None
    assert second.poll() is not None


def test_a_moment_without_the_broker_is_not_worth_a_process(tmp_path: Path) -> None:
    watched = Standby(f"unix://{tmp_path}/nothing.sock", FOR_EVER)
    watched.check()
    watched.check()
    assert watched._runs is None


@pytest.mark.django_db(transaction=True)
def test_it_runs_what_is_due_and_nobody_is_on_the_way_to(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = OperationCode(kind="standby-test", steps={"a": StepCode(do=done)})
    monkeypatch.setattr(registry, "_CODES", {kind.kind: kind})
    due, nudged, later = (start(["a"], kind=kind.kind) for _ in range(3))
    Operation.objects.filter(id=nudged.id).update(nudged_at=Now() + timedelta(minutes=1))
    Operation.objects.filter(id=later.id).update(due_at=Now() + timedelta(minutes=1))
    assert threading.current_thread() is threading.main_thread()
    assert run_due(at_most=5) == 1
    assert Operation.objects.get(id=due.id).state == OperationState.SUCCEEDED
    assert {Operation.objects.get(id=o.id).state for o in (nudged, later)} == {OperationState.PENDING}
