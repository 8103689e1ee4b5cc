"""Closing hours against the database: nothing twice, nothing missed."""

import os
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.db import DatabaseError, transaction
from django.db.models import Sum

from backend.clusters.models import Cluster, Datacenter, MachineLife, Node
from backend.conftest import Tenant
from backend.costs import closing
from backend.costs.closing import close_hours
from backend.costs.models import HeldBytes, UsageRecord

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
MACHINES = int(os.environ.get("RINGMASTER_SIMULATED_MACHINES", "3"))
"""Of the simulated year, alive at once. The default takes some ten seconds of one core."""


@pytest.fixture
def world(tenant: Tenant) -> "World":
    return World(tenant)


class World:
    """A cluster whose machines come and go at given moments."""

    def __init__(self, tenant: Tenant) -> None:
        self.organisation = tenant.organisation
        self.cluster = Cluster.objects.create(
            organisation=self.organisation,
            name="orders",
            engine="cassandra",
            engine_version="5.0.5",
            provider="local",
            ring_name="orders",
            admin_username="admin",
            created_by="x",
        )
        self.datacenter = Datacenter.objects.create(
            cluster=self.cluster,
            name="local-local-1",
            region="local-1",
            zones=["local-1a"],
            machine_type="local.small",
            nodes_per_zone=1,
        )
        self.nodes = 0

    def node(self) -> Node:
        self.nodes += 1
        return Node.objects.create(
            cluster=self.cluster,
            datacenter=self.datacenter,
            name=f"n{self.nodes}",
            machine_type="local.small",
            zone="local-1a",
            position=self.nodes,
        )

    def machine(
        self, began: datetime, ended: datetime | None = None, *, kind: str = "local.small", disk: int = 0
    ) -> MachineLife:
        """`disk`: bytes of a boot disk."""
        return MachineLife.objects.create(
            node=self.node(),
            generation=1,
            organisation=self.organisation,
            cluster=self.cluster,
            provider="local",
            region="local-1",
            zone="local-1a",
            machine_type=kind,
            began_at=began,
            ended_at=ended,
            disk_class="folder" if disk else "",
            disk_bytes=disk,
            disk_began_at=began if disk else None,
        )


def used(**which: Any) -> int:
    return int(UsageRecord.objects.filter(**which).aggregate(Sum("unit_seconds"))["unit_seconds__sum"] or 0)


def test_an_hour_is_closed_five_minutes_after_its_end_and_once(world: World) -> None:
    world.machine(BEGIN + timedelta(minutes=30))
    assert close_hours(BEGIN + timedelta(hours=1, minutes=4, seconds=59)) == 0
    assert close_hours(BEGIN + timedelta(hours=1, minutes=5)) == 1
    assert close_hours(BEGIN + timedelta(hours=1, minutes=50)) == 0
    (record,) = UsageRecord.objects.all()
    assert (record.hour, record.unit_seconds, record.sequence) == (BEGIN, 1800, 0)
    assert (record.item, record.name, record.cluster_id) == ("machine", "local.small", world.cluster.id)


def test_workers_that_were_away_for_a_week_miss_nothing(world: World) -> None:
    world.machine(BEGIN, BEGIN + timedelta(days=6, seconds=1))
    assert close_hours(BEGIN + timedelta(days=8)) == 6 * 24 + 1
    assert used() == 6 * 86_400 + 1


def test_a_clock_that_was_put_back_closes_nothing_twice(world: World) -> None:
    life = world.machine(BEGIN)
    close_hours(BEGIN + timedelta(hours=10, minutes=6))
    assert close_hours(BEGIN + timedelta(hours=3, minutes=6)) == 0
    MachineLife.objects.filter(id=life.id).update(ended_at=BEGIN + timedelta(hours=12))
    assert close_hours(BEGIN + timedelta(hours=4, minutes=6)) == 0
    close_hours(BEGIN + timedelta(hours=20))
    assert used() == 12 * 3600


def test_what_turns_out_otherwise_is_corrected_by_records_in_addition(world: World) -> None:
    life = world.machine(BEGIN + timedelta(hours=1))
    close_hours(BEGIN + timedelta(hours=6, minutes=5))
    before = list(UsageRecord.objects.order_by("id").values())
    MachineLife.objects.filter(id=life.id).update(
        began_at=BEGIN + timedelta(minutes=30), ended_at=BEGIN + timedelta(hours=4, minutes=15)
    )
    assert close_hours(BEGIN + timedelta(hours=6, minutes=6)) == 3
    assert close_hours(BEGIN + timedelta(hours=6, minutes=7)) == 0
    more = {(record.hour.hour, int(record.unit_seconds), record.sequence) for record in UsageRecord.objects.all()}
    assert {(0, 1800, 0), (4, -2700, 1), (5, -3600, 1)} <= more
    assert used() == 3 * 3600 + 45 * 60
    assert list(UsageRecord.objects.filter(id__in=[row["id"] for row in before]).order_by("id").values()) == before


def test_a_crash_in_between_leaves_nothing_behind(world: World) -> None:
    world.machine(BEGIN)
    killed = patch.object(closing.Meter.objects, "bulk_create", side_effect=RuntimeError("killed"))
    with killed, pytest.raises(RuntimeError):
        close_hours(BEGIN + timedelta(hours=2, minutes=5))
    assert not UsageRecord.objects.exists()
    assert close_hours(BEGIN + timedelta(hours=2, minutes=5)) == 2


def test_usage_records_stay_as_they_are(world: World) -> None:
    world.machine(BEGIN)
    close_hours(BEGIN + timedelta(hours=2))
    changes: list[Callable[[], Any]] = [
        lambda: UsageRecord.objects.update(unit_seconds=0),
        lambda: UsageRecord.objects.all().delete(),
    ]
    for change in changes:
        with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
            change()


def test_bytes_are_metered_as_they_come_and_go(world: World) -> None:
    def held(count: int, began: timedelta, ended: timedelta | None) -> None:
        HeldBytes.objects.create(
            organisation=world.organisation,
            cluster_id=world.cluster.id,
            location_id="loc",
            provider="local",
            bytes=count,
            began_at=BEGIN + began,
            ended_at=None if ended is None else BEGIN + ended,
        )

    held(10**15, timedelta(), timedelta(minutes=20))
    held(3 * 10**15, timedelta(minutes=20), None)
    close_hours(BEGIN + timedelta(hours=2, minutes=5))
    # 10^15 × 1,200 s + 3 × 10^15 × 6,000 s
    assert used(item="object_storage") == 10**15 * 1_200 + 3 * 10**15 * 6_000


def test_a_boot_disk_is_metered_as_long_as_its_machine(world: World) -> None:
    life = world.machine(BEGIN + timedelta(minutes=30), BEGIN + timedelta(hours=2, seconds=1), disk=30 * 2**30)
    close_hours(BEGIN + timedelta(hours=4))
    # 30 GiB × (1,800 + 3,600 + 1) s
    assert used(item="block_storage", name="folder") == 30 * 2**30 * 5_401
    # Metered from an update on, and the machine turns out to have been gone before that.
    MachineLife.objects.filter(id=life.id).update(ended_at=BEGIN + timedelta(minutes=10), began_at=BEGIN)
    close_hours(BEGIN + timedelta(hours=4))
    assert (used(item="block_storage"), used(item="machine")) == (0, 600)


def test_a_year_of_machines_that_come_go_and_are_replaced(world: World) -> None:
    """Metered by hours, in any order, over crashes and clocks; the whole is counted here machine by machine."""
    chance, year = random.Random(7), timedelta(days=365)
    moment = BEGIN
    living = [world.machine(moment) for _ in range(MACHINES)]
    ended: list[tuple[datetime, datetime]] = []
    pending: list[MachineLife] = []
    while moment < BEGIN + year:
        moment += timedelta(seconds=chance.randrange(1, 14 * 86_400), microseconds=chance.randrange(10**6))
        life = living.pop(chance.randrange(len(living)))
        MachineLife.objects.filter(id=life.id).update(ended_at=moment)
        ended.append((life.began_at, moment))
        # A replacement begins where the other ends; after a change of the machine type it is another one.
        living.append(world.machine(moment, kind=chance.choice(["local.small", "local.medium"])))
        if chance.random() < 0.3:
            pending.append(life)
        if pending and chance.random() < 0.3:
            # Its machine turns out to have been gone for longer.
            late = pending.pop()
            row = MachineLife.objects.get(id=late.id)
            assert row.ended_at is not None
            true = row.began_at + (row.ended_at - row.began_at) * chance.random()
            ended[ended.index((row.began_at, row.ended_at))] = (row.began_at, true)
            MachineLife.objects.filter(id=late.id).update(ended_at=true)
        _look(moment + timedelta(hours=chance.randrange(-30, 1)), chance)
    last = BEGIN + year + timedelta(days=20)
    while close_hours(last):
        pass
    expected = sum(_second(end) - _second(begin) for begin, end in ended)
    expected += sum(_second(last.replace(minute=0)) - _second(life.began_at) for life in living)
    # `last` is a full hour: the one before it is not closed yet.
    expected -= 3600 * len(living)
    assert used() == expected
    month = {"hour__gte": datetime(2026, 3, 1, tzinfo=UTC), "hour__lt": datetime(2026, 4, 1, tzinfo=UTC)}
    lives = ended + [(life.began_at, last) for life in living]
    assert used(**month) == sum(_within(begin, end, month["hour__gte"], month["hour__lt"]) for begin, end in lives)
    sums = UsageRecord.objects.values("fact", "hour").annotate(total=Sum("unit_seconds"))
    assert all(0 <= row["total"] <= 3600 for row in sums)


def _look(now: datetime, chance: random.Random) -> None:
    """One run of the reconciler; one in five is killed before it commits."""
    if chance.random() < 0.2:
        with patch.object(closing.Meter.objects, "bulk_create", side_effect=RuntimeError("killed")):
            try:
                close_hours(now)
            except RuntimeError:
                return
    else:
        close_hours(now)


def _second(moment: datetime) -> int:
    return int(moment.replace(microsecond=0).timestamp())


def _within(begin: datetime, end: datetime, first: datetime, last: datetime) -> int:
    return max(0, _second(min(end, last)) - _second(max(begin, first)))
