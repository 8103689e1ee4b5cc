"""A run of repairs while it goes on: look at what runs, see how the nodes bear it, start what is next.

All that must survive is in rows: a segment is written before its node is asked, under a job name of its own, so whoever
comes after asks for the same job and starts nothing twice. What is kept here, in the process, is only the queue made
from those rows; it is made anew when somebody else has written, and when the ring has changed.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from backend.clusters.models import Node
from backend.clusters.states import NodeState
from backend.clusters.windows import next_opening, open_until
from backend.repairs.models import RepairRun, RepairSchedule, RepairSegment
from backend.repairs.planning.pace import (
    Effort,
    effort,
)
from backend.repairs.planning.queue import Queue
from backend.repairs.planning.segments import Segment, Slots
from backend.repairs.queries import windows_of
from backend.repairs.states import RepairSegmentState
from provisioner.agent.base import AgentError, AgentRefused
from provisioner.operations.base import Done, Outcome, Standing
from provisioner.operations.node_steps import live_nodes
from provisioner.operations.repairing.bearing import put_back, see_how_nodes_bear_it, set_pace
from provisioner.operations.repairing.ends import ask, take_in_ended
from provisioner.operations.repairing.live import Live, forget, live_of, written
from provisioner.operations.repairing.look import side_by_side
from provisioner.operations.repairing.saying import closed, say, summary

_MOST_STARTED = 64


def go_on(run: RepairRun, *, pause_wanted: bool) -> Outcome:
    """One look. Done when nothing is left and the nodes' limits are as they were."""
    nodes = {node.id: node for node in live_nodes(run.cluster)}
    now = datetime.now(UTC)
    schedule = RepairSchedule.objects.filter(cluster_id=run.cluster_id).first() or RepairSchedule(
        cluster_id=run.cluster_id, due_at=now
    )
    live = live_of(run, list(nodes.values()), now)
    take_in_ended(live, nodes, now)
    see_how_nodes_bear_it(live, nodes, schedule, now)
    windows = [] if run.asked.get("any_time") else windows_of(schedule.windows)
    pace = effort(schedule.intensity * float(run.brake.get("factor", 1.0)))
    live.let_rest(pace)
    closes = open_until(windows, now)
    is_closed = closes is not None and closes <= now
    if live.queue.is_empty and not live.rows:
        return put_back(live, nodes) or Done(summary(live))
    if pause_wanted and not live.rows:
        return put_back(live, nodes) or Standing(f"Paused: {summary(live)}")
    if is_closed and not live.rows:
        opens = next_opening(windows, now)
        return put_back(live, nodes) or closed(live, opens, now)
    if not pause_wanted and not is_closed:
        set_pace(live, nodes, pace.stream_mib_s)
        left = (closes - now).total_seconds() if closes is not None else float("inf")
        _start(live, nodes, schedule, pace, left, now)
    return say(live, nodes, pace, windows, now, pause_wanted=pause_wanted)


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
    live = Live(run=run, queue=Queue({}, ()), slots=Slots(), rows={}, segments={})
    return (put_back(live, nodes) if patient else None) or Done("Nothing of it runs any more")


def _start(
    live: Live, nodes: Mapping[str, Node], schedule: RepairSchedule, pace: Effort, left: float, now: datetime
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
    waiting: dict[int, RepairSegment] = {}
    if live.queue.pieces:
        waiting = {row.pk: row for row in live.run.segments.filter(state=RepairSegmentState.WAITING)}
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
    written(
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
    ask(live, started, nodes, pace=pace)


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
