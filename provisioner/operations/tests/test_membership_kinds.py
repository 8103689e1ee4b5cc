"""Every change of a ring's members passes the whole kit, on the fake provider and fake agents."""

from collections.abc import Callable
from functools import cache

import pytest

from backend.operations.models import Operation
from provisioner.operations import (
    add_datacenter,
    change_machine_type,
    remove_datacenter,
    replace_node,
    scale_cluster,
    testing,
)
from provisioner.operations.base import OperationCode
from provisioner.operations.tests.cluster_world import world_of
from provisioner.operations.tests.ring_world import RingWorld

pytestmark = pytest.mark.django_db(transaction=True)


def _scale_out(world: RingWorld) -> Operation:
    world.filled(nodes_per_zone=1)
    return world.more()


def _scale_in(world: RingWorld) -> Operation:
    world.filled(nodes_per_zone=2, replicas=1)
    return world.fewer()


def _replace_dead(world: RingWorld) -> Operation:
    world.filled(zones=("fake-1a", "fake-1b", "fake-1c"), nodes_per_zone=1)
    world.kill(world.nodes()[0])
    return world.replace_dead()


def _replace_living(world: RingWorld) -> Operation:
    world.filled(nodes_per_zone=1)
    return world.replace_living()


def _machine_type(world: RingWorld) -> Operation:
    world.filled(nodes_per_zone=1)
    return world.another_machine_type()


def _add(world: RingWorld) -> Operation:
    world.filled(nodes_per_zone=1)
    return world.second_datacenter()


def _remove(world: RingWorld) -> Operation:
    world.filled(nodes_per_zone=1)
    if world.cluster.datacenters.count() == 1:
        world.finish(world.second_datacenter())
        world.note()
    return world.no_second_datacenter()


KINDS: dict[str, tuple[OperationCode, Callable[[RingWorld], Operation]]] = {
    "scale out": (scale_cluster.CODE, _scale_out),
    "scale in": (scale_cluster.CODE, _scale_in),
    "replace a dead node": (replace_node.CODE, _replace_dead),
    "replace a living node": (replace_node.CODE, _replace_living),
    "change the machine type": (change_machine_type.CODE, _machine_type),
    "add a data centre": (add_datacenter.CODE, _add),
    "remove a data centre": (remove_datacenter.CODE, _remove),
}
every_kind = pytest.mark.parametrize(("code", "order"), KINDS.values(), ids=KINDS)


@pytest.fixture
def worlds(order: Callable[[RingWorld], Operation]) -> testing.Worlds:
    return _worlds(order)


@cache
def _worlds(order: Callable[[RingWorld], Operation]) -> testing.Worlds:
    return lambda: world_of(RingWorld, order)


@every_kind
def test_every_step_may_run_twice(code: OperationCode, worlds: testing.Worlds) -> None:
    testing.check_every_step_twice(code, worlds)


@every_kind
def test_a_worker_may_die_at_every_step(code: OperationCode, worlds: testing.Worlds) -> None:
    testing.check_killed_after_every_step(code, worlds)


@every_kind
def test_every_step_may_fail_and_be_cancelled(code: OperationCode, worlds: testing.Worlds) -> None:
    testing.check_failing_at_every_step_and_cancelled(code, worlds, again=True)


@every_kind
def test_every_undo_may_run_twice(code: OperationCode, worlds: testing.Worlds) -> None:
    testing.check_undo_twice(code, worlds)


@every_kind
def test_every_planned_step_has_code(code: OperationCode, order: Callable[[RingWorld], Operation]) -> None:
    with world_of(RingWorld, order) as world:
        operation = world.start()
        assert operation.kind == code.kind
        assert {step.name for step in operation.steps.all()} <= set(code.steps)
