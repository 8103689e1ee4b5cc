"""Tables that are repaired together, what is left of them, and how a segment is cut from that."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil, inf

from backend.repairs.planning import tokens
from backend.repairs.planning.modes import RepairMode
from backend.repairs.planning.pace import GIB, MIB, OVERHEAD
from backend.repairs.planning.ring import Ring
from backend.repairs.planning.segments import AIM, LEAST, Segment, Table, Work
from backend.repairs.planning.tokens import Range

SMALL_TABLE = 64 * MIB
# What one incremental call may compare: the first one on an old table rewrites all of it.
MOST_UNREPAIRED = 8 * GIB
MOST_TABLES = 50
MOST_RANGES = 512
# A segment may be so much longer than aimed at before it is cut.
_SLACK = 1.25

_WHOLE, _NOTHING, _PARTLY = 0, 1, 2


class Bundle:
    """Tables that are repaired together, and what is left of each set of replicas."""

    def __init__(self, works: Sequence[Work], ring: Ring) -> None:
        self.works = list(works)
        self.ring = ring
        self.keyspace = works[0].table.keyspace
        self.names = tuple(work.table.name for work in works)
        self.mode = works[0].mode
        self.pull_to = works[0].pull_to
        self.tablets = works[0].tablets
        self.deadline = min(work.deadline for work in works)
        self.weight = max(work.weight for work in works)
        self.state = bytearray(len(ring.sets))
        self.rest: dict[int, list[Range]] = {}
        self.sets_of: dict[int, list[int]] = {}
        self.pulling = ring.nodes.index(self.pull_to) if self.pull_to else -1
        for number, members in enumerate(ring.sets):
            if len(members) < 2 or (self.pull_to and self.pulling not in members):
                self.state[number] = _NOTHING
        self.left = sum(own for own, state in zip(ring.widths, self.state, strict=True) if state == _WHOLE)
        self.aim()

    def aim(self) -> None:
        """Take new rates in."""
        whole = float(tokens.LAST - tokens.FIRST)
        self.seconds_per_token = sum(work.bytes / work.rate for work in self.works) / whole
        self.bytes_per_token = sum(work.bytes for work in self.works) / whole

    def take_out(self, taken: Sequence[Range]) -> None:
        """`taken`, sorted and disjoint, is not left any more."""
        touched = {number for number, _ in self.ring.holders(taken)} if taken else set()
        for number in touched:
            if self.state[number] != _NOTHING:
                self.put(number, tokens.without(self.of(number), taken))

    def of(self, number: int) -> list[Range]:
        """What is left of a set."""
        match self.state[number]:
            case 0:
                return self.ring.ranges[number]
            case 1:
                return []
            case _:
                return self.rest[number]

    def left_of(self, node: int) -> list[int]:
        """The sets with this node of which something is left."""
        found = self.sets_of.get(node, self.ring.sets_of[node])
        state = self.state
        kept = self.sets_of[node] = [number for number in found if state[number] != _NOTHING]
        return kept

    def put(self, number: int, ranges: list[Range]) -> None:
        self.left += tokens.width(ranges) - tokens.width(self.of(number))
        if ranges:
            self.state[number], self.rest[number] = _PARTLY, ranges
        else:
            self.state[number] = _NOTHING
            self.rest.pop(number, None)

    @property
    def seconds_left(self) -> float:
        return self.left * self.seconds_per_token

    def cut(self, ranges: Sequence[Range], window: float) -> tuple[list[Range], list[Range]]:
        """The first of these for one segment that ends within `window` seconds, and the others."""
        room = self.room(window)
        if len(ranges) <= MOST_RANGES and tokens.width(ranges) <= room * _SLACK:
            return list(ranges), []
        chosen: list[Range] = []
        full = room = max(room, 1.0)
        for at, (start, end) in enumerate(ranges):
            if len(chosen) == MOST_RANGES or room < full / 4:
                return chosen, list(ranges[at:])
            if self.tablets and chosen and end - start > room * _SLACK:
                return chosen, list(ranges[at:])
            if end - start > room * _SLACK and not self.tablets:
                # Of a range that is alone in equal pieces, so that none is a splinter; else what fills the segment.
                part = (end - start) / ceil((end - start) / room) if not chosen else room
                middle = start + max(1, int(part))
                return [*chosen, (start, middle)], [(middle, end), *ranges[at + 1 :]]
            chosen.append((start, end))
            room -= end - start
        return chosen, []

    def room(self, window: float) -> float:
        """Tokens that a segment shall have."""
        if not self.seconds_per_token:
            return inf
        room = AIM / self.seconds_per_token
        if self.mode is RepairMode.INCREMENTAL and not self.tablets:
            # Each call rewrites what lies across its borders: as few calls as may be.
            room = MOST_UNREPAIRED / self.bytes_per_token
        return min(room, (window / _SLACK - OVERHEAD) / self.seconds_per_token)

    def fits(self, size: int) -> bool:
        return size <= self.room(inf) * _SLACK

    def is_one_each(self) -> bool:
        """Whether every set of replicas is left whole and is one segment."""
        longest = max(map(len, self.ring.ranges), default=0)
        return not any(self.state) and longest <= MOST_RANGES and self.fits(max(self.ring.widths, default=0))

    def segments(self) -> Iterator[Segment]:
        ring = self.ring
        for number, state in enumerate(self.state):
            others = [] if state == _NOTHING else self.of(number)
            nodes = tuple(ring.nodes[member] for member in ring.sets[number])
            while others:
                chosen, others = self.cut(others, inf)
                size = tokens.width(chosen)
                yield Segment(
                    keyspace=self.keyspace,
                    tables=self.names,
                    mode=self.mode,
                    ranges=tuple(chosen),
                    nodes=nodes,
                    coordinator=self.pull_to or nodes[0],
                    bytes=round(size * self.bytes_per_token),
                    seconds=OVERHEAD + size * self.seconds_per_token,
                )


def grouped(
    works: Iterable[Work], rings: Mapping[str, Ring], taken: Mapping[Table, Sequence[Range]]
) -> Iterator[list[Work]]:
    """Tables that are repaired together: of one keyspace and mode, so small that a segment of one alone would take less
    than the least time, with the same ranges left; together not longer than a segment shall take."""
    widest: dict[int, float] = {}
    groups: dict[tuple[str, RepairMode, str, tuple[Range, ...]], list[Work]] = {}
    for work in sorted(works, key=lambda own: (own.deadline, own.table)):
        if work.tablets:
            yield [work]
            continue
        ring = rings[work.table.keyspace]
        share = widest.setdefault(id(ring), max(ring.widths, default=0) / (tokens.LAST - tokens.FIRST))
        if work.bytes > SMALL_TABLE and work.bytes / work.rate * share > LEAST:
            yield [work]
            continue
        key = (work.table.keyspace, work.mode, work.pull_to, tuple(taken.get(work.table, ())))
        group = groups.setdefault(key, [])
        together = sum(own.bytes / own.rate for own in [*group, work]) * share
        if group and (len(group) >= MOST_TABLES or together > AIM):
            yield group
            groups[key] = [work]
        else:
            group.append(work)
    yield from (group for group in groups.values() if group)
