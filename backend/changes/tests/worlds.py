"""Clusters that exist only in memory, for tests of planning."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from backend.catalog.queries import MachineTypeFacts, RegionFacts, SettingProblem
from backend.changes.planning import Facts
from backend.clusters import tokens
from backend.clusters.models import Cluster, Datacenter, Node
from backend.clusters.states import ClusterState, NodeState

ZONES = ("local-1a", "local-1b", "local-1c")
MEMORY = {"local.small": 600, "local.medium": 900, "local.old": 700}


def world(*, zones: Sequence[str] = ZONES, nodes_per_zone: int = 1, budget_mib: int | None = 10_000) -> Facts:
    """A cluster `demo` of small nodes that are all up, in a region with room for more."""
    cluster = Cluster(
        name="demo", engine="cassandra", engine_version="5.0.5", provider="local", state=ClusterState.ACTIVE
    )
    datacenter = Datacenter(
        cluster=cluster,
        name="local-local-1",
        region="local-1",
        zones=list(zones),
        machine_type="local.small",
        nodes_per_zone=nodes_per_zone,
    )
    allocated = tokens.allocate(racks=len(zones), nodes_per_rack=nodes_per_zone)
    nodes = tuple(
        Node(
            cluster=cluster,
            datacenter=datacenter,
            name=f"demo-{zone}-{turn + 1}",
            machine_type="local.small",
            zone=zone,
            position=turn * len(zones) + rack,
            tokens=allocated[rack][turn],
            is_seed=turn == 0,
            state=NodeState.UP,
        )
        for turn in range(nodes_per_zone)
        for rack, zone in enumerate(zones)
    )
    return Facts(
        cluster=cluster,
        datacenters=(datacenter,),
        nodes=nodes,
        gone={"nod_gone": "demo-local-1a-0"},
        next_position=len(nodes),
        next_datacenter_position=1,
        numbers=dict.fromkeys(zones, nodes_per_zone),
        regions={
            "local-1": region("local-1", ZONES, budget_mib),
            "local-2": region("local-2", ("local-2a", "local-2b")),
        },
        used_mib={"local-1": len(nodes) * MEMORY["local.small"]},
        machine_types={
            name: MachineTypeFacts(provider="local", name=name, memory_mib=MEMORY[name], heap_mib=256)
            for name in ("local.small", "local.medium")
        },
        memory_mib=MEMORY,
        versions=("5.0.4", "5.0.5", "5.0.7", "5.0.9", "5.1.0"),
        upgrade_targets=("5.0.7", "5.0.9"),
        check_settings=lambda settings: [
            SettingProblem(name, f"There is no setting {name}.") for name in settings if name == "nonsense"
        ],
        needing_restart=lambda before, after: [name for name in after if name == "concurrent_reads"],
    )


def region(name: str, zones: Sequence[str], budget_mib: int | None = None) -> RegionFacts:
    return RegionFacts(
        id=f"local/{name}", provider="local", name=name, zones=tuple(zones), memory_budget_mib=budget_mib
    )


def with_node(facts: Facts, name: str, **columns: Any) -> Facts:
    """The same, with one node changed."""
    for node in facts.nodes:
        if node.name == name:
            for column, value in columns.items():
                setattr(node, column, value)
            return facts
    raise LookupError(name)


def node(facts: Facts, name: str) -> Node:
    return next(each for each in facts.nodes if each.name == name)


def with_second_datacenter(facts: Facts) -> Facts:
    second = Datacenter(
        cluster=facts.cluster,
        name="local-local-2",
        region="local-2",
        zones=["local-2a"],
        machine_type="local.small",
        nodes_per_zone=1,
        position=1,
    )
    member = Node(
        cluster=facts.cluster,
        datacenter=second,
        name="demo-local-2a-1",
        machine_type="local.small",
        zone="local-2a",
        position=facts.next_position,
        tokens=[1, 2, 3],
        is_seed=True,
        state=NodeState.UP,
    )
    return dataclasses.replace(
        facts,
        datacenters=(*facts.datacenters, second),
        nodes=(*facts.nodes, member),
        next_position=facts.next_position + 1,
        next_datacenter_position=2,
    )
