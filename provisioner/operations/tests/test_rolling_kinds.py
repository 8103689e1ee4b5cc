"""What takes nodes down one at a time passes the whole kit, on the fake provider and fake agents."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest

from backend.changes.plans import Planned, commands, rolling
from backend.clusters.models import Cluster, Node
from backend.operations import actions as operations
from backend.operations.models import Operation
from provisioner import runner
from provisioner.operations import (
    apply_settings,
    measure_disks,
    registry,
    restart_nodes,
    rotate_certificates,
    run_command,
    start_node,
    stop_node,
    testing,
    upgrade_cluster,
)
from provisioner.operations.base import Done, OperationCode, Outcome, StepCode, StepContext
from provisioner.operations.node_steps import live_nodes
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world, without_waiting

pytestmark = pytest.mark.django_db(transaction=True)

Build = Callable[[Sequence[Node]], Planned]


def begin(world: ClusterWorld, planned: Planned) -> Operation:
    return operations.start(
        organisation_id=world.who.organisation_id,
        kind=planned.kind,
        cluster_id=world.cluster_id,
        cluster_name="demo",
        actor=world.who.actor,
        parameters=planned.parameters,
        groups=planned.groups,
        expected_seconds=planned.expected_seconds,
        cancellable_until=planned.cancellable_until,
        pausable=planned.pausable,
    )


def nodes_of(world: ClusterWorld) -> list[Node]:
    return live_nodes(Cluster.objects.get(id=world.cluster_id))


def _restart_one(nodes: Sequence[Node]) -> Planned:
    return rolling.restart(living=nodes, nodes=[nodes[1]])


def _restart_all(nodes: Sequence[Node]) -> Planned:
    return rolling.restart(living=nodes, nodes=rolling.rack_by_rack(nodes))


def _measure(nodes: Sequence[Node]) -> Planned:
    return rolling.measure_disks(node=nodes[0], rounds=1)


def _stop(nodes: Sequence[Node]) -> Planned:
    return rolling.stop_node(living=nodes, node=nodes[0])


def _start(nodes: Sequence[Node]) -> Planned:
    return rolling.start_node(living=nodes, node=nodes[0])


def _upgrade(nodes: Sequence[Node]) -> Planned:
    return rolling.upgrade(living=nodes, version="5.0.9")


def _settings(settings: dict[str, Any], *, restart: bool) -> Build:
    return lambda nodes: rolling.apply_settings(
        living=nodes, settings=settings, restart=restart, firewalls=[nodes[0].datacenter]
    )


def _certificates(nodes: Sequence[Node]) -> Planned:
    return rolling.rotate_certificates(living=nodes)


def _command(command: str, *, at_once: int = 1, table: str = "orders") -> Build:
    return lambda nodes: commands.run_command(
        nodes=nodes,
        at_once=at_once,
        title="Compact shop.orders",
        seconds={},
        parameters={"command": command, "keyspace": "shop", "table": table, "sstables": None},
    )


@dataclass(frozen=True, eq=False)
class Kind:
    code: OperationCode
    build: Build
    stopped: bool = False

    def order_on_two(self, world: ClusterWorld) -> Operation:
        """On two nodes: what happens between the first and the second happens between any two."""
        world.zones = world.zones[:2]
        return self.order(world)

    def order(self, world: ClusterWorld) -> Operation:
        world.created()
        if self.stopped and nodes_of(world)[0].stop_wanted is False:
            world.finish(begin(world, _stop(nodes_of(world))))
            world.note()
        return begin(world, self.build(nodes_of(world)))


KINDS = {
    "restart_node": Kind(restart_nodes.RESTART_NODE, _restart_one),
    "rolling_restart": Kind(restart_nodes.ROLLING_RESTART, _restart_all),
    "measure_disks": Kind(measure_disks.CODE, _measure),
    "stop_node": Kind(stop_node.CODE, _stop),
    "start_node": Kind(start_node.CODE, _start, stopped=True),
    "upgrade_cluster": Kind(upgrade_cluster.CODE, _upgrade),
    "live_settings": Kind(apply_settings.CODE, _settings({"read_timeout_ms": 900}, restart=False)),
    "restart_settings": Kind(apply_settings.CODE, _settings({"cdc_enabled": True}, restart=True)),
    "rotate_certificates": Kind(rotate_certificates.CODE, _certificates),
    "command_one_by_one": Kind(run_command.CODE, _command("compact")),
    "command_side_by_side": Kind(run_command.CODE, _command("flush", at_once=2)),
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@pytest.fixture
def worlds(kind: Kind) -> testing.Worlds:
    return _worlds(kind)


@cache
def _worlds(kind: Kind) -> testing.Worlds:
    return lambda: cluster_world(kind.order_on_two)


@every_kind
def test_every_step_may_run_twice(kind: Kind, worlds: testing.Worlds) -> None:
    testing.check_every_step_twice(kind.code, worlds)


@every_kind
def test_a_worker_may_die_at_every_step(kind: Kind, worlds: testing.Worlds) -> None:
    testing.check_killed_after_every_step(kind.code, worlds)


@every_kind
def test_every_step_may_fail_and_be_cancelled(kind: Kind, worlds: testing.Worlds) -> None:
    testing.check_failing_at_every_step_and_cancelled(kind.code, worlds, again=True)


@every_kind
def test_every_undo_may_run_twice(kind: Kind, worlds: testing.Worlds) -> None:
    testing.check_undo_twice(kind.code, worlds)


@every_kind
def test_every_planned_step_has_code(kind: Kind) -> None:
    with cluster_world(kind.order) as world:
        operation = world.start()
        assert set(operation.steps.values_list("name", flat=True)) <= set(kind.code.steps)
        assert registry.find(operation.kind) is kind.code


def test_never_more_than_one_node_is_down() -> None:
    for kind in ("rolling_restart", "upgrade_cluster", "restart_settings"):
        with cluster_world(KINDS[kind].order) as world:
            operation = world.start()
            seen = len(world.agents.history())
            world.finish(operation)
            down: list[str] = []
            for event in world.agents.history()[seen:]:
                if event.effect == "drain":
                    assert down == [], kind
                    down.append(event.node_id)
                if event.effect == "prove":
                    down.remove(event.node_id)
            assert down == []


def test_an_upgrade_ends_with_the_new_version_everywhere() -> None:
    with cluster_world(KINDS["upgrade_cluster"].order) as world:
        world.finish(world.start())
        assert set(world.agents.engines().values()) == {"serving 5.0.9 {}"}
        assert Cluster.objects.get(id=world.cluster_id).engine_version == "5.0.9"
        assert {node.engine_version for node in nodes_of(world)} == {"5.0.9"}


def _run_until_it_stands(operation: Operation, code: OperationCode | None = None) -> Operation:
    """As if every step had begun long ago, so that nothing is waited for any more."""
    find_code = registry.find if code is None else {code.kind: code}.get
    for _ in range(40):
        without_waiting(operation)
        operation.steps.exclude(started_at=None).update(started_at="2000-01-01T00:00Z")
        runner.run(operation.id, find_code=find_code)
        operation.refresh_from_db()
        if operation.state not in ("pending", "running"):
            break
    return operation


def test_no_node_is_taken_down_while_another_is_down() -> None:
    with cluster_world(KINDS["rolling_restart"].order) as world:
        operation = world.start()
        world.agents.kill_engine(nodes_of(world)[2].id)
        stood = _run_until_it_stands(operation)
        assert (stood.state, stood.reason_code) == ("blocked", "ring-not-at-rest")
        assert "demo-fake-1c-1 does not serve" in stood.reason
        assert "drain" not in {event.effect for event in world.agents.history()}


def test_a_dead_node_can_be_restarted() -> None:
    with cluster_world(KINDS["restart_node"].order) as world:
        operation = world.start()
        world.agents.kill_engine(nodes_of(world)[1].id)
        world.finish(operation)
        assert set(world.agents.engines().values()) == {"serving 5.0.5 {}"}


def test_a_stop_that_would_cost_quorum_is_blocked_with_the_arithmetic() -> None:
    with cluster_world(KINDS["stop_node"].order) as world:
        operation = world.start()
        world.agents.kill_engine(nodes_of(world)[1].id)
        stood = _run_until_it_stands(operation)
        assert (stood.state, stood.reason_code) == ("blocked", "quorum-at-risk")
        assert "ringmaster has 3 replicas in fake-fake-1: 1 would be left for some rows, QUORUM needs 2" in stood.reason


def test_an_upgrade_does_not_begin_under_a_repair_or_with_a_full_disk() -> None:
    for figures, code in (
        ({"repairs_running": 1}, "repair-running"),
        ({"pending_compactions": 101}, "compaction-behind"),
    ):
        with cluster_world(KINDS["upgrade_cluster"].order) as world:
            operation = world.start()
            world.agents.set_figures(nodes_of(world)[1].id, **figures)
            stood = _run_until_it_stands(operation)
            assert (stood.state, stood.reason_code) == ("blocked", code)


def test_the_gate_stops_an_upgrade_whose_clients_fare_worse() -> None:
    with cluster_world(KINDS["upgrade_cluster"].order) as world:
        operation = world.start()
        nodes = nodes_of(world)
        for node in nodes:
            world.agents.set_figures(node.id, reads=10_000, writes=10_000, read_p99_ms=4.0, write_p99_ms=3.0)

        def inspect_then_fare_worse(context: StepContext) -> Outcome:
            outcome = upgrade_cluster.inspect_cluster(context)
            if isinstance(outcome, Done):
                world.agents.set_figures(nodes[0].id, reads=500, writes=500, timeouts=300)
            return outcome

        steps = dict(upgrade_cluster.CODE.steps) | {"inspect_cluster": StepCode(do=inspect_then_fare_worse)}
        code = replace(upgrade_cluster.CODE, steps=steps)
        stood = _run_until_it_stands(operation, code)
        assert (stood.state, stood.reason_code) == ("blocked", "health-gate")
        assert stood.reason == (
            "30.00% of 1000 requests failed since the upgrade began, 0.00% before; 1% more are tolerated."
        )
        assert set(world.agents.engines().values()) == {"serving 5.0.9 {}", "serving 5.0.5 {}"}
