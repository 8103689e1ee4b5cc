from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from backend.backups import restoring, taking_over
from backend.backups.models import Backup, Restore
from backend.backups.schemas import RestoreOrder, TakeOverOrder
from backend.core.errors import Conflict
from backend.operations import actions as operations
from backend.operations.models import Operation
from provisioner.operations import backup_manifests
from provisioner.operations.take_over import CODE
from provisioner.operations.testing import check_failing_at_every_step_and_cancelled
from provisioner.operations.tests.backup_world import ROWS, BackupWorld, backup_world

pytestmark = pytest.mark.django_db(transaction=True)


def order(world: BackupWorld) -> Operation:
    copy = Restore.objects.filter(mode="copy").latest("id")
    started = taking_over.take_over(world.who, copy.id, TakeOverOrder(way_back_days=3))
    return Operation.objects.get(id=started["operation"]["id"])


@contextmanager
def copied() -> Iterator[BackupWorld]:
    """A world with a finished copy beside a live table that was spoiled after the backup."""
    with backup_world(order) as world:
        world.backed_up()
        world.lose_rows()
        world.write("orders", {99: "spoiled"})
        tables = [{"keyspace": "shop", "table": "orders", "as_table": "orders_then"}]
        asked = RestoreOrder.model_validate({"mode": "copy", "tables": tables})
        started = restoring.start(world.who, world.backup.id, asked)
        assert world.ended(Operation.objects.get(id=started["operation"]["id"])) == "succeeded"
        world.note()
        yield world


@pytest.fixture
def world() -> Iterator[BackupWorld]:
    with copied() as made:
        yield made


def as_written(world: BackupWorld) -> list[dict[int, str]]:
    return [{token: f"{value} on {node.zone}" for token, value in ROWS.items()} for node in world.nodes]


def replaced(world: BackupWorld, backup: Backup) -> str:
    asked: dict[str, Any] = {"mode": "replace", "tables": [{"keyspace": "shop", "table": "orders"}]}
    started = restoring.start(world.who, backup.id, RestoreOrder.model_validate(asked))
    return world.ended(Operation.objects.get(id=started["operation"]["id"]))


@pytest.mark.slow
def test_failing_at_every_step_and_cancelled() -> None:
    # Run twice and killed they are tested as steps of the kinds backup and restore.
    check_failing_at_every_step_and_cancelled(CODE, copied)


def test_the_live_table_gets_what_the_copy_shows_and_there_is_a_way_back(world: BackupWorld) -> None:
    assert world.ended(order(world)) == "succeeded"
    assert world.rows() == world.rows("orders_then") == as_written(world)
    way_back = Restore.objects.latest("id").way_back
    assert way_back is not None
    assert way_back.expires_at is not None
    assert (way_back.state, round((way_back.expires_at - way_back.created_at).total_seconds() / 86_400)) == (
        "complete",
        3,
    )
    assert replaced(world, way_back) == "succeeded"
    assert [sorted(rows) for rows in world.rows()] == [[99]] * 3


def test_cancelled_because_an_object_is_damaged_nothing_is_left_of_it(world: BackupWorld) -> None:
    name = world.names("objects/")[0]
    world.path(name).unlink()
    operation = order(world)
    assert name.rpartition("/")[2] in world.ended(operation)
    assert world.backup.state == "complete"
    operations.cancel(world.who, operation.id)
    assert world.ended(operation).startswith("cancelled")
    assert [sorted(rows) for rows in world.rows()] == [[99]] * 3
    assert world.backup.state == "cancelled"
    assert not [found for found in world.names("manifests/") if world.backup.id in found]


def test_without_a_complete_way_back_nothing_is_changed(world: BackupWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backup_manifests, "_uncovered", lambda *_: ["a range is not in it"])
    operation = order(world)
    assert "a range is not in it" in world.ended(operation)
    assert [sorted(rows) for rows in world.rows()] == [[99]] * 3


def test_only_a_finished_copy_is_taken_over(world: BackupWorld) -> None:
    Restore.objects.update(mode="add")
    with pytest.raises(Conflict, match="Only copies"):
        taking_over.take_over(world.who, Restore.objects.get().id, TakeOverOrder())
    Restore.objects.update(mode="copy", state="running")
    with pytest.raises(Conflict, match="not finished"):
        taking_over.take_over(world.who, Restore.objects.get().id, TakeOverOrder())
    assert taking_over.plan_take_over(world.who, Restore.objects.get().id)["problems"]
