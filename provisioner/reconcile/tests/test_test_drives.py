"""Test drives end by themselves, with nothing left; until then their workload runs on every node."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from backend.clusters.models import Cluster, Node
from backend.operations.models import Operation
from backend.test_drives import actions
from provisioner.agent.fake import AgentFault
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world
from provisioner.reconcile.drives import see_to_test_drives
from provisioner.worker import app

pytestmark = pytest.mark.django_db(transaction=True)


def test_it_is_done_twice_a_minute() -> None:
    due = {each["task"]: each["schedule"] for each in app.conf.beat_schedule.values()}
    assert due["provisioner.reconcile_drives"] == 30


@pytest.fixture
def world() -> Iterator[ClusterWorld]:
    with cluster_world(lambda world: world.create()) as world:
        world.finish(world.create(test_drive={"workload": "orders", "rows": 100, "operations_per_second": 5}))
        yield world


def nodes(world: ClusterWorld) -> list[Node]:
    return list(Node.objects.filter(cluster_id=world.cluster_id).order_by("position"))


def test_its_data_set_is_there_and_every_node_runs_the_workload(world: ClusterWorld) -> None:
    cluster = Cluster.objects.get(id=world.cluster_id)
    assert world.agents.keyspaces(cluster.ring_name)["test_drive"] == {"fake-fake-1": 3}
    assert cluster.expires_at is not None
    until = cluster.expires_at.isoformat()
    wanted = {"workload": "orders", "rows": 100, "operations_per_second": 5, "until": until}
    assert world.agents.workloads() == {node.id: wanted for node in nodes(world)}


def test_a_node_that_lost_its_workload_gets_it_again(world: ClusterWorld) -> None:
    first = nodes(world)[0]
    world.agents.client(node_id=first.id, address=first.agent_address).delete_job("test-drive")
    assert len(world.agents.workloads()) == 2
    see_to_test_drives()
    assert len(world.agents.workloads()) == 3


def test_one_whose_end_was_put_off_goes_on(world: ClusterWorld) -> None:
    first = nodes(world)[0]
    agent = world.agents.client(node_id=first.id, address=first.agent_address)
    agent.delete_job("test-drive")
    over = {"workload": "orders", "rows": 100, "operations_per_second": 5, "until": "2026-01-01T00:00:00+00:00"}
    assert agent.ensure_job("test-drive", "run-workload", over).state == "succeeded"
    for running in (2, 3):
        see_to_test_drives()
        assert len(world.agents.workloads()) == running


def test_what_is_kept_has_its_workload_ended_on_every_node(world: ClusterWorld) -> None:
    actions.keep(world.who, world.cluster_id)
    world.agents.inject(AgentFault(name="unreachable", call="delete_job", node=nodes(world)[1].id, times=1))
    see_to_test_drives()
    assert len(world.agents.workloads()) == 1
    assert Cluster.objects.get(id=world.cluster_id).test_drive is not None
    see_to_test_drives()
    assert world.agents.workloads() == {}
    assert Cluster.objects.get(id=world.cluster_id).test_drive is None


def test_it_is_deleted_by_itself_with_nothing_left(world: ClusterWorld) -> None:
    Cluster.objects.filter(id=world.cluster_id).update(expires_at=Now() - timedelta(seconds=1))
    assert [see_to_test_drives() for _ in range(2)] == [1, 0]
    world.finish(Operation.objects.get(kind="delete_cluster", cluster_id=world.cluster_id))
    assert Cluster.objects.get(id=world.cluster_id).state == "deleted"
    assert world.leftovers() == []
