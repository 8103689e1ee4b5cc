"""What the provisioner finds out and decides about repairs: schedules that are due, tables, segments, ends of runs.

Each call may be repeated, also late.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Now

from backend.operations import actions as operations
from backend.operations.models import Operation
from backend.repairs.models import RepairRun, RepairSchedule, RepairSegment, RepairTable
from backend.repairs.planning import tokens
from backend.repairs.planning.modes import RepairMode, TableFacts
from backend.repairs.planning.segments import Table, Work
from backend.repairs.planning.tokens import Range
from backend.repairs.states import RepairRunState, RepairSegmentState

# Runs of a cluster whose segments are kept one by one; of older ones only what went wrong is.
_KEPT_WHOLE = 5

_SEGMENT_COLUMNS = (
    "state",
    "attempt",
    "failures",
    "splits",
    "nodes",
    "coordinator",
    "not_before",
    "expected_bytes",
    "expected_seconds",
    "started_at",
    "finished_at",
    "bytes_streamed",
    "engine_started_at",
    "error_code",
    "error",
)

Coverage = list[list[int]]


def make_missing_schedules() -> int:
    """Gives every serving cluster that has none the default one. First runs are spread over a day. One statement."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO repairs_repairschedule
                   (cluster_id, enabled, every_hours, intensity, parallelism, windows, due_at, changed_by)
            SELECT c.id, true, 24, 50, 0, '[]', now() + interval '1 hour' + random() * interval '23 hours', ''
              FROM clusters_cluster c
              LEFT JOIN repairs_repairschedule s ON s.cluster_id = c.id
             WHERE s.cluster_id IS NULL AND c.deleted_at IS NULL AND c.active_at IS NOT NULL
                ON CONFLICT DO NOTHING
            """
        )
        return int(cursor.rowcount)


def postpone(cluster_id: str, hours: float) -> None:
    """The next scheduled run begins so many hours from now."""
    RepairSchedule.objects.filter(cluster_id=cluster_id).update(due_at=Now() + timedelta(hours=hours))


@transaction.atomic
def tables_seen(cluster_id: str, found: Sequence[tuple[str, TableFacts]]) -> None:
    """`found`: table id and facts of every table that can be repaired, as nodes told them just now.

    What is not among them is forgotten, and so is what was known of another table of the same name, except what people
    want for it.
    """
    known = {
        Table(row.keyspace, row.name): row
        for row in RepairTable.objects.select_for_update().filter(cluster_id=cluster_id)
    }
    now = datetime.now(UTC)
    fresh, changed = [], []
    for table_id, facts in found:
        table = Table(facts.keyspace, facts.name)
        row = known.pop(table, None)
        stored = {key: value for key, value in asdict(facts).items() if key not in ("keyspace", "name")}
        if row is None:
            fresh.append(
                RepairTable(
                    cluster_id=cluster_id,
                    keyspace=table.keyspace,
                    name=table.name,
                    table_id=table_id,
                    facts=stored,
                    seen_at=now,
                )
            )
            continue
        if row.table_id != table_id:
            row.coverage, row.repaired_at, row.checked_at, row.rate = [], None, None, None
            row.last_run_id = row.last_mode = ""
        row.table_id, row.facts, row.seen_at = table_id, stored, now
        changed.append(row)
    RepairTable.objects.bulk_create(fresh)
    columns = ["table_id", "facts", "seen_at", "coverage", "repaired_at", "checked_at", "rate", "last_run_id"]
    RepairTable.objects.bulk_update(changed, [*columns, "last_mode"], batch_size=500)
    RepairTable.objects.filter(id__in=[row.id for row in known.values()]).delete()
    RepairSchedule.objects.filter(cluster_id=cluster_id).update(looked_at=Now())


def planned(run_id: str, works: Sequence[Work], skipped: Sequence[Mapping[str, str]], *, segments: int) -> None:
    """The plan of a run. The first one stands."""
    RepairRun.objects.filter(id=run_id, started_at=None).update(
        works=[
            {
                "keyspace": work.table.keyspace,
                "table": work.table.name,
                "mode": work.mode.value,
                "bytes": work.bytes,
                "deadline": work.deadline,
                "weight": work.weight,
                "rate": work.rate,
                "pull_to": work.pull_to,
                "tablets": work.tablets,
            }
            for work in works
        ],
        skipped=list(skipped),
        segments_expected=segments,
        started_at=Now(),
    )


def works_of(run: RepairRun) -> list[Work]:
    gone = {(own["keyspace"], own["table"]) for own in run.missing}
    return [
        Work(
            table=Table(own["keyspace"], own["table"]),
            mode=RepairMode(own["mode"]),
            bytes=own["bytes"],
            deadline=own["deadline"],
            weight=own["weight"],
            rate=own["rate"],
            pull_to=own["pull_to"],
            tablets=own.get("tablets", False),
        )
        for own in run.works
        if (own["keyspace"], own["table"]) not in gone
    ]


@transaction.atomic
def recorded(
    run: RepairRun, *, changed: Sequence[RepairSegment] = (), fresh: Sequence[RepairSegment] = (), **columns: Any
) -> bool:
    """Writes what became of segments, new ones, and columns of the run, in one go; `run` then mirrors its row.

    False, and nothing is written, when somebody else wrote in between.
    """
    count = RepairRun.objects.filter(id=run.id, revision=run.revision, state=RepairRunState.RUNNING).update(
        revision=F("revision") + 1, **columns
    )
    if not count:
        return False
    if changed:
        RepairSegment.objects.bulk_update(changed, _SEGMENT_COLUMNS, batch_size=500)
    RepairSegment.objects.bulk_create(fresh)
    run.revision += 1
    for name, value in columns.items():
        setattr(run, name, value)
    if changed or fresh:
        operations.notify(run.cluster.organisation_id, "operation", run.operation_id, run.cluster_id)
    return True


def rated(cluster_id: str, rates: Mapping[Table, float]) -> None:
    rows = [
        row
        for row in RepairTable.objects.filter(cluster_id=cluster_id, name__in=[table.name for table in rates])
        if Table(row.keyspace, row.name) in rates
    ]
    for row in rows:
        row.rate = rates[Table(row.keyspace, row.name)]
    RepairTable.objects.bulk_update(rows, ["rate"])


@transaction.atomic
def ended(run_id: str, state: RepairRunState, note: str = "") -> None:
    """Closes a run and writes down, table by table, which ranges it has repaired. The first end stands."""
    run = RepairRun.objects.select_for_update().select_related("cluster").filter(id=run_id).first()
    if run is None or run.state != RepairRunState.RUNNING:
        return
    _take_over(run)
    RepairRun.objects.filter(id=run_id).update(
        state=state, note=note or run.note, finished_at=Now(), foreign=[], revision=F("revision") + 1
    )
    _forget_older(run.cluster_id)
    operations.notify(run.cluster.organisation_id, "cluster", run.cluster_id, run.cluster_id)


def _take_over(run: RepairRun) -> None:
    done: dict[Table, list[Range]] = {}
    began: dict[Table, datetime] = {}
    modes: dict[Table, str] = {}
    for segment in run.segments.filter(state=RepairSegmentState.DONE):
        if segment.mode == RepairMode.PULL:
            # It copies from one peer; it proves nothing about the others.
            continue
        for name in segment.tables:
            table = Table(segment.keyspace, name)
            done.setdefault(table, []).extend((start, end) for start, end in segment.ranges)
            modes[table] = segment.mode
            if segment.started_at is not None:
                # What was deleted while it ran is not all covered, so its begin counts, and that of the first.
                began[table] = min(began.get(table, segment.started_at), segment.started_at)
    rows = list(RepairTable.objects.select_for_update().filter(cluster_id=run.cluster_id))
    changed = []
    for row in rows:
        table = Table(row.keyspace, row.name)
        if table not in done or table not in began:
            continue
        ranges = tokens.merged(done[table])
        row.coverage = covered(row.coverage, ranges, began[table])
        row.repaired_at = oldest(row.coverage)
        if ranges == list(tokens.WHOLE) and (modes[table] == RepairMode.FULL or row.checked_at is None):
            # The first incremental repair compares everything, because nothing counts as repaired before it.
            row.checked_at = began[table]
        row.last_run_id, row.last_mode = run.id, modes[table]
        changed.append(row)
    columns = ["coverage", "repaired_at", "checked_at", "last_run_id", "last_mode"]
    RepairTable.objects.bulk_update(changed, columns, batch_size=500)


def covered(before: Coverage, ranges: Sequence[Range], at: datetime) -> Coverage:
    """When each range was repaired last, after `ranges` (sorted, disjoint) were at `at`. Neighbours alike are one."""
    moment = int(at.timestamp())
    found = [
        [start, end, own_at]
        for own_start, own_end, own_at in before
        for start, end in tokens.without([(own_start, own_end)], ranges)
    ]
    found += [[start, end, moment] for start, end in ranges]
    joined: Coverage = []
    for start, end, own_at in sorted(found):
        if joined and joined[-1][1] == start and joined[-1][2] == own_at:
            joined[-1][1] = end
        else:
            joined.append([start, end, own_at])
    return joined


def oldest(coverage: Coverage) -> datetime | None:
    """None when a range was never repaired."""
    if tokens.merged((start, end) for start, end, _ in coverage) != list(tokens.WHOLE):
        return None
    return datetime.fromtimestamp(min(at for _, _, at in coverage), UTC)


def _forget_older(cluster_id: str) -> None:
    kept = RepairRun.objects.filter(cluster_id=cluster_id).order_by("-id").values_list("id", flat=True)[:_KEPT_WHOLE]
    RepairSegment.objects.filter(run__cluster_id=cluster_id).exclude(run_id__in=list(kept)).exclude(
        state=RepairSegmentState.GIVEN_UP
    ).delete()


def stopped(operation: Operation) -> None:
    """The operation of a run was cancelled: what it has repaired counts."""
    ended(operation.parameters["run"], RepairRunState.STOPPED, "It was stopped. What it had repaired by then counts.")
