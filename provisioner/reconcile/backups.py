"""What backups need by itself: those that are due, purges, verifications, and a fresh list of tables where one looks.

Each is found by one indexed query over all clusters.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial

import structlog
from django.db import transaction

from backend.backups import (
    actions,
    copies,
    drill_progress,
    drill_queries,
    drills,
    listing,
    location_actions,
    location_queries,
    progress,
    queries,
    restores,
    schedule_queries,
)
from backend.backups.models import BackupLocation, BackupSchedule
from backend.clusters.models import Cluster, Node
from backend.clusters.states import NodeState
from backend.core.errors import Conflict, DomainError
from backend.imports import progress as import_progress
from backend.imports import queries as imports
from backend.repairs.actions import start_run
from backend.repairs.planning.modes import RepairWish
from backend.repairs.states import RepairRunReason
from provisioner.agent.base import AgentError
from provisioner.operations.backup_nodes import tables_of
from provisioner.operations.surroundings import surroundings
from provisioner.reconcile.alone import alone

log = structlog.get_logger(__name__)

ACTOR = "Ringmaster"
AT_MOST = 50  # of each, per run
BUDGET = 10.0  # seconds of new readings per run
PURGE_EVERY = timedelta(days=1)
VERIFY_EVERY = timedelta(days=1)
READ_EVERY = timedelta(minutes=10)
_JOB = "reading-tables"
_AFTER = {RepairRunReason.RESTORE: "a restore", RepairRunReason.IMPORT: "an import"}


def see_to_backups() -> int:
    """How many operations were started."""
    with alone("reconcile-backups") as mine:
        if not mine:
            return 0
        progress.end_what_was_left()
        started = start_due() + _copy() + _list() + _purge() + _verify() + _drill()
        started += repair_restored() + repair_imported()
        _read_tables()
    return started


def start_due() -> int:
    """A schedule that cannot have its turn now (its backup before is still being made) has the next."""
    return sum(_start(schedule) for schedule in schedule_queries.due_schedules(at_most=AT_MOST))


def _start(schedule: BackupSchedule) -> bool:
    try:
        with transaction.atomic():
            if not progress.schedule_took_its_turn(schedule):
                return False
            if schedule_queries.is_backed_up(schedule):
                log.info("backup not started, the one before is still open", schedule_id=schedule.id)
                return False
            actions.start_backup(
                schedule.cluster,
                schedule.location,
                actor=f"{ACTOR}: schedule {schedule.name}",
                selection=schedule.selection,
                rate=schedule.rate_mib_per_second,
                schedule=schedule,
                locked_until=_locked_until(schedule),
            )
    except Conflict as refused:
        # Its turn comes again, as nothing was written.
        log.info("backup not started", schedule_id=schedule.id, reason=refused.message)
        progress.schedule_took_its_turn(schedule)
        return False
    return True


def _locked_until(schedule: BackupSchedule) -> datetime | None:
    return None if schedule.lock_days is None else datetime.now(UTC) + timedelta(days=schedule.lock_days)


def _list() -> int:
    return sum(listing.start(place, actor=ACTOR) is not None for place in listing.due(at_most=AT_MOST))


def _copy() -> int:
    started = 0
    for backup in copies.to_copy(at_most=AT_MOST):
        assert backup.schedule is not None
        assert backup.schedule.second_location is not None
        started += copies.start(backup, backup.schedule.second_location, actor=ACTOR) is not None
    return started


def _purge() -> int:
    wanted = {*location_queries.to_purge(every=PURGE_EVERY, at_most=AT_MOST), *copies.to_purge(at_most=AT_MOST)}
    for location_id, organisation_id in wanted:
        with transaction.atomic():
            location = BackupLocation.objects.get(id=location_id)
            location_actions.start_purge(location, organisation_id, actor=ACTOR)
    return len(wanted)


def _verify() -> int:
    wanted = queries.to_verify(every=VERIFY_EVERY, at_most=AT_MOST)
    started = 0
    for backup in wanted:
        with transaction.atomic():
            if location_queries.open_work("verify_backup", backup=backup.id) is None:
                actions.start_verify(backup, actor=ACTOR)
                started += 1
    return started


def _drill() -> int:
    """Drills that are due; and clusters of drills that have ended, which should be gone already."""
    for row in drill_queries.left_behind(at_most=AT_MOST):
        try:
            waiting = drill_progress.remove_scratch(row)
        except DomainError as refused:
            waiting = refused.message
        log.warning("cluster of a drill left behind", drill_id=row.id, cluster_id=row.scratch_id, waiting=waiting)
    due = drill_queries.due_drills(at_most=AT_MOST)
    return sum(drills.start_due(one, actor=f"{ACTOR}: drill schedule") is not None for one in due)


def repair_restored() -> int:
    """The tables of restores after which nodes may not have all that they should. How many repairs were ordered."""
    return sum(
        _repair(
            restore.cluster_id,
            restores.table_names(restore),
            RepairRunReason.RESTORE,
            partial(progress.repair_ordered, restore.id),
        )
        for restore in restores.to_repair(at_most=AT_MOST)
    )


def repair_imported() -> int:
    """The same of imports."""
    return sum(
        _repair(
            row.cluster_id,
            imports.table_names(row),
            RepairRunReason.IMPORT,
            partial(import_progress.repair_ordered, row.id),
        )
        for row in imports.to_repair(at_most=AT_MOST)
    )


def _repair(cluster_id: str, tables: list[str], reason: RepairRunReason, note: Callable[..., None]) -> bool:
    """False: another repair is open, and this one is ordered when that has ended. `note` takes the operation's id."""
    asked = {"tables": tables, "mode": RepairWish.FULL.value, "any_time": True}
    try:
        with transaction.atomic():
            cluster = Cluster.objects.select_for_update().get(id=cluster_id)
            _, operation = start_run(cluster, reason, asked, actor=f"{ACTOR}: after {_AFTER[reason]}")
            note(operation_id=operation.id)
    except Conflict as refused:
        log.info("repair not ordered yet", cluster_id=cluster_id, after=reason, reason=refused.message)
        return False
    return True


def _read_tables() -> None:
    began = time.monotonic()
    for cluster in queries.readings_to_make(older_than=READ_EVERY, at_most=AT_MOST):
        if time.monotonic() - began > BUDGET:
            break
        _read(cluster)


def _read(cluster: Cluster) -> None:
    """From the first node that answers."""
    up = Node.objects.filter(cluster=cluster, deleted_at=None, state=NodeState.UP).select_related("cluster")
    for node in up.order_by("position"):
        agent = surroundings().agent(node)
        try:
            job = agent.ensure_job(_JOB, "describe-schema", {}, wait_seconds=2)
            if job.state != "running":
                agent.delete_job(_JOB)
        except AgentError as error:
            log.info("tables not read", cluster_id=cluster.id, node_id=node.id, reason=str(error))
            continue
        if job.state == "succeeded":
            progress.tables_read(cluster.id, tables_of(job.result))
            return
