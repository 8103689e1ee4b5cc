from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.db.models import F
from django.db.models.functions import Now

from backend.clusters.models import Cluster, Node
from backend.clusters.states import NodeState
from backend.findings import actions as findings
from backend.findings.models import Finding
from backend.findings.states import Severity
from backend.operations.models import Operation
from backend.repairs.models import RepairRun, RepairSchedule
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world
from provisioner.reconcile import dropped_hints, health
from provisioner.reconcile.repairs import catch_up, start_due
from provisioner.reconcile.signs import ENGINE_DOWN

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world() -> Iterator[ClusterWorld]:
    with cluster_world(lambda world: world.create()) as world:
        world.created()
        yield world


def away(world: ClusterWorld, *, hours: float, ended_hours_ago: float = 0.1) -> str:
    """A node's engine was down so long. Its id."""
    cluster = Cluster.objects.get(id=world.cluster_id)
    node = cluster.nodes.all()[0]
    findings.found(
        cluster=cluster,
        subject=node.id,
        subject_name=node.name,
        code=ENGINE_DOWN,
        severity=Severity.CRITICAL,
        sentence="It is down.",
    )
    findings.over(subject=node.id, codes=[ENGINE_DOWN])
    Finding.objects.filter(subject=node.id).update(
        closed_at=Now() - timedelta(hours=ended_hours_ago),
        first_seen_at=Now() - timedelta(hours=ended_hours_ago + hours),
    )
    return node.id


def nodes(world: ClusterWorld) -> list[Node]:
    return list(Node.objects.filter(cluster_id=world.cluster_id).order_by("position"))


def end_all() -> None:
    Operation.objects.filter(kind="repair").update(state="succeeded", due_at=None)
    RepairRun.objects.update(state="done")


def test_a_new_cluster_gets_a_schedule_and_its_run_when_that_is_due(world: ClusterWorld) -> None:
    assert start_due() == 0
    assert RepairSchedule.objects.get().cluster_id == world.cluster_id
    RepairSchedule.objects.update(due_at=Now() - timedelta(minutes=1))
    assert start_due() == 1
    assert Operation.objects.get(kind="repair").cluster_id == world.cluster_id
    assert start_due() == 0


def test_idle_clusters_cost_the_same_few_statements(world: ClusterWorld, django_assert_num_queries) -> None:
    start_due()
    with django_assert_num_queries(4):
        start_due()
    with django_assert_num_queries(4):
        catch_up()


def test_a_node_that_was_away_longer_than_hints_are_kept_pulls_once(world: ClusterWorld) -> None:
    node_id = away(world, hours=3.5)
    assert catch_up() == 1
    run = RepairRun.objects.get()
    assert (run.reason, run.asked["node"]) == ("catch-up", node_id)
    assert catch_up() == 0
    end_all()
    assert catch_up() == 0


@pytest.mark.parametrize(("hours", "ended"), [(2.5, 0.1), (10.0, 30.0)])
def test_a_short_absence_and_an_old_one_are_left_alone(world: ClusterWorld, hours: float, ended: float) -> None:
    away(world, hours=hours, ended_hours_ago=ended)
    assert catch_up() == 0


def test_the_clusters_own_hint_window_counts(world: ClusterWorld) -> None:
    Cluster.objects.filter(id=world.cluster_id).update(settings={"max_hint_window_minutes": 60})
    away(world, hours=2)
    assert catch_up() == 1


def test_a_node_that_somebody_stopped_for_long_pulls_too(world: ClusterWorld) -> None:
    node = Cluster.objects.get(id=world.cluster_id).nodes.all()[1]
    for kind in ("stop_node", "start_node"):
        operation = Operation.objects.create(
            organisation_id=world.who.organisation_id,
            kind=kind,
            cluster_id=world.cluster_id,
            cluster_name="demo",
            actor="tests",
            parameters={},
            state="succeeded",
            expected_seconds=1,
            started_at=Now(),
            finished_at=Now(),
        )
        operation.steps.create(position=0, group=0, name="any", title="any", target=node.id, deadline_seconds=1)
    assert catch_up() == 0
    Operation.objects.filter(kind="stop_node").update(started_at=F("started_at") - timedelta(hours=4))
    assert catch_up() == 1
    assert RepairRun.objects.get().asked["node"] == node.id


def dropped(world: ClusterWorld, *, minutes_ago: float) -> Node:
    """Another node says that it kept no hint for this one then, and everybody is looked at. The node it was for."""
    first, missed, _ = nodes(world)
    at = datetime.now(UTC) - timedelta(minutes=minutes_ago)
    world.agents.change(first.id, hints_dropped={str(missed.address): at.isoformat()})
    health.check_clusters()
    return missed


def quiet() -> None:
    """Nobody has dropped a hint for a while."""
    Finding.objects.filter(code="hints-dropped").update(last_seen_at=Now() - dropped_hints.QUIET * 2)


def test_a_node_for_which_others_kept_no_hints_pulls_once(world: ClusterWorld) -> None:
    missed = dropped(world, minutes_ago=5)
    assert catch_up() == 0  # hints may still be dropped
    quiet()
    assert catch_up() == 1
    run = RepairRun.objects.get()
    assert (run.reason, run.asked["node"]) == ("catch-up", missed.id)
    finding = Finding.objects.get(code="hints-dropped")
    assert (finding.state, finding.subject, finding.operation_id) == ("closed", missed.id, run.operation_id)
    end_all()
    health.check_clusters()  # what was told before the run is told for two days
    assert Finding.objects.filter(code="hints-dropped").count() == 1
    assert catch_up() == 0


def test_hints_dropped_after_it_has_pulled_count_anew(world: ClusterWorld) -> None:
    dropped(world, minutes_ago=5)
    quiet()
    assert catch_up() == 1
    end_all()
    Finding.objects.update(closed_at=Now() - timedelta(minutes=3))
    RepairRun.objects.update(created_at=Now() - timedelta(minutes=3))
    dropped(world, minutes_ago=2)
    quiet()
    assert catch_up() == 1


def test_a_node_that_is_still_away_pulls_when_it_is_back(world: ClusterWorld) -> None:
    missed = dropped(world, minutes_ago=1)
    quiet()
    Node.objects.filter(id=missed.id).update(state=NodeState.DOWN)
    assert catch_up() == 0
    Node.objects.filter(id=missed.id).update(state=NodeState.UP)
    assert catch_up() == 1


def test_dropped_hints_of_yesterday_or_of_an_absence_that_was_made_up_for_start_nothing(world: ClusterWorld) -> None:
    dropped(world, minutes_ago=60 * 25)
    assert not Finding.objects.exists()
    node_id = away(world, hours=3.5)
    assert catch_up() == 1
    end_all()
    first, missed, _ = nodes(world)
    at = (datetime.now(UTC) - timedelta(minutes=5)).isoformat()
    world.agents.change(missed.id, hints_dropped={str(first.address): at})
    assert first.id == node_id
    health.check_clusters()
    assert not Finding.objects.filter(code="hints-dropped").exists()


def test_what_is_said_of_a_node_that_has_ended_is_closed(world: ClusterWorld) -> None:
    missed = dropped(world, minutes_ago=1)
    Node.objects.filter(id=missed.id).update(deleted_at=Now())
    assert catch_up() == 0
    assert Finding.objects.get(code="hints-dropped").state == "closed"
