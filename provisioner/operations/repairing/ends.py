"""What became of the segments of a run, and asking the nodes for them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import structlog

from backend.clusters.models import Node
from backend.repairs import progress
from backend.repairs.models import RepairSegment
from backend.repairs.planning.modes import RepairMode
from backend.repairs.planning.pace import (
    MIB,
    Effort,
    rate_after,
)
from backend.repairs.planning.segments import Segment, Table
from backend.repairs.states import RepairSegmentState
from provisioner.agent.base import AgentError, AgentRefused, Job
from provisioner.operations.repairing.live import Live, piece_of, share_done, waiting_row, weight, written
from provisioner.operations.repairing.look import ask_all, side_by_side, up

log = structlog.get_logger(__name__)

# How long an agent may say nothing about a segment before that is taken for lost.
SILENT_PATIENCE = timedelta(minutes=5)

_TABLE_GONE = frozenset({"table-not-found", "unknown-keyspace"})
_RING_CHANGED = frozenset({"not-a-replica", "ring-changing"})
# Not the segment's fault: it is tried again without being counted.
_NOT_COUNTED = _RING_CHANGED | {"repair-lost", "engine-not-running", "management-unreachable", "interrupted", "gone"}
_CANNOT = frozenset({"not-supported", "unknown-kind"})


def take_in_ended(live: Live, nodes: Mapping[str, Node], now: datetime) -> None:
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
    ends += ask(live, again, nodes)
    if not ends:
        return
    missing = _missing_tables(ends, nodes)
    changed: list[RepairSegment] = []
    fresh: list[RepairSegment] = []
    for row, job, code, message in ends:
        segment = live.segments.pop(row.pk)
        del live.rows[row.pk]
        row.finished_at = now
        began = row.started_at or now
        live.slots.end(segment)
        for node in segment.nodes:
            live.worked[node] = (now.timestamp(), (now - began).total_seconds())
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
            live.done_weight += weight(live, segment)
        fresh += [waiting_row(live.run, piece, row) for piece in pieces]
    written(
        live,
        changed=changed,
        fresh=fresh,
        segments_done=live.run.segments_done + sum(1 for row in changed if row.state == RepairSegmentState.DONE),
        segments_given_up=live.run.segments_given_up
        + sum(1 for row in changed if row.state == RepairSegmentState.GIVEN_UP),
        bytes_streamed=live.run.bytes_streamed + sum(row.bytes_streamed for row in changed),
        missing=live.run.missing + [{"keyspace": own.keyspace, "table": own.name} for own in missing],
        progress=max(live.run.progress, share_done(live)),
    )
    live.queue.pieces += [piece_of(row) for row in fresh]
    if live.rates:
        progress.rated(live.run.cluster_id, live.rates)


def _succeeded(live: Live, row: RepairSegment, segment: Segment, job: Job) -> None:
    row.state, row.error_code, row.error = RepairSegmentState.DONE, "", ""
    row.bytes_streamed = int(job.result.get("bytes_received", 0)) + int(job.result.get("bytes_sent", 0))
    row.engine_started_at = str(job.result.get("engine_started_at", ""))[:40]
    live.done_weight += weight(live, segment)
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


def ask(
    live: Live, rows: Sequence[RepairSegment], nodes: Mapping[str, Node], *, pace: Effort | None = None
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
