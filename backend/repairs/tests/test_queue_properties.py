"""Whatever the ring, whatever fails and changes: every range of every table is repaired once, no node is overdone.

RINGMASTER_PLANNER_EXAMPLES is the number of random clusters per property.
"""

import os
from datetime import time

from hypothesis import given, settings
from hypothesis import strategies as st

from backend.clusters.windows import Window
from backend.repairs.planning import tokens
from backend.repairs.planning.modes import RepairMode
from backend.repairs.planning.pace import GIB, MIB
from backend.repairs.planning.queue import Queue
from backend.repairs.planning.ring import Ring
from backend.repairs.planning.segments import Table, Work
from backend.repairs.tests.rings import members, ring
from backend.repairs.tests.simulation import Run

MOST_RANGES = 400
EXAMPLES = int(os.environ.get("RINGMASTER_PLANNER_EXAMPLES", "10"))


@st.composite
def shapes(draw: st.DrawFn) -> dict[str, int]:
    nodes = draw(st.one_of(st.integers(1, 12), st.integers(1, 200)))
    return {
        "seed": draw(st.integers(0, 2**32)),
        "datacenters": draw(st.integers(1, min(3, nodes))),
        "nodes": nodes,
        "vnodes": min(draw(st.integers(1, 256)), max(1, MOST_RANGES // nodes)),
        "racks": draw(st.integers(1, 4)),
    }


works = st.lists(
    st.builds(
        lambda size, mode, deadline, weight: (size, mode, deadline, weight),
        st.sampled_from([0, 1, 10 * MIB, 900 * MIB, 20 * GIB]),
        st.sampled_from([RepairMode.FULL, RepairMode.INCREMENTAL]),
        st.floats(-1e6, 1e6),
        st.sampled_from([0.5, 1.0, 2.0]),
    ),
    min_size=1,
    max_size=5,
)


def made(given_works: list[tuple[int, RepairMode, float, float]], keyspaces: int) -> list[Work]:
    return [
        Work(table=Table(f"k{at % keyspaces}", f"t{at}"), mode=mode, bytes=size, deadline=deadline, weight=weight)
        for at, (size, mode, deadline, weight) in enumerate(given_works)
    ]


def comparable(of: Ring) -> list[tuple[int, int]]:
    """What has more than one replica."""
    several = [own for own, nodes in zip(of.ranges, of.sets, strict=True) if len(nodes) > 1]
    return tokens.merged(each for own in several for each in own)


@settings(max_examples=EXAMPLES, deadline=None)
@given(shapes(), works, st.integers(1, 5), st.integers(1, 2))
def test_it_repairs_every_range_of_every_table_once(shape, given_works, factor, slots):
    of = ring(members(**shape), factor)
    wanted = made(given_works, 1)
    run = Run(rings={"k0": of}, works=wanted, slots=slots, seed=shape["seed"]).to_the_end()
    for work in wanted:
        assert tokens.merged(run.done.get(work.table, [])) == comparable(of)


@settings(max_examples=EXAMPLES, deadline=None)
@given(shapes(), works, st.integers(1, 5), st.integers(1, 2), st.data())
def test_it_repairs_what_is_left_when_the_ring_changes_and_segments_fail(shape, given_works, factor, slots, data):
    before = members(**shape)
    joined = members(**shape | {"seed": shape["seed"] + 1, "nodes": data.draw(st.integers(1, 5))}, first=1000)
    left = data.draw(st.integers(0, max(0, len(before) // 3)))
    rings = [ring(before, factor), ring(before + joined, factor), ring((before + joined)[left:], factor)]
    wanted = made(given_works, 2)
    bad = data.draw(st.integers(tokens.FIRST, tokens.LAST))
    chance = data.draw(st.sampled_from([0.0, 0.1, 0.4]))
    dead = {node.id for node in before[: data.draw(st.integers(0, 2))]}
    run = Run(
        rings=dict.fromkeys(("k0", "k1"), rings[0]),
        works=wanted,
        slots=slots,
        seed=shape["seed"],
        dead=dead,
    )
    run.fails = lambda segment: run.draw.random() < chance or any(start < bad <= end for start, end in segment.ranges)
    # A ring that compares at least what the one before did, else what is left would depend on the moment of the change.
    if all(min(map(len, own.sets)) > 1 for own in rings):
        for own in rings[1:]:
            after = data.draw(st.integers(1, 60))
            run.changes.append((after, lambda at, to=own: at.change_ring(dict.fromkeys(("k0", "k1"), to))))
    run.to_the_end()
    for work in wanted:
        done, lost = run.done.get(work.table, []), run.lost.get(work.table, [])
        assert tokens.width(tokens.merged(done + lost)) == tokens.width(done) + tokens.width(lost)
        assert tokens.merged(done + lost) == comparable(rings[0])


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    shapes(),
    works,
    st.lists(
        st.builds(
            Window,
            weekdays=st.frozensets(st.integers(0, 6), min_size=1),
            starts_at=st.builds(time, st.integers(0, 23), st.sampled_from([0, 30])),
            minutes=st.integers(30, 600),
            # Both put their clocks forward and back within the weeks that a simulated run takes, a fortnight apart.
            time_zone=st.sampled_from(["Europe/Vienna", "America/New_York", "Pacific/Auckland"]),
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_it_starts_only_what_ends_within_a_window(shape, given_works, windows):
    of = ring(members(**shape), 3)
    wanted = made(given_works, 1)
    run = Run(rings={"k0": of}, works=wanted, windows=windows, seed=shape["seed"])
    run.fails = lambda _segment: run.draw.random() < 0.05
    run.to_the_end()
    for work in wanted:
        assert tokens.merged(run.done.get(work.table, []) + run.lost.get(work.table, [])) == comparable(of)


@settings(max_examples=EXAMPLES, deadline=None)
@given(shapes(), st.integers(2, 5), st.sampled_from([0, 50 * MIB, 5 * GIB]))
def test_it_pulls_every_range_of_a_node_that_came_back_once(shape, factor, size):
    of = ring(members(**shape), factor)
    back = "n0"
    work = Work(table=Table("k0", "t0"), mode=RepairMode.PULL, bytes=size, deadline=0, pull_to=back)
    run = Run(rings={"k0": of}, works=[work], seed=shape["seed"], slots=2).to_the_end()
    own = [
        each
        for ranges, nodes in zip(of.ranges, of.sets, strict=True)
        if of.nodes.index(back) in nodes and len(nodes) > 1
        for each in ranges
    ]
    assert tokens.merged(run.done.get(work.table, [])) == tokens.merged(own)


@settings(max_examples=EXAMPLES, deadline=None)
@given(shapes(), works, st.integers(0, 400))
def test_it_knows_what_is_left_when_it_is_made_anew(shape, given_works, started):
    """As after the death of a worker: from what was recorded the same is left."""
    of = ring(members(**shape), 3)
    wanted = made(given_works, 1)
    run = Run(rings={"k0": of}, works=wanted, seed=shape["seed"])
    run.fails = lambda _segment: run.draw.random() < 0.2
    for _ in range(started):
        if not run.start_one():
            if not run.flying:
                break
            run.end_one()
    before = run.queue.left()
    run.change_ring(run.rings)
    assert {table: own for table, own in run.queue.left().items() if own} == {
        t: own for t, own in before.items() if own
    }


def test_it_plans_the_widest_ring_of_the_tests_to_the_end():
    of = ring(members(7, datacenters=2, nodes=200, vnodes=256, racks=3), 3)
    wanted = [Work(table=Table("k0", "t0"), mode=RepairMode.FULL, bytes=400 * GIB, deadline=0)]
    segments = list(Queue({"k0": of}, wanted).segments())
    ranges = sorted(own for segment in segments for own in segment.ranges)
    assert tokens.merged(ranges) == list(tokens.WHOLE)
    assert tokens.width(ranges) == tokens.width(tokens.WHOLE)
