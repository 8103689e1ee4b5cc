"""Which share of the rows a node holds, for the shapes that operations compare figures by."""

import pytest

from provisioner.engines.base import Ring, RingMember
from provisioner.engines.placement import holdings


def member(name: str, *tokens: int, rack: str = "r1", datacenter: str = "dc1") -> RingMember:
    return RingMember(
        node_id=name,
        name=name,
        address=f"10.0.0.{len(name)}",
        datacenter=datacenter,
        rack=rack,
        tokens=tokens,
        is_seed=False,
        heap_mib=256,
    )


def shares(replication: dict[str, int], *members: RingMember) -> dict[str, float]:
    ring = Ring(cluster_id="c", name="c", members=members, version="5.0.5")
    return {name: round(share, 6) for name, share in holdings(ring, replication).items()}


QUARTER = 2**62


def test_one_rack_is_shared_by_the_tokens() -> None:
    assert shares({"dc1": 1}, member("a", -QUARTER), member("bb", 0)) == {"a": 0.75, "bb": 0.25}


def test_a_replica_per_rack_means_that_each_rack_holds_all() -> None:
    found = shares(
        {"dc1": 3}, member("a", 0, rack="r1"), member("bb", 1, rack="r2"), member("ccc", 2, QUARTER, rack="r3")
    )
    assert found == {"a": 1.0, "bb": 1.0, "ccc": 1.0}


def test_two_nodes_of_a_rack_share_what_the_rack_holds() -> None:
    found = shares({"dc1": 2}, member("a", 0), member("bb", QUARTER * 2 - 1), member("ccc", 7, rack="r2"))
    assert found == {"a": 0.5, "bb": 0.5, "ccc": 1.0}


def test_more_replicas_than_racks_go_to_racks_that_have_one() -> None:
    assert shares({"dc1": 2}, member("a", 0), member("bb", QUARTER)) == {"a": 1.0, "bb": 1.0}


def test_more_replicas_than_nodes_are_as_many_as_there_are_nodes() -> None:
    assert shares({"dc1": 3}, member("a", 0), member("bb", 1, rack="r2")) == {"a": 1.0, "bb": 1.0}


def test_data_centres_are_counted_apart() -> None:
    here, there = member("a", 0), member("bb", 5, datacenter="dc2")
    assert shares({"dc1": 1}, here, there) == {"a": 1.0, "bb": 0.0}
    assert shares({"dc1": 1, "dc2": 1}, here, there) == {"a": 1.0, "bb": 1.0}


def test_a_simple_strategy_knows_neither_racks_nor_data_centres() -> None:
    there = member("bb", 0, datacenter="dc2")
    assert shares({"replication_factor": 1}, member("a", -QUARTER), there) == {"a": 0.75, "bb": 0.25}


@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_all_shares_together_are_the_number_of_replicas(replicas: int) -> None:
    nodes = [member("x" * n, n * 1_000_003 * QUARTER % 2**63, n, rack=f"r{n % 3}") for n in range(1, 10)]
    assert sum(shares({"dc1": replicas}, *nodes).values()) == pytest.approx(replicas)
