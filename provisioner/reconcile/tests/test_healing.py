"""From a failure to a whole ring, and what was done in words: on the fake provider, with the product's operations."""

import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db.models import F

from backend.changes import actions as changes
from backend.changes.schemas import RollingRestart
from backend.clusters.models import Ceiling, Cluster, Node
from backend.clusters.states import NodeState
from backend.config.database_backup import hold_healing
from backend.findings.models import Finding
from backend.operations.models import Operation, OperationStep
from provisioner import runner
from provisioner.agent.fake import AgentFault
from provisioner.operations import names, registry
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world
from provisioner.providers.fake_faults import Fault
from provisioner.reconcile import healing, health, lasting

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world() -> Iterator[ClusterWorld]:
    lasting.remember("health", {})
    with cluster_world(ClusterWorld.create) as made:
        made.created()
        Cluster.objects.update(healing_grace_seconds=60)
        yield made


def living(world: ClusterWorld) -> list[Node]:
    return list(Node.objects.filter(cluster_id=world.cluster_id, deleted_at=None).order_by("position"))


def power(world: ClusterWorld, node: Node, what: str) -> None:
    getattr(world.provider, f"{what}_machine")(region="fake-1", name=names.machine(node))


def kill_for_good(world: ClusterWorld, node: Node) -> None:
    """Dead, and it does not start any more."""
    power(world, node, "kill")
    world.provider.inject(Fault(name="connection-lost", call="start_machine", target=names.machine(node)))


def reconcile() -> None:
    health.check_clusters()
    healing.heal_clusters()


def grow_older(seconds: float) -> None:
    Finding.objects.filter(state="open").update(first_seen_at=F("first_seen_at") - timedelta(seconds=seconds))


def only_finding() -> Finding:
    return Finding.objects.get(state="open")


def replacements() -> list[Operation]:
    return list(Operation.objects.filter(kind="replace_node"))


def finish(world: ClusterWorld, operation: Operation) -> None:
    """Run it to its end; what stands in its way is the failure's message."""
    give_up_at = time.monotonic() + 20
    while runner.run(operation.id, find_code=registry.find).again_in is not None:
        if time.monotonic() > give_up_at:
            steps = OperationStep.objects.filter(operation_id=operation.id, state="running")
            raise AssertionError(list(steps.values_list("name", "message")))
    operation.refresh_from_db()
    assert operation.state == "succeeded", operation.reason


def assert_whole(world: ClusterWorld) -> None:
    """Health agrees that all is well, and nothing is open."""
    for _ in range(2):
        reconcile()
    assert {node.state for node in living(world)} == {NodeState.UP}
    assert Cluster.objects.get(id=world.cluster_id).state == "active"
    assert not Finding.objects.filter(state="open").exists()


@pytest.mark.parametrize("gone", [False, True], ids=["dead", "deleted by hand (F-27)"])
def test_a_dead_machine_is_replaced_and_the_activity_tells_why(world: ClusterWorld, gone: bool) -> None:
    victim = living(world)[2]
    kill_for_good(world, victim)
    if gone:
        power(world, victim, "delete")
    reconcile()
    finding = only_finding()
    assert finding.code == ("machine-gone" if gone else "machine-off")
    assert replacements() == []
    grow_older(61)
    reconcile()
    (operation,) = replacements()
    assert (operation.actor, operation.cluster_id) == ("ringmaster", world.cluster_id)
    finding.refresh_from_db()
    assert finding.operation_id == operation.id
    assert finding.action.startswith("Replaced by a new node on a new machine, after 6")
    reconcile()
    assert len(replacements()) == 1
    finding.refresh_from_db()
    assert finding.action.startswith("Replaced by")
    world.provider.end_faults()
    finish(world, operation)
    assert victim.id not in {node.id for node in living(world)}
    assert len(world.provider.list_machines(region="fake-1")) == 3
    assert_whole(world)
    finding.refresh_from_db()
    assert (finding.state, finding.operation_id) == ("closed", operation.id)


def test_a_ceiling_does_not_keep_a_dead_node_from_its_place_but_is_told_of(world: ClusterWorld) -> None:
    cluster = Cluster.objects.get(id=world.cluster_id)
    Ceiling.objects.create(organisation=cluster.organisation, nodes=2, changed_by="x")
    victim = living(world)[2]
    kill_for_good(world, victim)
    reconcile()
    grow_older(61)
    reconcile()
    assert only_finding().action.endswith("The ceiling of the organisation is 2 nodes, and it has 3.")
    (operation,) = replacements()
    world.provider.end_faults()
    finish(world, operation)
    assert len(living(world)) == 3


def test_a_machine_that_is_off_is_started(world: ClusterWorld) -> None:
    victim = living(world)[0]
    power(world, victim, "kill")
    reconcile()
    assert only_finding().action == "Its machine was off and has been started."
    assert replacements() == []
    assert_whole(world)


def test_f26_a_node_whose_disks_are_blank_is_replaced_at_once(world: ClusterWorld) -> None:
    victim = living(world)[1]
    world.agents.lose_data(victim.id)
    reconcile()
    (operation,) = replacements()
    assert only_finding().action == "Replaced by a new node on a new machine, at once."
    finish(world, operation)
    assert victim.id not in {node.id for node in living(world)}
    assert_whole(world)


def test_an_engine_that_its_agent_cannot_start_is_started(world: ClusterWorld) -> None:
    victim = living(world)[1]
    world.agents.kill_engine(victim.id)
    reconcile()
    assert only_finding().action == "Its agent starts the engine again by itself."
    grow_older(11)
    reconcile()
    assert Finding.objects.get().action == "Started the engine once."
    assert replacements() == []
    assert_whole(world)


def test_an_engine_that_does_not_come_up_is_tried_a_few_times_and_says_why(world: ClusterWorld) -> None:
    victim = living(world)[1]
    world.agents.kill_engine(victim.id, last_error="no space left on device")
    world.agents.inject(AgentFault(name="job-failed", node=victim.id, job_kind="start"))
    reconcile()
    assert "no space left on device" in only_finding().sentence
    for seconds, words in ((11, "once"), (0, "once"), (50, "2 times"), (250, "3 times")):
        grow_older(seconds)
        reconcile()
        assert only_finding().action.startswith(f"Started the engine {words}, and it did not come up: ")
    world.agents.end_faults()
    grow_older(700)
    reconcile()
    assert_whole(world)


def test_told_only_means_told_only(world: ClusterWorld) -> None:
    Cluster.objects.update(healing_mode="tell")
    power(world, living(world)[0], "kill")
    for _ in range(2):
        reconcile()
        grow_older(1000)
    assert only_finding().action.startswith("Nothing is done: healing of this cluster is switched to telling only")
    assert replacements() == []
    assert living(world)[0].state == NodeState.DOWN


def test_after_a_restore_of_the_database_it_is_told_only_until_somebody_has_looked(world: ClusterWorld) -> None:
    assert hold_healing() == 1
    power(world, living(world)[0], "kill")
    for _ in range(2):
        reconcile()
        grow_older(1000)
    assert only_finding().action.startswith("Nothing is done: the control plane's own database was restored")
    assert replacements() == []
    with pytest.raises(CommandError, match="Healing is not held of clu_other"):
        call_command("resume_healing", "clu_other")
    call_command("resume_healing", world.cluster_id)
    reconcile()
    assert len(replacements()) == 1


def test_so_many_a_day_and_no_more(world: ClusterWorld) -> None:
    Cluster.objects.update(healing_replacements_per_day=1)
    first, second, _ = living(world)
    world.agents.lose_data(first.id)
    reconcile()
    finish(world, replacements()[0])
    world.agents.lose_data(second.id)
    reconcile()
    assert len(replacements()) == 1
    assert "1 nodes of this cluster were replaced by themselves within a day" in only_finding().action
    Operation.objects.update(created_at=F("created_at") - timedelta(days=1))
    reconcile()
    assert len(replacements()) == 2


def test_f31_nothing_is_replaced_while_quorum_is_at_risk(world: ClusterWorld) -> None:
    first, second, _ = living(world)
    for node in (first, second):
        kill_for_good(world, node)
    reconcile()
    grow_older(1000)
    reconcile()
    assert replacements() == []
    assert {finding.action for finding in Finding.objects.all()} == {
        "It is not replaced: only 1 of 3 nodes are seen to be up, and without a majority nobody knows which side of a "
        "cut this is."
    }


def test_f36_one_observer_alone_gets_nobody_replaced(world: ClusterWorld) -> None:
    first, second, _ = living(world)
    # Nobody answers but the third, which does not reach the first.
    world.agents.kill_engine(first.id)
    for node in (first, second):
        world.agents.inject(AgentFault(name="unreachable", node=node.id))
    reconcile()
    grow_older(1000)
    reconcile()
    assert living(world)[0].state == NodeState.UNOBSERVED
    assert replacements() == []


def test_f37_a_node_whose_agent_is_cut_off_stays_in_service(world: ClusterWorld) -> None:
    victim = living(world)[0]
    world.agents.inject(AgentFault(name="unreachable", node=victim.id))
    for _ in range(3):
        reconcile()
        grow_older(3600)
    assert only_finding().code == "agent-unreachable"
    assert living(world)[0].state == NodeState.UNOBSERVED
    assert Cluster.objects.get(id=world.cluster_id).state == "active"
    assert replacements() == []
    world.agents.end_faults()
    assert_whole(world)


def test_a_replacement_waits_for_the_operation_that_has_the_cluster(world: ClusterWorld) -> None:
    victim = living(world)[2]
    started = changes.begin(world.cluster_id, RollingRestart(kind="rolling_restart"), actor="someone").operation
    kill_for_good(world, victim)
    reconcile()
    grow_older(1000)
    reconcile()
    assert only_finding().action.startswith("Its replacement waits for another operation: ")
    assert started.id in only_finding().action
    assert replacements() == []
    Operation.objects.filter(id=started.id).update(state="cancelled", due_at=None)
    reconcile()
    assert len(replacements()) == 1


def test_f28_nothing_is_replaced_in_a_zone_that_is_away(world: ClusterWorld) -> None:
    zones = [("fake", "fake-1a")]
    dead = []
    for number in range(3):
        template = living(world)[0]
        node = Node.objects.get(id=template.id)
        node.pk, node.position, node.name = f"nod_lost{number}", 10 + number, f"lost-{number}"
        node.save(force_insert=True)
        dead.append(Finding(subject=node.id, code="machine-dead"))
    assert healing._lost_zones(dead) == frozenset(zones)
    assert healing._lost_zones(dead[:2]) == frozenset()
    for number in range(3, 8):
        template.pk, template.position, template.name = f"nod_well{number}", 10 + number, f"well-{number}"
        template.save(force_insert=True)
    assert healing._lost_zones(dead) == frozenset()


def test_f35_heavy_work_is_paused_while_a_disk_is_nearly_full(world: ClusterWorld) -> None:
    node = living(world)[0]
    heavy = Operation.objects.create(
        organisation_id=world.who.organisation_id,
        kind="upgrade_cluster",
        cluster_id=world.cluster_id,
        actor="someone",
        state="running",
        pausable=True,
        expected_seconds=1,
    )
    step = OperationStep.objects.create(
        operation=heavy, position=0, group=0, name="start_engine", state="running", deadline_seconds=60
    )
    world.agents.change(node.id, disk_used=0.86)
    reconcile()
    heavy.refresh_from_db()
    assert heavy.pause_requested_at is None
    OperationStep.objects.filter(id=step.id).update(name="upgrade_sstables")
    reconcile()
    heavy.refresh_from_db()
    assert heavy.pause_requested_at is not None
    assert only_finding().action == f"Paused upgrade the engine ({heavy.id}) until there is room."


def test_a_death_is_acted_on_in_the_run_that_sees_it(world: ClusterWorld) -> None:
    kill_for_good(world, living(world)[2])
    Cluster.objects.update(healing_grace_seconds=0)
    reconcile()
    assert len(replacements()) == 1
