"""What closed hours cost, and whose it is: the parts are the whole in every transaction."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.db.models import Sum

from backend.clusters.models import MachineLife
from backend.conftest import Tenant
from backend.costs import sharing_hours
from backend.costs.closing import close_hours
from backend.costs.models import CostDay, CostLine, CostMonth, HeldBytes, HourToShare, TableDay, TableMonth
from backend.costs.sharing import PARTS
from backend.costs.sharing_hours import share_hours
from backend.costs.tests.test_closing import World
from backend.metrics.store import MetricsUnavailable
from backend.metrics.usage import ClusterHour, TableHour
from backend.prices import actions
from backend.prices.models import Price

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def world(tenant: Tenant) -> World:
    actions.load()
    return World(tenant)


def price(item: str, micros: int, begin: datetime = datetime(2026, 1, 1, tzinfo=UTC), name: str = "") -> None:
    term = "on_demand" if item == "machine" else ""
    Price.objects.create(
        provider="local", item=item, name=name, term=term, origin="operator", micros=micros, valid_from=begin
    )


def lines() -> dict[tuple[str, int | None], int]:
    rows = CostLine.objects.values("item", "price").annotate(total=Sum("micros"))
    return {(row["item"], row["price"]): row["total"] for row in rows}


def busy(orders: float = 900.0, items: float = 450.0) -> ClusterHour:
    """Of 3,600 CPU-seconds; half of the disks are theirs."""
    return ClusterHour(
        tables={
            ("shop", "orders"): TableHour(
                service_seconds=orders, reads=2e6, writes=1e6, live_bytes=30e9, total_bytes=30e9
            ),
            ("shop", "items"): TableHour(service_seconds=items, reads=5e5, live_bytes=20e9, total_bytes=20e9),
        },
        cpu_seconds=3600.0,
        disk_bytes=100e9,
    )


@pytest.fixture
def metrics(monkeypatch: pytest.MonkeyPatch) -> dict[datetime, ClusterHour]:
    """By hour, of every cluster that is asked for; an hour that is not in it has none."""
    known: dict[datetime, ClusterHour] = {}

    def hours_of(cluster_ids: list[str], hour: datetime) -> Mapping[str, ClusterHour]:
        return {cluster: known[hour] for cluster in cluster_ids if hour in known}

    monkeypatch.setattr(sharing_hours, "hours_of", hours_of)
    return known


@pytest.fixture
def keep_days(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing_hours, "DAYS_KEPT", 100_000)


def whole() -> dict[tuple[str, Any], list[int]]:
    return {(row.cluster_id, row.day): [getattr(row, part) for part in PARTS] for row in CostDay.objects.all()}


def check_that_the_parts_are_the_whole() -> None:
    of_tables: dict[tuple[str, Any], list[int]] = {}
    for row in TableDay.objects.select_related("table"):
        sums = of_tables.setdefault((row.table.cluster_id, row.day), [0] * len(PARTS))
        for number, part in enumerate(PARTS):
            sums[number] += getattr(row, part)
        assert row.micros == sum(getattr(row, part) for part in PARTS)
    assert of_tables == whole()
    by_day = CostDay.objects.aggregate(**{part: Sum(part) for part in PARTS})
    assert TableMonth.objects.aggregate(**{part: Sum(part) for part in PARTS}) == by_day
    assert CostMonth.objects.aggregate(**{part: Sum(part) for part in PARTS}) == by_day
    by_line = CostLine.objects.aggregate(Sum("micros"))["micros__sum"]
    assert by_line == sum(by_day.values())


def cost(keyspace: str, name: str) -> TableDay:
    return TableDay.objects.get(table__keyspace=keyspace, table__name=name)


def test_an_hour_costs_what_its_machines_backups_markup_and_fees_come_to(world: World) -> None:
    price("markup", 125_000)
    price("node_fee", 1_000)
    price("cluster_fee", 730_000)
    world.machine(BEGIN)
    world.machine(BEGIN, BEGIN + timedelta(minutes=15))
    HeldBytes.objects.create(
        organisation=world.organisation,
        cluster_id=world.cluster.id,
        location_id="loc",
        provider="local",
        bytes=730 * 2**30,
        began_at=BEGIN,
    )
    close_hours(BEGIN + HOUR + timedelta(minutes=5))
    assert lines() == {
        ("machine", 20_000): 25_000,  # 4,500 s × 0.02 an hour
        ("object_storage", 20_000): 20_000,  # 730 GiB × 0.02 ÷ 730
        ("markup", 125_000): 5_625,
        ("node_fee", 1_000): 1_250,
        ("cluster_fee", 730_000): 1_000,
    }
    (day,) = CostDay.objects.all()
    assert (day.compute, day.storage, day.backups, day.overhead) == (17_500, 7_500, 20_000, 7_875)
    close_hours(BEGIN + HOUR + timedelta(minutes=10))
    assert sum(lines().values()) == 52_875


def test_what_has_no_price_is_written_and_costs_nothing(world: World) -> None:
    world.machine(BEGIN, kind="local.unheard")
    close_hours(BEGIN + HOUR + timedelta(minutes=5))
    (line,) = CostLine.objects.all()
    assert (line.price, line.quantity, line.micros) == (None, 3600, 0)


def test_a_new_price_does_not_change_the_hours_before_it(world: World) -> None:
    life = world.machine(BEGIN)
    price("machine", 50_000, BEGIN + 2 * HOUR, name="local.small")
    close_hours(BEGIN + 4 * HOUR + timedelta(minutes=5))
    assert lines() == {("machine", 20_000): 40_000, ("machine", 50_000): 100_000}
    # It turns out to have ended in the second hour: each hour is taken back at its own price.
    MachineLife.objects.filter(id=life.id).update(ended_at=BEGIN + HOUR + timedelta(minutes=30))
    close_hours(BEGIN + 4 * HOUR + timedelta(minutes=6))
    assert lines() == {("machine", 20_000): 30_000, ("machine", 50_000): 0}


def test_a_day_that_is_over_is_corrected_by_another_line(world: World) -> None:
    life = world.machine(BEGIN)
    for hour in range(1, 30):
        close_hours(BEGIN + hour * HOUR + timedelta(minutes=5))
    first = CostLine.objects.get(day=BEGIN.date())
    assert (first.micros, first.sequence) == (480_000, 0)
    MachineLife.objects.filter(id=life.id).update(ended_at=BEGIN + 12 * HOUR)
    close_hours(BEGIN + 30 * HOUR)
    before, after = CostLine.objects.filter(day=BEGIN.date()).order_by("sequence")
    assert (before.id, before.micros) == (first.id, 480_000)
    assert (after.micros, after.quantity, after.sequence) == (-240_000, -12 * 3600, 1)
    assert CostDay.objects.get(day=BEGIN.date()).compute == 168_000
    (open_day,) = CostLine.objects.filter(day=BEGIN.date() + timedelta(days=1))
    assert open_day.micros == 0


def test_amounts_are_rounded_once_a_day_not_every_hour(world: World) -> None:
    price("machine", 1, name="local.small")
    # Ten minutes of every hour: a sixth of a micro-dollar each.
    for hour in range(24):
        begin = BEGIN + hour * HOUR
        world.machine(begin, begin + timedelta(minutes=10))
        close_hours(begin + HOUR + timedelta(minutes=5))
    assert CostLine.objects.get(day=BEGIN.date()).micros == 4


@pytest.mark.usefixtures("keep_days")
def test_tables_bear_what_they_used_and_the_rest_is_shared(world: World, metrics: dict[datetime, ClusterHour]) -> None:
    price("machine", 1_000_000, name="local.small")
    metrics[BEGIN] = busy()
    world.machine(BEGIN)
    close_hours(BEGIN + HOUR + timedelta(minutes=5))
    assert cost("", "").micros == 1_000_000
    assert share_hours() == 1
    assert share_hours() == 0
    orders, items, shared = cost("shop", "orders"), cost("shop", "items"), cost("", "")
    # 0.70 by 900 : 450 : 2,250 s, and 0.30 by 60 : 40 : 100 GB.
    assert (orders.compute, items.compute, shared.compute) == (175_000, 87_500, 437_500)
    assert (orders.storage, items.storage, shared.storage) == (90_000, 60_000, 150_000)
    assert (orders.reads, orders.writes, shared.reads) == (2_000_000, 1_000_000, 0)
    check_that_the_parts_are_the_whole()
    assert CostDay.objects.get().unmeasured == 0


@pytest.mark.usefixtures("keep_days")
def test_an_hour_without_metrics_is_shared_and_told(world: World, metrics: dict[datetime, ClusterHour]) -> None:
    metrics[BEGIN] = busy()
    world.machine(BEGIN)
    close_hours(BEGIN + 2 * HOUR + timedelta(minutes=5))
    share_hours()
    assert CostDay.objects.get().unmeasured == 20_000
    assert cost("shop", "orders").micros == 5_300  # 0.25 of 14,000 and 0.3 of 6,000: of one hour only
    check_that_the_parts_are_the_whole()


@pytest.mark.usefixtures("keep_days")
def test_hours_wait_for_a_store_that_does_not_answer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(cluster_ids: list[str], hour: datetime) -> Mapping[str, ClusterHour]:
        raise MetricsUnavailable("metrics_unavailable", "Away.")

    monkeypatch.setattr(sharing_hours, "hours_of", away)
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - 2 * HOUR
    world.machine(hour, hour + HOUR)
    close_hours(hour + HOUR + timedelta(minutes=5))
    assert share_hours() == 0
    assert HourToShare.objects.count() == 1
    monkeypatch.setattr(sharing_hours, "PATIENCE", timedelta())
    assert share_hours() == 1
    assert sum(CostDay.objects.values_list("unmeasured", flat=True)) == 20_000


@pytest.mark.usefixtures("keep_days")
def test_what_turns_out_to_have_cost_less_is_given_back_by_those_who_bore_it(
    world: World, metrics: dict[datetime, ClusterHour]
) -> None:
    metrics[BEGIN] = busy(orders=3000.0, items=600.0)
    life = world.machine(BEGIN)
    close_hours(BEGIN + HOUR + timedelta(minutes=5))
    share_hours()
    assert cost("shop", "orders").compute == 11_667
    MachineLife.objects.filter(id=life.id).update(ended_at=BEGIN + timedelta(minutes=30))
    close_hours(BEGIN + HOUR + timedelta(minutes=6))
    check_that_the_parts_are_the_whole()
    share_hours()
    check_that_the_parts_are_the_whole()
    assert (cost("shop", "orders").compute, cost("shop", "items").compute) == (5_833, 1_167)
    assert cost("", "").compute == 0
    assert cost("shop", "orders").reads == 2_000_000


@pytest.mark.usefixtures("keep_days")
def test_nothing_is_shared_twice_when_a_worker_dies(world: World, metrics: dict[datetime, ClusterHour]) -> None:
    metrics[BEGIN] = busy()
    world.machine(BEGIN)
    close_hours(BEGIN + HOUR + timedelta(minutes=5))
    killed = patch.object(sharing_hours, "add_to_tables", side_effect=RuntimeError("killed"))
    with killed, pytest.raises(RuntimeError):
        share_hours()
    assert HourToShare.objects.count() == 1
    assert share_hours() == 1
    check_that_the_parts_are_the_whole()


@pytest.mark.usefixtures("keep_days")
def test_months_end_where_they_end(world: World, metrics: dict[datetime, ClusterHour]) -> None:
    end = datetime(2026, 3, 31, 23, tzinfo=UTC)
    metrics.update({end: busy(), end + HOUR: busy()})
    world.machine(end, end + 2 * HOUR)
    close_hours(end + 3 * HOUR + timedelta(minutes=5))
    share_hours()
    months = TableMonth.objects.values("month").annotate(total=Sum("micros")).order_by("month")
    assert [(row["month"].month, row["total"]) for row in months] == [(3, 20_000), (4, 20_000)]
    check_that_the_parts_are_the_whole()


@pytest.mark.usefixtures("keep_days")
def test_a_life_of_corrections_adds_up(world: World, metrics: dict[datetime, ClusterHour]) -> None:
    """Machines that come, go and turn out otherwise; looked at after each step."""
    price("markup", 77_777)
    price("machine", 12_345, BEGIN + 5 * HOUR, name="local.small")
    steps: list[Callable[[], Any]] = []
    for hour in range(0, 40, 2):
        metrics[BEGIN + hour * HOUR] = busy(orders=100.0 * hour, items=37.0)
        life = world.machine(BEGIN + hour * HOUR, BEGIN + (hour + 9) * HOUR + timedelta(seconds=hour))
        steps.append(
            lambda life=life: MachineLife.objects.filter(id=life.id).update(
                ended_at=life.began_at + (life.ended_at - life.began_at) / 3
            )
        )
    for number, step in enumerate(steps):
        close_hours(BEGIN + (5 * number + 2) * HOUR)
        check_that_the_parts_are_the_whole()
        if number % 3:
            share_hours()
            check_that_the_parts_are_the_whole()
            assert all(getattr(row, part) >= 0 for row in TableDay.objects.all() for part in PARTS)
        step()
    close_hours(BEGIN + 200 * HOUR)
    share_hours()
    check_that_the_parts_are_the_whole()
    assert all(getattr(row, part) >= 0 for row in TableDay.objects.all() for part in PARTS)


def test_days_of_tables_are_dropped_and_months_stay(world: World, metrics: dict[datetime, ClusterHour]) -> None:
    recent = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - 3 * HOUR
    metrics.update({BEGIN: busy(), recent: busy()})
    world.machine(BEGIN, BEGIN + HOUR)
    world.machine(recent, recent + HOUR)
    close_hours(recent + 2 * HOUR)
    share_hours()
    assert set(TableDay.objects.values_list("day", flat=True)) == {recent.date()}
    assert {row.month for row in TableMonth.objects.all()} == {BEGIN.date(), recent.date().replace(day=1)}
