"""Which nodes come, with which names and tokens, and which go."""

from hypothesis import given, settings
from hypothesis import strategies as st

from backend.changes.planning import Facts, Proposal, desired, propose
from backend.changes.schemas import (
    AddDatacenter,
    ChangeMachineType,
    ChangeSettings,
    DesiredState,
    MeasureDisks,
    Mode,
    RemoveDatacenter,
    ReplaceNode,
    RestartNode,
    Scale,
    Upgrade,
)
from backend.changes.tests.worlds import ZONES, node, with_node, with_second_datacenter, world
from backend.clusters.models import Node
from backend.clusters.states import NodeState
from backend.clusters.tokens import ownership

RING = 2**64


def scaled(facts: Facts, nodes_per_zone: int) -> Proposal:
    return propose(facts, Scale(kind="scale", nodes_per_zone=nodes_per_zone))


def shares(facts: Facts) -> list[float]:
    """What each node owns of its zone's data, in equal shares: 1 is exactly even."""
    found: list[float] = []
    for zone in facts.datacenters[0].zones:
        rack = {each.id: each.tokens for each in facts.rack(facts.datacenters[0], zone)}
        found += [owned * len(rack) / RING for owned in ownership(rack).values()]
    return found


def all_tokens(nodes: tuple[Node, ...]) -> list[int]:
    return [token for each in nodes for token in each.tokens]


def test_new_nodes_have_the_next_names_and_positions_zone_by_zone():
    proposal = scaled(world(), 3)
    assert [each.name for each in proposal.new_nodes] == [f"demo-{zone}-{n}" for n in (2, 3) for zone in ZONES]
    assert [each.position for each in proposal.new_nodes] == [3, 4, 5, 6, 7, 8]
    assert {each.state for each in proposal.new_nodes} == {NodeState.PENDING}
    assert not any(each.is_seed for each in proposal.new_nodes)
    assert proposal.planned.parameters["nodes_per_zone"] == 3
    assert proposal.mode is Mode.MEMBERSHIP


def test_names_and_positions_of_deleted_nodes_are_not_used_again():
    facts = scaled(scaled(world(), 2).after, 1).after
    proposal = scaled(facts, 2)
    assert [each.name for each in proposal.new_nodes] == [f"demo-{zone}-3" for zone in ZONES]
    assert [each.position for each in proposal.new_nodes] == [6, 7, 8]


def test_doubling_is_exact_and_halving_gives_back_what_was():
    facts = world()
    doubled = scaled(facts, 2).after
    assert max(shares(doubled)) - min(shares(doubled)) < 1e-15
    halved = scaled(doubled, 1)
    assert [each.name for each in halved.after.nodes] == [each.name for each in facts.nodes]
    assert halved.touched == ("demo-local-1a-2", "demo-local-1b-2", "demo-local-1c-2")
    assert all_tokens(halved.after.nodes) == all_tokens(facts.nodes)


@given(before=st.integers(1, 6), after=st.integers(1, 8))
@settings(max_examples=25, deadline=None)
def test_tokens_stay_disjoint_and_racks_even(before: int, after: int):
    facts = world(nodes_per_zone=before, budget_mib=None)
    if before == after:
        return
    found = scaled(facts, after).after
    tokens = all_tokens(found.nodes)
    assert len(tokens) == len(set(tokens)) == 16 * 3 * after
    if after > before:
        assert max(abs(share - 1) for share in shares(found)) <= 0.05


def test_the_youngest_leave_and_seeds_stay():
    facts = scaled(world(nodes_per_zone=2), 4).after
    proposal = scaled(facts, 2)
    assert {each.rpartition("-")[2] for each in proposal.touched} == {"3", "4"}
    assert max(abs(share - 1) for share in shares(proposal.after)) < 1e-9
    assert {each.zone for each in proposal.after.nodes if each.is_seed} == set(ZONES)


def test_the_time_grows_with_the_data():
    facts, loaded = world(), world()
    for each in loaded.nodes:
        each.data_bytes = 66_000_000_000
    more = scaled(loaded, 2).planned.expected_seconds - scaled(facts, 2).planned.expected_seconds
    # Half of what three nodes hold, at 33 MB a second.
    assert more == 3 * 1000


def test_a_living_node_serves_until_its_twin_has_its_data():
    facts = world()
    old = node(facts, "demo-local-1b-1")
    proposal = propose(facts, ReplaceNode(kind="replace_node", node_id=old.id))
    (new,) = proposal.new_nodes
    assert (new.name, new.replaces_id, new.zone) == ("demo-local-1b-2", old.id, "local-1b")
    assert new.tokens == [token - 1 for token in old.tokens]
    assert "leave_ring" in [step.name for group in proposal.planned.groups for step in group]
    assert "no replica is missing at any time" in proposal.impact[0]
    assert [each.is_seed for each in proposal.after.nodes] == [True, True, True]


def test_a_dead_node_is_replaced_with_its_own_tokens_and_needs_no_room():
    facts = with_node(world(budget_mib=1800), "demo-local-1b-1", state=NodeState.DOWN)
    old = node(facts, "demo-local-1b-1")
    proposal = propose(facts, ReplaceNode(kind="replace_node", node_id=old.id))
    (new,) = proposal.new_nodes
    assert new.tokens == old.tokens
    assert "fence_machine" in [step.name for group in proposal.planned.groups for step in group]
    assert proposal.impact[0].startswith("demo-local-1b-1 is down, so its machine is deleted")
    assert "2 of 3 replicas are up, QUORUM needs 2" in proposal.impact[1]
    assert proposal.warnings == ()


def test_replacing_warns_of_what_is_not_sure():
    unseen = with_node(world(), "demo-local-1b-1", state=NodeState.UNOBSERVED)
    change = ReplaceNode(kind="replace_node", node_id=node(unseen, "demo-local-1b-1").id)
    assert "Nobody knows" in propose(unseen, change).warnings[0]
    two = with_node(
        with_node(world(), "demo-local-1b-1", state=NodeState.DOWN), "demo-local-1a-1", state=NodeState.DOWN
    )
    change = ReplaceNode(kind="replace_node", node_id=node(two, "demo-local-1b-1").id)
    assert "Only 1 of 3 replicas" in propose(two, change).warnings[0]
    stopped = with_node(world(), "demo-local-1b-1", state=NodeState.STOPPED, stop_wanted=True)
    change = ReplaceNode(kind="replace_node", node_id=node(stopped, "demo-local-1b-1").id)
    assert "Started first" in propose(stopped, change).warnings[0]


def test_a_machine_type_is_changed_pair_by_pair_rack_by_rack():
    facts = world(nodes_per_zone=2)
    proposal = propose(facts, ChangeMachineType(kind="machine_type", machine_type="local.medium"))
    assert [each.machine_type for each in proposal.new_nodes] == ["local.medium"] * 6
    assert [each.zone for each in proposal.new_nodes] == [zone for zone in ZONES for _ in range(2)]
    tokens = all_tokens((*facts.nodes, *proposal.new_nodes))
    assert len(tokens) == len(set(tokens))
    assert proposal.after.datacenters[0].machine_type == "local.medium"
    assert len(proposal.after.nodes) == 6
    assert sum(each.is_seed for each in proposal.after.nodes) == 3
    assert proposal.after.used_mib["local-1"] == 6 * 900


def test_what_was_moved_before_a_cancel_is_not_moved_again():
    facts = with_node(world(), "demo-local-1a-1", machine_type="local.medium")
    proposal = propose(facts, ChangeMachineType(kind="machine_type", machine_type="local.medium"))
    assert [each.replaces_id for each in proposal.new_nodes] == [each.id for each in facts.nodes[1:]]


def test_a_second_data_centre_has_seeds_and_tokens_of_its_own():
    facts = world()
    proposal = propose(
        facts,
        AddDatacenter(
            kind="add_datacenter",
            region="local-2",
            zones=["local-2a", "local-2b"],
            machine_type="local.small",
            nodes_per_zone=2,
        ),
    )
    assert proposal.new_datacenter is not None
    assert (proposal.new_datacenter.name, proposal.new_datacenter.position) == ("local-local-2", 1)
    assert [each.name for each in proposal.new_nodes] == [
        f"demo-local-2{zone}-{number}" for number in (1, 2) for zone in "ab"
    ]
    assert [each.is_seed for each in proposal.new_nodes] == [True, True, False, False]
    tokens = all_tokens((*facts.nodes, *proposal.new_nodes))
    assert len(tokens) == len(set(tokens))
    assert "All of the users' keyspaces will have 2 more replicas" in proposal.impact[0]


def test_a_data_centre_that_is_removed_leaves_the_other():
    facts = with_second_datacenter(world())
    proposal = propose(facts, RemoveDatacenter(kind="remove_datacenter", datacenter="local-local-2"))
    assert proposal.touched == ("demo-local-2a-1",)
    assert [each.name for each in proposal.after.datacenters] == ["local-local-1"]


def test_settings_restart_nodes_only_when_they_must():
    live = propose(world(), ChangeSettings(kind="settings", settings={"read_timeout_ms": 7000}))
    assert (live.mode, live.impact[0]) == (Mode.IN_PLACE, "Nothing is restarted: running engines take them over.")
    restarting = propose(world(), ChangeSettings(kind="settings", settings={"concurrent_reads": 8}))
    assert restarting.mode is Mode.ROLLING
    assert restarting.impact[-1] == "concurrent_reads takes effect with a restart."


def test_what_stays_up_during_a_restart_is_said():
    facts = world()
    proposal = propose(facts, RestartNode(kind="restart_node", node_id=facts.nodes[0].id))
    assert proposal.impact[-1] == "Reads and writes at QUORUM go on: 2 of 3 replicas stay up, QUORUM needs 2."


def test_a_node_whose_disks_are_measured_is_down_for_as_long_as_the_rounds_take():
    facts = world()
    for rounds, minutes in ((1, 3), (3, 8)):
        order = MeasureDisks(kind="measure_disks", node_id=facts.nodes[0].id, rounds=rounds)
        proposal = propose(facts, order)
        assert proposal.impact[0].startswith(f"It is down for about {minutes} minutes")
        assert proposal.planned.parameters["rounds"] == rounds


def test_a_canary_is_upgraded_first():
    proposal = propose(world(), Upgrade(kind="upgrade", engine_version="5.0.9"))
    assert "demo-local-1a-1 is the first" in proposal.impact[-1]
    assert proposal.after.cluster.engine_version == "5.0.9"


def test_a_desired_state_moves_as_few_nodes_as_possible_and_upgrades_last():
    def kinds(**wanted: object) -> list[str]:
        found = desired.changes(facts, DesiredState(kind="desired_state", **wanted))  # type: ignore[arg-type]
        return [change.kind for change in found]

    facts = world(nodes_per_zone=2)
    everything = {"machine_type": "local.medium", "settings": {}, "engine_version": "5.0.9"}
    assert kinds(nodes_per_zone=1, **everything) == ["scale", "machine_type", "settings", "upgrade"]
    assert kinds(nodes_per_zone=3, **everything) == ["machine_type", "scale", "settings", "upgrade"]
    assert kinds() == []


def test_a_data_centre_goes_only_when_the_new_one_has_its_data():
    facts = world()
    elsewhere = {"region": "local-2", "zones": ["local-2a"], "machine_type": "local.small", "nodes_per_zone": 1}
    wanted = DesiredState.model_validate({"kind": "desired_state", "datacenters": [elsewhere], "settings": {}})
    found = desired.changes(facts, wanted)
    assert [change.kind for change in found] == ["add_datacenter", "remove_datacenter", "settings"]
    for change in found[:2]:
        facts = propose(facts, change).after
    assert [datacenter.region for datacenter in facts.datacenters] == ["local-2"]


def test_each_change_of_a_desired_state_begins_where_the_one_before_ends():
    facts = world()
    wanted = DesiredState(kind="desired_state", nodes_per_zone=2, machine_type="local.medium")
    titles = []
    for change in desired.changes(facts, wanted):
        proposal = propose(facts, change)
        titles.append(proposal.title)
        facts = proposal.after
    assert titles == [
        "Change 3 nodes of local-local-1 from local.small to local.medium",
        "Add 3 nodes to local-local-1, 1 per zone",
    ]
    assert {each.machine_type for each in facts.nodes} == {"local.medium"}
    assert max(shares(facts)) - min(shares(facts)) < 1e-9
