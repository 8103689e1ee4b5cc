"""The kind repair, on fake nodes: the kit, and what can happen to a run."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from django.db.models.functions import Now

from backend.clusters.models import Node
from backend.clusters.states import NodeState
from backend.operations import turns
from backend.operations.models import Operation
from backend.operations.states import OperationState
from backend.repairs import actions, progress
from backend.repairs.models import RepairRun, RepairSchedule, RepairSegment, RepairTable
from backend.repairs.planning import tokens
from backend.repairs.states import RepairRunReason, RepairSegmentState
from provisioner import runner
from provisioner.agent.fake import AgentFault
from provisioner.agent.fake_ring import Table
from provisioner.operations import registry, repair, testing
from provisioner.operations.repairing import bearing, live, saying
from provisioner.operations.tests.cluster_world import without_waiting, world_of
from provisioner.operations.tests.ring_world import RingWorld

pytestmark = pytest.mark.django_db(transaction=True)

MOST_CALLS = 600
ONE_LOOK = runner.Limits(nap=0, threads=1, budget=0.01)


@dataclass
class RepairWorld(RingWorld):
    def snapshot(self) -> object:
        known: Any = super().snapshot()
        return known | {
            "covered": sorted(
                (row.name, row.repaired_at is not None, row.last_mode)
                for row in RepairTable.objects.filter(cluster_id=self.cluster_id)
            ),
            "runs": sorted(RepairRun.objects.filter(cluster_id=self.cluster_id).values_list("state", "reason")),
            "limits": sorted(self.agents.stream_limits().values()),
        }

    def _things(self) -> list[str]:
        running = [
            f"repair of {one.keyspace} on {node.name}"
            for node in self.nodes()
            for one in self.agents.client(node_id=node.id, address=node.agent_address).repairs().repairs
        ]
        limits = [f"{node} sends {limit}" for node, limit in self.agents.stream_limits().items()]
        return super()._things() + running + limits

    def repair(self, **asked: Any) -> Operation:
        with transaction.atomic():
            _, operation = actions.start_run(self.cluster, RepairRunReason.ORDER, asked)
        return operation

    def latest(self) -> RepairRun:
        return RepairRun.objects.filter(cluster_id=self.cluster_id).latest("id")

    def go(self, operation: Operation, *, calls: int = MOST_CALLS, until: Callable[[], bool] = lambda: False) -> None:
        for _ in range(calls):
            operation.refresh_from_db()
            if operation.finished_at is not None or operation.state == OperationState.PAUSED or until():
                return
            without_waiting(operation)
            runner.run(operation.id, find_code=registry.find, limits=ONE_LOOK)
        operation.refresh_from_db()
        assert until() or operation.finished_at is not None, (operation.reason, self.latest().note)

    def replicate_shop_twice(self) -> None:
        """Other sets of replicas than before, for the same ranges."""
        datacenter = self.cluster.datacenters.get().name
        own = {"system_auth": {datacenter: 6}, "ringmaster": {datacenter: 6}, "shop": {datacenter: 2}}
        self.agents.set_keyspaces(self.cluster.ring_name, own)
        with self.agents.ring_of(self.cluster.ring_name) as membership:
            assert membership.ring.replication["shop"] == {datacenter: 2}
        row = RepairTable.objects.get(cluster_id=self.cluster_id, name="orders")
        RepairTable.objects.filter(cluster_id=self.cluster_id, keyspace="shop").update(
            facts=row.facts | {"replication": {datacenter: 2}}
        )

    def repaired(self, table: str) -> list[tuple[int, int]]:
        done = self.agents.repaired(self.cluster.ring_name)
        return [own for one in done if table in one.tables for own in one.ranges]

    def assert_each_range_once(self, *tables: str) -> None:
        for table in tables:
            ranges = self.repaired(table)
            assert tokens.merged(ranges) == list(tokens.WHOLE)
            assert tokens.width(ranges) == tokens.width(tokens.WHOLE), "a range was repaired twice"


@contextmanager
def fresh(order: Callable[[RepairWorld], Operation] = RepairWorld.repair, **shape: Any) -> Iterator[RepairWorld]:
    live.KNOWN.clear()
    with world_of(RepairWorld, order) as world:
        world.filled(**{"zones": ("fake-1a", "fake-1b", "fake-1c"), "nodes_per_zone": 1, "replicas": 3} | shape)
        progress.make_missing_schedules()
        RepairSchedule.objects.filter(cluster_id=world.cluster_id).update(intensity=100)
        world.note()
        yield world


def six() -> AbstractContextManager[RepairWorld]:
    return fresh(nodes_per_zone=2, replicas=3)


@pytest.fixture
def world() -> Iterator[RepairWorld]:
    with six() as world:
        yield world


@pytest.mark.parametrize(
    "check",
    [
        testing.check_every_step_twice,
        testing.check_killed_after_every_step,
        testing.check_failing_at_every_step_and_cancelled,
        testing.check_undo_twice,
    ],
)
def test_it_passes_the_kit(check):
    check(repair.CODE, fresh)


def test_every_range_of_every_table_is_repaired_once(world: RepairWorld) -> None:
    operation = world.repair()
    world.go(operation)
    assert operation.state == OperationState.SUCCEEDED
    world.assert_each_range_once("orders", "visits")
    run = world.latest()
    assert (run.state, run.progress, run.segments_given_up) == ("done", 1.0, 0)
    for row in RepairTable.objects.filter(cluster_id=world.cluster_id, keyspace="shop"):
        assert row.repaired_at is not None
        assert row.checked_at is not None
    assert set(world.agents.stream_limits()) == set()


def test_limits_are_raised_while_it_runs(world: RepairWorld) -> None:
    world.agents.set_looks({"repair": 3})
    operation = world.repair()
    world.go(operation, until=lambda: RepairSegment.objects.filter(run=world.latest()).exists())
    assert set(world.agents.stream_limits().values()) == {200}
    world.go(operation)
    assert world.agents.stream_limits() == {}


def test_intensity_that_is_changed_holds_at_once_and_is_kept(world: RepairWorld) -> None:
    world.agents.set_looks({"repair": 3})
    operation = world.repair()
    world.go(operation, until=lambda: bool(world.agents.stream_limits()))
    RepairSchedule.objects.filter(cluster_id=world.cluster_id).update(intensity=20)
    world.go(operation, until=lambda: set(world.agents.stream_limits().values()) == {40})
    world.go(operation)
    assert world.latest().state == "done"


def test_a_pause_stands_when_what_runs_has_ended_and_goes_on(world: RepairWorld) -> None:
    world.agents.set_looks({"repair": 2})
    operation = world.repair()
    world.go(operation, until=lambda: world.latest().segments.filter(state="running").exists())
    Operation.objects.filter(id=operation.id).update(pause_requested_at=Now())
    world.go(operation)
    assert operation.state == OperationState.PAUSED
    states = set(world.latest().segments.values_list("state", flat=True))
    assert states == {RepairSegmentState.DONE}
    assert world.agents.stream_limits() == {}
    Operation.objects.filter(id=operation.id).update(**turns.going_on(operation))
    world.go(operation)
    assert operation.state == OperationState.SUCCEEDED
    world.assert_each_range_once("orders", "visits")


def test_what_was_repaired_before_it_was_stopped_counts(world: RepairWorld) -> None:
    operation = world.repair()
    world.go(operation, until=lambda: world.latest().segments_done >= 2)
    Operation.objects.filter(id=operation.id).update(cancel_requested_at=Now())
    world.go(operation)
    assert (operation.state, world.latest().state) == (OperationState.CANCELLED, "stopped")
    rows = RepairTable.objects.filter(cluster_id=world.cluster_id, keyspace="shop")
    assert any(row.coverage for row in rows)
    assert world.leftovers() == []


def test_another_worker_goes_on_from_the_rows(world: RepairWorld) -> None:
    """As after SIGKILL at any moment: nothing that was in the process is left."""
    world.agents.set_looks({"repair": 2})
    operation = world.repair()

    def forget() -> bool:
        live.KNOWN.clear()
        return False

    world.go(operation, until=forget)
    assert operation.state == OperationState.SUCCEEDED
    world.assert_each_range_once("orders", "visits")


def test_a_bad_range_is_narrowed_down_and_the_rest_is_repaired(world: RepairWorld, monkeypatch) -> None:
    monkeypatch.setattr("backend.repairs.planning.retries._BACK_OFF", 0.0)
    with world.agents.ring_of(world.cluster.ring_name) as membership:
        start, end, _ = membership.ring.ranges("shop")[3]
    world.agents.fail_repairs(world.cluster.ring_name, "shop", [end])
    operation = world.repair()
    world.go(operation)
    run = world.latest()
    assert (operation.state, run.state) == (OperationState.SUCCEEDED, "partial")
    lost = list(run.segments.filter(state=RepairSegmentState.GIVEN_UP))
    assert {tuple(row.tables) for row in lost} == {("orders",), ("visits",)}
    for row in lost:
        assert row.ranges == [[start, end]]
        assert "validation failed" in row.error
    for table in ("orders", "visits"):
        assert tokens.width(world.repaired(table)) == tokens.width(tokens.WHOLE) - (end - start)
    rows = RepairTable.objects.filter(cluster_id=world.cluster_id, keyspace="shop")
    assert all(row.repaired_at is None for row in rows)


def test_a_coordinator_that_is_started_anew_costs_its_segment_only(world: RepairWorld, monkeypatch) -> None:
    monkeypatch.setattr("backend.repairs.planning.retries._BACK_OFF", 0.0)
    world.agents.set_looks({"repair": 3})
    operation = world.repair()
    world.go(operation, until=lambda: world.latest().segments.filter(state="running").exists())
    row = world.latest().segments.filter(state="running")[0]
    world.agents.restart_engine(row.coordinator)
    world.go(operation)
    assert world.latest().state == "done"
    world.assert_each_range_once("orders", "visits")
    assert "repair-lost" in set(world.latest().segments.values_list("error_code", flat=True))


def test_an_agent_that_is_silent_for_a_while_costs_nothing(world: RepairWorld) -> None:
    world.agents.set_looks({"repair": 3})
    operation = world.repair()
    world.go(operation, until=lambda: world.latest().segments.filter(state="running").exists())
    row = world.latest().segments.filter(state="running")[0]
    world.agents.inject(AgentFault(name="unreachable", node=row.coordinator, times=30))
    world.go(operation)
    run = world.latest()
    assert (run.state, run.segments_given_up) == ("done", 0)
    assert set(run.segments.values_list("error_code", flat=True)) == {""}
    world.assert_each_range_once("orders", "visits")


def test_a_worker_that_lags_behind_another_writes_nothing(world: RepairWorld) -> None:
    world.agents.set_looks({"repair": 2})
    operation = world.repair()
    world.go(operation, until=lambda: world.latest().segments.filter(state="running").exists())
    lagging = live.KNOWN[world.latest().id]
    assert progress.recorded(world.latest(), note="the other one's")
    with pytest.raises(live.SomebodyElse):
        live.written(lagging, note="what the first one thinks")
    assert world.latest().note == "the other one's"
    world.go(operation)
    assert world.latest().state == "done"
    world.assert_each_range_once("orders", "visits")


def test_a_table_that_is_dropped_does_not_stop_the_others(world: RepairWorld) -> None:
    world.agents.set_looks({"repair": 2})
    operation = world.repair()
    world.go(operation, until=lambda: world.latest().segments.filter(state="running").exists())
    world.agents.drop_table(world.cluster.ring_name, "shop", "visits")
    world.go(operation)
    run = world.latest()
    assert run.state == "done"
    assert {"keyspace": "shop", "table": "visits"} in run.missing
    assert tokens.merged(world.repaired("orders")) == list(tokens.WHOLE)


def test_a_foreign_repair_is_seen_and_waited_for(world: RepairWorld, monkeypatch) -> None:
    monkeypatch.setattr(bearing, "LOAD_EVERY", 0.0)
    for node in world.nodes():
        world.agents.begin_foreign_repair(node.id, "shop", ["orders"])
    operation = world.repair()
    world.go(operation, calls=6, until=lambda: "somebody else" in world.latest().note)
    assert len(world.latest().foreign) >= 6
    assert not world.latest().segments.exists()
    world.agents.end_foreign_repairs(world.cluster.ring_name)
    world.go(operation)
    assert world.latest().state == "done"


def test_it_brakes_when_compactions_pile_up_and_holds_when_a_disk_is_full(world: RepairWorld, monkeypatch) -> None:
    monkeypatch.setattr(bearing, "LOAD_EVERY", 0.0)
    world.agents.set_looks({"repair": 50})
    operation = world.repair()
    world.go(operation, until=lambda: bool(world.agents.stream_limits()))
    node = world.nodes()[0]
    world.agents.set_figures(node.id, pending_compactions=100)
    world.go(operation, until=lambda: set(world.agents.stream_limits().values()) == {100})
    assert world.latest().brake["factor"] == 0.5
    assert "100 compactions are pending" in world.latest().brake["reason"]
    world.agents.set_figures(node.id, pending_compactions=0)
    world.agents.change(node.id, disk_used=1.0)
    world.go(operation, until=lambda: bool(world.latest().brake["holds"]))
    world.agents.set_looks({"repair": 0})
    world.agents.change(node.id, disk_used=0.1)
    world.go(operation)
    assert world.latest().state == "done"


def test_dropped_messages_brake_once_whoever_looks(world: RepairWorld, monkeypatch) -> None:
    monkeypatch.setattr(bearing, "LOAD_EVERY", 0.0)
    world.agents.set_looks({"repair": 500})
    operation = world.repair()
    world.go(operation, until=lambda: bool(world.agents.stream_limits()))

    def looked(seconds_later: float) -> float:
        """The brake's factor after looks of several processes, so long after it was changed last."""
        run = world.latest()
        since = run.brake["changed_at"] - seconds_later
        RepairRun.objects.filter(id=run.id).update(brake=run.brake | {"changed_at": since})
        for _ in range(3):
            live.KNOWN.clear()
            without_waiting(operation)
            runner.run(operation.id, find_code=registry.find, limits=ONE_LOOK)
        return float(world.latest().brake["factor"])

    world.agents.set_figures(world.nodes()[0].id, dropped_messages=7)
    assert looked(0) == 0.5
    assert "7 messages were dropped" in world.latest().brake["reason"]
    assert looked(40) == 0.5  # the same seven
    world.agents.set_figures(world.nodes()[0].id, dropped_messages=8)
    assert looked(40) == 0.25
    assert looked(70) == 0.25 * 1.25
    world.agents.set_looks({"repair": 0})
    world.go(operation)
    assert world.latest().state == "done"


def test_nodes_rest_as_long_as_the_intensity_says_whoever_goes_on(world: RepairWorld) -> None:
    RepairSchedule.objects.filter(cluster_id=world.cluster_id).update(intensity=10)
    operation = world.repair()
    world.go(operation, until=lambda: world.latest().segments.filter(state="done").exists())
    world.latest().segments.filter(state="done").update(started_at=Now() - timedelta(seconds=10), finished_at=Now())
    live.KNOWN.clear()
    world.go(operation, calls=6, until=lambda: "rest between segments" in world.latest().note)
    before = world.latest().segments.count()
    live.KNOWN.clear()
    with pytest.raises(AssertionError, match="rest"):
        world.go(operation, calls=6)
    assert world.latest().segments.count() == before
    RepairSchedule.objects.filter(cluster_id=world.cluster_id).update(intensity=100)
    world.go(operation)
    assert world.latest().state == "done"


def test_nothing_starts_outside_its_windows(world: RepairWorld) -> None:
    now = datetime.now(UTC)
    window = {
        "weekdays": [f"{now + timedelta(days=2):%A}".lower()],
        "starts_at": "12:00",
        "minutes": 60,
        "time_zone": "UTC",
        "excluded_dates": [],
    }
    RepairSchedule.objects.filter(cluster_id=world.cluster_id).update(windows=[window])
    operation = world.repair()
    world.go(operation, calls=6, until=lambda: "window" in world.latest().note)
    assert not world.latest().segments.exists()
    assert world.agents.stream_limits() == {}
    RepairSchedule.objects.filter(cluster_id=world.cluster_id).update(windows=[])
    world.go(operation)
    assert world.latest().state == "done"


def test_replicas_that_stay_down_leave_a_partial_run(world: RepairWorld, monkeypatch) -> None:
    monkeypatch.setattr(saying, "DOWN_PATIENCE", timedelta(seconds=-1))
    down = world.nodes()[0]
    operation = world.repair()
    world.go(operation, until=lambda: world.latest().started_at is not None)
    Node.objects.filter(id=down.id).update(state=NodeState.DOWN)
    world.go(operation)
    run = world.latest()
    assert run.state == "partial"
    lost = run.segments.filter(state=RepairSegmentState.GIVEN_UP)
    assert {row.error_code for row in lost} == {"replica-down"}
    assert down.name in lost[0].error
    done = world.repaired("orders")
    given_up = [(start, end) for row in lost if row.tables == ["orders"] for start, end in row.ranges]
    assert tokens.merged([*done, *given_up]) == list(tokens.WHOLE)


def test_only_what_is_unfinished_is_planned_anew_when_the_ring_changes(world: RepairWorld, monkeypatch) -> None:
    monkeypatch.setattr(live, "RING_EVERY", 0.0)
    world.agents.set_looks({"repair": 2})
    operation = world.repair()
    world.go(operation, until=lambda: world.latest().segments_done >= 2)
    before = world.latest().ring
    world.replicate_shop_twice()
    world.go(operation)
    assert world.latest().ring != before
    assert world.latest().state == "done"
    world.assert_each_range_once("orders", "visits")


def test_what_waits_to_be_tried_again_follows_a_change_of_the_ring(world: RepairWorld, monkeypatch) -> None:
    monkeypatch.setattr(live, "RING_EVERY", 0.0)
    world.agents.fail_repairs(world.cluster.ring_name, "shop", [0])
    operation = world.repair()
    waiting = RepairSegment.objects.filter(state=RepairSegmentState.WAITING)
    world.go(operation, until=waiting.exists)
    world.agents.fail_repairs(world.cluster.ring_name, "shop", [])
    waiting.update(not_before=Now())
    world.replicate_shop_twice()
    world.go(operation)
    run = world.latest()
    assert (run.state, run.segments_given_up) == ("done", 0)
    assert run.segments.filter(state=RepairSegmentState.REPLACED).exists()
    world.assert_each_range_once("orders", "visits")


def test_a_node_that_was_away_pulls_its_ranges_from_its_peers_in_turn(world: RepairWorld) -> None:
    back = world.nodes()[2]
    with transaction.atomic():
        operation = actions.start_catch_up(world.cluster_id, back.id)
    assert operation is not None
    world.go(operation)
    assert world.latest().state == "done"
    done = world.agents.repaired(world.cluster.ring_name)
    assert {one.mode for one in done} == {"pull"}
    assert {one.nodes[0] for one in done} == {back.id}
    assert len({one.nodes[1] for one in done}) > 1
    assert all(len(one.nodes) == 2 for one in done)
    rows = RepairTable.objects.filter(cluster_id=world.cluster_id)
    assert all(row.repaired_at is None for row in rows)


def test_a_change_of_the_ring_makes_it_stand_and_it_goes_on_afterwards(world: RepairWorld) -> None:
    world.agents.set_looks({"repair": 2})
    operation = world.repair()
    world.go(operation, until=lambda: world.latest().segments_done >= 1)
    with transaction.atomic():
        scale = world.more(1)
    world.go(operation)
    assert operation.state == OperationState.PAUSED
    assert RingWorld.run(world, scale).state == "succeeded"
    operation.refresh_from_db()
    assert operation.state == OperationState.RUNNING
    world.go(operation)
    assert world.latest().state == "done"
    for table in ("orders", "visits"):
        assert tokens.merged(world.repaired(table)) == list(tokens.WHOLE)
        assert tokens.width(world.repaired(table)) == tokens.width(tokens.WHOLE)


def test_one_replica_needs_no_repair() -> None:
    with fresh(replicas=1) as world:
        operation = world.repair()
        world.go(operation)
        run = world.latest()
        assert (run.state, run.works) == ("done", [])
        assert {own["why"] for own in run.skipped} >= {"Its rows have one replica, so there is nothing to compare."}


def test_many_tables_of_no_rows_take_one_segment() -> None:
    with fresh() as world:
        with world.agents.ring_of(world.cluster.ring_name) as membership:
            membership.fill("shop", {f"t{at}": Table(0, 0) for at in range(40)})
        operation = world.repair(tables=[f"shop.t{at}" for at in range(40)])
        world.go(operation)
        assert world.latest().segments_done == 1
        assert len(world.agents.repaired(world.cluster.ring_name)[0].tables) == 40
