"""Where a plan may stand still: between nodes, never on one."""

from backend.changes.plans import Planned, in_one_go, rolling
from backend.clusters.models import Cluster, Datacenter, Node
from backend.operations.actions import PlannedStep


def nodes() -> list[Node]:
    cluster = Cluster(id="clu_1", engine_version="5.0.5", settings={})
    datacenter = Datacenter(id="dc_1", cluster=cluster, position=0)
    return [
        Node(id=f"nod_{zone}", name=zone, zone=zone, position=position, cluster=cluster, datacenter=datacenter)
        for position, zone in enumerate(("a", "b", "c"))
    ]


def places(planned: Planned) -> set[str]:
    """The names of the steps before which a pause may fall."""
    return {step.name for group in planned.groups for step in group if not any(s.mid_way for s in group)}


def test_a_rolling_restart_stands_still_before_a_node_is_drained_only() -> None:
    assert places(rolling.restart(living=nodes(), nodes=nodes())) == {"check_ring", "drain_node"}


def test_an_upgrade_stands_still_before_a_node_is_touched_only() -> None:
    before = {"find_image", "inspect_cluster", "install_engine", "drain_node", "upgrade_sstables"}
    assert places(rolling.upgrade(living=nodes(), version="5.0.9")) == before


def test_in_one_go_leaves_the_first_group_as_it_is() -> None:
    first, second = in_one_go([[PlannedStep("a", "A")], [PlannedStep("b", "B")]])
    assert (first[0].mid_way, second[0].mid_way) == (False, True)
