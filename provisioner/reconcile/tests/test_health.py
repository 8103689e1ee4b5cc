"""The health reconciler says what is true of nodes and clusters, and writes only when it changes."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from backend.clusters import actions
from backend.clusters.models import Cluster, Node
from backend.clusters.states import ClusterState, NodeState
from backend.costs.models import TrafficReading
from backend.findings.models import Finding
from backend.operations.models import Operation, OperationStep
from provisioner.agent.fake import AgentFault
from provisioner.operations import names
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world
from provisioner.reconcile import health, lasting, sent
from provisioner.reconcile.alone import alone

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def forget() -> None:
    lasting.remember("health", {})
    sent.forget()


@pytest.fixture
def world() -> Iterator[ClusterWorld]:
    with cluster_world(ClusterWorld.create) as made:
        made.created()
        yield made


def nodes(world: ClusterWorld) -> list[Node]:
    return list(Node.objects.filter(cluster_id=world.cluster_id).order_by("position"))


def states(world: ClusterWorld) -> list[str]:
    return [node.state for node in nodes(world)]


def cluster_state(world: ClusterWorld) -> str:
    return Cluster.objects.get(id=world.cluster_id).state


def open_codes() -> set[str]:
    return set(Finding.objects.filter(state="open").values_list("code", flat=True))


def power(world: ClusterWorld, node: Node, what: str) -> None:
    getattr(world.provider, f"{what}_machine")(region="fake-1", name=names.machine(node))


def written(queries: CaptureQueriesContext) -> list[str]:
    return [query["sql"] for query in queries if "UPDATE" in query["sql"] or "INSERT" in query["sql"]]


def test_a_healthy_cluster_stays_active_and_nothing_is_written(world: ClusterWorld) -> None:
    health.check_clusters()
    with CaptureQueriesContext(connection) as queries:
        assert health.check_clusters() == health.Checked(clusters=1, looks=3, sick=False)
    assert cluster_state(world) == ClusterState.ACTIVE
    assert states(world) == [NodeState.UP] * 3
    assert {node.agent_version for node in nodes(world)} == {"fake"}
    assert not written(queries)
    assert len(queries) <= 6


def test_it_records_the_facts_of_a_node(world: ClusterWorld) -> None:
    ends = datetime(2099, 1, 1, tzinfo=UTC)
    first = nodes(world)[0]
    world.agents.change(first.id, disk_used=0.25, running_revision="r7", engine_certificate_expires_at=ends.isoformat())
    health.check_clusters()
    first.refresh_from_db()
    assert first.disk_total_bytes == 100 * 2**30
    assert first.disk_free_bytes == 75 * 2**30
    assert first.running_revision == "r7"
    assert first.engine_certificate_expires_at == ends
    assert first.clock_offset_ms is not None
    assert abs(first.clock_offset_ms) < 500


def test_a_dead_engine_degrades_the_cluster_until_it_runs_again(world: ClusterWorld) -> None:
    victim = nodes(world)[1]
    world.agents.kill_engine(victim.id, last_error="out of memory")
    assert health.check_clusters().sick
    victim.refresh_from_db()
    assert victim.state == NodeState.DOWN
    assert victim.state_reason == "The engine is stopped. out of memory"
    assert cluster_state(world) == ClusterState.DEGRADED
    assert open_codes() == {"engine-down"}
    world.agents.client(node_id=victim.id, address=victim.agent_address).ensure_job("again", "start", {})
    assert not health.check_clusters().sick
    assert cluster_state(world) == ClusterState.ACTIVE
    assert open_codes() == set()


def test_a_node_that_was_stopped_on_purpose_is_stopped_and_nothing_is_wrong(world: ClusterWorld) -> None:
    stopped = nodes(world)[1]
    Node.objects.filter(id=stopped.id).update(stop_wanted=True)
    world.agents.kill_engine(stopped.id)
    assert not health.check_clusters().sick
    stopped.refresh_from_db()
    assert stopped.state == NodeState.STOPPED
    assert cluster_state(world) == ClusterState.DEGRADED
    assert open_codes() == set()


def test_f37_an_agent_that_does_not_answer_makes_a_node_unobserved_and_nothing_else(world: ClusterWorld) -> None:
    victim = nodes(world)[0]
    world.agents.inject(AgentFault(name="unreachable", node=victim.id))
    health.check_clusters()
    assert open_codes() == set()
    assert not health.check_clusters().sick
    victim.refresh_from_db()
    assert victim.state == NodeState.UNOBSERVED
    assert cluster_state(world) == ClusterState.ACTIVE
    assert open_codes() == {"agent-unreachable"}
    world.agents.end_faults()
    health.check_clusters()
    victim.refresh_from_db()
    assert (victim.state, victim.state_reason) == (NodeState.UP, "")
    assert open_codes() == set()


def test_a_node_whose_neighbours_see_it_down_too_is_down(world: ClusterWorld) -> None:
    victim = nodes(world)[2]
    world.agents.kill_engine(victim.id)
    world.agents.inject(AgentFault(name="unreachable", node=victim.id))
    health.check_clusters()
    victim.refresh_from_db()
    assert victim.state == NodeState.DOWN
    assert cluster_state(world) == ClusterState.DEGRADED
    assert open_codes() == {"machine-dead"}


@pytest.mark.parametrize(("silent_for", "counted"), [(12, 12), (3600, 30)])
def test_a_death_counts_from_the_silence_before_it(world: ClusterWorld, silent_for: int, counted: int) -> None:
    victim = nodes(world)[2]
    world.agents.inject(AgentFault(name="unreachable", node=victim.id))
    health.check_clusters()
    health.check_clusters()
    Finding.objects.update(first_seen_at=timezone.now() - timedelta(seconds=silent_for))
    world.agents.kill_engine(victim.id)
    health.check_clusters()
    age = timezone.now() - Finding.objects.get(state="open", code="machine-dead").first_seen_at
    assert counted <= age.total_seconds() < counted + 5


def test_a_machine_without_power_is_seen_at_the_first_look(world: ClusterWorld) -> None:
    victim = nodes(world)[2]
    power(world, victim, "kill")
    assert health.check_clusters().sick
    victim.refresh_from_db()
    assert (victim.state, victim.state_reason) == (NodeState.DOWN, "Its machine is off.")
    finding = Finding.objects.get(state="open")
    assert (finding.code, finding.subject, finding.cluster_id) == ("machine-off", victim.id, world.cluster_id)
    power(world, victim, "start")
    health.check_clusters()
    assert states(world) == [NodeState.UP] * 3
    assert open_codes() == set()


def test_f27_a_machine_that_someone_deleted_is_seen_at_the_first_look(world: ClusterWorld) -> None:
    victim = nodes(world)[2]
    power(world, victim, "delete")
    health.check_clusters()
    assert open_codes() == {"machine-gone"}
    assert states(world) == [NodeState.UP, NodeState.UP, NodeState.DOWN]


def test_lost_data_is_a_state_of_its_own(world: ClusterWorld) -> None:
    victim = nodes(world)[1]
    world.agents.lose_data(victim.id)
    health.check_clusters()
    assert states(world) == [NodeState.UP, NodeState.DATA_LOST, NodeState.UP]
    assert cluster_state(world) == ClusterState.DEGRADED
    assert open_codes() == {"local-data-lost"}


def test_a_control_plane_cut_off_from_all_agents_leaves_the_cluster_as_it_was(world: ClusterWorld) -> None:
    world.agents.inject(AgentFault(name="unreachable"))
    health.check_clusters()
    assert states(world) == [NodeState.UNOBSERVED] * 3
    assert cluster_state(world) == ClusterState.ACTIVE


def test_f39_a_nodes_clock_is_told_of_and_our_own_is_not_blamed_on_them(
    world: ClusterWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, *others = nodes(world)
    world.agents.change(late.id, clock_offset_seconds=-60.0)
    health.check_clusters()
    assert list(Finding.objects.values_list("subject", "code", "severity")) == [(late.id, "clock-drift", "critical")]
    world.agents.change(late.id, clock_offset_seconds=0.0)
    health.check_clusters()
    assert open_codes() == set()
    monkeypatch.setattr(health, "_CLOCKS_FOR_A_JUDGEMENT", 3)
    for node in (late, *others):
        world.agents.change(node.id, clock_offset_seconds=600.0)
    health.check_clusters()
    assert open_codes() == set()


def test_a_filling_disk_is_told_of_and_its_words_follow_it(world: ClusterWorld) -> None:
    node = nodes(world)[0]
    for used, severity in ((0.72, "warning"), (0.96, "critical")):
        world.agents.change(node.id, disk_used=used)
        health.check_clusters()
        finding = Finding.objects.get(code="disk-filling", state="open")
        assert (finding.severity, f"{used:.0%}".replace("%", " %") in finding.sentence) == (severity, True)
    assert states(world) == [NodeState.UP] * 3


def test_a_cluster_that_is_being_deleted_is_left_alone(world: ClusterWorld) -> None:
    actions.delete(world.who, world.cluster_id)
    assert health.check_clusters().clusters == 0


def exclusive(world: ClusterWorld, *steps: tuple[str, str]) -> None:
    """An open operation on the cluster with a step for each (node id, state), one after the other."""
    operation = Operation.objects.create(
        organisation_id=world.who.organisation_id,
        kind="rolling_restart",
        cluster_id=world.cluster_id,
        actor="test",
        state="running",
        expected_seconds=1,
    )
    for position, (target, state) in enumerate(steps):
        OperationStep.objects.create(
            operation=operation,
            position=position,
            group=position,
            name="x",
            target=target,
            state=state,
            deadline_seconds=60,
        )


@pytest.mark.parametrize("worked_on", ["running", "between"])
def test_what_an_operation_works_on_is_left_to_it_but_another_nodes_death_is_seen(
    world: ClusterWorld, worked_on: str
) -> None:
    first, second, third = nodes(world)
    state = {"running": "running", "between": "done"}[worked_on]
    exclusive(world, (first.id, state), (first.id, "pending"), (third.id, "pending"))
    world.agents.kill_engine(first.id)
    world.agents.change(first.id, disk_used=0.5)
    health.check_clusters()
    assert states(world) == [NodeState.UP] * 3
    assert cluster_state(world) == ClusterState.ACTIVE
    first.refresh_from_db()
    assert first.disk_free_bytes == 50 * 2**30
    power(world, second, "kill")
    assert health.check_clusters().sick
    assert states(world) == [NodeState.UP, NodeState.DOWN, NodeState.UP]
    assert cluster_state(world) == ClusterState.DEGRADED


def copies(world: ClusterWorld, number: int) -> None:
    template = Cluster.objects.get(id=world.cluster_id)
    own = {"id", "name", "created_at"}
    columns: dict[str, Any] = {
        f.attname: getattr(template, f.attname) for f in Cluster._meta.fields if f.attname not in own
    }
    for one in range(number):
        Cluster.objects.create(**columns, name=f"more-{one}")


def test_clusters_take_turns_when_the_share_of_a_run_is_used_up(
    world: ClusterWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies(world, 12)
    seen: list[str] = []

    def check(self: health._Run, clusters: list[Cluster], *, whole: bool) -> int:
        seen.extend(cluster.id for cluster in clusters)
        return 3 * len(clusters)

    monkeypatch.setattr(health._Run, "_check", check)
    monkeypatch.setattr(settings.ENV, "ringmaster_health_cpu_share", 1e-9)
    for _ in range(3):
        health.check_clusters()
    assert sorted(seen) == sorted(Cluster.objects.values_list("id", flat=True))


def test_a_cluster_with_trouble_is_looked_at_in_every_run(world: ClusterWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    copies(world, 12)
    Node.objects.filter(id=nodes(world)[0].id).update(state=NodeState.UNOBSERVED)
    seen: list[tuple[str, bool]] = []

    def check(self: health._Run, clusters: list[Cluster], *, whole: bool) -> int:
        seen.extend((cluster.id, whole) for cluster in clusters)
        return 3 * len(clusters)

    monkeypatch.setattr(health._Run, "_check", check)
    for _ in range(4):
        health.check_clusters()
    assert seen.count((world.cluster_id, True)) == 4


@pytest.fixture
def large(world: ClusterWorld, monkeypatch: pytest.MonkeyPatch) -> ClusterWorld:
    """As if there were so many that one node of each quiet cluster is asked."""
    monkeypatch.setattr(health.Pace, "whole", lambda self, share: False)
    return world


def test_in_a_large_installation_one_node_tells_of_all_in_turn(large: ClusterWorld) -> None:
    asked = []
    for _ in range(3):
        assert health.check_clusters().looks == 1
        asked.append({node.id for node in nodes(large) if node.agent_version})
    assert [len(found) for found in asked] == [1, 2, 3]


def test_in_a_large_installation_a_death_is_seen_by_whoever_is_asked(large: ClusterWorld) -> None:
    power(large, nodes(large)[2], "kill")
    assert health.check_clusters() == health.Checked(clusters=1, looks=3, sick=True)
    assert states(large) == [NodeState.UP, NodeState.UP, NodeState.DOWN]


def test_a_neighbours_word_keeps_a_quiet_nodes_look_fresh(large: ClusterWorld) -> None:
    Node.objects.update(observed_at=None)
    health.check_clusters()
    assert not Node.objects.filter(observed_at=None).exists()


def test_what_was_remembered_by_another_release_does_no_harm(world: ClusterWorld) -> None:
    lasting.remember("health", {"of_another_release": 1, "after": ""})
    assert health.check_clusters().clusters == 1


def test_two_runs_never_overlap(world: ClusterWorld) -> None:
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(hashtext('reconcile-health'))")
            assert health.check_clusters().clusters == 0
            cursor.execute("SELECT pg_advisory_unlock(hashtext('reconcile-health'))")
    finally:
        other.close()
    with alone("reconcile-health") as mine:
        assert mine


def test_a_state_that_somebody_knows_better_is_not_written_over(world: ClusterWorld) -> None:
    from backend.clusters import observations

    node = nodes(world)[0]
    seen = observations.Observation(
        node_id=node.id, before=NodeState.LEAVING, state=NodeState.UP, reason="", visible=True
    )
    assert observations.write([seen]) == set()
    assert observations.write([]) == set()


def test_it_keeps_what_nodes_sent_every_few_minutes(world: ClusterWorld) -> None:
    first = nodes(world)[0]
    zones = {first.datacenter.name: {first.zone: 7}}
    world.agents.change(first.id, traffic=("one", zones, 20, 3))
    health.check_clusters()
    kept = TrafficReading.objects.get()
    assert (kept.node_id, kept.epoch, kept.counts) == (
        first.id,
        "one",
        {f"{first.datacenter.name}/{first.zone}": 7, "clients": 23},
    )
    world.agents.change(first.id, traffic=("one", zones, 30, 3))
    with CaptureQueriesContext(connection) as queries:
        health.check_clusters()
    assert not written(queries)
    # What began anew is kept at once.
    world.agents.change(first.id, traffic=("two", zones, 1, 0))
    health.check_clusters()
    kept.refresh_from_db()
    assert (kept.epoch, kept.counts["clients"], sum(kept.due.popitem()[1].values())) == ("two", 1, 7 + 23 + 7 + 1)
