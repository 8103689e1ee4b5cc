"""What a worker knows of a run of repairs: the queue, made from rows, and what runs.

It is made anew when somebody else has written, and when the ring has changed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from backend.clusters.models import Node
from backend.repairs import progress
from backend.repairs.models import RepairRun, RepairSegment, RepairTable
from backend.repairs.planning import tokens
from backend.repairs.planning.modes import RepairMode
from backend.repairs.planning.pace import LONGEST_REST, MIB, Effort
from backend.repairs.planning.queue import Queue
from backend.repairs.planning.ring import Ring
from backend.repairs.planning.segments import Piece, Segment, Slots, Table, Work, ring_of
from backend.repairs.planning.tokens import Range
from backend.repairs.queries import facts_of
from backend.repairs.states import RepairSegmentState
from provisioner.operations.repairing.look import digest, read_rings

RING_EVERY = 20.0
"""Seconds between two looks at the ring; longer where many tables have rings of their own."""
_EACH_RING = 0.2
_SHORTEST_REST = 0.5


@dataclass(kw_only=True)
class Live:
    """`rows` and `segments` are those that run, by the row's id. Clock times are seconds since 1970."""

    run: RepairRun
    queue: Queue
    slots: Slots
    rows: dict[int, RepairSegment]
    segments: dict[int, Segment]
    done_weight: float = 0.0
    ring_at: float = 0.0
    worked: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By node: when its last segment ended, and how many seconds that took."""
    silent_since: dict[str, datetime] = field(default_factory=dict)
    rates: dict[Table, float] = field(default_factory=dict)

    @property
    def busy_elsewhere(self) -> frozenset[str]:
        """Nodes that take part in repairs of others."""
        return frozenset(own["node_id"] for own in self.run.foreign)

    def let_rest(self, pace: Effort) -> None:
        """Nodes rest as long as this pace says, also after what another process has seen the end of."""
        for node, (ended_at, seconds) in self.worked.items():
            rest = pace.rest_after(seconds)
            self.slots.rests_until[node] = ended_at + rest if rest > _SHORTEST_REST else 0.0


KNOWN: dict[str, Live] = {}


def forget(run_id: str) -> None:
    KNOWN.pop(run_id, None)


def live_of(run: RepairRun, nodes: Sequence[Node], now: datetime) -> Live:
    known = KNOWN.get(run.id)
    if known is not None and known.run.revision == run.revision:
        known.run = run
        own_rings = sum(1 for own in known.queue.works.values() if own.tablets)
        if now.timestamp() - known.ring_at < max(RING_EVERY, own_rings * _EACH_RING):
            return known
        rings = _rings(run, nodes)
        known.ring_at = now.timestamp()
        if digest(rings) == run.ring:
            return known
    else:
        rings = _rings(run, nodes)
    live = KNOWN[run.id] = _made_from_rows(run, rings, known)
    live.ring_at = now.timestamp()
    return live


def _rings(run: RepairRun, nodes: Sequence[Node]) -> dict[str, Ring]:
    wanted = {(own["keyspace"], own["table"]) for own in run.works}
    rows = RepairTable.objects.filter(cluster_id=run.cluster_id, keyspace__in={keyspace for keyspace, _ in wanted})
    return read_rings(nodes, [facts_of(row) for row in rows if (row.keyspace, row.name) in wanted])


def _made_from_rows(run: RepairRun, rings: Mapping[str, Ring], before: Live | None) -> Live:
    works = [own for own in progress.works_of(run) if ring_of(rings, own.table) is not None]
    if before is not None:
        works = [replace(own, rate=before.rates.get(own.table, own.rate)) for own in works]
    taken: dict[Table, list[Range]] = {}
    given_up: dict[Table, int] = {}
    weights = {own.table: float(own.bytes + MIB) for own in works}
    done_weight = 0.0
    running: dict[int, RepairSegment] = {}
    waiting: list[RepairSegment] = []
    for row in run.segments.exclude(state=RepairSegmentState.REPLACED).order_by("id"):
        ranges = [(start, end) for start, end in row.ranges]
        for name in row.tables:
            table = Table(row.keyspace, name)
            taken.setdefault(table, []).extend(ranges)
            if row.state in (RepairSegmentState.DONE, RepairSegmentState.GIVEN_UP):
                done_weight += weights.get(table, 0.0) * tokens.width(ranges)
            if row.state == RepairSegmentState.GIVEN_UP:
                given_up[table] = given_up.get(table, 0) + 1
        if row.state == RepairSegmentState.RUNNING:
            running[row.pk] = row
        elif row.state == RepairSegmentState.WAITING:
            waiting.append(row)
    queue = Queue(
        rings,
        works,
        taken={table: tokens.merged(ranges) for table, ranges in taken.items()},
        given_up=given_up,
    )
    slots = Slots()
    segments = {pk: _segment(row) for pk, row in running.items()}
    for segment in segments.values():
        slots.start(segment)
    live = Live(run=run, queue=queue, slots=slots, rows=running, segments=segments, done_weight=done_weight)
    live.worked = _worked(run)
    if before is not None:
        live.silent_since, live.rates = before.silent_since, before.rates
    replaced, fresh = [], []
    for row in waiting:
        known = any(Table(row.keyspace, name) in queue.works for name in row.tables)
        parts = queue.parts(piece_of(row)) if known else []
        if len(parts) == 1 and parts[0].tables == tuple(row.tables):
            queue.pieces += parts
            continue
        # Its ring has changed, or a table of it is gone: others stand in its place.
        row.state = RepairSegmentState.REPLACED
        replaced.append(row)
        fresh += [waiting_row(run, part, row) for part in parts]
    new_ring = digest(rings)
    if (replaced or new_ring != run.ring) and progress.recorded(run, changed=replaced, fresh=fresh, ring=new_ring):
        queue.pieces += [piece_of(row) for row in fresh]
    return live


def _worked(run: RepairRun) -> dict[str, tuple[float, float]]:
    ended = run.segments.filter(finished_at__gt=datetime.now(UTC) - timedelta(seconds=LONGEST_REST))
    rows = ended.order_by("finished_at").values_list("nodes", "started_at", "finished_at")
    return {
        node: (finished_at.timestamp(), (finished_at - started_at).total_seconds())
        for nodes, started_at, finished_at in rows
        if started_at is not None and finished_at is not None
        for node in nodes
    }


def _segment(row: RepairSegment) -> Segment:
    return Segment(
        keyspace=row.keyspace,
        tables=tuple(row.tables),
        mode=RepairMode(row.mode),
        ranges=tuple((start, end) for start, end in row.ranges),
        nodes=tuple(row.nodes),
        coordinator=row.coordinator,
        bytes=row.expected_bytes,
        seconds=row.expected_seconds,
        failures=row.failures,
        splits=row.splits,
        key=row.pk,
    )


def piece_of(row: RepairSegment) -> Piece:
    return Piece(
        keyspace=row.keyspace,
        tables=tuple(row.tables),
        mode=RepairMode(row.mode),
        ranges=tuple((start, end) for start, end in row.ranges),
        failures=row.failures,
        splits=row.splits,
        not_before=0.0 if row.not_before is None else row.not_before.timestamp(),
        pull_to=row.coordinator if row.mode == RepairMode.PULL else "",
        key=row.pk,
    )


def waiting_row(run: RepairRun, piece: Piece, after: RepairSegment) -> RepairSegment:
    return RepairSegment(
        run=run,
        keyspace=piece.keyspace,
        tables=list(piece.tables),
        mode=piece.mode,
        ranges=[list(own) for own in piece.ranges],
        nodes=[],
        coordinator=piece.pull_to,
        state=RepairSegmentState.WAITING,
        attempt=after.attempt + 1,
        failures=piece.failures,
        splits=piece.splits,
        not_before=datetime.fromtimestamp(piece.not_before, UTC),
        error_code=after.error_code,
        error=after.error,
    )


def weight(live: Live, segment: Segment) -> float:
    works = [live.queue.works.get(Table(segment.keyspace, name)) for name in segment.tables]
    return tokens.width(segment.ranges) * sum(_of(work) for work in works if work is not None)


def _of(work: Work) -> float:
    return float(work.bytes + MIB)


def share_done(live: Live) -> float:
    """0 to 1, by bytes; that of the run never falls, whatever is planned anew."""
    left = sum(bundle.left * sum(map(_of, bundle.works)) for bundle in live.queue.bundles)
    for piece in live.queue.pieces:
        works = [live.queue.works.get(Table(piece.keyspace, name)) for name in piece.tables]
        left += tokens.width(piece.ranges) * sum(_of(work) for work in works if work is not None)
    left += sum(weight(live, segment) for segment in live.segments.values())
    whole = live.done_weight + left
    return max(live.run.progress, live.done_weight / whole if whole else 1.0)


class SomebodyElse(Exception):
    """Another worker has written meanwhile: what was known here is stale."""


def written(live: Live, **what: Any) -> None:
    if not progress.recorded(live.run, **what):
        forget(live.run.id)
        raise SomebodyElse("another worker has gone on with this run")
