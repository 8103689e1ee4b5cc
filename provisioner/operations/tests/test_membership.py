"""Changes of a ring's members go as they should, also when nodes die on the way."""

from collections.abc import Iterator

import pytest
from django.utils import timezone

from backend.access.models import Allowlist
from backend.clusters.models import Datacenter, Node
from backend.operations.models import Operation
from backend.repairs.models import RepairRun
from backend.repairs.planning import tokens as repair_tokens
from provisioner.agent.fake import AgentFault
from provisioner.operations import join_steps, survivors
from provisioner.operations.tests.cluster_world import world_of
from provisioner.operations.tests.ring_world import RingWorld
from provisioner.reconcile.repairs import catch_up

pytestmark = pytest.mark.django_db(transaction=True)

ZONES = ("fake-1a", "fake-1b", "fake-1c")


@pytest.fixture
def world() -> Iterator[RingWorld]:
    with world_of(RingWorld, RingWorld.more) as made:
        yield made


def succeeded(operation: Operation) -> None:
    assert operation.state == "succeeded", operation.reason
    assert not operation.reason


def message(operation: Operation, step: str) -> str:
    return str(operation.steps.filter(name=step).values_list("message", flat=True)[0])


def in_order(world: RingWorld, *kinds: str) -> list[str]:
    """Effects of these kinds on agents, as they came."""
    return [effect.effect for effect in world.agents.history() if effect.effect in kinds]


class TestScaleOut:
    def test_three_become_six_one_after_another(self, world: RingWorld) -> None:
        world.filled(zones=ZONES, nodes_per_zone=1)
        succeeded(world.run(world.more()))
        assert [state for _, state in world.members()] == ["NORMAL"] * 6
        assert world.missing() == []
        assert Datacenter.objects.get(cluster_id=world.cluster_id).nodes_per_zone == 2
        assert {node.state for node in world.nodes()} == {"up"}
        assert [node.is_seed for node in world.nodes()] == [True] * 3 + [False] * 3

    def test_old_nodes_are_cleaned_of_what_others_have_now(self, world: RingWorld) -> None:
        world.filled(nodes_per_zone=2, replicas=1)
        succeeded(world.run(world.more()))
        # Each of 64 positions of `shop` is on one node, and those of the rows that were planted are on two.
        assert sum(count for _, count in world.held()) == 64 + 2 * 64

    def test_progress_is_that_of_the_streaming(self, world: RingWorld) -> None:
        world.filled()
        world.endless("start")
        operation = world.run(world.more(), under_way="join_ring")
        early = operation.steps.get(name="join_ring").progress
        world.run(operation, calls=3)
        late = operation.steps.get(name="join_ring").progress
        world.endless()
        succeeded(world.run(operation))
        assert 0 < early < late < operation.steps.get(name="join_ring").progress == 1

    def test_a_ring_in_disagreement_is_waited_for(self, world: RingWorld) -> None:
        world.filled()
        world.agents.change(world.nodes()[1].id, other_schema=True)
        operation = world.run(world.more(), calls=12)
        assert operation.steps.get(name="find_image").state == "pending"
        assert "schema" in message(operation, "check_ring")
        world.agents.change(world.nodes()[1].id, other_schema=False)
        succeeded(world.run(operation))

    def test_no_second_joins_while_the_first_lists_a_node_that_was_replaced(self, world: RingWorld) -> None:
        world.filled(zones=ZONES[:2], nodes_per_zone=1)
        operation = world.run(world.more(), until="check_data")
        first = Node.objects.get(id=operation.steps.filter(name="join_ring")[0].target)
        world.agents.change(first.id, remembers=["10.9.9.9"])
        operation = world.run(operation, calls=60)
        joins = operation.steps.filter(name="join_ring").order_by("position")
        assert [step.state for step in joins] == ["done", "running"]
        assert f"{first.name} sees a node at 10.9.9.9 that is no member" in joins[1].message
        assert len(world.members()) == 3
        world.agents.change(first.id, remembers=[])
        succeeded(world.run(operation))
        assert len(world.members()) == 4

    def test_somebody_elses_change_is_waited_for(self, world: RingWorld) -> None:
        world.filled()
        with world.agents.ring_of(world.cluster.ring_name) as ring:
            ring.ring.moving = ["10.9.9.9"]
        operation = world.run(world.more(), calls=12)
        assert "10.9.9.9" in message(operation, "check_ring")
        with world.agents.ring_of(world.cluster.ring_name) as ring:
            ring.ring.moving = []
        succeeded(world.run(operation))

    def test_a_node_that_joined_without_its_data_is_rebuilt(self, world: RingWorld) -> None:
        world.filled(nodes_per_zone=2)
        world.agents.inject(AgentFault(name="streams-nothing", job_kind="start", times=1))
        operation = world.run(world.more())
        succeeded(operation)
        assert "rebuilt" in message(operation, "check_data")
        assert in_order(world, "rebuild", "cleanup") == ["rebuild", "cleanup", "cleanup"]
        assert world.missing() == []

    def test_a_node_that_never_gets_its_data_is_for_a_person(self, world: RingWorld) -> None:
        world.filled(nodes_per_zone=2)
        world.agents.inject(AgentFault(name="streams-nothing", job_kind="*"))
        operation = world.run(world.more())
        assert (operation.state, operation.reason_code) == ("blocked", "data-missing")
        assert "shop.orders: 0 B in 0 partitions instead of" in operation.reason
        assert world.cancel(operation).state == "cancelled"
        assert world.leftovers() == []

    def test_limits_are_lifted_for_the_operation_only(self, world: RingWorld) -> None:
        world.filled()
        operation = world.run(world.more(), until="check_data")
        assert set(world.agents.stream_limits().values()) == {0}
        assert world.cancel(operation).state == "cancelled"
        assert world.agents.stream_limits() == {}
        assert world.leftovers() == []

    @pytest.mark.parametrize("step", ["join_ring", "check_data", "prove_node", "restore_stream_limit"])
    def test_cancelled_the_ring_is_as_before(self, world: RingWorld, step: str) -> None:
        world.filled(nodes_per_zone=2)
        world.agents.set_looks({"start": 3, "decommission": 2})
        operation = world.run(world.more(), until=step)
        assert world.cancel(operation).state == "cancelled"
        assert world.leftovers() == []
        assert {node.state for node in world.nodes()} == {"up"}

    def test_cancelled_while_it_joins_it_stops_joining(self, world: RingWorld) -> None:
        world.filled(nodes_per_zone=2)
        world.endless("start")
        operation = world.run(world.more(), under_way="join_ring")
        assert "JOINING" in {state for _, state in world.members()}
        assert world.cancel(operation).state == "cancelled"
        assert world.leftovers() == []

    @pytest.mark.parametrize("cancelled", [False, True])
    def test_with_an_allowlist_a_newcomer_gets_its_copy_while_it_joins(self, world: RingWorld, cancelled: bool) -> None:
        world.filled(nodes_per_zone=2)
        entries = [{"cidr": "10.0.0.0/8", "description": ""}]
        Allowlist.objects.create(
            cluster_id=world.cluster_id, entries=entries, applied_entries=entries, changed_at=timezone.now()
        )
        world.endless("start")
        operation = world.run(world.more(), under_way="join_ring")
        assert world.replication()["system_auth"] == {"fake-fake-1": 3}
        world.endless()
        if cancelled:
            assert world.cancel(world.run(operation, until="prove_node")).state == "cancelled"
            assert world.leftovers() == []
        else:
            succeeded(world.run(operation))
            assert world.missing() == []
            assert in_order(world, "allowlist", "cleanup") == ["allowlist", "cleanup", "cleanup"]


class TestANodeDiesWhileItJoins:
    def test_without_power_it_goes_on_when_it_is_back(self, world: RingWorld) -> None:
        world.filled()
        world.endless("start")
        operation = world.run(world.more(), under_way="join_ring")
        world.kill(world.nodes()[-1])
        world.endless()
        succeeded(world.run(operation))
        assert world.missing() == []

    def test_lost_for_good_it_gets_another_machine(self, world: RingWorld) -> None:
        world.filled()
        world.endless("start")
        operation = world.run(world.more(), under_way="join_ring")
        before = world.nodes()[-1].address
        world.lose(world.nodes()[-1])
        world.endless()
        succeeded(world.run(operation))
        assert world.nodes()[-1].address != before
        assert [node.generation for node in world.nodes()] == [1, 1, 2]
        assert len(world.provider.list_machines(region="fake-1")) == 3
        assert [state for _, state in world.members()] == ["NORMAL"] * 3
        assert world.missing() == []

    def test_after_three_tries_it_gets_another_machine(self, world: RingWorld) -> None:
        world.filled()
        world.agents.inject(AgentFault(name="job-failed", job_kind="start", times=3))
        operation = world.run(world.more())
        succeeded(operation)
        made = [effect.name for effect in world.provider.history() if effect.effect == "made"]
        assert len(made) == 4
        assert world.missing() == []

    def test_one_that_became_a_member_unseen_is_removed_first(self, world: RingWorld) -> None:
        world.filled()
        operation = world.run(world.more(), until="check_data")
        # The worker died before it wrote down that the node had joined, and then the machine was lost.
        operation.steps.filter(name="join_ring").update(state="running", finished_at=None)
        operation.steps.filter(name="check_data").update(state="pending", started_at=None)
        world.lose(world.nodes()[-1])
        succeeded(world.run(operation))
        assert "remove-node" in in_order(world, "remove-node")
        assert [state for _, state in world.members()] == ["NORMAL"] * 3
        assert world.missing() == []


class TestScaleIn:
    def test_six_become_three(self, world: RingWorld) -> None:
        world.filled(zones=ZONES, nodes_per_zone=2)
        succeeded(world.run(world.fewer()))
        assert [state for _, state in world.members()] == ["NORMAL"] * 3
        assert world.missing() == []
        assert len(world.provider.list_machines(region="fake-1")) == 3
        assert Datacenter.objects.get(cluster_id=world.cluster_id).nodes_per_zone == 1

    def test_too_few_nodes_for_the_replicas(self, world: RingWorld) -> None:
        world.filled(nodes_per_zone=3, replicas=3)
        operation = world.run(world.fewer())
        assert (operation.state, operation.reason_code) == ("blocked", "replication-too-high")
        assert "2 nodes would be left in fake-fake-1, fewer than the replicas of shop (3)" in operation.reason
        assert world.cancel(operation).state == "cancelled"
        assert world.leftovers() == []

    def test_too_much_data_for_the_rest(self, world: RingWorld) -> None:
        world.filled(nodes_per_zone=3, replicas=1)
        for node in world.nodes():
            world.agents.change(node.id, disk_used=0.6)
        operation = world.run(world.fewer())
        assert (operation.state, operation.reason_code) == ("blocked", "no-room")
        assert "on a disk of 100.0 GiB; at most 80% may be used, 80.0 GiB" in operation.reason

    def test_a_seed_that_leaves_hands_over(self, world: RingWorld) -> None:
        world.filled(nodes_per_zone=3, replicas=2)
        first = world.nodes()[0]
        Node.objects.filter(id=first.id).update(is_seed=False)
        Node.objects.filter(id=world.nodes()[-1].id).update(is_seed=True)
        succeeded(world.run(world.fewer()))
        assert [node.is_seed for node in world.nodes()] == [True, False]
        seeds = {world.agents.config_of(node.id)["seeds"][0] for node in world.nodes()}
        assert seeds == {str(world.nodes()[0].address)}


class TestANodeDiesWhileItLeaves:
    def test_it_is_fenced_and_the_ring_forgets_it(self, world: RingWorld) -> None:
        world.filled(nodes_per_zone=3, replicas=2)
        world.endless("decommission")
        leaving = world.nodes()[-1]
        operation = world.run(world.fewer(), under_way="leave_ring")
        assert ("demo-fake-1a-3", "LEAVING") in world.members()
        world.kill(leaving)
        world.endless()
        succeeded(world.run(operation))
        assert in_order(world, "remove-node", "decommission") == ["remove-node"]
        assert [state for _, state in world.members()] == ["NORMAL"] * 2
        assert world.missing() == []

    def test_with_the_only_copy_it_is_started_again_instead(self, world: RingWorld) -> None:
        world.filled(nodes_per_zone=3, replicas=1)
        world.endless("decommission")
        leaving = world.nodes()[-1]
        operation = world.run(world.fewer(), under_way="leave_ring")
        world.kill(leaving)
        world.endless()
        succeeded(world.run(operation))
        assert in_order(world, "remove-node", "decommission") == ["decommission"]
        assert world.missing() == []


class TestReplaceDead:
    @pytest.fixture(autouse=True)
    def cluster(self, world: RingWorld) -> None:
        world.filled(zones=ZONES, nodes_per_zone=1)

    def test_the_new_one_has_the_old_ones_tokens_data_and_seat(self, world: RingWorld) -> None:
        old = world.nodes()[0]
        world.kill(old)
        succeeded(world.run(world.replace_dead()))
        new = world.nodes()[-1]
        assert new.tokens == old.tokens
        assert new.is_seed
        old = world.node(old.name)
        assert (old.state, old.is_seed, old.deleted_at is not None) == ("deleted", False, True)
        assert world.missing() == []
        assert len(world.members()) == 3
        for node in world.nodes():
            assert sorted(world.agents.config_of(node.id)["seeds"]) == sorted(str(n.address) for n in world.nodes())

    def test_what_one_replica_alone_has_is_on_all_others_before_the_new_one_streams(self, world: RingWorld) -> None:
        dead, second, third = world.nodes()
        world.kill(dead)
        self.loses_rows(world, third)
        operation = world.run(world.replace_dead(), until="take_over")
        assert [copy for copy in world.missing() if copy.startswith("shop ")] == []
        done = world.agents.repaired(world.cluster.ring_name)
        assert {frozenset(one.nodes) for one in done} == {frozenset({second.id, third.id})}
        assert {one.mode for one in done} == {"full"}
        shop = sorted(own for one in done if one.keyspace == "shop" for own in one.ranges)
        assert repair_tokens.merged(shop) == list(repair_tokens.WHOLE)
        succeeded(world.run(operation))
        assert catch_up() == 0

    def test_where_comparing_takes_too_long_the_new_one_pulls(
        self, world: RingWorld, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(survivors, "MOST_SECONDS", 0.1)
        world.kill(world.nodes()[0])
        operation = world.run(world.replace_dead())
        succeeded(operation)
        assert world.agents.repaired(world.cluster.ring_name) == []
        assert "the new node pulls from all replicas" in message(operation, "compare_survivors")
        assert catch_up() == 1
        assert RepairRun.objects.get().asked["node"] == world.nodes()[-1].id
        assert catch_up() == 0

    def test_one_that_cannot_be_compared_is_replaced_all_the_same_and_pulls(self, world: RingWorld) -> None:
        world.kill(world.nodes()[0])
        world.agents.inject(AgentFault(name="job-failed", job_kind="repair", times=1))
        operation = world.run(world.replace_dead())
        succeeded(operation)
        assert "could not be compared" in message(operation, "compare_survivors")
        assert catch_up() == 1

    @staticmethod
    def loses_rows(world: RingWorld, node: Node) -> None:
        """Writes that this one was never sent."""
        with world.agents.ring_of(world.cluster.ring_name) as ring:
            member = next(own for own in ring.ring.members.values() if own.node_id == node.id)
            member.holds["shop"] = member.holds["shop"][::2]
        assert world.missing() != []

    def test_the_old_machine_ends_before_the_new_one_is_made(self, world: RingWorld) -> None:
        world.kill(world.nodes()[0])
        before = len(world.provider.history())
        succeeded(world.run(world.replace_dead()))
        assert [effect.effect for effect in world.provider.history()[before:]] == ["deleted", "made"]

    def test_a_node_that_lives_is_not_fenced(self, world: RingWorld) -> None:
        operation = world.run(world.replace_dead(), calls=12)
        assert "a node that lives is not replaced like this" in message(operation, "check_ring_without")
        assert operation.steps.get(name="fence_machine").state == "pending"
        assert world.cancel(operation).state == "cancelled"
        assert world.leftovers() == []

    def test_one_that_goes_on_living_is_for_a_person(self, world: RingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(join_steps, "_SEEN_UP_SECONDS", 0.0)
        operation = world.run(world.replace_dead(), calls=12)
        assert (operation.state, operation.reason_code) == ("blocked", "node-lives")
        assert operation.steps.get(name="fence_machine").state == "pending"

    def test_another_one_that_dies_meanwhile_is_waited_for(self, world: RingWorld) -> None:
        world.endless("start")
        world.kill(world.nodes()[0])
        operation = world.run(world.replace_dead(), under_way="take_over")
        other = world.nodes()[1]
        world.agents.kill_engine(other.id)
        world.run(operation, calls=6)
        assert operation.steps.get(name="take_over").state == "running"
        said = message(operation, "take_over")
        assert f"{other.name} to serve again: 1 of 2 zones of fake-fake-1 are whole, QUORUM needs 2" in said
        world.agents.change(other.id, engine_running=True)
        world.endless()
        succeeded(world.run(operation))
        assert world.missing() == []

    def test_one_without_data_is_rebuilt(self, world: RingWorld) -> None:
        world.kill(world.nodes()[0])
        operation = world.replace_dead()
        world.agents.inject(AgentFault(name="streams-nothing", job_kind="start", times=1))
        succeeded(world.run(operation))
        assert "rebuilt" in message(operation, "check_data")
        assert world.missing() == []

    def test_its_machine_is_lost_while_it_takes_over(self, world: RingWorld) -> None:
        world.endless("start")
        world.kill(world.nodes()[0])
        operation = world.run(world.replace_dead(), under_way="take_over")
        world.lose(world.nodes()[-1])
        world.endless()
        succeeded(world.run(operation))
        assert len(world.members()) == 3
        assert world.missing() == []


class TestReplaceLiving:
    def test_no_copy_is_missing_at_any_moment(self, world: RingWorld) -> None:
        world.filled(nodes_per_zone=2, replicas=1)
        operation = world.replace_living()
        while operation.state not in ("succeeded", "blocked"):
            world.run(operation, calls=1)
            assert world.missing() == []
        succeeded(operation)
        assert [name for name, _ in world.members()] == ["demo-fake-1a-1-new", "demo-fake-1a-2"]
        assert [node.is_seed for node in world.nodes()] == [True, False]

    def test_every_node_moves_to_another_machine_type(self, world: RingWorld) -> None:
        world.filled(nodes_per_zone=2, replicas=1)
        succeeded(world.run(world.another_machine_type()))
        assert {node.machine_type for node in world.nodes()} == {"fake.large"}
        assert Datacenter.objects.get(cluster_id=world.cluster_id).machine_type == "fake.large"
        assert world.missing() == []
        assert len(world.members()) == 2


class TestDatacenters:
    def test_a_second_one_has_all_the_data(self, world: RingWorld) -> None:
        world.filled(zones=ZONES, nodes_per_zone=1)
        operation = world.run(world.second_datacenter(("fake-2a", "fake-2b")))
        succeeded(operation)
        assert world.missing() == []
        assert world.replication()["shop"] == {"fake-fake-1": 3, "fake-fake-2": 2}
        assert len(world.members()) == 5
        assert [node.is_seed for node in world.nodes()] == [True] * 5
        assert len(world.provider.list_networks(region="fake-2")) == 1

    def test_only_the_chosen_keyspaces_go_there(self, world: RingWorld) -> None:
        world.filled()
        succeeded(world.run(world.second_datacenter(keyspaces=[])))
        assert world.replication()["shop"] == {"fake-fake-1": 2}
        assert world.replication()["system_auth"]["fake-fake-2"] == 1

    @pytest.mark.parametrize("step", ["join_ring", "replicate", "rebuild", "prove_node"])
    def test_cancelled_nothing_is_left_of_it(self, world: RingWorld, step: str) -> None:
        world.filled()
        operation = world.run(world.second_datacenter(), until=step)
        assert world.cancel(operation).state == "cancelled"
        assert world.leftovers() == []

    def test_a_simple_strategy_is_refused_with_the_reason(self, world: RingWorld) -> None:
        world.filled()
        keyspaces = world.replication() | {"old_shop": {"replication_factor": 1}}
        world.agents.set_keyspaces(world.cluster.ring_name, keyspaces)
        operation = world.run(world.second_datacenter())
        assert (operation.state, operation.reason_code) == ("blocked", "simple-strategy")
        assert "old_shop" in operation.reason

    def test_it_goes_without_a_trace(self, world: RingWorld) -> None:
        world.filled()
        succeeded(world.run(world.second_datacenter()))
        succeeded(world.run(world.no_second_datacenter()))
        assert world.leftovers() == []
        assert world.provider.list_networks(region="fake-2") == []

    def test_data_that_is_only_there_is_not_given_up(self, world: RingWorld) -> None:
        world.filled()
        succeeded(world.run(world.second_datacenter()))
        world.agents.set_keyspaces(world.cluster.ring_name, world.replication() | {"shop": {"fake-fake-2": 1}})
        operation = world.run(world.no_second_datacenter())
        assert (operation.state, operation.reason_code) == ("blocked", "keyspace-only-there")
