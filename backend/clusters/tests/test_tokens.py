from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from backend.clusters.tokens import TOKENS_PER_NODE, allocate

SHAPES = {"racks": st.integers(1, 5), "nodes_per_rack": st.integers(1, 12), "tokens_per_node": st.integers(1, 32)}


def ownership(rack: list[list[int]]) -> list[float]:
    """The share of the ring each node of a rack owns: from the token before (in this rack) to each of its own."""
    owners = sorted((token, node) for node, tokens in enumerate(rack) for token in tokens)
    share = [0.0] * len(rack)
    before = owners[-1][0] - 2**64
    for token, node in owners:
        share[node] += (token - before) / 2**64
        before = token
    return share


@given(**SHAPES)
@settings(max_examples=60, deadline=None)
def test_every_token_is_given_once_and_every_node_gets_its_number(
    racks: int, nodes_per_rack: int, tokens_per_node: int
):
    allocated = allocate(racks=racks, nodes_per_rack=nodes_per_rack, tokens_per_node=tokens_per_node)
    assert [len(rack) for rack in allocated] == [nodes_per_rack] * racks
    tokens = [token for rack in allocated for node in rack for token in node]
    assert len(set(tokens)) == len(tokens) == racks * nodes_per_rack * tokens_per_node
    assert all(len(node) == tokens_per_node for rack in allocated for node in rack)
    assert all(-(2**63) < token < 2**63 for token in tokens)
    assert all(a < b for rack in allocated for node in rack for a, b in pairwise(node))


@given(**SHAPES)
@settings(max_examples=60, deadline=None)
def test_every_rack_is_balanced(racks: int, nodes_per_rack: int, tokens_per_node: int):
    for rack in allocate(racks=racks, nodes_per_rack=nodes_per_rack, tokens_per_node=tokens_per_node):
        share = ownership(rack)
        assert abs(sum(share) - 1) < 1e-9
        assert max(share) - min(share) <= 0.01 / nodes_per_rack


def test_a_node_has_more_than_one_neighbour():
    rack = allocate(racks=3, nodes_per_rack=4)[0]
    owners = [node for _, node in sorted((token, node) for node, tokens in enumerate(rack) for token in tokens)]
    neighbours = {(a, b) for a, b in pairwise(owners)}
    assert all(len({b for a, b in neighbours if a == node and b != node}) >= 2 for node in range(4))


def test_the_usual_number_of_tokens():
    assert len(allocate(racks=3, nodes_per_rack=1)[0][0]) == TOKENS_PER_NODE == 16
