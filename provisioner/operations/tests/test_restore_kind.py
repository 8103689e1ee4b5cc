from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from backend.backups import restoring
from backend.backups.models import Backup, Restore
from backend.backups.schemas import RestoreOrder
from backend.core.errors import Conflict, Invalid
from backend.operations import actions as operations
from backend.operations.models import Operation
from backend.repairs.actions import start_run
from backend.repairs.models import RepairRun
from backend.repairs.states import RepairRunReason
from provisioner.operations.restore import CODE
from provisioner.operations.testing import (
    check_every_step_twice,
    check_failing_at_every_step_and_cancelled,
    check_killed_after_every_step,
    check_undo_twice,
)
from provisioner.operations.tests.backup_world import ROWS, BackupWorld, backup_world
from provisioner.reconcile.backups import repair_restored

pytestmark = pytest.mark.django_db(transaction=True)

ORDERS: dict[str, Any] = {"keyspace": "shop", "table": "orders"}


def order(world: BackupWorld, **wanted: Any) -> Operation:
    asked = RestoreOrder.model_validate({"mode": "replace", "tables": [ORDERS]} | wanted)
    started = restoring.start(world.who, world.backup.id, asked)
    return Operation.objects.get(id=started["operation"]["id"])


def plan(world: BackupWorld, **wanted: Any) -> dict[str, Any]:
    asked = RestoreOrder.model_validate({"mode": "replace", "tables": [ORDERS]} | wanted)
    return restoring.plan(world.who, world.backup.id, asked)


@contextmanager
def emptied() -> Iterator[BackupWorld]:
    """A world that was backed up, and whose rows were lost then."""
    with backup_world(order) as world:
        world.backed_up()
        world.lose_rows()
        world.note()
        yield world


@pytest.fixture
def world() -> Iterator[BackupWorld]:
    with emptied() as made:
        yield made


def as_written(world: BackupWorld) -> list[dict[int, str]]:
    return [{token: f"{value} on {node.zone}" for token, value in ROWS.items()} for node in world.nodes]


def test_every_step_run_twice() -> None:
    check_every_step_twice(CODE, emptied)


def test_killed_after_every_step() -> None:
    check_killed_after_every_step(CODE, emptied)


def test_failing_at_every_step_and_cancelled() -> None:
    check_failing_at_every_step_and_cancelled(CODE, emptied, again=True)


def test_undo_twice() -> None:
    check_undo_twice(CODE, emptied)


def test_the_same_cluster_has_its_rows_again_and_nothing_else(world: BackupWorld) -> None:
    world.write("orders", {99: "after the backup"})
    assert world.ended(order(world)) == "succeeded"
    assert world.rows() == as_written(world)
    assert world.held(lambda held: held.restores) == [{}, {}, {}]
    made = Restore.objects.get()
    assert (made.state, made.fetched_bytes) == ("succeeded", made.bytes)


def test_beside_what_is_there(world: BackupWorld) -> None:
    world.write("orders", {99: "after the backup"})
    assert world.ended(order(world, mode="add")) == "succeeded"
    assert [sorted(rows) for rows in world.rows()] == [[*sorted(ROWS), 99]] * 3


def test_a_table_under_a_new_name_beside_the_live_one(world: BackupWorld) -> None:
    world.write("orders", {99: "live"})
    copy = [ORDERS | {"as_table": "orders_then"}]
    assert world.ended(order(world, mode="copy", tables=copy)) == "succeeded"
    assert world.rows("orders_then") == as_written(world)
    assert [sorted(rows) for rows in world.rows()] == [[99]] * 3


def test_a_plan_says_what_would_be_done_and_changes_nothing(world: BackupWorld) -> None:
    before = world.snapshot()
    said = plan(world)
    assert (said["same_shape"], said["problems"], said["bundles"]) == (True, [], 3)
    assert said["bytes"] == sum(node["bytes"] for node in said["nodes"]) > 0
    assert "Empty the tables" in " ".join(said["steps"])
    assert not any("Empty" in step for step in plan(world, mode="add")["steps"])
    assert world.snapshot() == before


@pytest.mark.parametrize("how", ["flipped", "cut", "missing"])
def test_a_damaged_object_ends_it_before_anything_is_changed(world: BackupWorld, how: str) -> None:
    world.write("orders", {99: "live"})
    name = world.names("objects/")[1]
    path = world.path(name)
    content = path.read_bytes()
    if how == "missing":
        path.unlink()
    else:
        path.write_bytes(content[:-1] if how == "cut" else content[:-3] + bytes([content[-3] ^ 4]) + content[-2:])
    operation = order(world)
    ended = world.ended(operation)
    assert ended.startswith("blocked")
    assert name.rpartition("/")[2] in ended
    assert [sorted(rows) for rows in world.rows()] == [[99]] * 3
    operations.cancel(world.who, operation.id)
    assert Restore.objects.latest("id").fetched_bytes > 0
    assert world.ended(operation).startswith("cancelled")
    assert world.held(lambda held: held.restores) == [{}, {}, {}]
    assert Restore.objects.latest("id").fetched_bytes == 0


def test_a_changed_manifest_ends_it(world: BackupWorld) -> None:
    name = next(name for name in world.names("manifests/") if name.endswith("manifest.json"))
    world.path(name).write_bytes(world.path(name).read_bytes().replace(b"true", b"null"))
    ended = world.ended(order(world))
    assert "not signed with the organisation's key, or was changed" in ended


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"state": "incomplete", "missing": ["1 of 3 ranges"]}, "It is incomplete: 1 of 3 ranges"),
        ({"damaged_manifest": "manifests/x"}, "It is damaged"),
        ({"engine": "scylla"}, "The backup is of scylla"),
        ({"state": "deleted"}, "nothing left"),
    ],
)
def test_what_cannot_be_restored_is_refused(world: BackupWorld, columns: dict[str, Any], problem: str) -> None:
    Backup.objects.filter(id=world.backup.id).update(**columns)
    assert problem in plan(world)["problems"][0]
    with pytest.raises(Conflict, match=r"It is|backup is of|nothing left"):
        order(world)
    assert not Restore.objects.exists()


@pytest.mark.parametrize(
    "wanted",
    [
        {"tables": [ORDERS | {"table": "order"}]},
        {"tables": [ORDERS | {"as_table": "x"}]},
        {"mode": "copy"},
        {"mode": "copy", "tables": []},
        {"mode": "cluster"},
        {"mode": "copy", "tables": [ORDERS | {"as_table": "x"}, ORDERS | {"as_table": "x"}]},
    ],
)
def test_orders_that_mean_nothing_are_refused(world: BackupWorld, wanted: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        plan(world, **wanted)


def test_another_schema_is_refused_column_by_column(world: BackupWorld) -> None:
    world.change_column("orders", "value", {"type": "int"})
    operation = order(world)
    assert "the column value was regular text and is regular int" in world.ended(operation)
    # From then on the plan knows too.
    assert any("was regular text" in problem for problem in plan(world)["problems"])


def test_too_little_room_is_told_before_anything_is_fetched(world: BackupWorld) -> None:
    node = world.nodes[0]
    world.agents.change(node.id, disk_used=0.95)
    assert f"{node.name} has too little room" in world.ended(order(world))
    type(node).objects.filter(id=node.id).update(disk_total_bytes=100, disk_free_bytes=5)
    assert "too little room" in plan(world)["problems"][0]


def test_into_a_cluster_of_another_shape(world: BackupWorld) -> None:
    made = world.backup
    with world.another_cluster(nodes_per_zone=2) as cluster_id:
        asked = RestoreOrder.model_validate({"mode": "cluster", "tables": [], "cluster_id": cluster_id})
        said = restoring.plan(world.who, made.id, asked)
        assert (said["same_shape"], said["problems"], len(said["nodes"])) == (False, [], 6)
        started = restoring.start(world.who, made.id, asked)
        assert world.ended(Operation.objects.get(id=started["operation"]["id"])) == "succeeded"
        assert [sorted(rows) for rows in world.rows()] == [sorted(ROWS)] * 6


def test_strangers_restore_nothing(world: BackupWorld) -> None:
    with backup_world(order) as other, pytest.raises(Exception, match="no such backup"):
        restoring.plan(other.who, world.backup.id, RestoreOrder.model_validate({"mode": "replace"}))


def repairs(world: BackupWorld) -> list[Operation]:
    return list(Operation.objects.filter(kind="repair", cluster_id=world.cluster_id).order_by("id"))


@pytest.mark.parametrize(
    ("wanted", "repaired"),
    [({}, False), ({"repair": True}, True), ({"mode": "add"}, True), ({"mode": "add", "repair": False}, False)],
)
def test_tables_are_repaired_afterwards_where_nodes_may_lack_something(
    world: BackupWorld, wanted: dict[str, Any], repaired: bool
) -> None:
    assert plan(world, **wanted)["repair"] is repaired
    assert world.ended(order(world, **wanted)) == "succeeded"
    assert repair_restored() == int(repaired)
    assert repair_restored() == 0
    for operation in repairs(world):
        run = RepairRun.objects.get(id=operation.parameters["run"])
        assert (run.reason, run.asked["tables"], run.asked["mode"]) == ("restore", ["shop.orders"], "full")
        assert Restore.objects.get().repair_operation_id == operation.id


def test_a_repair_after_a_restore_waits_for_the_one_that_is_open(world: BackupWorld) -> None:
    assert world.ended(order(world, mode="add")) == "succeeded"
    start_run(world.cluster, RepairRunReason.ORDER, {})
    assert repair_restored() == 0
    assert Restore.objects.get().repair_operation_id == ""


def test_a_backup_that_lacks_a_node_is_repaired_after_its_restore(world: BackupWorld) -> None:
    lost = world.backup.nodes.order_by("name").first()
    assert lost is not None
    type(lost).objects.filter(id=lost.id).update(state="lost")
    said = plan(world)
    assert (said["same_shape"], said["repair"]) == (False, True)
