"""Which complete backups are there longer than anybody asked for, and what they alone hold."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from backend.backups.models import (
    Backup,
    BackupBundle,
    BackupLocation,
    BackupNode,
    BackupObject,
    BackupSchedule,
    BackupTable,
    Restore,
)
from backend.backups.overdue import overdue_backups
from backend.backups.tests.test_backups_api import finished
from backend.clusters.models import Cluster

NOW = datetime.now(UTC)
Made = Callable[..., Backup]


def days(number: float) -> datetime:
    return NOW - timedelta(days=number)


@pytest.fixture
def schedule(active: Cluster, operators: BackupLocation) -> BackupSchedule:
    return BackupSchedule.objects.create(
        cluster=active, location=operators, name="nightly", interval_minutes=1440, keep_days=7, created_by="test"
    )


@pytest.fixture
def made(active: Cluster, operators: BackupLocation) -> Made:
    """A backup of so many days ago, that refers to objects of a number of bytes."""

    def make(age: float, *objects: int, **columns: Any) -> Backup:
        backup = finished(active, operators, taken_at=days(age), **columns)
        owner = active.nodes.order_by("position")[0]
        node = BackupNode.objects.create(
            backup=backup, node=owner, name=owner.name, datacenter="dc", rack="r", state="snapshot"
        )
        table = BackupTable.objects.create(backup=backup, keyspace="shop", name="orders")
        for size in objects:
            held, _ = BackupObject.objects.get_or_create(
                location=operators,
                organisation_id=active.organisation_id,
                key=f"{size:064x}",
                defaults={"bytes": size, "stored_bytes": size, "stored_at": NOW},
            )
            BackupBundle.objects.create(
                node=node, table=table, object=held, sstable=f"nb-{size}", min_token=0, max_token=1
            )
        return backup

    return make


def test_what_is_past_its_schedule_holds_what_no_other_needs(active: Cluster, schedule: BackupSchedule, made: Made):
    old = made(20, 100, 30, schedule=schedule)
    made(1, 30, 5, schedule=schedule)
    (found,) = overdue_backups(active)
    assert (found.expired, found.endless, found.bytes) == ((old.id,), (), 100)
    assert found.oldest == old.taken_at


@pytest.mark.parametrize(("age", "told"), [(8.9, False), (9.1, True)])
def test_what_was_over_lately_goes_by_itself(
    active: Cluster, schedule: BackupSchedule, made: Made, age: float, told: bool
):
    made(age, 10, schedule=schedule)
    made(1, 5, schedule=schedule)
    assert bool(overdue_backups(active)) is told


@pytest.mark.parametrize(("age", "told"), [(6.9, False), (7.1, True)])
def test_those_made_by_hand_are_held_against_the_schedule(
    active: Cluster, schedule: BackupSchedule, made: Made, age: float, told: bool
):
    by_hand = made(age, 10)
    made(1, 5, schedule=schedule)
    assert [each.endless for each in overdue_backups(active)] == ([(by_hand.id,)] if told else [])


def test_without_days_in_each_schedule_nothing_is_held_against_those_made_by_hand(
    active: Cluster, operators: BackupLocation, schedule: BackupSchedule, made: Made
):
    made(400, 10)
    made(1, 5, schedule=schedule)
    assert len(overdue_backups(active)) == 1
    BackupSchedule.objects.create(
        cluster=active, location=operators, name="yearly", interval_minutes=9999, keep_count=3, created_by="test"
    )
    assert overdue_backups(active) == []
    BackupSchedule.objects.all().update(deleted_at=NOW)
    assert overdue_backups(active) == []


def test_the_newest_the_locked_and_the_incomplete_are_left_alone(active: Cluster, schedule: BackupSchedule, made: Made):
    made(400, 10, locked_until=NOW + timedelta(days=1))
    made(300, 11, state="incomplete")
    made(200, 12)
    assert overdue_backups(active) == []


def test_what_is_being_restored_is_left_alone(active: Cluster, schedule: BackupSchedule, made: Made):
    old = made(20, 10, schedule=schedule)
    made(1, 5, schedule=schedule)
    Restore.objects.create(
        organisation_id=active.organisation_id, cluster=active, backup=old, mode="replace", created_by="test"
    )
    assert overdue_backups(active) == []


@pytest.mark.parametrize(("ago", "told"), [(29, False), (31, True)])
def test_those_of_a_deleted_cluster_stay_as_long_as_schedules_say(active: Cluster, made: Made, ago: float, told: bool):
    made(100, 10)
    active.deleted_at = days(ago)
    assert [each.bytes for each in overdue_backups(active)] == ([10] if told else [])
