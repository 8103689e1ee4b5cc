"""Everything that would break quorum, even racks or replication is refused, and the sentence has the arithmetic."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import TypeAdapter

from backend.changes.planning import Facts, NothingToDo, Refused, propose
from backend.changes.schemas import Change
from backend.changes.tests.worlds import node, with_node, with_second_datacenter, world
from backend.clusters.states import NodeState

A, B, C = "demo-local-1a-1", "demo-local-1b-1", "demo-local-1c-1"


def down(facts: Facts, *names: str, state: NodeState = NodeState.DOWN) -> Facts:
    for name in names:
        with_node(facts, name, state=state)
    return facts


def full(facts: Facts) -> Facts:
    for each in facts.nodes:
        each.data_bytes, each.disk_total_bytes = 60_000_000_000, 100_000_000_000
    return facts


def change(facts: Facts, body: dict[str, Any]) -> Any:
    """A node is named by its name here; the API names it by its id."""
    if "node" in body:
        body = {key: value for key, value in body.items() if key != "node"} | {"node_id": node(facts, body["node"]).id}
    return TypeAdapter[Any](Change).validate_python(body)


REFUSALS: list[tuple[Callable[[], Facts], dict[str, Any], str, str]] = [
    (
        world,
        {"kind": "scale", "nodes_per_zone": 0},
        "racks_not_even",
        "Each of the 3 zones must keep the same number of nodes; 0 per zone would leave none.",
    ),
    (
        world,
        {"kind": "scale", "nodes_total": 4},
        "racks_not_even",
        "4 nodes cannot be spread evenly over 3 zones; 3 or 6 can.",
    ),
    (
        world,
        {"kind": "scale", "nodes_total": 2},
        "racks_not_even",
        "2 nodes cannot be spread evenly over 3 zones; 3 can.",
    ),
    (
        lambda: world(zones=("local-1a", "local-1b")),
        {"kind": "scale", "nodes_total": 62},
        "too_many_nodes",
        "62 nodes are 31 per zone; at most 30 are possible.",
    ),
    (
        lambda: world(budget_mib=2400),
        {"kind": "scale", "nodes_per_zone": 2},
        "not_enough_memory",
        "local-1 has room for 1 more node of type local.small; this change needs 3.",
    ),
    (
        lambda: world(budget_mib=1800),
        {"kind": "scale", "nodes_per_zone": 2},
        "not_enough_memory",
        "local-1 has room for no more nodes of type local.small; this change needs 3.",
    ),
    (
        lambda: down(world(), B),
        {"kind": "scale", "nodes_per_zone": 2},
        "node_not_up",
        f"{B} is down: 2 of 3 nodes are up, and letting nodes join needs all of them.",
    ),
    (
        lambda: full(world(nodes_per_zone=2)),
        {"kind": "scale", "nodes_per_zone": 1},
        "data_does_not_fit",
        "In local-1a the only node that stays would hold 120.0 GB; its disk has 100.0 GB, of which at most 80% may be "
        "filled.",
    ),
    (
        lambda: with_second_datacenter(world()),
        {"kind": "scale", "nodes_per_zone": 2},
        "datacenter_not_named",
        "demo has 2 data centres: local-local-1 and local-local-2. Name one of them.",
    ),
    (
        world,
        {"kind": "scale", "nodes_per_zone": 2, "datacenter": "mars"},
        "unknown_datacenter",
        "demo has no data centre mars; it has local-local-1.",
    ),
    (
        lambda: down(world(), B),
        {"kind": "stop_node", "node": A},
        "quorum_at_risk",
        f"Stopping {A} would leave 1 of 3 replicas; QUORUM needs 2.",
    ),
    (
        lambda: down(world(), B, C, state=NodeState.UNOBSERVED),
        {"kind": "restart_node", "node": A},
        "quorum_at_risk",
        f"Restarting {A} would leave 0 of 3 replicas; QUORUM needs 2.",
    ),
    (
        lambda: world(zones=("local-1a",)),
        {"kind": "stop_node", "node": A},
        "quorum_at_risk",
        f"Stopping {A} would leave 0 of 1 replicas; QUORUM needs 1.",
    ),
    (
        lambda: world(zones=("local-1a", "local-1b")),
        {"kind": "stop_node", "node": A},
        "quorum_at_risk",
        f"Stopping {A} would leave 1 of 2 replicas; QUORUM needs 2.",
    ),
    (
        lambda: down(world(), B, state=NodeState.STOPPED),
        {"kind": "rolling_restart"},
        "quorum_at_risk",
        f"{B} is stopped. Restarting {A} would leave 1 of 3 replicas; QUORUM needs 2.",
    ),
    (
        lambda: down(world(), B),
        {"kind": "upgrade", "engine_version": "5.0.9"},
        "quorum_at_risk",
        f"{B} is down. Restarting {A} would leave 1 of 3 replicas; QUORUM needs 2.",
    ),
    (
        lambda: down(world(), A, state=NodeState.STOPPED),
        {"kind": "stop_node", "node": A},
        "node_state",
        f"{A} is stopped already.",
    ),
    (world, {"kind": "start_node", "node": A}, "node_state", f"{A} runs already."),
    (
        lambda: down(world(), A, state=NodeState.DATA_LOST),
        {"kind": "restart_node", "node": A},
        "node_state",
        f"{A} has lost its data; replace it instead.",
    ),
    (
        world,
        {"kind": "restart_node", "node_id": "nod_0"},
        "unknown_node",
        "demo has no node nod_0.",
    ),
    (
        lambda: with_gone(world()),
        {"kind": "replace_node", "node_id": "nod_90"},
        "node_deleted",
        "demo-local-1a-0 is deleted already.",
    ),
    (
        lambda: world(budget_mib=1800),
        {"kind": "replace_node", "node": A},
        "not_enough_memory",
        f"{A} is up, so it serves until the new one has its data; local-1 has room for no more nodes of type "
        "local.small, and this change needs 1.",
    ),
    (
        lambda: down(world(), A, B, C),
        {"kind": "replace_node", "node": A},
        "no_replica_left",
        f"{A} is down, and 0 of 3 replicas of some of its rows are up: there is nothing to copy them from.",
    ),
    (
        lambda: down(world(), B),
        {"kind": "replace_node", "node": A},
        "node_not_up",
        f"{B} is down: 2 of 3 nodes are up, and replacing a living node needs all of them.",
    ),
    (
        lambda: world(budget_mib=2000),
        {"kind": "machine_type", "machine_type": "local.medium"},
        "not_enough_memory",
        "local-1 has 200 MiB left; moving 3 nodes to local.medium one by one needs 1,500 MiB beside what is used now.",
    ),
    (
        world,
        {"kind": "machine_type", "machine_type": "local.old"},
        "unknown_machine_type",
        "There is no machine type of local local.old. Known: local.small, local.medium.",
    ),
    (
        world,
        {"kind": "upgrade", "engine_version": "5.0.4"},
        "downgrade",
        "5.0.4 is older than 5.0.5, and an older version cannot read what a newer one has written; there are paths to "
        "5.0.7 and 5.0.9.",
    ),
    (
        world,
        {"kind": "upgrade", "engine_version": "5.1.0"},
        "no_upgrade_path",
        "5.1.0 cannot be reached from 5.0.5; there are paths to 5.0.7 and 5.0.9.",
    ),
    (
        world,
        {"kind": "upgrade", "engine_version": "7"},
        "unknown_engine_version",
        "There is no version of cassandra 7. Known: 5.0.4, 5.0.5, 5.0.7, 5.0.9, 5.1.0.",
    ),
    (world, {"kind": "settings", "settings": {"nonsense": 1}}, "invalid_setting", "There is no setting nonsense."),
    (
        world,
        {"kind": "remove_datacenter", "datacenter": "local-local-1"},
        "last_datacenter",
        "local-local-1 is the only data centre of demo; 0 would be left.",
    ),
    (
        world,
        {
            "kind": "add_datacenter",
            "region": "local-1",
            "zones": ["local-1a"],
            "machine_type": "local.small",
            "nodes_per_zone": 1,
        },
        "region_in_use",
        "demo has the data centre local-local-1 in local-1 already; it can have one per region.",
    ),
    (
        world,
        {
            "kind": "add_datacenter",
            "region": "local-2",
            "zones": ["local-1a"],
            "machine_type": "local.small",
            "nodes_per_zone": 1,
        },
        "unknown_zone",
        "There is no zone in local-2 local-1a. Known: local-2a, local-2b.",
    ),
    (
        world,
        {
            "kind": "add_datacenter",
            "region": "local-2",
            "zones": ["local-2a", "local-2a"],
            "machine_type": "local.small",
            "nodes_per_zone": 1,
        },
        "duplicate_zone",
        "The zone local-2a is named more than once.",
    ),
    (
        lambda: down(world(), C),
        {"kind": "rotate_certificates"},
        "node_not_up",
        f"{C} is down: 2 of 3 nodes are up, and giving each a certificate while it runs needs all of them.",
    ),
]


def with_gone(facts: Facts) -> Facts:
    facts.gone["nod_90"] = "demo-local-1a-0"  # type: ignore[index]
    return facts


@pytest.mark.parametrize(
    ("make", "body", "code", "sentence"), REFUSALS, ids=[f"{n}-{row[2]}" for n, row in enumerate(REFUSALS)]
)
def test_it_is_refused_with_the_arithmetic(make: Callable[[], Facts], body: dict[str, Any], code: str, sentence: str):
    facts = make()
    with pytest.raises(Refused) as refused:
        propose(facts, change(facts, body))
    assert (refused.value.code, refused.value.sentence) == (code, sentence)
    assert not isinstance(refused.value, NothingToDo)


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "scale", "nodes_per_zone": 1},
        {"kind": "scale", "nodes_total": 3},
        {"kind": "upgrade", "engine_version": "5.0.5"},
        {"kind": "machine_type", "machine_type": "local.small"},
        {"kind": "settings", "settings": {}},
    ],
)
def test_what_is_as_wanted_already_is_nothing_to_do(body: dict[str, Any]):
    facts = world()
    with pytest.raises(NothingToDo) as nothing:
        propose(facts, change(facts, body))
    assert "already" in nothing.value.sentence


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "restart_node", "node": B},
        {"kind": "start_node", "node": B},
        {"kind": "replace_node", "node": B},
    ],
)
def test_a_node_that_is_down_can_be_mended_whatever_quorum_says(body: dict[str, Any]):
    facts = down(world(), B)
    assert propose(facts, change(facts, body)).planned.groups


def test_small_clusters_can_be_restarted_with_a_warning():
    facts = world(zones=("local-1a",))
    proposal = propose(facts, change(facts, {"kind": "rolling_restart"}))
    assert "local-local-1 has 1 zone, so 1 replica of every row" in proposal.warnings[0]
    assert "0 of 1 replicas stay up, QUORUM needs 1" in proposal.impact[-1]
