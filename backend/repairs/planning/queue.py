"""One queue over all tables of a cluster: which segment is next, on which nodes.

A segment is some ranges of one set of replicas, for one table or several small ones of a keyspace, cut by the time it
will probably take. It is cut when its turn comes, so that rates, windows and the ring may change during a run. What is
left is known as ranges, never as a list of segments: after a change of the ring only that is planned anew.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, inf
from typing import NamedTuple

from backend.repairs.planning import tokens
from backend.repairs.planning.modes import RepairMode
from backend.repairs.planning.pace import FIRST_RATE, GIB, MIB, OVERHEAD
from backend.repairs.planning.ring import Ring
from backend.repairs.planning.tokens import Range

# Seconds that a segment shall take.
AIM, LEAST, MOST = 60.0, 5.0, 120.0
SMALL_TABLE = 64 * MIB
# What one incremental call may compare: the first one on an old table rewrites all of it.
MOST_UNREPAIRED = 8 * GIB
MOST_TABLES = 50
MOST_RANGES = 512
# After so many failures a segment is split, or given up when it has become too small or was split too often.
TRIES = 2
MOST_SPLITS = 14
# A table of which so many pieces were given up is not split any more: it is broken, not its ranges.
MOST_GIVEN_UP = 16
_BACK_OFF = 20.0
# A segment may be so much longer than aimed at before it is cut.
_SLACK = 1.25
_CANDIDATES = 128

_WHOLE, _NOTHING, _PARTLY = 0, 1, 2


class Table(NamedTuple):
    keyspace: str
    name: str


@dataclass(frozen=True, kw_only=True)
class Work:
    """A table that shall be repaired. `bytes` of one copy that will be compared; `deadline` by the caller's clock."""

    table: Table
    mode: RepairMode
    bytes: int
    deadline: float
    weight: float = 1.0
    """Of two tables with the same slack the heavier is first."""
    rate: float = FIRST_RATE
    pull_to: str = ""
    """In mode pull: the node that fetches what it missed. Only its ranges are left then."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    keyspace: str
    tables: tuple[str, ...]
    mode: RepairMode
    ranges: tuple[Range, ...]
    nodes: tuple[str, ...]
    """All that take part."""
    coordinator: str
    bytes: int
    seconds: float
    """How long it will probably take."""
    failures: int = 0
    splits: int = 0
    key: int = 0
    """The caller's name for what waited and was taken again."""


@dataclass(frozen=True, kw_only=True)
class Piece:
    """What failed and waits to be tried again."""

    keyspace: str
    tables: tuple[str, ...]
    mode: RepairMode
    ranges: tuple[Range, ...]
    failures: int
    splits: int
    not_before: float
    pull_to: str = ""
    key: int = 0


@dataclass(kw_only=True)
class Slots:
    """Who is busy with what. `slots` may change at any time; what runs is not stopped for that."""

    slots: int = 1
    running: dict[str, list[Segment]] = field(default_factory=dict)
    coordinating: dict[str, int] = field(default_factory=dict)
    rests_until: dict[str, float] = field(default_factory=dict)

    def is_free(self, node: str, now: float) -> bool:
        return len(self.running.get(node, ())) < self.slots and self.rests_until.get(node, 0.0) <= now

    def works_on(self, node: str, keyspace: str, names: Sequence[str]) -> bool:
        """Two repairs of a table on one node get into each other's way: the engine refuses the second."""
        return any(
            other.keyspace == keyspace and not set(other.tables).isdisjoint(names)
            for other in self.running.get(node, ())
        )

    def start(self, segment: Segment) -> None:
        for node in segment.nodes:
            self.running.setdefault(node, []).append(segment)
        self.coordinating[segment.coordinator] = self.coordinating.get(segment.coordinator, 0) + 1

    def end(self, segment: Segment, *, rest_until: float = 0.0) -> None:
        for node in segment.nodes:
            self.running[node].remove(segment)
            self.rests_until[node] = max(self.rests_until.get(node, 0.0), rest_until)
        self.coordinating[segment.coordinator] -= 1

    @property
    def going(self) -> int:
        """Segments that run."""
        return sum(self.coordinating.values())


class Bundle:
    """Tables that are repaired together, and what is left of each set of replicas."""

    def __init__(self, works: Sequence[Work], ring: Ring) -> None:
        self.works = list(works)
        self.ring = ring
        self.keyspace = works[0].table.keyspace
        self.names = tuple(work.table.name for work in works)
        self.mode = works[0].mode
        self.pull_to = works[0].pull_to
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
            if end - start > room * _SLACK:
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
        if self.mode is RepairMode.INCREMENTAL:
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


class Queue:
    """What is left to be repaired in one run. Times are by the caller's clock, in seconds.

    `rings` by keyspace; those of keyspaces that are replicated alike may be one object. `taken`: ranges of a table that
    are repaired already, run at this moment, were given up or wait in `pieces`; sorted and disjoint.
    """

    def __init__(
        self,
        rings: Mapping[str, Ring],
        works: Iterable[Work],
        *,
        taken: Mapping[Table, Sequence[Range]] | None = None,
        pieces: Iterable[Piece] = (),
        given_up: Mapping[Table, int] | None = None,
    ) -> None:
        self.rings = rings
        self.works = {work.table: work for work in works}
        self.pieces: list[Piece] = []
        self.given_up = dict(given_up or {})
        gone: Mapping[Table, Sequence[Range]] = taken or {}
        # Tables of which different ranges are left are not repaired together.
        self.bundles = [
            Bundle(group, rings[group[0].table.keyspace]) for group in _grouped(self.works.values(), rings, gone)
        ]
        for bundle in self.bundles:
            bundle.take_out(gone.get(bundle.works[0].table, ()))
        for piece in pieces:
            self.wait_with(piece)

    # What is next

    def take(
        self,
        slots: Slots,
        *,
        now: float,
        is_up: Callable[[str], bool] = lambda _node: True,
        most_seconds: float = inf,
    ) -> Segment | None:
        """The next segment, or None when nothing can start now. `most_seconds`: until the window closes.

        The caller books it in `slots` and tells later how it ended.
        """
        if most_seconds < LEAST:
            return None
        found = self._again(slots, now, is_up, most_seconds)
        if found is not None:
            return found
        free: dict[int, dict[str, bool]] = {}
        for bundle in sorted(self.bundles, key=lambda own: self._urgency(own, now)):
            if bundle.left <= 0:
                continue
            able = free.setdefault(id(bundle.ring), {})
            if not able:
                able.update({node: slots.is_free(node, now) and is_up(node) for node in bundle.ring.nodes})
            number = self._choose(bundle, slots, able)
            if number is not None:
                return self._cut(bundle, number, slots, able, most_seconds)
        return None

    def _urgency(self, bundle: Bundle, now: float) -> tuple[float, str, str]:
        slack = bundle.deadline - now - bundle.seconds_left
        weighted = slack / bundle.weight if slack >= 0 else slack * bundle.weight
        return weighted, bundle.keyspace, bundle.names[0]

    def _choose(self, bundle: Bundle, slots: Slots, able: Mapping[str, bool]) -> int | None:
        """Of the sets whose nodes are all free the one that leaves most of the others free."""
        ring = bundle.ring
        busy_with_it = {
            number
            for number, node in enumerate(ring.nodes)
            if slots.running.get(node) and slots.works_on(node, bundle.keyspace, bundle.names)
        }
        open_nodes = [able[node] and number not in busy_with_it for number, node in enumerate(ring.nodes)]
        if not any(open_nodes):
            return None
        seen: set[int] = set()
        candidates: list[int] = []
        for node, is_open in enumerate(open_nodes):
            if not is_open:
                continue
            for number in bundle.left_of(node):
                if number in seen:
                    continue
                seen.add(number)
                if self._can_run(bundle, ring.sets[number], open_nodes):
                    candidates.append(number)
            if len(candidates) >= _CANDIDATES:
                break
        if len(candidates) <= 1:
            return candidates[0] if candidates else None
        counts: dict[int, int] = {}
        for number in candidates:
            for member in ring.sets[number]:
                counts[member] = counts.get(member, 0) + 1
        return min(candidates, key=lambda number: (sum(counts[member] for member in ring.sets[number]), number))

    def _can_run(self, bundle: Bundle, members: Sequence[int], open_nodes: Sequence[bool]) -> bool:
        if not bundle.pull_to:
            return all(map(open_nodes.__getitem__, members))
        return open_nodes[bundle.pulling] and any(open_nodes[own] for own in members if own != bundle.pulling)

    def _cut(self, bundle: Bundle, number: int, slots: Slots, able: Mapping[str, bool], window: float) -> Segment:
        chosen, others = bundle.cut(bundle.of(number), window)
        bundle.put(number, others)
        nodes, coordinator = _who(bundle.ring, number, bundle.pull_to, slots, able)
        size = tokens.width(chosen)
        return Segment(
            keyspace=bundle.keyspace,
            tables=bundle.names,
            mode=bundle.mode,
            ranges=tuple(chosen),
            nodes=nodes,
            coordinator=coordinator,
            bytes=round(size * bundle.bytes_per_token),
            seconds=OVERHEAD + size * bundle.seconds_per_token,
        )

    # What failed

    def _again(self, slots: Slots, now: float, is_up: Callable[[str], bool], most_seconds: float) -> Segment | None:
        for at, piece in enumerate(self.pieces):
            if piece.not_before > now:
                continue
            ring = self.rings[piece.keyspace]
            number = next(ring.holders(piece.ranges))[0]
            able = {
                ring.nodes[member]: slots.is_free(ring.nodes[member], now)
                and is_up(ring.nodes[member])
                and not slots.works_on(ring.nodes[member], piece.keyspace, piece.tables)
                for member in ring.sets[number]
            }
            pulling = able.get(piece.pull_to, False) and sum(able.values()) > 1
            if not (pulling if piece.pull_to else all(able.values())):
                continue
            works = [self.works[Table(piece.keyspace, name)] for name in piece.tables]
            size = tokens.width(piece.ranges) / (tokens.LAST - tokens.FIRST)
            seconds = OVERHEAD + size * sum(work.bytes / work.rate for work in works)
            if min(seconds, MOST) > most_seconds:
                continue
            nodes, coordinator = _who(ring, number, piece.pull_to, slots, able)
            del self.pieces[at]
            return Segment(
                keyspace=piece.keyspace,
                tables=piece.tables,
                mode=piece.mode,
                ranges=piece.ranges,
                nodes=nodes,
                coordinator=coordinator,
                bytes=round(size * sum(work.bytes for work in works)),
                seconds=seconds,
                failures=piece.failures,
                splits=piece.splits,
                key=piece.key,
            )
        return None

    def wait_with(self, piece: Piece) -> None:
        """Try it again later, in as many parts as it has sets of replicas, without tables that are gone."""
        self.pieces += self.parts(piece)

    def parts(self, piece: Piece) -> list[Piece]:
        names = tuple(name for name in piece.tables if Table(piece.keyspace, name) in self.works)
        by_set: dict[int, list[Range]] = {}
        for number, own in self.rings[piece.keyspace].holders(sorted(piece.ranges)) if names else ():
            by_set.setdefault(number, []).append(own)
        return [replace(piece, tables=names, ranges=tuple(ranges)) for ranges in by_set.values()]

    def failed(self, segment: Segment, *, now: float, counts: bool = True) -> list[Piece]:
        """It did not end well. What is tried again, which waits here from now on; empty: it was given up."""
        pieces = self.after_failure(segment, now=now, counts=counts)
        self.pieces += pieces
        return pieces

    def after_failure(self, segment: Segment, *, now: float, counts: bool = True) -> list[Piece]:
        """How it is tried again; empty: it is given up, or its tables are gone. The caller lets the pieces wait.

        `counts` False: it was not the segment's fault (its node or agent was away), so it is only tried again.
        """
        tables = [Table(segment.keyspace, name) for name in segment.tables]
        pieces = pieces_after(
            segment,
            pull_to=segment.coordinator if segment.mode is RepairMode.PULL else "",
            now=now,
            counts=counts,
            may_split=all(self.given_up.get(table, 0) < MOST_GIVEN_UP for table in tables),
        )
        if not pieces:
            for table in tables:
                self.given_up[table] = self.given_up.get(table, 0) + 1
        return [part for piece in pieces for part in self.parts(piece)]

    def drop(self, table: Table) -> None:
        """The table is gone: nothing of it is left."""
        self.works.pop(table, None)
        kept, self.pieces = self.pieces, []
        for piece in kept:
            self.wait_with(piece)
        for bundle in list(self.bundles):
            if table.keyspace == bundle.keyspace and table.name in bundle.names:
                bundle.works = [work for work in bundle.works if work.table != table]
                bundle.names = tuple(work.table.name for work in bundle.works)
                bundle.aim()
                if not bundle.works:
                    self.bundles.remove(bundle)

    def rated(self, tables: Iterable[Table], rate: float) -> None:
        """From now on these are taken to be repaired at so many bytes per second."""
        wanted = set(tables)
        for bundle in self.bundles:
            if any(work.table in wanted for work in bundle.works):
                bundle.works = [replace(w, rate=rate) if w.table in wanted else w for w in bundle.works]
                bundle.aim()
                self.works.update({work.table: work for work in bundle.works})

    # What is left

    @property
    def is_empty(self) -> bool:
        return not self.pieces and all(bundle.left <= 0 for bundle in self.bundles)

    def next_try(self) -> float | None:
        """When the first of what failed may be tried again."""
        return min((piece.not_before for piece in self.pieces), default=None)

    def left(self) -> dict[Table, list[Range]]:
        """What has not been taken, or waits to be tried again."""
        found: dict[Table, list[Range]] = {}
        for bundle in self.bundles:
            ranges = [own for number in range(len(bundle.ring.sets)) for own in bundle.of(number)]
            for work in bundle.works:
                found.setdefault(work.table, []).extend(ranges)
        for piece in self.pieces:
            for name in piece.tables:
                found.setdefault(Table(piece.keyspace, name), []).extend(piece.ranges)
        return {table: tokens.merged(ranges) for table, ranges in found.items()}

    def segments(self) -> Iterator[Segment]:
        """All that is left, as it would be cut now, without what waits to be tried again. Takes nothing."""
        for bundle in self.bundles:
            yield from bundle.segments()


def pieces_after(segment: Segment, *, pull_to: str, now: float, counts: bool, may_split: bool) -> list[Piece]:
    """How a segment that failed is tried again: the same, then in halves. Empty: not at all."""
    failures = segment.failures + (1 if counts else 0)

    def piece(names: tuple[str, ...], ranges: Sequence[Range], tried: int, splits: int) -> Piece:
        return Piece(
            keyspace=segment.keyspace,
            tables=names,
            mode=segment.mode,
            ranges=tuple(ranges),
            failures=tried,
            splits=splits,
            not_before=now + _BACK_OFF * max(tried, 1),
            pull_to=pull_to,
        )

    if failures < TRIES:
        return [piece(segment.tables, segment.ranges, failures, segment.splits)]
    if not may_split or segment.splits >= MOST_SPLITS:
        return []
    half = segment.splits + 1
    if len(segment.tables) > 1:
        middle = len(segment.tables) // 2
        return [piece(own, segment.ranges, 0, half) for own in (segment.tables[:middle], segment.tables[middle:])]
    if len(segment.ranges) > 1:
        middle = len(segment.ranges) // 2
        return [piece(segment.tables, own, 0, half) for own in (segment.ranges[:middle], segment.ranges[middle:])]
    start, end = segment.ranges[0]
    if segment.seconds >= 2 * LEAST and end - start > 1:
        middle = start + (end - start) // 2
        return [piece(segment.tables, (own,), 0, half) for own in ((start, middle), (middle, end))]
    return []


def _who(ring: Ring, number: int, pull_to: str, slots: Slots, able: Mapping[str, bool]) -> tuple[tuple[str, ...], str]:
    """The nodes of a segment, and the one that coordinates it: the one that coordinates least."""

    def load(node: str) -> tuple[int, int, str]:
        return slots.coordinating.get(node, 0), len(slots.running.get(node, ())), node

    members = [ring.nodes[member] for member in ring.sets[number]]
    if not pull_to:
        return tuple(members), min(members, key=load)
    # The peers take turns: who rested longest is next.
    peers = [node for node in members if node != pull_to and able[node]]
    peer = min(peers, key=lambda node: (slots.rests_until.get(node, 0.0), *load(node)))
    return (pull_to, peer), pull_to


def _grouped(
    works: Iterable[Work], rings: Mapping[str, Ring], taken: Mapping[Table, Sequence[Range]]
) -> Iterator[list[Work]]:
    """Tables that are repaired together: of one keyspace and mode, so small that a segment of one alone would take less
    than the least time, with the same ranges left; together not longer than a segment shall take."""
    widest: dict[int, float] = {}
    groups: dict[tuple[str, RepairMode, str, tuple[Range, ...]], list[Work]] = {}
    for work in sorted(works, key=lambda own: (own.deadline, own.table)):
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
