"""Reading repairs: schedule, tables with what protects them, runs, their segments, and what a run would come to."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db.models import Q
from django.db.models.functions import Now

from backend.accounts.queries import Identity
from backend.accounts.states import Permission
from backend.clusters.models import Cluster, Node
from backend.clusters.queries import cluster_not_found, clusters, openings
from backend.clusters.states import SERVING, ClusterState, Weekday
from backend.clusters.windows import Window, is_open, next_opening
from backend.core.errors import Invalid, NotFound
from backend.core.pagination import PageQuery, page
from backend.core.schemas import allowed
from backend.operations.models import Operation
from backend.operations.states import OPEN
from backend.repairs.models import RepairRun, RepairSchedule, RepairSegment, RepairTable
from backend.repairs.planning import tokens
from backend.repairs.planning.forecast import done_at, forecast
from backend.repairs.planning.modes import (
    USUAL_DEADLINE,
    RepairMode,
    RepairWish,
    TableFacts,
    Wanted,
    choose,
    deadline_of,
)
from backend.repairs.planning.pace import MOST, effort
from backend.repairs.planning.queue import Queue
from backend.repairs.planning.ring import Member
from backend.repairs.planning.segments import Table
from backend.repairs.planning.selection import Asked, Known, rings_of, select
from backend.repairs.planning.tokens import Range
from backend.repairs.states import (
    WEIGHTS,
    RepairPriority,
    RepairProtection,
    RepairRunState,
    RepairSegmentState,
    protection,
    reason_against_repairing,
)

RUN = "run_repair"
# Parts that a map of the ring is told in, per table.
_CELLS = 96


def due_schedules(at_most: int) -> list[RepairSchedule]:
    """Those whose run shall begin now, longest due first, of clusters that serve and repair nothing. One statement."""
    rows = RepairSchedule.objects.filter(enabled=True, due_at__lte=Now(), cluster__state__in=SERVING)
    return list(rows.select_related("cluster").order_by("due_at")[:at_most])


def find_cluster(who: Identity, cluster_id: str) -> Cluster:
    """Raises NotFound."""
    found = clusters(who).filter(id=cluster_id).first()
    if found is None:
        raise cluster_not_found()
    return found


def windows_of(stored: Sequence[Mapping[str, Any]]) -> list[Window]:
    """Of a schedule's column."""
    return [
        Window(
            weekdays=frozenset(list(Weekday).index(Weekday(day)) for day in one["weekdays"]),
            starts_at=time.fromisoformat(one["starts_at"]),
            minutes=one["minutes"],
            time_zone=one["time_zone"],
            excluded_dates=frozenset(date.fromisoformat(day) for day in one["excluded_dates"]),
        )
        for one in stored
    ]


def get_repairs(who: Identity, cluster_id: str) -> dict[str, Any]:
    """How a cluster is repaired, what runs now, and how well its tables are protected. Raises NotFound."""
    cluster = find_cluster(who, cluster_id)
    now = datetime.now(UTC)
    schedule = RepairSchedule.objects.filter(cluster=cluster).first()
    rows = list(RepairTable.objects.filter(cluster=cluster))
    counts = dict.fromkeys((each.value for each in RepairProtection), 0)
    for row in rows:
        counts[_protection(row, now).value] += 1
    current = RepairRun.objects.filter(cluster=cluster, state=RepairRunState.RUNNING).first()
    return {
        "schedule": None if schedule is None else schedule_shape(schedule, now),
        "looked_at": None if schedule is None else schedule.looked_at,
        "tables": counts,
        "current_run": None if current is None else run_shape(current),
        "allowed_actions": [allowed(RUN, against_run(who, cluster))],
    }


def against_run(who: Identity, cluster: Cluster) -> str | None:
    busy = Operation.objects.filter(cluster_id=cluster.id, kind="repair", state__in=OPEN).first()
    return reason_against_repairing(
        ClusterState(cluster.state),
        may=Permission.CLUSTERS_WRITE in who.permissions,
        nodes=cluster.nodes.filter(deleted_at=None).count(),
        busy_kind=None if busy is None else busy.kind,
    )


def schedule_shape(row: RepairSchedule, now: datetime) -> dict[str, Any]:
    windows = windows_of(row.windows)
    return {
        "enabled": row.enabled,
        "every_hours": row.every_hours,
        "intensity": row.intensity,
        "parallelism": row.parallelism,
        "read_p99_target_ms": row.read_p99_target_ms,
        "windows": row.windows,
        "open_now": is_open(windows, now),
        "next_opening": next_opening(windows, now),
        "openings": openings(windows, now),
        "next_run_at": row.due_at if row.enabled else None,
    }


def list_tables(
    who: Identity, cluster_id: str, *, keyspace: str | None, limit: int, after: str | None
) -> dict[str, Any]:
    """In the order of their names. Raises NotFound."""
    cluster = find_cluster(who, cluster_id)
    now = datetime.now(UTC)
    rows = RepairTable.objects.filter(cluster=cluster)
    if keyspace is not None:
        rows = rows.filter(keyspace=keyspace)
    if after is not None:
        before_keyspace, _, before_name = after.partition(".")
        rows = rows.filter(Q(keyspace__gt=before_keyspace) | Q(keyspace=before_keyspace, name__gt=before_name))
    found = list(rows.order_by("keyspace", "name")[: limit + 1])
    items = [_table(row, now) for row in found[:limit]]
    more = len(found) > limit
    return {
        "items": items,
        "next_cursor": f"{items[-1]['keyspace']}.{items[-1]['table']}" if more else None,
    }


def get_table(who: Identity, cluster_id: str, keyspace: str, name: str) -> dict[str, Any]:
    return _table(find_table(find_cluster(who, cluster_id), keyspace, name), datetime.now(UTC))


def find_table(cluster: Cluster, keyspace: str, name: str) -> RepairTable:
    """Raises NotFound."""
    row = RepairTable.objects.filter(cluster=cluster, keyspace=keyspace, name=name).first()
    if row is None:
        raise NotFound(
            "table_not_found",
            f"No table {keyspace}.{name} is known.",
            hint="List the cluster's tables; a table that was just made is known after the next repair began.",
        )
    return row


def facts_of(row: RepairTable) -> TableFacts:
    return TableFacts(keyspace=row.keyspace, name=row.name, **row.facts)


def known_of(row: RepairTable) -> Known:
    hours = row.deadline_hours
    return Known(
        facts=facts_of(row),
        wanted=Wanted(wish=RepairWish(row.wish), deadline=USUAL_DEADLINE if hours is None else hours * 3600.0),
        weight=WEIGHTS[RepairPriority(row.priority)],
        rate=row.rate,
        repaired_at=None if row.repaired_at is None else row.repaired_at.timestamp(),
        checked_at=None if row.checked_at is None else row.checked_at.timestamp(),
    )


def _choose(row: RepairTable, now: datetime) -> tuple[Known, RepairMode, str]:
    known = known_of(row)
    ago = None if known.checked_at is None else now.timestamp() - known.checked_at
    choice = choose(known.facts, known.wanted, checked_ago=ago)
    return known, choice.mode, choice.why


def _protection(row: RepairTable, now: datetime) -> RepairProtection:
    known, mode, _ = _choose(row, now)
    needed = mode is not RepairMode.SKIP and known.facts.gc_grace > 0
    return protection(row.repaired_at, seconds=known.facts.gc_grace, now=now, needed=needed)


def protection_of(
    cluster: Cluster, names: Sequence[tuple[str, str]], now: datetime
) -> dict[tuple[str, str], RepairProtection]:
    """Of those of the tables (keyspace, table) that are known."""
    rows = RepairTable.objects.filter(
        cluster=cluster, keyspace__in={k for k, _ in names}, name__in={n for _, n in names}
    )
    return {(row.keyspace, row.name): _protection(row, now) for row in rows.defer("coverage")}


def tables_that_need_repair(cluster_ids: Sequence[str], now: datetime) -> Iterator[tuple[RepairTable, float]]:
    """Tables whose deletions a repair must bring to all replicas in time, with their gc_grace in seconds."""
    rows = RepairTable.objects.filter(cluster__in=cluster_ids).defer("coverage").order_by("id")
    for row in rows.iterator():
        if _protection(row, now) is not RepairProtection.NOT_NEEDED:
            yield row, facts_of(row).gc_grace


def _table(row: RepairTable, now: datetime) -> dict[str, Any]:
    known, mode, why = _choose(row, now)
    facts = known.facts
    until = None if row.repaired_at is None else row.repaired_at + timedelta(seconds=facts.gc_grace)
    return {
        "keyspace": row.keyspace,
        "table": row.name,
        "bytes": facts.bytes,
        "unrepaired_bytes": facts.unrepaired_bytes,
        "replicas": facts.replicas,
        "gc_grace_seconds": round(facts.gc_grace),
        "mode": mode.value,
        "mode_reason": why,
        "policy": {"mode": row.wish, "deadline_hours": row.deadline_hours, "priority": row.priority},
        "deadline_seconds": round(deadline_of(facts, known.wanted)),
        "repaired_at": row.repaired_at,
        "protected_until": until,
        "protection": _protection(row, now).value,
        "last_run_id": row.last_run_id or None,
        "last_mode": row.last_mode or None,
    }


def list_runs(who: Identity, cluster_id: str, query: PageQuery) -> dict[str, Any]:
    """Newest first. Raises NotFound."""
    cluster = find_cluster(who, cluster_id)
    return page(
        RepairRun.objects.filter(cluster=cluster).values(*_RUN_COLUMNS), query, lambda row: run_shape(RepairRun(**row))
    )


def get_run(who: Identity, cluster_id: str, run_id: str) -> dict[str, Any]:
    """With its plan. Raises NotFound."""
    run = find_run(who, cluster_id, run_id)
    return run_shape(run) | {
        "tables": [
            {"keyspace": own["keyspace"], "table": own["table"], "mode": own["mode"], "bytes": own["bytes"]}
            for own in run.works
        ],
        "skipped": run.skipped,
        "missing": run.missing,
        "foreign": run.foreign,
    }


def find_run(who: Identity, cluster_id: str, run_id: str) -> RepairRun:
    """Raises NotFound."""
    run = RepairRun.objects.filter(cluster=find_cluster(who, cluster_id), id=run_id).first()
    if run is None:
        raise NotFound("repair_run_not_found", "There is no such repair.", hint="List the cluster's to see their ids.")
    return run


_RUN_COLUMNS = (
    "id",
    "operation_id",
    "reason",
    "state",
    "asked",
    "segments_expected",
    "segments_done",
    "segments_given_up",
    "bytes_streamed",
    "progress",
    "brake",
    "note",
    "created_at",
    "started_at",
    "finished_at",
)


def run_shape(run: RepairRun) -> dict[str, Any]:
    return {
        "id": run.id,
        "operation_id": run.operation_id,
        "reason": run.reason,
        "state": run.state,
        "asked": {
            "tables": run.asked.get("tables", []),
            "mode": run.asked.get("mode"),
            "node_id": run.asked.get("node") or None,
            "any_time": run.asked.get("any_time", False),
        },
        "progress": run.progress,
        "segments_expected": run.segments_expected,
        "segments_done": run.segments_done,
        "segments_given_up": run.segments_given_up,
        "bytes_streamed": run.bytes_streamed,
        "brake": {"factor": run.brake.get("factor", 1.0), "reason": run.brake.get("reason", "")},
        "note": run.note,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
    }


def list_segments(
    who: Identity, cluster_id: str, run_id: str, *, state: str | None, limit: int, after: int | None
) -> dict[str, Any]:
    """Newest first. Raises NotFound."""
    rows = RepairSegment.objects.filter(run=find_run(who, cluster_id, run_id))
    if state is not None:
        rows = rows.filter(state=state)
    if after is not None:
        rows = rows.filter(id__lt=after)
    found = list(rows.order_by("-id")[: limit + 1])
    return {
        "items": [_segment(row) for row in found[:limit]],
        "next_cursor": str(found[limit - 1].id) if len(found) > limit else None,
    }


def _segment(row: RepairSegment) -> dict[str, Any]:
    return {
        "id": str(row.id),
        "keyspace": row.keyspace,
        "tables": row.tables,
        "mode": row.mode,
        "state": row.state,
        "ranges": len(row.ranges),
        "first_token": str(row.ranges[0][0]),
        "last_token": str(row.ranges[-1][1]),
        "node_ids": row.nodes,
        "coordinator_id": row.coordinator,
        "attempt": row.attempt,
        "expected_seconds": row.expected_seconds,
        "started_at": row.started_at,
        "finished_at": row.finished_at,
        "bytes_streamed": row.bytes_streamed,
        "error": None if not row.error_code else {"code": row.error_code, "message": row.error},
    }


def get_map(who: Identity, cluster_id: str, run_id: str) -> dict[str, Any]:
    """A run's tables by parts of the ring, and what its nodes do now. Raises NotFound."""
    run = find_run(who, cluster_id, run_id)
    rows: dict[Table, dict[str, list[Range]]] = {Table(own["keyspace"], own["table"]): {} for own in run.works}
    busy: dict[str, list[dict[str, Any]]] = {}
    for segment in run.segments.exclude(state=RepairSegmentState.REPLACED):
        for name in segment.tables:
            states = rows.setdefault(Table(segment.keyspace, name), {})
            states.setdefault(segment.state, []).extend((start, end) for start, end in segment.ranges)
        if segment.state == RepairSegmentState.RUNNING:
            for node in segment.nodes:
                busy.setdefault(node, []).append(
                    {
                        "segment_id": str(segment.id),
                        "keyspace": segment.keyspace,
                        "tables": segment.tables,
                        "coordinator": node == segment.coordinator,
                        "started_at": segment.started_at,
                        "expected_seconds": segment.expected_seconds,
                    }
                )
    nodes = (
        Node.objects.filter(cluster_id=cluster_id, deleted_at=None).order_by("position").values("id", "name", "zone")
    )
    return {
        "cells": _CELLS,
        "tables": [
            {"keyspace": table.keyspace, "table": table.name, "cells": _cells(states)}
            for table, states in sorted(rows.items())
        ],
        "nodes": [
            {"id": node["id"], "name": node["name"], "zone": node["zone"], "segments": busy.get(node["id"], [])}
            for node in nodes
        ],
    }


def _cells(states: Mapping[str, Sequence[Range]]) -> list[dict[str, float]]:
    """Of equal parts of the ring, in order: which share of each is in which state."""
    step = (tokens.LAST - tokens.FIRST) / _CELLS
    cells: list[dict[str, float]] = [{} for _ in range(_CELLS)]
    for state, ranges in states.items():
        for start, end in ranges:
            low, high = (start - tokens.FIRST) / step, (end - tokens.FIRST) / step
            for at in range(int(low), min(int(high) + 1, _CELLS)):
                share = min(high, at + 1) - max(low, at)
                if share > 0:
                    cells[at][state] = cells[at].get(state, 0.0) + share
    return [{state: round(share, 3) for state, share in cell.items()} for cell in cells]


# What would be


def members_of(cluster: Cluster) -> list[Member]:
    nodes = Node.objects.filter(cluster=cluster, deleted_at=None).select_related("datacenter").order_by("position")
    return [
        Member(id=node.id, datacenter=node.datacenter.name, rack=node.zone, tokens=node.tokens)
        for node in nodes
        if node.tokens
    ]


def check_tables(cluster: Cluster, wanted: Sequence[Table]) -> None:
    """Raises Invalid that names every table which is not known."""
    known = {Table(*each) for each in RepairTable.objects.filter(cluster=cluster).values_list("keyspace", "name")}
    unknown = [table for table in wanted if table not in known]
    if unknown and known:
        raise Invalid(
            "unknown_table",
            f"There is no table {unknown[0].keyspace}.{unknown[0].name}.",
            hint="List the cluster's tables; a name is keyspace.table.",
            fields=[("tables", f"There is no table {table.keyspace}.{table.name}") for table in unknown],
        )


def least_seconds(cluster: Cluster, now: datetime) -> float:
    """How long a full repair of all tables would take at full intensity, as far as their sizes are known."""
    known = [known_of(row) for row in RepairTable.objects.filter(cluster=cluster)]
    works, _ = select(known, Asked(wish=RepairWish.FULL), now=now.timestamp())
    rings = rings_of(known, members_of(cluster))
    return forecast(Queue(rings, [own for own in works if own.table.keyspace in rings]), effort(MOST)).seconds


def get_plan(who: Identity, cluster_id: str, asked: Asked, *, any_time: bool) -> dict[str, Any]:
    """What a run ordered now would come to, as far as is known: tables as they were looked at last. Changes nothing.

    Raises NotFound, Invalid.
    """
    cluster = find_cluster(who, cluster_id)
    check_tables(cluster, asked.tables)
    now = datetime.now(UTC)
    schedule = RepairSchedule.objects.filter(cluster=cluster).first() or RepairSchedule(cluster=cluster, due_at=now)
    windows = [] if any_time else windows_of(schedule.windows)
    known = [known_of(row) for row in RepairTable.objects.filter(cluster=cluster)]
    works, skipped = select(known, asked, now=now.timestamp())
    rings = rings_of(known, members_of(cluster))
    queue = Queue(rings, [work for work in works if work.table.keyspace in rings])
    told = forecast(queue, effort(schedule.intensity), parallelism=schedule.parallelism)
    ends_at = done_at(windows, now, told.seconds)
    late = [work for work in works if ends_at is None or work.deadline < ends_at.timestamp()]
    modes = {work.table: work.mode.value for work in works}
    return {
        "looked_at": schedule.looked_at,
        "segments": told.segments,
        "bytes": told.bytes,
        "seconds": round(told.seconds, 1),
        "ends_at": ends_at,
        "opens_at": None if is_open(windows, now) else next_opening(windows, now),
        "tables": [
            {
                "keyspace": table.keyspace,
                "table": table.name,
                "mode": modes[table],
                "segments": own.segments,
                "bytes": own.bytes,
                "seconds": round(own.seconds, 1),
            }
            for table, own in sorted(told.tables.items())
        ],
        "skipped": [{"keyspace": own.table.keyspace, "table": own.table.name, "why": own.why} for own in skipped],
        "late": [{"keyspace": work.table.keyspace, "table": work.table.name} for work in late],
        "against": against_run(who, cluster),
    }
