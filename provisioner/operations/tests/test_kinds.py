"""Every kind of operation on clusters passes the whole kit, on the fake provider and fake agents."""

from collections.abc import Callable
from functools import cache

import pytest

from backend.clusters import actions, plans
from backend.clusters.models import Datacenter, Node
from backend.operations.models import Operation
from provisioner.operations import create_cluster, delete_cluster, rotate_credentials, testing
from provisioner.operations.base import OperationCode
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world

pytestmark = pytest.mark.django_db(transaction=True)


def _delete(world: ClusterWorld) -> Operation:
    world.created()
    return Operation.objects.get(id=actions.delete(world.who, world.cluster_id)["operation"]["id"])


def _rotate(world: ClusterWorld) -> Operation:
    world.created()
    return Operation.objects.get(id=actions.rotate_credentials(world.who, world.cluster_id)["operation"]["id"])


def _create_test_drive(world: ClusterWorld) -> Operation:
    world.zones = world.zones[:1]
    return world.create(test_drive={"workload": "orders"})


KINDS: list[tuple[OperationCode, Callable[[ClusterWorld], Operation]]] = [
    (create_cluster.CODE, ClusterWorld.create),
    (delete_cluster.CODE, _delete),
    (rotate_credentials.CODE, _rotate),
]
TEST_DRIVE = (create_cluster.CODE, _create_test_drive)
every_kind = pytest.mark.parametrize(
    ("code", "order"), [*KINDS, TEST_DRIVE], ids=[*(code.kind for code, _ in KINDS), "test_drive"]
)


@pytest.fixture
def worlds(order: Callable[[ClusterWorld], Operation]) -> testing.Worlds:
    return _worlds(order)


@cache
def _worlds(order: Callable[[ClusterWorld], Operation]) -> testing.Worlds:
    return lambda: cluster_world(order)


@every_kind
def test_every_step_may_run_twice(code: OperationCode, worlds: testing.Worlds) -> None:
    testing.check_every_step_twice(code, worlds)


@every_kind
def test_a_worker_may_die_at_every_step(code: OperationCode, worlds: testing.Worlds) -> None:
    testing.check_killed_after_every_step(code, worlds)


@every_kind
def test_every_step_may_fail_and_be_cancelled(code: OperationCode, worlds: testing.Worlds) -> None:
    testing.check_failing_at_every_step_and_cancelled(code, worlds)


@every_kind
def test_every_undo_may_run_twice(code: OperationCode, worlds: testing.Worlds) -> None:
    testing.check_undo_twice(code, worlds)


def test_every_planned_step_has_code() -> None:
    datacenter = Datacenter(id="dc_1", name="dc")
    nodes = [Node(id=f"nod_{name}", name=name, datacenter=datacenter) for name in ("one", "two")]
    planned = [
        (create_cluster.CODE, plans.create_cluster(nodes, firewall=True, test_drive=True)),
        (delete_cluster.CODE, plans.delete_cluster(nodes, connections=True)),
        (rotate_credentials.CODE, plans.rotate_credentials()),
    ]
    for code, groups in planned:
        assert {step.name for group in groups for step in group} == set(code.steps), code.kind
