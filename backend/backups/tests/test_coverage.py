from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from backend.backups.coverage import Interval, Part, Start, Stream, covered_until, needed_since, restorable_from

ZERO = datetime(2026, 6, 1, tzinfo=UTC)


def at(minute: float) -> datetime:
    return ZERO + timedelta(minutes=minute)


def between(first: float, last: float) -> Interval:
    return Interval(begins_at=at(first), ends_at=at(last))


def stream(first: float, last: float, *gaps: tuple[float, float]) -> Stream:
    return Stream(covered=between(first, last), gaps=[between(*gap) for gap in gaps])


def part(*streams: Stream, taken: float | None = 10, datacenter: str = "a") -> Part:
    return Part(datacenter=datacenter, taken_at=None if taken is None else at(taken), streams=streams)


def found(parts: Sequence[Part], copies: int, *, settled: float = 11, until: float | None = None) -> Interval | None:
    return restorable_from(
        parts,
        settled_at=at(settled),
        replication=[{"a": copies}],
        until=None if until is None else at(until),
    )


def test_without_a_gap_every_moment_from_the_backup_on_is_there():
    assert found([part(stream(0, 60)), part(stream(0, 50))], 1) == between(11, 50)


def test_of_three_copies_one_node_may_have_a_gap_and_of_two_copies_too():
    parts = [part(stream(0, 60, (20, 30))), part(stream(0, 50)), part(stream(0, 55))]
    assert found(parts, 1) == between(11, 20)
    assert found(parts, 3) == between(11, 50)


def test_a_gap_before_the_snapshot_does_not_matter():
    assert found([part(stream(0, 60, (5, 9)))], 1) == between(11, 60)


def test_a_node_that_is_not_in_the_backup_counts_as_missing():
    parts = [part(stream(0, 60), taken=None), part(stream(0, 50)), part(stream(0, 55))]
    assert found(parts, 1) is None
    assert found(parts, 3) == between(11, 50)


def test_an_archive_that_began_after_the_snapshot_is_of_no_use_with_it():
    assert found([part(stream(10.5, 60))], 1) is None


def test_where_copies_are_not_known_no_node_may_be_missing():
    parts = [part(stream(0, 60)), part(stream(12, 60)), part(stream(0, 60))]
    assert restorable_from(parts, settled_at=at(11), replication=[]) is None


def test_it_ends_where_nodes_change():
    assert found([part(stream(0, 60))], 1, until=40) == between(11, 40)
    assert found([part(stream(0, 60))], 1, until=5) is None


minutes = st.integers(0, 100)
streams = st.builds(
    lambda first, length, gaps: stream(first, first + length, *((a, a + b) for a, b in gaps)),
    minutes,
    minutes,
    st.lists(st.tuples(minutes, st.integers(1, 20)), max_size=3),
)
parts = st.lists(
    st.builds(lambda s, taken: part(*s, taken=taken), st.lists(streams, max_size=2), st.none() | st.integers(0, 20)),
    min_size=1,
    max_size=6,
)


def has_all(node: Part, moment: datetime) -> bool:
    """Second by second: from its snapshot on nothing was missed until then."""
    if node.taken_at is None:
        return False
    return any(
        one.covered.begins_at <= node.taken_at
        and moment <= one.covered.ends_at
        and not any(gap.begins_at < moment and gap.ends_at > node.taken_at for gap in one.gaps)
        for one in node.streams
    )


@settings(max_examples=500)
@given(parts, st.integers(1, 5), st.integers(20, 150))
def test_in_every_moment_that_is_told_each_quorum_has_a_node_that_missed_nothing(
    nodes: list[Part], copies: int, minute: int
):
    told = found(nodes, copies, settled=20)
    moment = at(minute)
    if told is None or not told.begins_at <= moment <= told.ends_at:
        return
    whole = [has_all(node, moment) for node in nodes]
    # With fewer nodes than copies each has every row, and a quorum still goes by copies: of 4 copies all 3 nodes.
    for replicas in combinations(range(len(nodes)), min(copies, len(nodes))):
        for quorum in combinations(replicas, copies // 2 + 1):
            assert any(whole[node] for node in quorum)


@settings(max_examples=500)
@given(st.lists(streams, min_size=1, max_size=3), st.integers(0, 100))
def test_a_node_covers_no_moment_of_a_gap(archived: list[Stream], since: int):
    until = covered_until(archived, since=at(since))
    if until is not None:
        assert until >= at(since)
        assert until == at(since) or has_all(part(*archived, taken=since), until)


starts = st.lists(
    st.builds(lambda since, took: Start(since=at(since), settled_at=at(since + took)), minutes, st.integers(0, 9)),
    max_size=6,
)


@settings(max_examples=1000)
@given(starts, minutes, st.lists(st.tuples(minutes, st.integers(0, 5)), max_size=20), minutes)
def test_no_piece_that_a_kept_backup_needs_for_a_moment_that_is_kept_is_taken_away(
    kept: list[Start], keep_since: int, pieces: list[tuple[int, int]], later: int
):
    floor = needed_since(kept, keep_since=at(keep_since))
    moment = at(keep_since + later)
    usable = [start for start in kept if start.settled_at <= moment]
    if not usable:
        return
    newest = max(usable, key=lambda start: start.settled_at)
    assert floor is not None
    needed = [last for first, length in pieces if newest.since <= (last := at(first + length))]
    assert all(last >= floor for last in needed)


def test_without_a_backup_no_piece_is_of_use():
    assert needed_since([], keep_since=ZERO) is None
