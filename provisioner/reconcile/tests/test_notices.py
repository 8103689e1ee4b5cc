"""What a cloud announces is shown with its date, and a node is replaced before its machine goes."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta

import pytest

from backend.clusters.models import Cluster, MaintenanceWindow, Node
from backend.findings.models import Finding
from backend.operations.models import Operation
from provisioner.operations import names
from provisioner.operations.tests.cloud_world import Cloud, aws, create, gcp, world_on
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world
from provisioner.providers.base import Notice
from provisioner.providers.fake_faults import Fault
from provisioner.reconcile.notices import read_notices

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world() -> Iterator[ClusterWorld]:
    with cluster_world(ClusterWorld.create) as made:
        made.created()
        yield made


def node_of(world: ClusterWorld, number: int = 0) -> Node:
    return Node.objects.filter(cluster_id=world.cluster_id, deleted_at=None).order_by("position")[number]


def announce(world: ClusterWorld, node: Node, kind: str = "retirement", *, days: float | None = 10) -> datetime | None:
    before = None if days is None else datetime.now(UTC) + timedelta(days=days)
    world.provider.announce(
        Notice(machine=names.machine(node), kind=kind, message="The hardware fails.", before=before)
    )
    return before


def finding() -> Finding:
    return Finding.objects.get(state="open")


def replacements(world: ClusterWorld) -> list[Operation]:
    return list(Operation.objects.filter(cluster_id=world.cluster_id, kind="replace_node"))


def window(world: ClusterWorld, *, in_days: int) -> None:
    """One hour, on the weekday of so many days from now, at an hour that is not now."""
    begins = datetime.now(UTC) + timedelta(days=in_days)
    MaintenanceWindow.objects.create(
        cluster_id=world.cluster_id,
        weekdays=[begins.weekday()],
        starts_at=(begins + timedelta(hours=3)).time().replace(second=0, microsecond=0),
        minutes=60,
        time_zone="UTC",
    )


def test_a_retirement_is_shown_with_its_date_and_the_node_replaced(world: ClusterWorld) -> None:
    node = node_of(world)
    before = announce(world, node)
    assert read_notices() == 1
    found = finding()
    assert (found.subject, found.code, found.severity, found.due_at) == (node.id, "machine-retiring", "warning", before)
    assert "The hardware fails" in found.sentence
    [operation] = replacements(world)
    assert found.operation_id == operation.id
    assert operation.parameters["old"] == node.id
    read_notices()
    assert len(replacements(world)) == 1
    world.finish(operation)
    # The machine is gone, and with it what was announced.
    assert read_notices() == 0
    assert not Finding.objects.filter(state="open").exists()
    assert Node.objects.filter(cluster_id=world.cluster_id, deleted_at=None, state="up").count() == 3


def test_the_only_replica_is_replaced_too_as_it_serves_meanwhile() -> None:
    with cluster_world(ClusterWorld.create) as world:
        world.zones = world.zones[:1]
        world.created()
        announce(world, node_of(world))
        read_notices()
        [operation] = replacements(world)
        world.finish(operation)
        assert node_of(world).state == "up"


def test_it_waits_for_a_window_before_the_date(world: ClusterWorld) -> None:
    window(world, in_days=2)
    announce(world, node_of(world), days=10)
    read_notices()
    assert "in the maintenance window that begins at" in finding().action
    assert replacements(world) == []


@pytest.mark.parametrize("days", [0.5, 1.9])
def test_it_does_not_wait_for_a_window_that_comes_too_late(world: ClusterWorld, days: float) -> None:
    window(world, in_days=3)
    announce(world, node_of(world), days=days)
    read_notices()
    assert len(replacements(world)) == 1
    assert finding().severity == ("critical" if days < 1 else "warning")


def test_it_only_tells_where_healing_only_tells(world: ClusterWorld) -> None:
    Cluster.objects.filter(id=world.cluster_id).update(healing_mode="tell")
    announce(world, node_of(world))
    read_notices()
    assert "telling only" in finding().action
    assert replacements(world) == []


def test_one_at_a_time_and_not_more_than_the_daily_limit(world: ClusterWorld) -> None:
    Cluster.objects.filter(id=world.cluster_id).update(healing_replacements_per_day=1)
    for number in range(2):
        announce(world, node_of(world, number))
    read_notices()
    [operation] = replacements(world)
    world.finish(operation)
    read_notices()
    assert len(replacements(world)) == 1
    assert "within a day" in finding().action


@pytest.mark.parametrize(("kind", "code"), [("maintenance", "machine-maintenance"), ("rebalance", "machine-rebalance")])
def test_what_a_machine_survives_is_only_told(world: ClusterWorld, kind: str, code: str) -> None:
    announce(world, node_of(world), kind, days=None)
    read_notices()
    assert (finding().code, finding().severity, finding().due_at) == (code, "info", None)
    assert replacements(world) == []


def test_a_region_that_does_not_answer_changes_nothing(world: ClusterWorld) -> None:
    Cluster.objects.filter(id=world.cluster_id).update(healing_mode="tell")
    announce(world, node_of(world))
    read_notices()
    world.provider.inject(Fault(name="connection-lost", call="notices"))
    read_notices()
    assert finding().state == "open"
    world.provider.end_faults()
    world.provider.announce_nothing()
    read_notices()
    assert not Finding.objects.filter(state="open").exists()


@pytest.mark.parametrize("open_cloud", [aws, gcp], ids=["aws", "gcp"])
def test_what_a_cloud_announces_through_its_own_sdk_is_acted_on(
    open_cloud: Callable[[pytest.MonkeyPatch], AbstractContextManager[Cloud]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_cloud(monkeypatch) as cloud, world_on(cloud) as world:
        create(world, cloud)
        node = node_of(world)
        [machine] = [
            machine
            for machine in cloud.provider.list_machines(region=cloud.order.region)
            if machine.name == names.machine(node)
        ]
        when = (datetime.now(UTC) + timedelta(days=10)).replace(microsecond=0)
        cloud.retire(machine, when)
        assert read_notices() == 1
        assert (finding().subject, finding().due_at) == (node.id, when)
        [operation] = replacements(world)
        assert operation.parameters["old"] == node.id
