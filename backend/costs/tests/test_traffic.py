"""What nodes sent, from readings of counters to usage and its cost: nothing twice, nothing missed."""

import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.conf import settings
from django.db.models import Sum

from backend.clusters.models import Datacenter, Node
from backend.conftest import Tenant
from backend.costs.closing import close_hours
from backend.costs.models import CostDay, CostLine, TableDay, TrafficReading, UsageRecord
from backend.costs.sharing import PARTS
from backend.costs.tests.test_closing import World, used
from backend.costs.traffic import Sent, close_traffic, note
from backend.prices import actions
from backend.prices.models import Price

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
GIB = 2**30


@pytest.fixture
def world(tenant: Tenant) -> World:
    actions.load()
    return World(tenant)


def sent(node: Node, clients: int = 0, epoch: str = "one", **zones: int) -> Sent:
    """Zones are of the node's own data centre: local_1a is local-1a."""
    to_nodes = {("local-local-1", zone.replace("_", "-")): count for zone, count in zones.items()}
    return Sent(node_id=node.id, epoch=epoch, to_nodes=to_nodes, clients=clients)


def by_item(**which: Any) -> dict[str, int]:
    rows = UsageRecord.objects.filter(**which).order_by().values("item").annotate(sum=Sum("unit_seconds"))
    return {row["item"]: int(row["sum"]) for row in rows}


def test_bytes_count_in_the_hours_in_which_they_were_sent(world: World) -> None:
    node = world.node()
    note([sent(node, clients=100, local_1a=7, local_1b=1000)], BEGIN + 30 * MINUTE)
    note([sent(node, clients=500, local_1a=7, local_1b=1600)], BEGIN + 70 * MINUTE)
    assert close_traffic(BEGIN + 74 * MINUTE) == 0
    assert close_traffic(BEGIN + 75 * MINUTE) == 2
    # What was between the readings, three quarters of the time in the first hour: 300 of 400, 450 of 600.
    assert by_item(hour=BEGIN) == {"traffic_in_zone": 100 + 7 + 300, "traffic_across_zones": 1000 + 450}
    assert close_traffic(BEGIN + 80 * MINUTE) == 0
    assert close_traffic(BEGIN + 3 * HOUR) == 2
    assert by_item() == {"traffic_in_zone": 507, "traffic_across_zones": 1600}
    assert {(row.provider, row.region, row.node_id, row.sequence) for row in UsageRecord.objects.all()} == {
        ("local", "local-1", node.id, 0)
    }


def test_what_is_read_late_is_another_record_of_its_hour(world: World) -> None:
    node = world.node()
    note([sent(node, local_1b=10)], BEGIN + 10 * MINUTE)
    close_traffic(BEGIN + 2 * HOUR)
    # Nobody could reach the node for four hours.
    note([sent(node, local_1b=250)], BEGIN + 250 * MINUTE)
    close_traffic(BEGIN + 6 * HOUR)
    rows = UsageRecord.objects.order_by("hour", "sequence").values_list("hour", "sequence", "unit_seconds")
    assert [((hour - BEGIN) // HOUR, sequence, int(count)) for hour, sequence, count in rows] == [
        (0, 0, 10),
        (0, 1, 50),
        (1, 0, 60),
        (2, 0, 60),
        (3, 0, 60),
        (4, 0, 10),
    ]


def test_a_reading_that_is_told_twice_counts_once(world: World) -> None:
    node = world.node()
    for _ in range(3):
        note([sent(node, clients=40, local_1b=10)], BEGIN + MINUTE)
    # Another machine counts from nothing; so does a counter that went back.
    note([sent(node, clients=4, epoch="two", local_1b=10)], BEGIN + 2 * MINUTE)
    note([sent(node, clients=3, epoch="two", local_1b=10)], BEGIN + 3 * MINUTE)
    close_traffic(BEGIN + 2 * HOUR)
    assert by_item() == {"traffic_in_zone": 40 + 4 + 3, "traffic_across_zones": 20}


def test_a_clock_that_was_put_back_counts_nothing_twice(world: World) -> None:
    node = world.node()
    note([sent(node, local_1b=10)], BEGIN + 5 * HOUR)
    note([sent(node, local_1b=30)], BEGIN + 2 * HOUR)
    assert TrafficReading.objects.get().read_at == BEGIN + 5 * HOUR
    close_traffic(BEGIN + 4 * HOUR)
    note([sent(node, local_1b=90)], BEGIN + 6 * HOUR)
    close_traffic(BEGIN + 9 * HOUR)
    close_traffic(BEGIN + 3 * HOUR)
    assert by_item() == {"traffic_across_zones": 90}


def test_how_far_bytes_go_tells_their_price(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    node = world.node()
    for position, (name, region) in enumerate((("near", "local-1"), ("far", "local-2")), start=1):
        Datacenter.objects.create(
            cluster=world.cluster,
            name=name,
            position=position,
            region=region,
            zones=["local-1a"],
            machine_type="local.small",
            nodes_per_zone=1,
        )
    monkeypatch.setattr(settings.ENV, "ringmaster_client_traffic", "out")
    to_nodes = {("near", "local-1a"): 1, ("near", "local-1b"): 20, ("far", "local-1a"): 300, ("unheard", "x"): 4000}
    note([Sent(node_id=node.id, epoch="one", to_nodes=to_nodes, clients=50_000)], BEGIN)
    close_traffic(BEGIN + 2 * HOUR)
    assert by_item() == {"traffic_in_zone": 1, "traffic_across_zones": 4020, "traffic_out": 50_300}


def test_what_traffic_costs(world: World) -> None:
    """By hand: 3 GiB across zones × 0.01 = 0.03; in the zone nothing; mark-up of 10 %: 0.003."""
    Price.objects.create(
        provider="local", item="markup", origin="operator", micros=100_000, valid_from=datetime(2026, 1, 1, tzinfo=UTC)
    )
    note([sent(world.node(), clients=8 * GIB, local_1b=3 * GIB)], BEGIN + MINUTE)
    close_traffic(BEGIN + 2 * HOUR)
    lines = {row.item: (int(row.quantity), row.price, row.micros) for row in CostLine.objects.all()}
    assert lines == {
        "traffic_in_zone": (8 * GIB, 0, 0),
        "traffic_across_zones": (3 * GIB, 10_000, 30_000),
        "markup": (30_000, 100_000, 3_000),
    }
    (day,) = CostDay.objects.all()
    assert (day.traffic, day.overhead, day.compute) == (30_000, 3_000, 0)
    shared = TableDay.objects.get()
    assert [getattr(shared, part) for part in PARTS] == [getattr(day, part) for part in PARTS]


def test_a_crash_in_between_leaves_nothing_behind(world: World) -> None:
    node = world.node()
    note([sent(node, local_1b=10)], BEGIN)
    killed = patch.object(TrafficReading.objects, "bulk_update", side_effect=RuntimeError("killed"))
    with killed, pytest.raises(RuntimeError):
        close_traffic(BEGIN + 2 * HOUR)
    assert not UsageRecord.objects.exists()
    assert close_traffic(BEGIN + 2 * HOUR) == 1
    killed = patch.object(TrafficReading.objects, "bulk_create", side_effect=RuntimeError("killed"))
    with killed, pytest.raises(RuntimeError):
        note([sent(node, local_1b=30)], BEGIN + MINUTE)
    note([sent(node, local_1b=35)], BEGIN + 2 * MINUTE)
    close_traffic(BEGIN + 4 * HOUR)
    assert by_item() == {"traffic_across_zones": 35}


def test_a_node_that_nobody_knows_is_left_out(world: World) -> None:
    note([Sent(node_id="nod_gone", epoch="one", to_nodes={}, clients=5)], BEGIN)
    note([])
    assert not TrafficReading.objects.exists()


class _Machine:
    """A node whose engine sends; `truth` is what it sent in all."""

    def __init__(self, node: Node, chance: random.Random) -> None:
        self.node, self.chance, self.machines = node, chance, 0
        self.truth = {"traffic_in_zone": 0, "traffic_across_zones": 0}
        self.replace()

    def replace(self) -> None:
        """Another machine: its agent counts from nothing."""
        self.machines += 1
        self.clients, self.zones = 0, {"local_1a": 0, "local_1b": 0, "local_1c": 0}

    def send(self) -> None:
        more = self.chance.randrange(10**12)
        self.clients += more
        self.truth["traffic_in_zone"] += more
        for zone in self.zones:
            more = self.chance.randrange(10**12)
            self.zones[zone] += more
            self.truth["traffic_in_zone" if zone == "local_1a" else "traffic_across_zones"] += more

    def told(self) -> Sent:
        return sent(self.node, clients=self.clients, epoch=f"machine {self.machines}", **self.zones)


def test_a_year_of_nodes_that_send_are_read_and_replaced(world: World) -> None:
    """Read and closed at odd moments, by workers that die, by clocks that are put back; counted here as it is sent."""
    chance, moment = random.Random(11), BEGIN
    machines = [_Machine(world.node(), chance) for _ in range(2)]
    while moment < BEGIN + timedelta(days=365):
        moment += timedelta(seconds=chance.randrange(1, 14 * 86_400), microseconds=chance.randrange(10**6))
        for machine in machines:
            machine.send()
        seen = moment + timedelta(hours=chance.randrange(-30, 1))
        _read([machine.told() for machine in machines if chance.random() < 0.8], seen, chance)
        _close(seen, chance)
        if chance.random() < 0.4:
            machine = chance.choice(machines)
            # Read once more before its machine goes.
            note([machine.told()], seen)
            machine.replace()
    last = moment + timedelta(days=2)
    note([machine.told() for machine in machines], moment)
    close_traffic(last)
    close_hours(last)
    for machine in machines:
        assert by_item(node_id=machine.node.id) == machine.truth
    assert not TrafficReading.objects.exclude(due_from=None).exists()
    assert sum(machine.machines for machine in machines) > 5
    rows: Mapping[str, int] = CostLine.objects.exclude(item="markup").aggregate(Sum("quantity"))
    assert int(rows["quantity__sum"]) == used() == sum(sum(machine.truth.values()) for machine in machines)


def _read(read: list[Sent], now: datetime, chance: random.Random) -> None:
    """One in five is killed before it commits, and one in five repeats itself."""
    if chance.random() < 0.2:
        with patch.object(TrafficReading.objects, "bulk_create", side_effect=RuntimeError("killed")):
            try:
                note(read, now)
            except RuntimeError:
                return
    for _ in range(1 + (chance.random() < 0.2)):
        note(read, now)


def _close(now: datetime, chance: random.Random) -> None:
    if chance.random() < 0.2:
        with patch.object(TrafficReading.objects, "bulk_update", side_effect=RuntimeError("killed")):
            try:
                close_traffic(now)
            except RuntimeError:
                return
    close_traffic(now)
