"""Locks in the store: what a locked backup needs is kept by the store itself. On a folder that pretends to lock."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from backend.backups import location_actions, objects
from backend.backups.location_queries import purge_plan
from backend.backups.models import Backup, BackupLocation, BackupObject
from provisioner.operations.tests.backup_world import BackupWorld, backup_world
from provisioner.stores.base import StoreRefused
from provisioner.stores.folder import FolderStore

pytestmark = pytest.mark.django_db(transaction=True)
Locks = dict[str, datetime]


@pytest.fixture
def locks(monkeypatch: pytest.MonkeyPatch) -> Locks:
    """What is locked, by name; a folder then refuses to delete it, as a bucket does."""
    kept: Locks = {}
    delete = FolderStore.delete

    def lock(self: FolderStore, name: str, until: datetime) -> None:
        kept[name] = until

    def refuse(self: FolderStore, names: Sequence[str]) -> None:
        if any(kept.get(name, datetime.now(UTC)) > datetime.now(UTC) for name in names):
            raise StoreRefused("It is locked.")
        delete(self, names)

    monkeypatch.setattr(FolderStore, "lock", lock)
    monkeypatch.setattr(FolderStore, "check_lock", lambda _: None)
    monkeypatch.setattr(FolderStore, "delete", refuse)
    return kept


@pytest.fixture
def world() -> Iterator[BackupWorld]:
    with backup_world() as made:
        BackupLocation.objects.filter(id=made.location_id).update(object_lock="compliance")
        yield made


def _purged(world: BackupWorld) -> str:
    location = BackupLocation.objects.get(id=world.location_id)
    operation = location_actions.start_purge(location, world.who.organisation_id, actor="test")
    assert world.ended(operation) == "succeeded"
    return operation.steps.get(name="sweep_objects").message


def test_all_that_a_locked_backup_needs_is_locked(world: BackupWorld, locks: Locks) -> None:
    made = world.backed_up(lock_days=5)
    assert set(locks) == set(world.names())
    assert set(locks.values()) == {made.locked_until}


def test_a_later_one_makes_the_locks_of_what_it_refers_to_longer_and_none_shorter(
    world: BackupWorld, locks: Locks
) -> None:
    longer = world.backed_up(lock_days=9)
    world.backed_up(lock_days=5)
    objects_ = [until for name, until in locks.items() if name.startswith("objects/")]
    assert set(objects_) == {longer.locked_until}
    longest = world.backed_up(lock_days=20)
    assert {until for name, until in locks.items() if name.startswith("objects/")} == {longest.locked_until}


def test_one_that_is_not_locked_locks_nothing(world: BackupWorld, locks: Locks) -> None:
    world.backed_up()
    assert locks == {}


def test_a_purge_passes_over_what_the_store_keeps_and_says_until_when(
    world: BackupWorld, locks: Locks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "GRACE", timedelta(0))
    made = world.backed_up(lock_days=5)
    # As if the control plane's own lock were over, or had been taken away by somebody.
    Backup.objects.update(state="deleted")
    made.nodes.all().delete()
    assert purge_plan(world.who, world.location_id)["locked_objects"] == 3
    assert _purged(world).startswith("3 objects are locked in the store, the last until")
    assert len(world.names("objects/")) == 3
    BackupObject.objects.update(locked_until=datetime.now(UTC))
    locks.clear()
    _purged(world)
    assert world.names("objects/") == []


def test_a_bucket_without_locks_is_told_before_a_backup_ends(world: BackupWorld) -> None:
    assert world.ended(world.order_backup(lock_days=5)) == "blocked A folder has no object lock."
