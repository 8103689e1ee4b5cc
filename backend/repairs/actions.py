"""Ordering repairs and saying how they are done: each is one transaction with audit record.

What the provisioner finds out is written by progress.py.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission
from backend.audit import actions as audit
from backend.clusters.models import Cluster
from backend.clusters.queries import cluster_not_found
from backend.clusters.reach import clusters
from backend.clusters.states import SERVING, ClusterState
from backend.clusters.windows import Window
from backend.core.errors import Conflict, Invalid
from backend.operations import actions as operations
from backend.operations.models import Operation
from backend.operations.queries import get_operation
from backend.repairs import plans
from backend.repairs.models import RepairRun, RepairSchedule
from backend.repairs.planning.forecast import done_at
from backend.repairs.planning.modes import RepairWish
from backend.repairs.planning.segments import Table
from backend.repairs.planning.selection import Asked
from backend.repairs.queries import (
    against_run,
    check_tables,
    find_table,
    get_table,
    least_seconds,
    run_shape,
    schedule_shape,
    windows_of,
)
from backend.repairs.schemas import RepairOrder, RepairPolicyWish, RepairScheduleWish
from backend.repairs.states import USUAL_HOURS, RepairRunReason

SYSTEM = "control plane"


@transaction.atomic
def set_schedule(who: Identity, cluster_id: str, wanted: RepairScheduleWish) -> dict[str, Any]:
    """Raises NotFound, Forbidden, Invalid, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    cluster = _locked(who, cluster_id)
    row, _ = RepairSchedule.objects.select_for_update().get_or_create(
        cluster=cluster, defaults={"due_at": datetime.now(UTC) + timedelta(hours=USUAL_HOURS)}
    )
    now = datetime.now(UTC)
    before = schedule_shape(row, now)
    asked = wanted.model_dump(exclude_unset=True, mode="json")
    columns = {name: value for name, value in asked.items() if value is not None}
    if "read_p99_target_ms" in columns:
        columns["read_p99_target_ms"] = columns["read_p99_target_ms"] or None
    if "windows" in columns:
        _check_windows(cluster, windows_of(columns["windows"]), now)
    if "every_hours" in columns and columns["every_hours"] != row.every_hours:
        earliest = now + timedelta(hours=columns["every_hours"])
        columns["due_at"] = min(row.due_at, earliest) if row.due_at > now else row.due_at
    for name, value in columns.items():
        setattr(row, name, value)
    row.changed_by = who.actor
    row.save()
    after = schedule_shape(row, now)
    if after != before:
        _record(who, cluster, "repair.set_schedule", before=_words(before), after=_words(after))
        operations.notify(cluster.organisation_id, "cluster", cluster.id, cluster.id)
    return after


def _words(schedule: dict[str, Any]) -> dict[str, Any]:
    return {
        name: schedule[name]
        for name in ("enabled", "every_hours", "intensity", "parallelism", "read_p99_target_ms", "windows")
    }


def _check_windows(cluster: Cluster, windows: Sequence[Window], now: datetime) -> None:
    """Raises Invalid for windows in which the cluster could never be repaired once, however hard it worked."""
    seconds = least_seconds(cluster, now)
    if done_at(windows, now, seconds) is None:
        raise Invalid(
            "window_never_fits",
            f"Repairing all tables once takes about {seconds / 3600:.1f} hours at full intensity, and these windows "
            "are not open for so long within a quarter of a year.",
            hint="Make the windows longer, or let them begin on more days.",
            field="windows",
        )


@transaction.atomic
def set_policy(who: Identity, cluster_id: str, keyspace: str, name: str, wanted: RepairPolicyWish) -> dict[str, Any]:
    """Raises NotFound, Forbidden."""
    require(who, Permission.CLUSTERS_WRITE)
    cluster = _locked(who, cluster_id)
    row = find_table(cluster, keyspace, name)
    before = get_table(who, cluster_id, keyspace, name)["policy"]
    if wanted.mode is not None:
        row.wish = wanted.mode
    if wanted.deadline_hours is not None:
        row.deadline_hours = wanted.deadline_hours or None
    if wanted.priority is not None:
        row.priority = wanted.priority
    row.save(update_fields=["wish", "deadline_hours", "priority"])
    after = get_table(who, cluster_id, keyspace, name)
    if after["policy"] != before:
        table = {"table": f"{keyspace}.{name}"}
        _record(who, cluster, "repair.set_policy", before=table | before, after=table | after["policy"])
    return after


def asked_of(order: RepairOrder) -> Asked:
    """Raises Invalid."""
    if order.mode is RepairWish.SKIP:
        raise Invalid("nothing_to_repair", "A run that skips its tables does nothing.", field="mode")
    return Asked(
        tables=tuple(Table(*name.split(".", 1)) for name in order.tables),
        wish=None if order.mode is RepairWish.AUTO else order.mode,
    )


@transaction.atomic
def run_now(who: Identity, cluster_id: str, order: RepairOrder) -> dict[str, Any]:
    """Orders a run. Raises NotFound, Forbidden, Invalid, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    cluster = _locked(who, cluster_id)
    asked = asked_of(order)
    check_tables(cluster, asked.tables)
    if reason := against_run(who, cluster):
        raise Conflict(
            "cannot_repair", reason, hint="Look at the cluster's repairs and its activity; try again when that is over."
        )
    asked_words = {
        "tables": order.tables,
        "mode": None if asked.wish is None else asked.wish.value,
        "any_time": order.any_time,
    }
    run, operation = start_run(cluster, RepairRunReason.ORDER, asked_words, actor=who.actor)
    _record(who, cluster, "repair.run", after=asked_words)
    return {"run": run_shape(run), "operation": get_operation(who, operation.id)}


def start_run(
    cluster: Cluster, reason: RepairRunReason, asked: dict[str, Any], *, actor: str = SYSTEM
) -> tuple[RepairRun, Operation]:
    """Within a transaction that holds the cluster. Raises Conflict when the coordinator refuses it."""
    run = RepairRun(cluster=cluster, reason=reason, asked=asked)
    operation = operations.start(
        organisation_id=cluster.organisation_id,
        kind="repair",
        cluster_id=cluster.id,
        cluster_name=cluster.name,
        actor=actor,
        parameters=plans.repair_parameters(run.id),
        groups=plans.repair(),
        expected_seconds=plans.USUAL_SECONDS,
        pausable=True,
    )
    run.operation_id = operation.id
    run.save(force_insert=True)
    operations.notify(cluster.organisation_id, "cluster", cluster.id, cluster.id)
    return run, operation


@transaction.atomic
def start_due(cluster_id: str) -> Operation | None:
    """The scheduled run of a cluster, if it is still due; None when it is not, or cannot be now: then in an hour."""
    cluster = Cluster.objects.select_for_update().filter(id=cluster_id, state__in=SERVING).first()
    row = RepairSchedule.objects.select_for_update().filter(cluster_id=cluster_id, enabled=True, due_at__lte=Now())
    schedule = row.first()
    if cluster is None or schedule is None:
        return None
    schedule.due_at = datetime.now(UTC) + timedelta(hours=schedule.every_hours)
    operation = None
    if cluster.nodes.filter(deleted_at=None).count() > 1:
        try:
            with transaction.atomic():
                _, operation = start_run(cluster, RepairRunReason.SCHEDULE, {"only_due": True})
        except Conflict:
            schedule.due_at = datetime.now(UTC) + timedelta(hours=1)
    schedule.save(update_fields=["due_at"])
    return operation


@transaction.atomic
def start_catch_up(cluster_id: str, node_id: str) -> Operation | None:
    """Pulls what a node missed that was away longer than others keep it. None when the cluster cannot be repaired now.

    Once per absence: the caller knows when.
    """
    cluster = Cluster.objects.select_for_update().filter(id=cluster_id, state=ClusterState.ACTIVE).first()
    if cluster is None or cluster.nodes.filter(deleted_at=None).count() < 2:
        return None
    try:
        with transaction.atomic():
            _, operation = start_run(cluster, RepairRunReason.CATCH_UP, {"node": node_id, "any_time": True})
    except Conflict:
        return None
    return operation


def _locked(who: Identity, cluster_id: str) -> Cluster:
    found = clusters(who).select_for_update().filter(id=cluster_id).first()
    if found is None:
        raise cluster_not_found()
    return found


def _record(
    who: Identity,
    cluster: Cluster,
    action: str,
    *,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    audit.record(
        who,
        action=action,
        target_type="cluster",
        target_id=cluster.id,
        target_name=cluster.name,
        before=before,
        after=after,
    )
