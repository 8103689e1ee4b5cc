import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from backend.backups import actions as backups
from backend.backups import copies, location_actions, objects, restoring, schedule_actions
from backend.backups.models import Backup, BackupCopy, BackupLocation, BackupObject, Restore
from backend.backups.queries import get_backup
from backend.backups.schemas import BackupScheduleOrder, RestoreOrder, RestoreTable
from backend.backups.states import RestoreMode
from backend.operations import actions as operations
from backend.operations.models import Operation
from provisioner import runner
from provisioner.operations import copy_backup, registry
from provisioner.operations.backup_store import open_store
from provisioner.operations.copy_backup import CODE
from provisioner.operations.testing import (
    check_every_step_twice,
    check_failing_at_every_step_and_cancelled,
    check_killed_after_every_step,
    check_undo_twice,
)
from provisioner.operations.tests.backup_world import BackupWorld, backup_world
from provisioner.reconcile.backups import see_to_backups
from provisioner.stores.base import StoreUnreachable
from provisioner.stores.folder import FolderStore

pytestmark = pytest.mark.django_db(transaction=True)
_number = itertools.count(1)


class CopyWorld(BackupWorld):
    """What a copy may leave behind is in the second location."""

    def _things(self) -> list[str]:
        if not self.location_id or not BackupCopy.objects.exists():
            return []
        going = BackupCopy.objects.filter(backup__cluster_id=self.cluster_id, state="running")
        partial = place(self).rglob(".partial-*")
        return [*map(str, going), *there(self, "manifests/"), *(path.name for path in partial)]


def second_location(world: BackupWorld) -> BackupLocation:
    found = BackupLocation.objects.filter(name__startswith="Second", deleted_at=None).last()
    if found is None:
        folder = world.folder / f"second-{next(_number)}"
        folder.mkdir()
        found = BackupLocation.objects.create(
            organisation_id=world.who.organisation_id,
            name=f"Second {folder.name}",
            kind="folder",
            folder=str(folder),
            created_by="test",
        )
    return found


def order_copy(world: BackupWorld) -> Operation:
    second = second_location(world)
    made = Backup.objects.filter(cluster_id=world.cluster_id, state="complete").last() or world.backed_up()
    BackupCopy.objects.filter(backup=made, state="cancelled").delete()
    started = copies.start(made, second, actor="test")
    assert started is not None
    return started


@contextmanager
def fresh() -> Iterator[BackupWorld]:
    BackupLocation.objects.filter(name__startswith="Second").update(deleted_at=datetime.now(UTC))
    with backup_world(order_copy, CopyWorld) as world:
        second_location(world)
        world.backed_up()
        yield world


@pytest.fixture
def world() -> Iterator[BackupWorld]:
    with fresh() as made:
        yield made


def place(world: BackupWorld) -> Path:
    return Path(second_location(world).folder)


def there(world: BackupWorld, prefix: str = "") -> dict[str, bytes]:
    store = open_store(second_location(world), world.who.organisation_id)
    return {found.name: store.get(found.name) for found in store.list(prefix)}


def here(world: BackupWorld, prefix: str = "") -> dict[str, bytes]:
    return {name: world.store.get(name) for name in world.names(prefix)}


def test_every_step_run_twice() -> None:
    check_every_step_twice(CODE, fresh)


def test_killed_after_every_step() -> None:
    check_killed_after_every_step(CODE, fresh)


def test_failing_at_every_step_and_cancelled() -> None:
    check_failing_at_every_step_and_cancelled(CODE, fresh, again=True)


def test_undo_twice() -> None:
    check_undo_twice(CODE, fresh)


def copied(world: BackupWorld) -> BackupCopy:
    assert world.ended(order_copy(world)) == "succeeded"
    return BackupCopy.objects.latest("id")


def test_a_copy_is_the_same_byte_for_byte(world: BackupWorld) -> None:
    copy = copied(world)
    assert (copy.state, copy.copied_bytes) == ("complete", copy.bytes)
    assert there(world) == here(world)
    shown = get_backup(world.who, world.backup.id)["copies"]
    assert [(one["location_name"], one["state"]) for one in shown] == [(second_location(world).name, "complete")]


def test_what_is_there_already_is_not_copied_again(world: BackupWorld) -> None:
    first = copied(world)
    world.backed_up()
    again = copied(world)
    assert (again.bytes, again.copied_bytes) == (first.bytes, 0)


def test_a_large_object_goes_in_parts_and_on_after_a_worker_was_shot(
    world: BackupWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A chunk is a MiB: parts begin and end within chunks.
    monkeypatch.setattr(copy_backup, "PART_BYTES", 700_000)
    monkeypatch.setattr(copy_backup, "_BUDGET", 0.0)
    world.write("orders", {11: "x" * 3_000_000})
    world.backed_up()
    read = FolderStore.read
    shots = itertools.count()

    def shot(store: FolderStore, name: str, begin: int, length: int) -> bytes:
        if next(shots) in (2, 5):
            raise StoreUnreachable("shot")
        return read(store, name, begin, length)

    monkeypatch.setattr(FolderStore, "read", shot)
    copied(world)
    assert there(world, "objects/") == here(world, "objects/")
    assert next(shots) == 3 * 3 + 2


def test_a_changed_part_is_found_on_the_way_and_named(world: BackupWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copy_backup, "PART_BYTES", 700_000)
    world.write("orders", {11: "x" * 3_000_000})
    world.backed_up()
    large = max(world.names("objects/"), key=lambda name: world.path(name).stat().st_size)
    content = bytearray(world.path(large).read_bytes())
    content[2_000_000] ^= 1
    world.path(large).write_bytes(content)
    said = world.ended(order_copy(world))
    assert said.startswith("blocked The object")
    assert large.rpartition("/")[2] in said
    assert get_backup(world.who, world.backup.id)["damaged"] == large.rpartition("/")[2]
    assert large not in there(world)


def test_a_schedule_has_its_complete_backups_copied(world: BackupWorld) -> None:
    wanted = {"name": "nightly", "interval_minutes": 60, "keep_count": 3, "location_id": world.location_id}
    order = BackupScheduleOrder.model_validate(wanted | {"second_location_id": second_location(world).id})
    schedule = schedule_actions.create_schedule(world.who, world.cluster_id, order)
    assert schedule["second_location_name"] == second_location(world).name
    Backup.objects.update(schedule_id=schedule["id"])
    see_to_backups()
    operation = Operation.objects.get(kind="copy_backup")
    assert world.ended(operation) == "succeeded"
    assert there(world) == here(world)
    see_to_backups()
    assert Operation.objects.filter(kind="copy_backup").count() == 1


def test_one_that_was_cancelled_does_not_begin_by_itself_again(world: BackupWorld) -> None:
    operation = order_copy(world)
    operations.cancel(world.who, operation.id)
    assert world.ended(operation) == "cancelled"
    assert copies.to_copy(at_most=5) == []
    assert there(world, "manifests/") == {}


def _restore(world: BackupWorld) -> Operation:
    table = RestoreTable(keyspace="shop", table="orders", as_table="again")
    order = RestoreOrder(mode=RestoreMode.COPY, tables=[table])
    started = restoring.start(world.who, world.backup.id, order)
    return Operation.objects.get(id=started["operation"]["id"])


@pytest.mark.parametrize("what", ["objects/", "manifests/"])
def test_a_restore_goes_on_from_the_copy_when_something_is_damaged(world: BackupWorld, what: str) -> None:
    copied(world)
    name = world.names(what)[0]
    world.path(name).write_bytes(world.path(name).read_bytes()[:-1] + b"!")
    operation = _restore(world)
    messages = []
    for _ in range(100):
        if runner.run(operation.id, find_code=registry.find).again_in is None:
            break
        messages += list(operation.steps.values_list("message", flat=True))
        Operation.objects.filter(id=operation.id).update(due_at=datetime.now(UTC))
    operation.refresh_from_db()
    assert operation.state == "succeeded"
    assert world.rows("again") == world.rows("orders")
    assert Restore.objects.latest("id").location == second_location(world)


def test_a_restore_begins_with_the_copy_when_damage_is_known(world: BackupWorld) -> None:
    copied(world)
    BackupObject.objects.filter(location_id=world.location_id).update(bad="missing")
    for name in world.names("objects/"):
        world.path(name).unlink()
    shown = {one["action"]: one["reason"] for one in get_backup(world.who, world.backup.id)["allowed_actions"]}
    assert shown["restore_backup"] is None
    assert world.ended(_restore(world)) == "succeeded"
    assert world.rows("again") == world.rows("orders")


def test_damage_in_both_places_is_refused(world: BackupWorld) -> None:
    copied(world)
    BackupObject.objects.update(bad="content")
    shown = {one["action"]: one["reason"] for one in get_backup(world.who, world.backup.id)["allowed_actions"]}
    assert "damaged" in str(shown["restore_backup"])


def _verified(world: BackupWorld) -> None:
    started = backups.verify_backup(world.who, world.backup.id)
    assert world.ended(Operation.objects.get(id=started["operation"]["id"])) == "succeeded"


@pytest.mark.parametrize("gone", [True, False])
def test_a_verification_looks_at_the_copy_too(world: BackupWorld, gone: bool) -> None:
    copied(world)
    name = world.names("objects/")[0]
    path = place(world) / name
    path.unlink() if gone else path.write_bytes(bytes(path.stat().st_size))
    _verified(world)
    bad = dict(BackupObject.objects.exclude(bad="").values_list("location__name", "bad"))
    assert bad == {second_location(world).name: "missing" if gone else "content"}
    assert get_backup(world.who, world.backup.id)["damaged"] is None


def test_a_deleted_backup_goes_in_both_places(world: BackupWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "GRACE", timedelta(0))
    copied(world)
    kept = world.backup
    world.write("orders", {9: "nine"})
    world.backed_up()
    copied(world)
    backups.delete_backup(world.who, world.backup.id)
    for _ in range(3):
        see_to_backups()
        for operation in Operation.objects.filter(kind="purge_backups", state="pending"):
            assert world.ended(operation) == "succeeded"
    location_actions.start_purge(second_location(world), world.who.organisation_id, actor="test")
    assert world.ended(Operation.objects.filter(kind="purge_backups").latest("id")) == "succeeded"
    assert set(there(world)) == set(here(world))
    assert all(kept.id in name for name in there(world, "manifests/"))
    assert len(there(world, "objects/")) == 3
