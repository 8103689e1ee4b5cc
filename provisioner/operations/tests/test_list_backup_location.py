import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from backend.backups import listing, location_actions, objects
from backend.backups.location_queries import purge_plan
from backend.backups.models import BackupLocation, BackupObject, BackupPlace
from backend.backups.queries import get_backup
from backend.operations.models import Operation
from provisioner.operations import list_backup_location
from provisioner.operations.tests.backup_world import BackupWorld, backup_world
from provisioner.reconcile.backups import see_to_backups

pytestmark = pytest.mark.django_db(transaction=True)
STRANGE = "ab" * 32


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[BackupWorld]:
    monkeypatch.setattr(list_backup_location, "PAGE", 2)
    with backup_world() as made:
        made.backed_up()
        yield made


def _listed(world: BackupWorld) -> BackupPlace:
    location = BackupLocation.objects.get(id=world.location_id)
    listing.ensure_place(location, world.who.organisation_id)
    BackupPlace.objects.filter(location=location).update(listing_due_at=datetime.now(UTC))
    (place,) = listing.due(at_most=5)
    operation = listing.start(place, actor="test")
    assert operation is not None
    assert world.ended(operation) == "succeeded"
    place.refresh_from_db()
    assert place.listed_at is not None
    return place


def _put(world: BackupWorld, key: str, *, age: timedelta) -> Path:
    path = world.path(f"objects/{key[:2]}/{key}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"nobody knows it")
    at = (datetime.now(UTC) - age).timestamp()
    os.utime(path, (at, at))
    return path


def test_where_all_is_well_nothing_is_found(world: BackupWorld) -> None:
    place = _listed(world)
    assert (place.unknown_objects, place.missing_objects) == (0, 0)
    assert not BackupObject.objects.exclude(bad="").exists()


def test_what_nobody_knows_goes_with_a_purge_and_the_dry_run_shows_it(
    world: BackupWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "GRACE", timedelta(0))
    path = _put(world, STRANGE, age=timedelta(days=15))
    young = _put(world, "cd" * 32, age=timedelta(days=2))
    assert _listed(world).unknown_objects == 1
    assert purge_plan(world.who, world.location_id)["objects"] == 1
    location = BackupLocation.objects.get(id=world.location_id)
    operation = location_actions.start_purge(location, world.who.organisation_id, actor="test")
    assert world.ended(operation) == "succeeded"
    assert (path.exists(), young.exists(), len(world.names("objects/"))) == (False, True, 3 + 1)


def test_what_comes_to_be_needed_is_stored_anew(world: BackupWorld) -> None:
    row = BackupObject.objects.earliest("key")
    key, name = row.key, f"objects/{row.key[:2]}/{row.key}"
    row.entries.all().delete()
    row.delete()
    path = _put(world, key, age=timedelta(days=15))
    assert _listed(world).unknown_objects == 1
    assert world.backed_up().state == "complete"
    assert path.read_bytes() != b"nobody knows it"
    assert (name in world.names(), BackupObject.objects.get(key=key).bad) == (True, "")


def test_nothing_is_marked_where_backups_of_another_control_plane_lie(world: BackupWorld) -> None:
    _put(world, STRANGE, age=timedelta(days=15))
    world.store.put("manifests/clu_other/bkp_other/manifest.json", b"{}")
    place = _listed(world)
    assert (place.foreign_backups, place.unknown_objects) == (1, 0)


def test_what_is_not_there_is_noted_and_its_backups_name_it(world: BackupWorld) -> None:
    name = world.names("objects/")[1]
    world.path(name).unlink()
    assert _listed(world).missing_objects == 1
    assert get_backup(world.who, world.backup.id)["damaged"] == name.rpartition("/")[2]


def test_it_is_due_once_a_week_from_the_first_purge_on(world: BackupWorld) -> None:
    see_to_backups()
    assert BackupPlace.objects.filter(location_id=world.location_id).count() == 1
    assert not Operation.objects.filter(kind="list_backup_location").exists()
    BackupPlace.objects.update(listing_due_at=datetime.now(UTC) - timedelta(seconds=1))
    see_to_backups()
    see_to_backups()
    assert Operation.objects.filter(kind="list_backup_location").count() == 1
