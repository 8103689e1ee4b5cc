"""A run on a cluster that is only arithmetic: segments take a while, fail, nodes die, the ring changes, windows close.

What must hold at every moment is asserted here; what must hold in the end the tests ask for.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from backend.clusters.windows import Window, is_open, next_opening, open_until
from backend.repairs.planning import tokens
from backend.repairs.planning.queue import Queue
from backend.repairs.planning.ring import Ring
from backend.repairs.planning.segments import Piece, Segment, Slots, Table, Work
from backend.repairs.planning.tokens import Range

START = datetime(2026, 3, 27, 12, tzinfo=UTC)


@dataclass(kw_only=True)
class Run:
    rings: Mapping[str, Ring]
    works: Sequence[Work]
    seed: int = 0
    slots: int = 1
    fails: Callable[[Segment], bool] = lambda _segment: False
    windows: Sequence[Window] = ()
    changes: list[tuple[int, Callable[["Run"], None]]] = field(default_factory=list)
    """After so many ended segments something happens, for example `change_ring`."""
    dead: set[str] = field(default_factory=set)

    now: float = 0.0
    done: dict[Table, list[Range]] = field(default_factory=dict)
    lost: dict[Table, list[Range]] = field(default_factory=dict)
    started: int = 0
    ended: int = 0
    progress: float = 0.0

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)
        self.flying: list[tuple[float, int, Segment]] = []
        self.booked = Slots(slots=self.slots)
        self.queue = Queue(self.rings, self.works)

    def moment(self) -> datetime:
        return START + timedelta(seconds=self.now)

    def to_the_end(self, *, most: int = 200_000) -> "Run":
        for _ in range(most):
            while self.start_one():
                pass
            if self.flying:
                self.end_one()
            elif self.queue.is_empty:
                return self
            else:
                self.wait()
        raise AssertionError("the run does not end")

    def start_one(self) -> bool:
        closes = open_until(self.windows, self.moment())
        left = float("inf") if closes is None else (closes - self.moment()).total_seconds()
        segment = self.queue.take(
            self.booked, now=self.now, is_up=lambda node: node not in self.dead, most_seconds=left
        )
        if segment is None:
            return False
        self.check_start(segment, left)
        self.booked.start(segment)
        took = segment.seconds * self.draw.uniform(0.3, 2.0)
        self.started += 1
        self.flying.append((self.now + took, self.started, segment))
        return True

    def is_up(self, node: str) -> bool:
        return node not in self.dead

    def check_start(self, segment: Segment, left: float) -> None:
        assert is_open(self.windows, self.moment())
        assert min(segment.seconds, 120) <= left
        ring = self.rings[segment.keyspace]
        holders = {number for number, _ in ring.holders(segment.ranges)}
        assert len(holders) == 1, "a segment is of one set of replicas"
        members = {ring.nodes[node] for node in ring.sets[holders.pop()]}
        for start, end in segment.ranges:
            assert len(list(ring.holders([(start, end)]))) == 1, "no range goes over the border of a vnode"
        assert set(segment.nodes) == members or (segment.coordinator in members and set(segment.nodes) < members)
        assert segment.coordinator in segment.nodes
        for node in segment.nodes:
            assert node not in self.dead
            others = self.booked.running.get(node, [])
            assert len(others) < self.slots, "a busy node gets no segment"
            for other in others:
                assert other.keyspace != segment.keyspace or set(other.tables).isdisjoint(segment.tables)

    def end_one(self) -> None:
        self.flying.sort(key=lambda own: own[:2])
        at, _, segment = self.flying.pop(0)
        self.now = max(self.now, at)
        self.booked.end(segment)
        if self.fails(segment) or any(node in self.dead for node in segment.nodes):
            pieces = self.queue.failed(segment, now=self.now, counts=not self.dead & set(segment.nodes))
            if not pieces:
                self.keep(self.lost, segment)
        else:
            self.keep(self.done, segment)
        self.ended += 1
        for after, change in list(self.changes):
            if self.ended >= after:
                self.changes.remove((after, change))
                change(self)
        grown = self.measure()
        assert grown >= self.progress - 1e-9, "progress only grows"
        self.progress = grown

    def keep(self, where: dict[Table, list[Range]], segment: Segment) -> None:
        for name in segment.tables:
            table = Table(segment.keyspace, name)
            taken = tokens.merged(where.get(table, []))
            assert not tokens.common(taken, sorted(segment.ranges)), "a range is repaired once"
            where.setdefault(table, []).extend(segment.ranges)

    def measure(self) -> float:
        finished = sum(tokens.width(own) for own in (*self.done.values(), *self.lost.values()))
        return finished / (len(self.works) * (tokens.LAST - tokens.FIRST))

    def wait(self) -> None:
        if self.dead:
            self.dead.clear()
            return
        if not is_open(self.windows, self.moment()) or open_until(self.windows, self.moment()) is not None:
            opens = next_opening(self.windows, self.moment())
            if opens is not None:
                again = self.queue.next_try()
                later = (opens - START).total_seconds()
                if again is not None and self.now < again < later:
                    self.now = again
                else:
                    self.now = later
                return
        again = self.queue.next_try()
        assert again is not None, "nothing runs, nothing waits, and yet something is left"
        assert again > self.now, "what waits could run, and is not taken"
        self.now = again

    def change_ring(self, rings: Mapping[str, Ring]) -> None:
        """Only what is not finished is planned anew."""
        taken: dict[Table, list[Range]] = {}
        for where in (self.done, self.lost):
            for table, ranges in where.items():
                taken.setdefault(table, []).extend(ranges)
        for _, _, segment in self.flying:
            for name in segment.tables:
                taken.setdefault(Table(segment.keyspace, name), []).extend(segment.ranges)
        pieces: list[Piece] = self.queue.pieces
        for piece in pieces:
            for name in piece.tables:
                taken.setdefault(Table(piece.keyspace, name), []).extend(piece.ranges)
        self.rings = rings
        self.queue = Queue(
            rings,
            self.works,
            taken={table: tokens.merged(ranges) for table, ranges in taken.items()},
            pieces=pieces,
            given_up=self.queue.given_up,
        )
