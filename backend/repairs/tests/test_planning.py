import math
from datetime import UTC, datetime, time, timedelta

import pytest

from backend.clusters.windows import Window
from backend.repairs.planning import pace, tokens
from backend.repairs.planning.bundles import MOST_UNREPAIRED
from backend.repairs.planning.forecast import done_at, forecast
from backend.repairs.planning.modes import DAY, RepairMode, RepairWish, TableFacts, Wanted, choose, deadline_of
from backend.repairs.planning.pace import GIB, MIB, Brake, Load, Tolerance, braked, effort, trouble_of
from backend.repairs.planning.queue import Queue
from backend.repairs.planning.ring import Member, Ring, placed
from backend.repairs.planning.segments import Slots, Table, Work
from backend.repairs.tests.rings import members, ring


def facts(**more: object) -> TableFacts:
    given: dict[str, object] = {
        "keyspace": "shop",
        "name": "orders",
        "bytes": GIB,
        "unrepaired_bytes": GIB,
        "replicas": 3,
        "gc_grace": 10 * DAY,
    }
    return TableFacts(**given | more)  # type: ignore[arg-type]


def work(name: str, size: int, mode: RepairMode = RepairMode.FULL, **more: object) -> Work:
    given: dict[str, object] = {"table": Table("shop", name), "mode": mode, "bytes": size, "deadline": 0.0}
    return Work(**given | more)  # type: ignore[arg-type]


def three_nodes() -> Ring:
    """Three racks and three replicas: one set of replicas."""
    return ring(members(1, datacenters=1, nodes=3, vnodes=16, racks=3), 3)


# Tablets


def tablets(count: int) -> Ring:
    """Of three nodes, each tablet on two of them."""
    step = 2**64 // count
    ends = [tokens.FIRST + (at + 1) * step for at in range(count - 1)] + [tokens.LAST]
    starts = [tokens.FIRST, *ends[:-1]]
    return Ring.of(
        (s, e, [f"n{at % 3}", f"n{(at + 1) % 3}"]) for at, (s, e) in enumerate(zip(starts, ends, strict=True))
    )


def test_no_tablet_is_ever_cut_and_each_table_stands_alone():
    rings = {"shop": three_nodes(), "shop.orders": tablets(8), "shop.visits": tablets(2)}
    queue = Queue(
        rings,
        [work("orders", 40 * GIB, tablets=True), work("visits", 1, tablets=True), work("stock", 1), work("lines", 1)],
    )
    found: dict[tuple[str, ...], list[tokens.Range]] = {}
    while not queue.is_empty:
        segment = queue.take(Slots(), now=0.0)
        assert segment is not None
        found.setdefault(segment.tables, []).extend(segment.ranges)
        assert len(segment.nodes) == (3 if "stock" in segment.tables else 2)
    assert set(found) == {("orders",), ("visits",), ("lines", "stock")}
    for name in ("orders", "visits"):
        assert sorted(found[(name,)]) == [(s, e) for s, e, _ in rings[f"shop.{name}"].in_order]


def test_a_tablet_that_fails_is_given_up_whole_and_no_other_with_it():
    queue = Queue({"shop.orders": tablets(6)}, [work("orders", 40 * GIB, tablets=True)])
    bad = queue.rings["shop.orders"].in_order[2][:2]
    lost: list[tokens.Range] = []
    now = 0.0
    while not queue.is_empty:
        now += 1000
        segment = queue.take(Slots(), now=now)
        assert segment is not None
        if bad in segment.ranges and not queue.failed(segment, now=now):
            lost += segment.ranges
    assert lost == [bad]


def test_a_tablet_waits_for_a_window_that_it_fits_in():
    queue = Queue({"shop.orders": tablets(8)}, [work("orders", 8 * GIB, tablets=True)])
    # Of one: 32 s at the rate that is supposed first.
    assert queue.take(Slots(), now=0.0, most_seconds=20) is None
    assert queue.take(Slots(), now=0.0, most_seconds=40) is not None
    # One that takes longer than segments may is started all the same, but not at a window's end.
    queue = Queue({"shop.orders": tablets(2)}, [work("orders", 100 * GIB, tablets=True)])
    assert queue.take(Slots(), now=0.0, most_seconds=100) is None
    assert queue.take(Slots(), now=0.0, most_seconds=130) is not None


# Ring


def test_it_places_replicas_as_the_engine_does():
    nodes = [Member(id=f"n{at}", datacenter="a", rack=f"r{at % 2}", tokens=[at * 100]) for at in range(4)]
    of = placed(nodes, {"a": 2})
    by_end = {end: {of.nodes[node] for node in of.sets[number]} for _, end, number in of.in_order}
    assert by_end[100] == {"n1", "n2"}
    assert by_end[0] == {"n0", "n1"}
    assert by_end[tokens.LAST] == {"n0", "n1"}


def test_a_rack_gets_a_second_replica_when_every_rack_has_one():
    nodes = [Member(id=f"n{at}", datacenter="a", rack="one", tokens=[at * 100]) for at in range(4)]
    of = placed(nodes, {"a": 3})
    assert {of.nodes[node] for node in of.sets[next(of.holders([(50, 60)]))[0]]} == {"n1", "n2", "n3"}


def test_it_refuses_a_ring_with_a_hole():
    with pytest.raises(ValueError, match="do not fit together"):
        Ring.of([(0, 10, ["a"]), (11, 0, ["b"])])


# Modes


@pytest.mark.parametrize(
    ("table", "wanted", "checked_ago", "mode"),
    [
        (facts(), Wanted(), None, RepairMode.INCREMENTAL),
        (facts(), Wanted(), 4.9 * DAY, RepairMode.INCREMENTAL),
        (facts(), Wanted(), 5 * DAY, RepairMode.FULL),
        (facts(gc_grace=2 * DAY), Wanted(), 1 * DAY, RepairMode.FULL),
        (facts(has_views=True), Wanted(), None, RepairMode.FULL),
        (facts(is_view=True), Wanted(), None, RepairMode.FULL),
        (facts(incremental=False), Wanted(wish=RepairWish.INCREMENTAL), None, RepairMode.FULL),
        (facts(), Wanted(wish=RepairWish.INCREMENTAL), 90 * DAY, RepairMode.INCREMENTAL),
        (facts(replicas=1), Wanted(wish=RepairWish.FULL), None, RepairMode.SKIP),
        (facts(), Wanted(wish=RepairWish.SKIP), None, RepairMode.SKIP),
        (facts(compaction="TimeWindowCompactionStrategy", default_ttl=60), Wanted(), None, RepairMode.SKIP),
        (
            facts(compaction="TimeWindowCompactionStrategy", default_ttl=60),
            Wanted(wish=RepairWish.FULL),
            None,
            RepairMode.FULL,
        ),
        (facts(compaction="TimeWindowCompactionStrategy"), Wanted(), None, RepairMode.INCREMENTAL),
    ],
)
def test_it_chooses_how_a_table_is_repaired(table, wanted, checked_ago, mode):
    assert choose(table, wanted, checked_ago=checked_ago).mode is mode


def test_the_deadline_is_the_policy_or_half_of_gc_grace():
    assert deadline_of(facts(), Wanted()) == 5 * DAY
    assert deadline_of(facts(gc_grace=4 * DAY), Wanted()) == 2 * DAY
    assert deadline_of(facts(), Wanted(deadline=DAY)) == DAY
    assert deadline_of(facts(gc_grace=0), Wanted(deadline=DAY)) == DAY


# Segments


def test_small_tables_are_repaired_together():
    queue = Queue({"shop": three_nodes()}, [work(f"t{at}", MIB) for at in range(20)])
    segments = list(queue.segments())
    assert len(segments) == 1
    assert len(segments[0].tables) == 20
    assert len(segments[0].ranges) == 49


def test_a_large_table_is_cut_into_segments_of_about_a_minute():
    queue = Queue({"shop": three_nodes()}, [work("big", 100 * GIB, rate=64 * MIB)])
    times = [segment.seconds for segment in queue.segments()]
    assert sum(times) == pytest.approx(1600, rel=0.02)
    assert len([seconds for seconds in times if seconds < 30]) <= 1
    assert max(times) <= 120


def test_an_incremental_repair_is_cut_by_what_is_unrepaired_only():
    of = three_nodes()
    assert len(list(Queue({"shop": of}, [work("t", 7 * GIB, RepairMode.INCREMENTAL)]).segments())) == 1
    cut = list(Queue({"shop": of}, [work("t", 70 * GIB, RepairMode.INCREMENTAL)]).segments())
    assert 8 <= len(cut) <= 14
    assert max(segment.bytes for segment in cut) <= 1.3 * MOST_UNREPAIRED


def test_the_table_with_least_slack_is_first():
    works = [
        work("later", 10 * GIB, deadline=90_000.0),
        work("soon", 10 * GIB, deadline=50_000.0),
        work("heavy", 10 * GIB, deadline=90_000.0, weight=4.0),
    ]
    queue = Queue({"shop": three_nodes()}, works)
    order: list[str] = []
    while (segment := queue.take(Slots(), now=0.0)) is not None:
        if segment.tables[0] not in order:
            order.append(segment.tables[0])
    assert order == ["heavy", "soon", "later"]


def test_it_chooses_segments_that_leave_others_room():
    nodes = [Member(id=f"n{at}", datacenter="a", rack="r", tokens=[at * 1000]) for at in range(9)]
    of = placed(nodes, {"a": 3})
    queue, slots = Queue({"shop": of}, [work("t", 90 * GIB)]), Slots()
    while (segment := queue.take(slots, now=0.0)) is not None:
        slots.start(segment)
    assert slots.going == 3


def test_coordinators_take_turns():
    queue, slots = Queue({"shop": three_nodes()}, [work(f"t{at}", 10 * GIB) for at in range(3)]), Slots(slots=2)
    first = queue.take(slots, now=0.0)
    assert first is not None
    slots.start(first)
    second = queue.take(slots, now=0.0)
    assert second is not None
    assert second.coordinator != first.coordinator
    assert second.tables != first.tables


def test_what_failed_twice_is_tried_in_halves_until_only_the_bad_range_is_given_up():
    of, given_up, done = three_nodes(), [], 0
    queue, slots, now = Queue({"shop": of}, [work("t", MIB)]), Slots(), 0.0
    bad = of.ranges[0][20]
    while not queue.is_empty:
        segment = queue.take(slots, now=now)
        if segment is None:
            now = queue.next_try() or now
            continue
        if bad in segment.ranges:
            given_up += [segment] if not queue.failed(segment, now=now) else []
        else:
            done += len(segment.ranges)
    assert [segment.ranges for segment in given_up] == [(bad,)]
    assert done == 48


def test_a_table_that_is_gone_is_left_out_of_its_bundle():
    queue = Queue({"shop": three_nodes()}, [work("kept", MIB), work("gone", MIB)])
    segment = queue.take(Slots(), now=0.0)
    assert segment is not None
    queue.drop(Table("shop", "gone"))
    queue.failed(segment, now=0.0)
    assert [piece.tables for piece in queue.pieces] == [("kept",)]


# Pace


def test_an_intensity_is_a_duty_cycle():
    half = effort(50)
    assert half.rest_after(30) == 30
    assert effort(100).rest_after(30) == 0
    assert effort(100).slots == 2
    assert effort(1).stream_mib_s == 8
    assert effort(20).stream_mib_s < half.stream_mib_s < effort(100).stream_mib_s


def test_the_rate_follows_what_was_measured():
    rate = float(pace.FIRST_RATE)
    for _ in range(20):
        rate = pace.rate_after(rate, copied=600 * MIB, seconds=6.0 + pace.OVERHEAD)
    assert rate == pytest.approx(100 * MIB, rel=0.01)
    assert pace.rate_after(rate, copied=0, seconds=6.0) == rate


def load(**more: object) -> Load:
    given: dict[str, object] = {
        "node": "n0",
        "pending_compactions": 0,
        "dropped": 0,
        "read_p99_ms": 5.0,
        "disk_free_bytes": 100 * GIB,
        "disk_total_bytes": 200 * GIB,
        "largest_table_bytes": 10 * GIB,
    }
    return Load(**given | more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "words", "holds"),
    [
        (load(), "", False),
        (load(pending_compactions=21), "21 compactions are pending", False),
        (load(dropped=1), "1 messages were dropped", False),
        (load(read_p99_ms=21.0), "longer than 20 ms", False),
        (load(read_p99_ms=None), "", False),
        (load(disk_free_bytes=19 * GIB), "less than twice its largest table", False),
        (load(disk_free_bytes=9 * GIB), "less disk is free than its largest table", True),
    ],
)
def test_it_finds_trouble_of_a_node(found, words, holds):
    trouble, stops = trouble_of(found, Tolerance(read_p99_ms=20.0))
    assert words in trouble
    assert bool(words) == bool(trouble)
    assert stops is holds


def test_the_brake_halves_at_once_and_recovers_slowly():
    brake = braked(Brake(), "full", holds=False, now=0.0)
    assert brake.factor == 0.5
    assert braked(brake, "full", holds=False, now=10.0).factor == 0.5
    brake = braked(brake, "full", holds=False, now=31.0)
    assert brake.factor == 0.25
    assert braked(brake, "", holds=False, now=60.0).factor == 0.25
    steps, now = 0, 31.0
    while brake.factor < 1:
        now += 61.0
        brake = braked(brake, "", holds=False, now=now)
        steps += 1
    assert steps == math.ceil(math.log(4, 1.25))
    assert brake.reason == ""


def test_the_brake_lets_go_of_what_it_holds_when_there_is_room_again():
    held = braked(Brake(), "no room", holds=True, now=0.0)
    assert held.holds
    assert not braked(held, "", holds=False, now=1.0).holds


# Forecast


def test_it_foretells_segments_and_time():
    queue = Queue({"shop": three_nodes()}, [work("big", 64 * GIB, rate=64 * MIB), work("small", MIB)])
    told = forecast(queue, effort(50))
    assert told.segments == len(list(queue.segments()))
    assert told.seconds == pytest.approx(2 * 1024, rel=0.05)
    assert told.tables[Table("shop", "big")].bytes == pytest.approx(64 * GIB, rel=0.01)
    assert told.tables[Table("shop", "small")].segments == 1


def nightly(minutes: int) -> list[Window]:
    return [Window(weekdays=frozenset(range(7)), starts_at=time(1), minutes=minutes, time_zone="Europe/Vienna")]


def test_it_foretells_when_a_run_ends_within_its_windows():
    noon = datetime(2026, 3, 2, 11, tzinfo=UTC)
    assert done_at([], noon, 3600) == noon + timedelta(hours=1)
    assert done_at(nightly(60), noon, 5400) == datetime(2026, 3, 4, 0, 30, tzinfo=UTC)
    assert done_at(nightly(60), noon, 400 * 3600) is None


def test_windows_at_both_changes_of_the_clock_have_their_full_length():
    spring = datetime(2026, 3, 29, 0, tzinfo=UTC)  # 01:00 in Vienna; 02:00 is skipped
    assert done_at(nightly(120), spring, 7200) == datetime(2026, 3, 29, 2, tzinfo=UTC)
    autumn = datetime(2026, 10, 24, 23, tzinfo=UTC)  # 01:00 in Vienna; 02:00 comes twice
    assert done_at(nightly(120), autumn, 7200) == datetime(2026, 10, 25, 1, tzinfo=UTC)
