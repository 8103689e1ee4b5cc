from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.clusters.tokens import (
    TOKENS_PER_NODE,
    allocate,
    allocate_beside,
    allocate_more,
    choose_leaving,
    twin,
)
from backend.clusters.tokens import ownership as shares_of

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


def balance(rack: dict[str, list[int]]) -> float:
    """How far the worst-off node is from an equal share: 0.05 is 5 %."""
    return max(abs(owned * len(rack) / 2**64 - 1) for owned in shares_of(rack).values())


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 3), (2, 4), (3, 6), (1, 3), (3, 4), (4, 6), (5, 8)])
def test_small_racks_stay_even_to_the_token(before: int, after: int):
    for rack in allocate(racks=3, nodes_per_rack=before):
        old = {f"old-{number}": tokens for number, tokens in enumerate(rack)}
        grown = old | allocate_more(old, [f"new-{number}" for number in range(after - before)])
        assert balance(grown) < 0.01


@given(before=st.integers(1, 12), more=st.integers(1, 12), racks=st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_racks_grow_evenly_with_tokens_that_nobody_has(before: int, more: int, racks: int):
    allocated = allocate(racks=racks, nodes_per_rack=before)
    taken = {token for rack in allocated for node in rack for token in node}
    for rack in allocated:
        old = {f"old-{number}": tokens for number, tokens in enumerate(rack)}
        new = allocate_more(old, [f"new-{number}" for number in range(more)], taken=taken)
        tokens = [token for node in new.values() for token in node]
        assert [len(node) for node in new.values()] == [TOKENS_PER_NODE] * more
        assert len(set(tokens)) == len(tokens)
        assert not taken & set(tokens)
        assert all(-(2**63) < token < 2**63 for token in tokens)
        # Sixteen tokens cannot be cut off nine nodes and more in equal pieces.
        assert balance(old | new) <= (0.05 if before <= 8 else 0.12)
        taken |= set(tokens)


@given(steps=st.lists(st.integers(1, 3), min_size=1, max_size=4), first=st.integers(1, 3))
@settings(max_examples=25, deadline=None)
def test_growing_again_and_again_and_back_ends_where_it_began(steps: list[int], first: int):
    rack = {f"n{number}": tokens for number, tokens in enumerate(allocate(racks=3, nodes_per_rack=first)[1])}
    before = dict(rack)
    for step in steps:
        rack |= allocate_more(rack, [f"n{len(rack) + number}" for number in range(step)])
    assert balance(rack) <= 0.1
    for step in reversed(steps):
        for node in choose_leaving(rack, step, keep=["n0"]):
            del rack[node]
    assert balance(rack) <= balance(before) + 0.1


def test_seeds_leave_only_when_there_are_not_enough_others():
    rack = {f"n{number}": tokens for number, tokens in enumerate(allocate(racks=1, nodes_per_rack=3)[0])}
    assert choose_leaving(rack, 2, keep=["n0"]) == ["n1", "n2"]
    assert len(choose_leaving(rack, 2, keep=["n0", "n2"])) == 2
    assert "n1" in choose_leaving(rack, 2, keep=["n0", "n2"])


@given(tokens=st.sets(st.integers(-(2**63) + 1, 2**63 - 1), min_size=1, max_size=40), taken=st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_a_twin_has_free_tokens_just_below_the_others(tokens: set[int], taken: int):
    others = {token - distance for token in list(tokens)[:3] for distance in range(1, taken + 1)}
    found = twin(tokens, {token for token in others if token > -(2**63)})
    assert len(found) == len(set(found)) == len(tokens)
    assert not set(found) & (tokens | others)
    assert all(-(2**63) < token < 2**63 for token in found)


def test_a_twin_goes_around_the_end_of_the_ring():
    assert twin([-(2**63) + 1]) == [2**63 - 1]
    assert twin([-(2**63) + 2]) == [-(2**63) + 1]


@given(**SHAPES)
@settings(max_examples=20, deadline=None)
def test_another_data_centre_has_tokens_of_its_own(racks: int, nodes_per_rack: int, tokens_per_node: int):
    first = [token for rack in allocate(racks=racks, nodes_per_rack=nodes_per_rack) for node in rack for token in node]
    second = allocate_beside(first, racks=racks, nodes_per_rack=nodes_per_rack)
    tokens = [token for rack in second for node in rack for token in node]
    assert len({*first, *tokens}) == len(first) + len(tokens)
    for rack in second:
        assert balance({str(number): node for number, node in enumerate(rack)}) < 0.01
