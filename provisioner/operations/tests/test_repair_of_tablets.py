"""Runs of repairs of tables that are cut into tablets, beside one that is spread by tokens."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from backend.operations.states import OperationState
from backend.repairs import progress
from backend.repairs.models import RepairSchedule, RepairSegment, RepairTable
from backend.repairs.planning import tokens
from provisioner.agent.fake_ring import Table
from provisioner.operations import repair, testing
from provisioner.operations.repairing import live
from provisioner.operations.tests.cluster_world import world_of
from provisioner.operations.tests.test_repair import RepairWorld

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def fresh(nodes_per_zone: int = 1) -> Iterator[RepairWorld]:
    """`shop` has tablets; `store` has not."""
    live.KNOWN.clear()
    with world_of(RepairWorld, RepairWorld.repair) as world:
        world.engine = "scylla"
        world.filled(zones=("fake-1a", "fake-1b", "fake-1c"), nodes_per_zone=nodes_per_zone, replicas=3)
        datacenter = world.cluster.datacenters.get().name
        with world.agents.ring_of(world.cluster.ring_name) as membership:
            kept = {name: dict(replication) for name, replication in membership.ring.replication.items()}
        world.agents.set_keyspaces(world.cluster.ring_name, kept | {"store": {datacenter: 3}})
        with world.agents.ring_of(world.cluster.ring_name) as membership:
            membership.ring.tablets.append("shop")
            membership.fill("store", {"stock": Table(64 * 2**20, 20_000)})
        progress.make_missing_schedules()
        RepairSchedule.objects.filter(cluster_id=world.cluster_id).update(intensity=100)
        world.note()
        yield world


@pytest.fixture
def world() -> Iterator[RepairWorld]:
    with fresh(nodes_per_zone=2) as world:
        yield world


def test_killed_after_every_step() -> None:
    testing.check_killed_after_every_step(repair.CODE, fresh)


def test_each_tablet_and_each_range_is_repaired_once(world: RepairWorld) -> None:
    operation = world.repair()
    world.go(operation)
    assert operation.state == OperationState.SUCCEEDED
    world.assert_each_range_once("orders", "visits", "stock")
    with world.agents.ring_of(world.cluster.ring_name) as membership:
        tablets = {own for start, end, _ in membership.ring.ranges("shop") for own in tokens.unwrapped(start, end)}
    rows = RepairSegment.objects.filter(run=world.latest())
    asked = [(start, end) for row in rows.filter(keyspace="shop", tables=["orders"]) for start, end in row.ranges]
    assert set(asked) == tablets
    # Tables of tablets are repaired one at a time; without them, small ones share segments.
    assert {len(row.tables) for row in rows.filter(keyspace="shop")} == {1}
    assert {row.mode for row in rows.filter(keyspace="shop")} == {"incremental"}
    assert {row.mode for row in rows.filter(keyspace="store")} == {"full"}
    assert RepairTable.objects.filter(cluster_id=world.cluster_id, repaired_at=None).count() == 0


def test_tablets_that_move_meanwhile_are_repaired_where_they_are_then(
    world: RepairWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "RING_EVERY", 0.0)
    monkeypatch.setattr(live, "_EACH_RING", 0.0)
    operation = world.repair(tables=["shop.orders"])
    world.go(operation, until=lambda: world.latest().segments_done >= 1)
    before = set(RepairSegment.objects.filter(run=world.latest()).values_list("id", flat=True))
    world.replicate_shop_twice()
    world.go(operation)
    assert operation.state == OperationState.SUCCEEDED
    assert tokens.merged(world.repaired("orders")) == list(tokens.WHOLE)
    later = RepairSegment.objects.filter(run=world.latest(), state="done").exclude(id__in=before)
    assert {len(row.nodes) for row in later} == {2}


def test_a_tablet_that_cannot_be_repaired_is_given_up_alone(
    world: RepairWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.repairs.planning.retries._BACK_OFF", 0.0)
    world.agents.fail_repairs(world.cluster.ring_name, "shop", [0])
    operation = world.repair(tables=["shop.orders"])
    world.go(operation)
    run = world.latest()
    assert run.state == "partial"
    lost = RepairSegment.objects.filter(run=run, state="given-up")
    assert [len(row.ranges) for row in lost] == [1]
    start, end = lost.get().ranges[0]
    assert start < 0 <= end
    with world.agents.ring_of(world.cluster.ring_name) as membership:
        assert (start, end) in [(low, high) for low, high, _ in membership.ring.ranges("shop")]


def test_a_node_that_was_away_is_caught_up_by_a_usual_repair(world: RepairWorld) -> None:
    """ScyllaDB has no repair that sends to one side only."""
    operation = world.repair(node=world.nodes()[0].id)
    world.go(operation)
    assert operation.state == OperationState.SUCCEEDED
    assert {row.mode for row in RepairSegment.objects.filter(run=world.latest())} == {"incremental", "full"}
