"""The health reconciler says what is true of nodes and clusters, and only when it changes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from backend.clusters import actions
from backend.clusters.models import Cluster, Node
from backend.clusters.states import ClusterState, NodeState
from backend.operations.models import Operation
from provisioner.agent.base import Peer, RingStatus, Status
from provisioner.agent.fake import AgentFault
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world
from provisioner.reconcile import health
from provisioner.reconcile.alone import alone

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ClusterWorld]:
    with cluster_world(tmp_path, ClusterWorld.create) as made:
        made.created()
        yield made


def nodes(world: ClusterWorld) -> list[Node]:
    return list(Node.objects.filter(cluster_id=world.cluster_id).order_by("position"))


def cluster_state(world: ClusterWorld) -> str:
    return Cluster.objects.get(id=world.cluster_id).state


def test_a_healthy_cluster_stays_active_and_nothing_is_written(world: ClusterWorld) -> None:
    health.check_clusters()
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert health.check_clusters() == 1
    assert cluster_state(world) == ClusterState.ACTIVE
    assert {node.state for node in nodes(world)} == {NodeState.UP}
    assert {node.agent_version for node in nodes(world)} == {"fake"}
    assert not [query for query in queries if query["sql"].startswith('UPDATE "clusters')]


def test_a_dead_engine_degrades_the_cluster_until_it_runs_again(world: ClusterWorld) -> None:
    victim = nodes(world)[1]
    world.agents.kill_engine(victim.id)
    health.check_clusters()
    victim.refresh_from_db()
    assert victim.state == NodeState.DOWN
    assert victim.state_reason == "The engine is stopped."
    assert cluster_state(world) == ClusterState.DEGRADED
    world.agents.client(node_id=victim.id, address=victim.agent_address).ensure_job("again", "start", {})
    health.check_clusters()
    assert cluster_state(world) == ClusterState.ACTIVE


def test_an_agent_that_does_not_answer_makes_a_node_unobserved_and_nothing_else(world: ClusterWorld) -> None:
    victim = nodes(world)[0]
    world.agents.inject(AgentFault(name="unreachable", node=victim.id))
    health.check_clusters()
    victim.refresh_from_db()
    assert victim.state == NodeState.UNOBSERVED
    assert cluster_state(world) == ClusterState.ACTIVE
    world.agents.end_faults()
    health.check_clusters()
    victim.refresh_from_db()
    assert (victim.state, victim.state_reason) == (NodeState.UP, "")


def test_a_node_whose_neighbours_see_it_down_too_is_down(world: ClusterWorld) -> None:
    victim = nodes(world)[2]
    world.agents.kill_engine(victim.id)
    world.agents.inject(AgentFault(name="unreachable", node=victim.id))
    health.check_clusters()
    victim.refresh_from_db()
    assert victim.state == NodeState.DOWN
    assert cluster_state(world) == ClusterState.DEGRADED


def test_a_control_plane_cut_off_from_all_agents_leaves_the_cluster_as_it_was(world: ClusterWorld) -> None:
    world.agents.inject(AgentFault(name="unreachable"))
    health.check_clusters()
    assert {node.state for node in nodes(world)} == {NodeState.UNOBSERVED}
    assert cluster_state(world) == ClusterState.ACTIVE


def test_a_cluster_that_an_operation_works_on_is_left_to_it(world: ClusterWorld) -> None:
    actions.delete(world.who, world.cluster_id)
    assert health.check_clusters() == 0
    assert Operation.objects.filter(cluster_id=world.cluster_id, state="pending").exists()


def test_clusters_take_turns_when_a_run_ends_early(world: ClusterWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    template = Cluster.objects.get(id=world.cluster_id)
    for number in range(2):
        Cluster.objects.create(
            **{
                f.attname: getattr(template, f.attname)
                for f in Cluster._meta.fields
                if f.attname not in {"id", "name", "created_at"}
            },
            name=f"more-{number}",
        )
    monkeypatch.setattr(health, "PAGE", 1)
    ticks = iter(range(10**6))
    monkeypatch.setattr(health, "BUDGET", 1.5)
    monkeypatch.setattr(health.time, "monotonic", lambda: float(next(ticks)))
    monkeypatch.setattr(health, "_check_page", lambda page, threads: seen.extend(cluster.id for cluster in page))
    for _ in range(3):
        health.check_clusters()
    assert sorted(seen) == sorted(Cluster.objects.values_list("id", flat=True))


def test_two_runs_never_overlap(world: ClusterWorld) -> None:
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(hashtext('reconcile-health'))")
            assert health.check_clusters() == 0
            cursor.execute("SELECT pg_advisory_unlock(hashtext('reconcile-health'))")
    finally:
        other.close()
    with alone("reconcile-health") as mine:
        assert mine


def view(address: str, **peers: bool) -> Status:
    ring = RingStatus(
        host_id=address,
        datacenter="dc",
        rack="r",
        schema_version="1",
        tokens=(),
        peers=tuple(
            Peer(address=peer, host_id=peer, datacenter="dc", rack="r", schema_version="1", up=up)
            for peer, up in peers.items()
        ),
    )
    fields: dict[str, Any] = {"node_id": address, "agent_version": "1", "engine_state": "running"}
    return Status(**fields, engine_version="5", cql_ready=True, restarts=0, last_error="", ring=ring)


def test_one_observer_alone_declares_nobody_dead() -> None:
    silent = Node(address="a")
    assert health.judge(silent, None, "", [view("b", a=False)]).state is NodeState.UNOBSERVED
    assert health.judge(silent, None, "", [view("b", a=False), view("c", a=True)]).state is NodeState.UNOBSERVED
    assert health.judge(silent, None, "", [view("b", a=False), view("c", a=False)]).state is NodeState.DOWN
