"""The kinds that connect networks keep every promise of an operation, and what waits for somebody is looked at."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import cache

import pytest
from django.utils import timezone

from backend.access import actions as access
from backend.access.schemas import AllowlistEntry, AllowlistOrder
from backend.clusters import actions as clusters
from backend.clusters.models import Datacenter
from backend.connections import actions
from backend.connections.models import NetworkConnection
from backend.connections.schemas import AnyConnectionOrder, EndpointOrder, PeeringOrder
from backend.operations.models import Operation
from provisioner import runner
from provisioner.operations import names, network_connections, registry, testing
from provisioner.operations.base import OperationCode
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world
from provisioner.providers.base import ConnectionState
from provisioner.providers.fake_faults import Fault
from provisioner.reconcile.connections import check_connections

pytestmark = pytest.mark.django_db(transaction=True)

PEERING = PeeringOrder(kind="peering", name="shop", peer_network="vpc-1", cidrs=["172.20.0.0/16"])
ENDPOINT = EndpointOrder(kind="endpoint", name="keys", service="com.example.keys")


def _of(started: dict[str, dict[str, str]]) -> Operation:
    return Operation.objects.get(id=started["operation"]["id"])


def _create(world: ClusterWorld, order: AnyConnectionOrder = PEERING) -> Operation:
    return _of(actions.create(world.who, world.cluster_id, order))


def _connection(world: ClusterWorld, name: str = "shop") -> NetworkConnection:
    return NetworkConnection.objects.get(cluster_id=world.cluster_id, name=name)


def _delete(world: ClusterWorld) -> Operation:
    return _of(actions.delete(world.who, world.cluster_id, _connection(world).id))


def _let_in(world: ClusterWorld) -> list[str]:
    network = names.network(Datacenter.objects.get(cluster_id=world.cluster_id))
    return [source for source, port in world.provider.client_sources(network) if port == 9042]


@dataclass(frozen=True, eq=False)
class Kind:
    code: OperationCode
    order: Callable[[ClusterWorld], Operation]
    connected: bool = False

    def begin(self, world: ClusterWorld) -> Operation:
        world.zones = world.zones[:1]
        world.created()
        if self.connected and not NetworkConnection.objects.filter(cluster_id=world.cluster_id).exists():
            world.finish(_create(world))
        # What is connected before is what a deletion is to take away, and no leftover of a creation.
        world.note()
        return self.order(world)


KINDS = {
    "peering": Kind(network_connections.CREATE, _create),
    "endpoint": Kind(network_connections.CREATE, lambda world: _create(world, ENDPOINT)),
    "delete": Kind(network_connections.DELETE, _delete, connected=True),
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@pytest.fixture
def worlds(kind: Kind) -> testing.Worlds:
    return _worlds(kind)


@cache
def _worlds(kind: Kind) -> testing.Worlds:
    return lambda: cluster_world(kind.begin)


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
    with cluster_world(kind.begin) as world:
        operation = world.start()
        assert set(operation.steps.values_list("name", flat=True)) <= set(kind.code.steps)
        assert registry.find(operation.kind) is kind.code


def test_it_waits_for_the_other_side_and_sees_what_that_does() -> None:
    with cluster_world(ClusterWorld.create) as world:
        world.created()
        world.finish(_create(world))
        row = _connection(world)
        assert (row.state, row.message) == ("waiting_for_you", "Accept the connection to vpc-1.")
        assert check_connections() == 0
        for answer, state in ((ConnectionState.READY, "active"), (ConnectionState.FAILED, "failed")):
            world.provider.answer_connection(names.connection(row), answer)
            NetworkConnection.objects.update(checked_at=timezone.now() - timedelta(hours=1))
            assert check_connections() == 1
            assert _connection(world).state == state


def test_a_provider_that_does_not_answer_changes_nothing() -> None:
    with cluster_world(ClusterWorld.create) as world:
        world.created()
        world.finish(_create(world))
        NetworkConnection.objects.update(checked_at=timezone.now() - timedelta(hours=1))
        world.provider.inject(Fault(name="connection-lost", call="ensure_connection"))
        assert check_connections() == 0
        assert _connection(world).state == "waiting_for_you"
        assert check_connections() == 0


def test_one_that_is_refused_at_once_says_so_and_can_be_cancelled() -> None:
    with cluster_world(ClusterWorld.create) as world:
        world.created()
        operation = _create(world)
        name = names.connection(_connection(world))
        world.provider.ensure_connection(network_connections.spec_of(_connection(world)))
        world.provider.answer_connection(name, ConnectionState.FAILED)
        runner.run(operation.id, find_code=registry.find)
        operation.refresh_from_db()
        assert (operation.state, operation.reason_code) == ("blocked", "connection-failed")
        assert _connection(world).state == "failed"


def test_clients_behind_a_peering_are_let_in_while_the_list_is_empty() -> None:
    with cluster_world(ClusterWorld.create) as world:
        world.created()
        assert _let_in(world) == []
        world.finish(_create(world))
        assert _let_in(world) == ["172.20.0.0/16"]
        for entries, let_in in ((["10.0.0.0/8"], ["10.0.0.0/8"]), ([], ["172.20.0.0/16"])):
            order = AllowlistOrder(entries=[AllowlistEntry(cidr=cidr) for cidr in entries])
            world.finish(_of(access.replace_allowlist(world.who, world.cluster_id, order)))
            assert _let_in(world) == let_in
        world.finish(_delete(world))
        assert _let_in(world) == []
        assert _connection(world).state == "deleted"


def test_they_go_with_their_cluster() -> None:
    with cluster_world(ClusterWorld.create) as world:
        world.created()
        world.finish(_create(world))
        world.finish(_create(world, ENDPOINT))
        world.finish(_of(clusters.delete(world.who, world.cluster_id)))
        assert set(NetworkConnection.objects.values_list("state", flat=True)) == {"deleted"}
        assert world.provider.inventory() == []
