from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from backend.backups import actions as backups
from backend.backups import schedule_actions
from backend.backups.models import Backup, BackupLocation, BackupSchedule
from backend.backups.schemas import BackupScheduleOrder
from backend.findings.models import Finding
from backend.operations.models import Operation
from provisioner.operations.tests.backup_world import BackupWorld, backup_world
from provisioner.reconcile.backup_findings import tell_of_backups

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world() -> Iterator[BackupWorld]:
    with backup_world() as made:
        order = {"name": "hourly", "interval_minutes": 60, "keep_count": 5, "location_id": made.location_id}
        schedule_actions.create_schedule(made.who, made.cluster_id, BackupScheduleOrder.model_validate(order))
        yield made


def told(world: BackupWorld) -> dict[str, str]:
    """What is open now, by code."""
    tell_of_backups()
    rows = Finding.objects.filter(cluster_id=world.cluster_id, state="open", code__startswith="backup-")
    assert all(row.hint and row.organisation_id == world.who.organisation_id for row in rows)
    return dict(rows.values_list("code", "sentence"))


def _backups(world: BackupWorld, *states: str, age: timedelta = timedelta(0), **columns: object) -> list[Backup]:
    """Rows of the schedule's backups, the oldest first."""
    at = datetime.now(UTC) - age
    return [
        Backup.objects.create(
            organisation_id=world.who.organisation_id,
            cluster_id=world.cluster_id,
            cluster_name="demo",
            location_id=world.location_id,
            schedule=BackupSchedule.objects.get(cluster_id=world.cluster_id),
            state=state,
            engine="cassandra",
            engine_version="5.0.8",
            key_id="0" * 16,
            taken_at=at,
            finished_at=at,
            verified_at=at,
            created_by="test",
            **columns,
        )
        for state in states
    ]


def test_nothing_is_told_where_nothing_is_wrong(world: BackupWorld) -> None:
    _backups(world, "failed", "complete")
    assert told(world) == {}


def test_two_in_a_row_that_were_not_complete_until_one_is(world: BackupWorld) -> None:
    _backups(world, "complete", "failed")
    assert told(world) == {}
    _backups(world, "cancelled", "incomplete", missing=["2 of 9 ranges of the keyspace shop."])
    assert "2 of 9 ranges" in told(world)["backup-failing"]
    _backups(world, "complete")
    assert told(world) == {}
    assert Finding.objects.get(code="backup-failing").closed_at is not None


def test_one_that_is_older_than_promised(world: BackupWorld) -> None:
    _backups(world, "complete", age=timedelta(hours=2))
    assert told(world) == {}
    Backup.objects.update(taken_at=datetime.now(UTC) - timedelta(hours=2, minutes=31))
    assert "older than it promises" in told(world)["backup-overdue"]
    BackupSchedule.objects.update(enabled=False)
    assert told(world) == {}


def test_a_schedule_that_never_made_one(world: BackupWorld) -> None:
    BackupSchedule.objects.update(created_at=datetime.now(UTC) - timedelta(days=1))
    assert "was never made" in told(world)["backup-overdue"]


def test_a_damaged_object_until_it_is_stored_anew(world: BackupWorld) -> None:
    made = world.backed_up()
    path = world.path(world.names("objects/")[0])
    path.write_bytes(path.read_bytes()[:-1])
    started = backups.verify_backup(world.who, made.id)
    assert world.ended(Operation.objects.get(id=started["operation"]["id"])) == "succeeded"
    assert path.name in told(world)["backup-damaged"]
    world.backed_up()
    assert told(world) == {}


def test_verifications_that_are_not_made(world: BackupWorld) -> None:
    (made,) = _backups(world, "complete")
    Backup.objects.filter(id=made.id).update(verified_at=datetime.now(UTC) - timedelta(days=4))
    assert "not verified since" in told(world)["backup-unverified"]


def test_a_location_that_is_away_until_it_is_back(world: BackupWorld) -> None:
    BackupLocation.objects.filter(id=world.location_id).update(folder=str(world.folder / "absent"))
    assert "There is no folder" in told(world)["backup-location-unreachable"]
    (world.folder / "absent").mkdir()
    # It is tried again after some minutes, not in every run.
    assert "backup-location-unreachable" in told(world)
    BackupLocation.objects.update(checked_at=datetime.now(UTC) - timedelta(minutes=6))
    assert told(world) == {}
