"""A run of repairs while it goes on: look at what runs, see how the nodes bear it, start what is next.

All that must survive is in rows: a segment is written before its node is asked, under a job name of its own, so whoever
comes after asks for the same job and starts nothing twice. What is kept here, in the process, is only the queue made
from those rows; it is made anew when somebody else has written, and when the ring has changed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog

from backend.clusters.models import Node
from backend.clusters.states import NodeState
from backend.clusters.windows import Window, next_opening, open_until
from backend.repairs import progress
from backend.repairs.models import RepairRun, RepairSchedule, RepairSegment, RepairTable
from backend.repairs.planning import tokens
from backend.repairs.planning.modes import RepairMode
from backend.repairs.planning.pace import (
    MIB,
    Brake,
    Effort,
    Load,
    Tolerance,
    braked,
    effort,
    rate_after,
    trouble_of,
)
from backend.repairs.planning.queue import Piece, Queue, Segment, Slots, Table, Work
from backend.repairs.planning.ring import Ring
from backend.repairs.planning.tokens import Range
from backend.repairs.queries import facts_of, windows_of
from backend.repairs.states import RepairSegmentState
from provisioner.agent.base import AgentError, AgentRefused, Job
from provisioner.agent.repairs import NodeLoad, RepairActivity
from provisioner.operations.base import Done, Outcome, Standing, Wait
from provisioner.operations.node_steps import live_nodes
from provisioner.operations.repair_look import ask_all, digest, read_rings, side_by_side, up

log = structlog.get_logger(__name__)

# Seconds between two looks: at the ring, and at how the nodes bear it.
RING_EVERY, LOAD_EVERY = 20.0, 10.0
# How long replicas that are down are waited for when nothing else is left; and an agent that does not answer about a
# segment, before that is taken for lost.
DOWN_PATIENCE = timedelta(minutes=15)
SILENT_PATIENCE = timedelta(minutes=5)
_MOST_LOOKED_AT = 48
_LOOK = 0.5
_MOST_STARTED = 64

_TABLE_GONE = frozenset({"table-not-found", "unknown-keyspace"})
_RING_CHANGED = frozenset({"not-a-replica", "ring-changing"})
# Not the segment's fault: it is tried again without being counted.
_NOT_COUNTED = _RING_CHANGED | {"repair-lost", "engine-not-running", "management-unreachable", "interrupted", "gone"}
_CANNOT = frozenset({"not-supported", "unknown-kind"})


@dataclass(kw_only=True)
class _Live:
    """`rows` and `segments` are those that run, by the row's id. Clock times are seconds since 1970."""

    run: RepairRun
    queue: Queue
    slots: Slots
    rows: dict[int, RepairSegment]
    segments: dict[int, Segment]
    done_weight: float = 0.0
    ring_at: float = 0.0
    load_at: float = 0.0
    counters: dict[str, tuple[datetime, int]] = field(default_factory=dict)
    silent_since: dict[str, datetime] = field(default_factory=dict)
    busy_elsewhere: frozenset[str] = frozenset()
    rates: dict[Table, float] = field(default_factory=dict)


_LIVE: dict[str, _Live] = {}


def forget(run_id: str) -> None:
    _LIVE.pop(run_id, None)


def go_on(run: RepairRun, *, pause_wanted: bool) -> Outcome:
    """One look. Done when nothing is left and the nodes' limits are as they were."""
    nodes = {node.id: node for node in live_nodes(run.cluster)}
    now = datetime.now(UTC)
    schedule = RepairSchedule.objects.filter(cluster_id=run.cluster_id).first() or RepairSchedule(
        cluster_id=run.cluster_id, due_at=now
    )
    live = _live(run, list(nodes.values()), now)
    _take_in_ended(live, nodes, now, schedule)
    _see_how_nodes_bear_it(live, nodes, schedule, now)
    windows = [] if run.asked.get("any_time") else windows_of(schedule.windows)
    pace = effort(schedule.intensity * float(run.brake.get("factor", 1.0)))
    closes = open_until(windows, now)
    is_closed = closes is not None and closes <= now
    if live.queue.is_empty and not live.rows:
        return _put_back(live, nodes) or Done(_summary(live))
    if pause_wanted and not live.rows:
        return _put_back(live, nodes) or Standing(f"Paused: {_summary(live)}")
    if is_closed and not live.rows:
        opens = next_opening(windows, now)
        return _put_back(live, nodes) or _closed(live, opens, now)
    if not pause_wanted and not is_closed:
        _set_pace(live, nodes, pace.stream_mib_s)
        left = (closes - now).total_seconds() if closes is not None else float("inf")
        _start(live, nodes, schedule, pace, left, now)
    return _say(live, nodes, pace, windows, now, pause_wanted=pause_wanted)


def stop(run: RepairRun, *, patient: bool) -> Outcome:
    """Ends what this run has running, and puts limits back. `patient`: nodes that do not answer are waited for."""
    forget(run.id)
    nodes = {node.id: node for node in live_nodes(run.cluster)}
    rows = [row for row in run.segments.filter(state=RepairSegmentState.RUNNING) if row.coordinator in nodes]

    def end(agent: Any, row: RepairSegment) -> None:
        try:
            agent.delete_job(row.job)
        except AgentRefused as error:
            if error.code != "job-not-found":
                raise

    for answer in side_by_side(rows, lambda row: nodes[row.coordinator], end):
        if isinstance(answer, AgentError) and patient:
            raise answer
    live = _Live(run=run, queue=Queue({}, ()), slots=Slots(), rows={}, segments={})
    return (_put_back(live, nodes) if patient else None) or Done("Nothing of it runs any more")


# The queue, made from rows


def _live(run: RepairRun, nodes: Sequence[Node], now: datetime) -> _Live:
    known = _LIVE.get(run.id)
    if known is not None and known.run.revision == run.revision:
        known.run = run
        if now.timestamp() - known.ring_at < RING_EVERY:
            return known
        rings = _rings(run, nodes)
        known.ring_at = now.timestamp()
        if digest(rings) == run.ring:
            return known
    else:
        rings = _rings(run, nodes)
    live = _LIVE[run.id] = _made_from_rows(run, rings, known)
    live.ring_at = now.timestamp()
    return live


def _rings(run: RepairRun, nodes: Sequence[Node]) -> dict[str, Ring]:
    wanted = {own["keyspace"] for own in run.works}
    rows = RepairTable.objects.filter(cluster_id=run.cluster_id, keyspace__in=wanted)
    return read_rings(nodes, [facts_of(row) for row in rows])


def _made_from_rows(run: RepairRun, rings: Mapping[str, Ring], before: _Live | None) -> _Live:
    works = [own for own in progress.works_of(run) if own.table.keyspace in rings]
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
    slots = Slots(rests_until=dict(before.slots.rests_until) if before is not None else {})
    segments = {pk: _segment(row) for pk, row in running.items()}
    for segment in segments.values():
        slots.start(segment)
    live = _Live(run=run, queue=queue, slots=slots, rows=running, segments=segments, done_weight=done_weight)
    if before is not None:
        live.load_at, live.counters, live.silent_since = before.load_at, before.counters, before.silent_since
        live.busy_elsewhere, live.rates = before.busy_elsewhere, before.rates
    replaced, fresh = [], []
    for row in waiting:
        parts = queue.parts(_piece(row)) if row.keyspace in rings else []
        if len(parts) == 1 and parts[0].tables == tuple(row.tables):
            queue.pieces += parts
            continue
        # Its ring has changed, or a table of it is gone: others stand in its place.
        row.state = RepairSegmentState.REPLACED
        replaced.append(row)
        fresh += [_waiting(run, part, row) for part in parts]
    new_ring = digest(rings)
    if (replaced or new_ring != run.ring) and progress.recorded(run, changed=replaced, fresh=fresh, ring=new_ring):
        queue.pieces += [_piece(row) for row in fresh]
    return live


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


def _piece(row: RepairSegment) -> Piece:
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


def _waiting(run: RepairRun, piece: Piece, after: RepairSegment) -> RepairSegment:
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


# What ended


def _take_in_ended(live: _Live, nodes: Mapping[str, Node], now: datetime, schedule: RepairSchedule) -> None:
    rows = [row for row in live.rows.values() if row.coordinator in nodes]
    answers = side_by_side(rows, lambda row: nodes[row.coordinator], lambda agent, row: agent.job(row.job))
    ends: list[tuple[RepairSegment, Job | None, str, str]] = [
        (row, None, "gone", "The node that coordinated it is no member any more.")
        for row in live.rows.values()
        if row.coordinator not in nodes
    ]
    again: list[RepairSegment] = []
    for row, answer in zip(rows, answers, strict=True):
        if isinstance(answer, AgentRefused) and answer.code == "job-not-found":
            # Written down, and nobody came to ask for it; or the machine is another one now.
            again.append(row)
        elif isinstance(answer, AgentError):
            since = live.silent_since.setdefault(row.coordinator, now)
            if now - since > SILENT_PATIENCE:
                ends.append((row, None, "gone", f"The agent of its coordinator does not answer: {answer}"))
        else:
            live.silent_since.pop(row.coordinator, None)
            if answer.state == "succeeded":
                ends.append((row, answer, "", ""))
            elif answer.state == "failed":
                ends.append((row, None, answer.error_code, answer.error_message))
    ends += _ask(live, again, nodes)
    if not ends:
        return
    pace = effort(schedule.intensity * float(live.run.brake.get("factor", 1.0)))
    missing = _missing_tables(ends, nodes)
    changed: list[RepairSegment] = []
    fresh: list[RepairSegment] = []
    for row, job, code, message in ends:
        segment = live.segments.pop(row.pk)
        del live.rows[row.pk]
        row.finished_at = now
        began = row.started_at or now
        rest = pace.rest_after((now - began).total_seconds())
        live.slots.end(segment, rest_until=now.timestamp() + rest if rest > 0.5 else 0.0)
        changed.append(row)
        if job is not None:
            _succeeded(live, row, segment, job)
            continue
        row.error_code, row.error = code, message[:2000]
        row.state = RepairSegmentState.REPLACED
        if code in _RING_CHANGED:
            live.ring_at = 0.0
        for table in missing:
            live.queue.drop(table)
        if code == "repair-not-possible" and segment.mode is RepairMode.INCREMENTAL:
            pieces = live.queue.after_failure(segment, now=now.timestamp(), counts=False)
            pieces = [replace(own, mode=RepairMode.FULL) for own in pieces]
        else:
            counts = code not in _NOT_COUNTED and not (code in _TABLE_GONE and missing)
            pieces = live.queue.after_failure(segment, now=now.timestamp(), counts=counts)
        if code in _TABLE_GONE and missing:
            pieces = [replace(own, not_before=now.timestamp()) for own in pieces]
        if code in _CANNOT:
            pieces = []
        log.info("segment failed", run=live.run.id, segment=row.pk, code=code, again=len(pieces))
        kept = [name for name in row.tables if Table(row.keyspace, name) not in missing]
        if not pieces and kept:
            row.state = RepairSegmentState.GIVEN_UP
            live.done_weight += _weight(live, segment)
        fresh += [_waiting(live.run, piece, row) for piece in pieces]
    _written(
        live,
        changed=changed,
        fresh=fresh,
        segments_done=live.run.segments_done + sum(1 for row in changed if row.state == RepairSegmentState.DONE),
        segments_given_up=live.run.segments_given_up
        + sum(1 for row in changed if row.state == RepairSegmentState.GIVEN_UP),
        bytes_streamed=live.run.bytes_streamed + sum(row.bytes_streamed for row in changed),
        missing=live.run.missing + [{"keyspace": own.keyspace, "table": own.name} for own in missing],
        progress=max(live.run.progress, _progress(live)),
    )
    live.queue.pieces += [_piece(row) for row in fresh]
    if live.rates:
        progress.rated(live.run.cluster_id, live.rates)


def _succeeded(live: _Live, row: RepairSegment, segment: Segment, job: Job) -> None:
    row.state, row.error_code, row.error = RepairSegmentState.DONE, "", ""
    row.bytes_streamed = int(job.result.get("bytes_received", 0)) + int(job.result.get("bytes_sent", 0))
    row.engine_started_at = str(job.result.get("engine_started_at", ""))[:40]
    live.done_weight += _weight(live, segment)
    tables = [Table(segment.keyspace, name) for name in segment.tables]
    before = next((live.queue.works[table].rate for table in tables if table in live.queue.works), None)
    if before is not None and segment.bytes > MIB:
        rate = rate_after(before, copied=segment.bytes, seconds=float(job.result.get("seconds", 0.0)))
        live.queue.rated(tables, rate)
        live.rates.update(dict.fromkeys(tables, rate))


def _missing_tables(
    ends: Sequence[tuple[RepairSegment, Job | None, str, str]], nodes: Mapping[str, Node]
) -> set[Table]:
    """Of the segments whose tables were not found those tables that really are gone."""
    asked = {Table(row.keyspace, name) for row, _, code, _ in ends if code in _TABLE_GONE for name in row.tables}
    if not asked:
        return set()
    told = ask_all(up(nodes.values())[:1], lambda agent: agent.tables())
    there = {Table(own.keyspace, own.table) for schema in told.values() for own in schema.tables}
    return asked - there if told else set()


# How the nodes bear it


def _see_how_nodes_bear_it(live: _Live, nodes: Mapping[str, Node], schedule: RepairSchedule, now: datetime) -> None:
    if now.timestamp() - live.load_at < LOAD_EVERY:
        return
    live.load_at = now.timestamp()
    at_work = {node for segment in live.segments.values() for node in segment.nodes}
    serving = up(nodes.values())
    asked = sorted(serving, key=lambda node: node.id not in at_work)[:_MOST_LOOKED_AT]
    loads = ask_all(asked, lambda agent: agent.load())
    activities = ask_all(asked, lambda agent: agent.repairs())
    tolerance = Tolerance(read_p99_ms=schedule.read_p99_target_ms)
    trouble, holds = "", False
    for node_id, load in loads.items():
        why, stops = trouble_of(_load(live, nodes[node_id], load), tolerance)
        trouble, holds = trouble or why, holds or stops
    stored = live.run.brake
    brake = Brake(**stored) if stored else Brake()
    after = braked(brake, trouble, holds=holds, now=now.timestamp())
    foreign = _foreign(live, nodes, activities)
    live.busy_elsewhere = frozenset(own["node_id"] for own in foreign)
    if after != brake or foreign != live.run.foreign:
        _written(live, brake=asdict(after), foreign=foreign)


def _load(live: _Live, node: Node, told: NodeLoad) -> Load:
    started, before = live.counters.get(node.id, (told.engine_started_at, told.dropped_messages))
    live.counters[node.id] = (told.engine_started_at, told.dropped_messages)
    return Load(
        node=node.name,
        pending_compactions=told.pending_compactions,
        dropped=max(0, told.dropped_messages - before) if started == told.engine_started_at else 0,
        read_p99_ms=told.read_p99_ms,
        # A machine that does not tell of its disk is not braked for it.
        disk_free_bytes=told.disk_free_bytes if told.disk_total_bytes else 2 * told.largest_table_bytes,
        disk_total_bytes=told.disk_total_bytes,
        largest_table_bytes=told.largest_table_bytes,
    )


def _foreign(live: _Live, nodes: Mapping[str, Node], activities: Mapping[str, RepairActivity]) -> list[dict[str, Any]]:
    """Repairs that this run has not begun, and one of its own that was given up for lost and goes on all the same."""
    jobs = {row.job for row in live.rows.values()}
    ours = {one.id for activity in activities.values() for one in activity.repairs if one.job in jobs}
    addresses = {nodes[row.coordinator].address for row in live.rows.values() if row.coordinator in nodes}
    found = []
    for node_id, activity in sorted(activities.items()):
        for one in activity.repairs:
            mine = one.id in ours or (not one.job and one.coordinator in addresses)
            if not mine:
                found.append({"node_id": node_id, "keyspace": one.keyspace, "tables": list(one.tables)})
    return found


def _set_pace(live: _Live, nodes: Mapping[str, Node], mib_s: int | None) -> bool:
    """Sets what nodes may send, on those where it is not set yet; None: as configured. Whether all know."""
    pace = live.run.pace
    if pace.get("mib_s") != mib_s:
        number = int(pace.get("number", 0)) + 1
        pace = {"mib_s": mib_s, "number": number, "told": []}
        _written(live, pace=pace)
    waiting = [node for node in up(nodes.values()) if node.id not in pace.get("told", ())]
    if not waiting or not pace:
        return True
    name = f"repair-pace-{live.run.id}-{pace['number']}"
    wanted = {"stream_mib_s": mib_s, "compaction_mib_s": None}
    answers = side_by_side(
        waiting, lambda node: node, lambda agent, _: agent.ensure_job(name, "set-throughput", wanted, wait_seconds=1.0)
    )
    told = [
        node.id
        for node, answer in zip(waiting, answers, strict=True)
        # An engine that has no such limits says so, and there is nothing to put back.
        if (isinstance(answer, Job) and answer.state != "running") or isinstance(answer, AgentRefused)
    ]
    if told:
        _written(live, pace=pace | {"told": [*pace["told"], *told]})
    return len(told) == len(waiting)


def _put_back(live: _Live, nodes: Mapping[str, Node]) -> Outcome | None:
    """None when the nodes' limits are as configured. A node that is down has them so when it starts."""
    if not live.run.pace or _set_pace(live, nodes, None):
        return None
    return Wait(1, "the nodes to have their limits back")


# What is next


def _start(
    live: _Live, nodes: Mapping[str, Node], schedule: RepairSchedule, pace: Effort, left: float, now: datetime
) -> None:
    if live.run.brake.get("holds"):
        return
    live.slots.slots = pace.slots if not live.run.brake.get("reason") else 1
    most = schedule.parallelism or len(nodes)

    def is_up(node_id: str) -> bool:
        node = nodes.get(node_id)
        return (
            node is not None
            and node.state == NodeState.UP
            and node_id not in live.busy_elsewhere
            and node_id not in live.silent_since
        )

    fresh: list[tuple[RepairSegment, Segment]] = []
    again: list[tuple[RepairSegment, Segment]] = []
    waiting = (
        {row.pk: row for row in live.run.segments.filter(state=RepairSegmentState.WAITING)}
        if (live.queue.pieces)
        else {}
    )
    while len(fresh) + len(again) < _MOST_STARTED and live.slots.going < most:
        segment = live.queue.take(live.slots, now=now.timestamp(), is_up=is_up, most_seconds=left)
        if segment is None:
            break
        live.slots.start(segment)
        row = waiting.get(segment.key)
        (fresh if row is None else again).append((row or _row(live.run, segment), segment))
    if not fresh and not again:
        return
    for row, segment in (*fresh, *again):
        row.state = RepairSegmentState.RUNNING
        row.nodes, row.coordinator = list(segment.nodes), segment.coordinator
        row.expected_bytes, row.expected_seconds = segment.bytes, segment.seconds
        row.started_at, row.not_before = now, None
    _written(
        live,
        changed=[row for row, _ in again],
        fresh=[row for row, _ in fresh],
        idle_since=None,
        note="",
    )
    for row, segment in (*fresh, *again):
        live.rows[row.pk], live.segments[row.pk] = row, segment
    started = [row for row, _ in (*fresh, *again)]
    # What could not be asked for is asked for again at the next look, as the row says that it runs.
    _ask(live, started, nodes, pace=pace)


def _row(run: RepairRun, segment: Segment) -> RepairSegment:
    return RepairSegment(
        run=run,
        keyspace=segment.keyspace,
        tables=list(segment.tables),
        mode=segment.mode,
        ranges=[list(own) for own in segment.ranges],
        failures=segment.failures,
        splits=segment.splits,
    )


def _ask(
    live: _Live, rows: Sequence[RepairSegment], nodes: Mapping[str, Node], *, pace: Effort | None = None
) -> list[tuple[RepairSegment, Job | None, str, str]]:
    """Asks the coordinators for the jobs of these rows. Those that were refused for good."""
    threads = pace.job_threads if pace is not None else 1

    def parameters(row: RepairSegment) -> dict[str, Any]:
        wanted: dict[str, Any] = {
            "keyspace": row.keyspace,
            "tables": list(row.tables),
            "mode": row.mode,
            "ranges": [{"start": str(start), "end": str(end)} for start, end in row.ranges],
            "job_threads": threads,
            "optimise_streams": True,
        }
        if row.mode == RepairMode.PULL:
            wanted["hosts"] = [nodes[node].address for node in row.nodes]
        return wanted

    asked = [(row, parameters(row)) for row in rows]
    answers = side_by_side(
        asked,
        lambda one: nodes[one[0].coordinator],
        lambda agent, one: agent.ensure_job(one[0].job, "repair", one[1]),
    )
    refused: list[tuple[RepairSegment, Job | None, str, str]] = []
    for row, answer in zip(rows, answers, strict=True):
        if isinstance(answer, AgentRefused):
            refused.append((row, None, answer.code, answer.message))
    return refused


# What is said


def _say(
    live: _Live,
    nodes: Mapping[str, Node],
    pace: Effort,
    windows: Sequence[Window],
    now: datetime,
    *,
    pause_wanted: bool,
) -> Outcome:
    done = _progress(live)
    if live.rows:
        going = len(live.rows)
        words = f"{going} segment{'s' if going > 1 else ''} running; {live.run.segments_done} done"
        if pause_wanted:
            return Wait(_LOOK, f"{words}; it pauses when these have ended", done)
        at_once = max(1, min(going, len(nodes)))
        eta = sum(bundle.seconds_left for bundle in live.queue.bundles) / at_once / pace.duty if not windows else None
        return Wait(_LOOK, words, done, eta_seconds=eta)
    note, seconds, only_down = _why_nothing_runs(live, nodes, now)
    if not only_down:
        if live.run.note != note or live.run.idle_since is not None:
            _written(live, note=note, idle_since=None)
        return Wait(seconds, note, done)
    since = live.run.idle_since
    # Whoever stopped a node on purpose does not start it for a repair.
    stopped = any(node.state == NodeState.STOPPED for node in nodes.values())
    if since is None and not stopped:
        _written(live, note=note, idle_since=now)
    elif stopped or (since is not None and now - since > DOWN_PATIENCE):
        _give_up_the_rest(live, note, now)
        return Wait(0, "It ends without the ranges whose replicas are down", done)
    return Wait(5, note, done)


def _why_nothing_runs(live: _Live, nodes: Mapping[str, Node], now: datetime) -> tuple[str, float, bool]:
    """In words; in how many seconds to look again; and whether replicas that are down are all that is waited for."""
    if live.run.brake.get("holds"):
        return f"Nothing new is started: {live.run.brake.get('reason')}", 5, False
    if live.busy_elsewhere:
        return "A repair that somebody else began is waited for", 5, False
    rest = min((at for at in live.slots.rests_until.values() if at > now.timestamp()), default=None)
    if rest is not None:
        return "The nodes rest between segments", max(_LOOK, min(rest - now.timestamp(), 10)), False
    again = live.queue.next_try()
    if again is not None and again > now.timestamp():
        return "What failed is tried again soon", max(_LOOK, min(again - now.timestamp(), 10)), False
    down = [node.name for node in nodes.values() if node.state != NodeState.UP or node.id in live.silent_since]
    for node_id in list(live.silent_since):
        if _answers(nodes.get(node_id)):
            del live.silent_since[node_id]
    return f"Replicas that are down are waited for: {', '.join(down) or 'some'}", 5, True


def _answers(node: Node | None) -> bool:
    """Whether a node that was silent answers again, or is none of ours any more."""
    return node is None or bool(ask_all([node], lambda agent: agent.status()))


def _give_up_the_rest(live: _Live, why: str, now: datetime) -> None:
    waiting = list(live.run.segments.filter(state=RepairSegmentState.WAITING))
    for row in waiting:
        row.state = RepairSegmentState.REPLACED
    fresh = [
        RepairSegment(
            run=live.run,
            keyspace=table.keyspace,
            tables=[table.name],
            mode=live.queue.works[table].mode,
            ranges=[list(own) for own in ranges],
            nodes=[],
            coordinator="",
            state=RepairSegmentState.GIVEN_UP,
            finished_at=now,
            error_code="replica-down",
            error=why,
        )
        for table, ranges in live.queue.left().items()
        if ranges
    ]
    _written(live, changed=waiting, fresh=fresh, segments_given_up=live.run.segments_given_up + len(fresh))
    forget(live.run.id)


def _closed(live: _Live, opens: datetime | None, now: datetime) -> Wait:
    if opens is None:
        words, seconds = "Waits for a window, and none opens: change the windows", 60.0
    else:
        words, seconds = f"Waits for the window that opens at {opens:%Y-%m-%d %H:%M} UTC", (opens - now).total_seconds()
    if live.run.note != words:
        _written(live, note=words)
    return Wait(min(60.0, max(1.0, seconds)), words, _progress(live))


def _summary(live: _Live) -> str:
    given_up = f", {live.run.segments_given_up} given up" if live.run.segments_given_up else ""
    return f"{live.run.segments_done} segments repaired{given_up}"


def _weight(live: _Live, segment: Segment) -> float:
    works = [live.queue.works.get(Table(segment.keyspace, name)) for name in segment.tables]
    return tokens.width(segment.ranges) * sum(_of(work) for work in works if work is not None)


def _of(work: Work) -> float:
    return float(work.bytes + MIB)


def _progress(live: _Live) -> float:
    """0 to 1, by bytes; that of the run never falls, whatever is planned anew."""
    left = sum(bundle.left * sum(map(_of, bundle.works)) for bundle in live.queue.bundles)
    for piece in live.queue.pieces:
        works = [live.queue.works.get(Table(piece.keyspace, name)) for name in piece.tables]
        left += tokens.width(piece.ranges) * sum(_of(work) for work in works if work is not None)
    left += sum(_weight(live, segment) for segment in live.segments.values())
    whole = live.done_weight + left
    return max(live.run.progress, live.done_weight / whole if whole else 1.0)


class _SomebodyElse(Exception):
    """Another worker has written meanwhile: what was known here is stale."""


def _written(live: _Live, **what: Any) -> None:
    if not progress.recorded(live.run, **what):
        forget(live.run.id)
        raise _SomebodyElse("another worker has gone on with this run")
