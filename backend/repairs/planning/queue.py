"""One queue over all tables of a cluster: which segment is next, on which nodes.

A segment is some ranges of one set of replicas, for one table or several small ones of a keyspace, cut by the time it
will probably take. It is cut when its turn comes, so that rates, windows and the ring may change during a run. What is
left is known as ranges, never as a list of segments: after a change of the ring only that is planned anew.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf

from backend.repairs.planning import tokens
from backend.repairs.planning.bundles import Bundle, grouped
from backend.repairs.planning.modes import RepairMode
from backend.repairs.planning.pace import OVERHEAD
from backend.repairs.planning.retries import pieces_after
from backend.repairs.planning.ring import Ring
from backend.repairs.planning.segments import LEAST, MOST, Piece, Segment, Slots, Table, Work, ring_of
from backend.repairs.planning.tokens import Range

# A table of which so many pieces were given up is not split any more: it is broken, not its ranges.
MOST_GIVEN_UP = 16
_CANDIDATES = 128


class Queue:
    """What is left to be repaired in one run. Times are by the caller's clock, in seconds.

    `rings` as `ring_of` finds them; those of keyspaces that are replicated alike may be one object. `taken`: ranges of
    a table that are repaired already, run at this moment, were given up or wait in `pieces`; sorted and disjoint.
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
            Bundle(group, self._ring(group[0].table)) for group in grouped(self.works.values(), rings, gone)
        ]
        for bundle in self.bundles:
            bundle.take_out(gone.get(bundle.works[0].table, ()))
        for piece in pieces:
            self.wait_with(piece)

    def _ring(self, table: Table) -> Ring:
        ring = ring_of(self.rings, table)
        assert ring is not None, f"no ring for {table}"
        return ring

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
            if number is not None and self._fits(bundle, number, most_seconds):
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

    def _fits(self, bundle: Bundle, number: int, most_seconds: float) -> bool:
        """A tablet is not cut for a window; one that takes longer than segments may is started early in it."""
        if not bundle.tablets:
            return True
        start, end = bundle.of(number)[0]
        return min(MOST, OVERHEAD + (end - start) * bundle.seconds_per_token) <= most_seconds

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
            ring = self._ring(Table(piece.keyspace, piece.tables[0]))
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
        ring = self._ring(Table(piece.keyspace, names[0])) if names else None
        for number, own in ring.holders(sorted(piece.ranges)) if ring is not None else ():
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
            may_cut=not any(table in self.works and self.works[table].tablets for table in tables),
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
