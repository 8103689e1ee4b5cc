"""Restore drills: the plan, the order, and the schedule. A drill restores into a cluster that is ordered for it.

Everything that is made goes through the ordinary ways: an order of a cluster, a restore, a deletion. So the drill is
refused where an order would be (room, quotas, names), and what it leaves is found as what any order leaves.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import IntegrityError, transaction

from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission, Role
from backend.audit import actions as audit
from backend.backups import plans, timing
from backend.backups.drill_queries import expected_seconds, get_drill, reason_against
from backend.backups.drill_schemas import DrillOrder, DrillScheduleOrder
from backend.backups.models import Backup, BackupBundle, Drill, DrillSchedule
from backend.backups.ordering import chosen, locked_cluster
from backend.backups.queries import backup_not_found, get_backup
from backend.backups.states import BackupState, DrillShape
from backend.catalog.models import MachineType
from backend.clusters import ordering
from backend.clusters.models import Cluster, Datacenter
from backend.clusters.queries import cluster_not_found, clusters
from backend.clusters.schemas import ClusterOrder
from backend.core import ids
from backend.core.errors import Conflict, DomainError, Invalid
from backend.operations import actions as operations
from backend.operations.models import Operation
from backend.operations.queries import get_operation

TAG = "ringmaster-drill"
"""On the scratch cluster: the id of its drill."""

# Of what is fetched: it lies there twice while it is given to the database, and compactions want room.
_ROOM = 3
_GIB = 1 << 30


def plan_drill(who: Identity, cluster_id: str, order: DrillOrder) -> dict[str, Any]:
    """What would be done, and everything that is against it. Changes nothing. Raises NotFound, Invalid."""
    cluster = _cluster(who, cluster_id)
    backup = _backup(who, cluster, order)
    problems = [reason] if (reason := reason_against(who, cluster)) else []
    steps, wanted, size = [], None, 0
    if backup is None:
        problems.append("There is no complete backup yet. Make one first.")
    else:
        problems += _against_backup(who, backup)
        size = _bytes(backup, order)
        wanted = _scratch_order(cluster, backup, order, size=size, name=_name(cluster, ids.new_restore_drill_id()))
        try:
            ordering.check_order(who, wanted)
        except DomainError as refused:
            problems.append(f"The cluster to restore into cannot be ordered: {refused.message}")
        nodes = len(wanted.zones)
        steps = [
            f"Order a cluster of {'one node' if nodes == 1 else f'{nodes} nodes'}, {wanted.machine_type}",
            "Restore the backup into it: every object is fetched and its hash compared",
            "Read every row of every restored table",
            *(["Read the same tables of the live cluster, and compare"] if order.compare_live else []),
            "Remove the cluster, whatever came out",
        ]
    return {
        "backup_id": None if backup is None else backup.id,
        "taken_at": None if backup is None else backup.taken_at,
        "bytes": size,
        "machine_type": "" if wanted is None else wanted.machine_type,
        "zones": [] if wanted is None else wanted.zones,
        "expected_seconds": expected_seconds(cluster),
        "steps": steps,
        "compared": _compared(order),
        "problems": problems,
    }


def _compared(order: DrillOrder) -> list[str]:
    said = [
        "The hash of every object that is fetched, with the hash that was kept when it was stored.",
        "Every row can be read: a file that is damaged inside could not be.",
    ]
    if order.compare_live:
        said.append(
            "Each of 64 slices of the ring with the live table: rows, values and times of writing. Where the live one "
            "was written to since, or rows were deleted, that is said, and proves nothing."
        )
    return said


@transaction.atomic
def start(who: Identity, cluster_id: str, order: DrillOrder) -> dict[str, Any]:
    """Raises NotFound, Forbidden, Invalid, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    cluster = locked_cluster(who, cluster_id)
    said = plan_drill(who, cluster_id, order)
    if said["problems"]:
        raise Conflict("cannot_drill", said["problems"][0], hint="Look at the plan: it says all that is against it.")
    backup = Backup.objects.get(id=said["backup_id"])
    row_id = ids.new_restore_drill_id()
    scratch = _scratch_order(cluster, backup, order, size=said["bytes"], name=_name(cluster, row_id))
    scratch.options.tags[TAG] = row_id
    try:
        with transaction.atomic():
            row = Drill.objects.create(
                id=row_id,
                organisation_id=who.organisation_id,
                cluster=cluster,
                backup=backup,
                order=scratch.model_dump(mode="json"),
                tables=[{"keyspace": one["keyspace"], "table": one["table"]} for one in _tables(backup, order)],
                compare_live=order.compare_live,
                actor=who.actor,
            )
    except IntegrityError as error:
        raise Conflict("drill_in_progress", "A drill of the cluster is under way.", hint="Wait for its end.") from error
    operation = operations.start(
        organisation_id=who.organisation_id,
        kind="restore_drill",
        cluster_id="",
        cluster_name=cluster.name,
        actor=who.actor,
        parameters={"drill": row.id, "backup": backup.id},
        groups=plans.restore_drill(),
        expected_seconds=plans.DRILL_SECONDS,
        # From then on nothing is left to do but to remove it.
        cancellable_until="remove_cluster",
    )
    Drill.objects.filter(id=row.id).update(operation_id=operation.id)
    operations.notify(who.organisation_id, "cluster", cluster.id, cluster.id)
    audit.record(
        who,
        action="backup.drill",
        target_type="cluster",
        target_id=cluster.id,
        target_name=cluster.name,
        after={"backup": backup.id, "drill": row.id},
    )
    return {"drill": get_drill(who, row.id), "operation": get_operation(who, operation.id)}


def _name(cluster: Cluster, drill_id: str) -> str:
    return f"drill-{cluster.name[:30].rstrip('-')}-{drill_id[-8:]}"


def _scratch_order(cluster: Cluster, backup: Backup, order: DrillOrder, *, size: int, name: str) -> ClusterOrder:
    """In the cluster's own place and account, with its engine."""
    home: Datacenter = cluster.datacenters.filter(deleted_at=None).order_by("id").first() or cluster.datacenters.latest(
        "id"
    )
    zones = home.zones if order.shape is DrillShape.ZONES else home.zones[:1]
    machine_type = order.machine_type or _machine_type(cluster.provider, home.machine_type, size=size)
    return ClusterOrder.model_validate(
        {
            "name": name,
            "engine": backup.engine,
            "engine_version": backup.engine_version,
            "provider": cluster.provider,
            "cloud_account": cluster.cloud_account_id,
            "region": home.region,
            "zones": zones,
            "machine_type": machine_type,
            "nodes_per_zone": 1,
            "healing": {"mode": "tell"},
        }
    )


def _machine_type(provider: str, usual: str, *, size: int) -> str:
    """The smallest of the architecture of the cluster's on whose disk the data fits; else the cluster's own."""
    known = MachineType.objects.filter(provider_id=provider, enabled=True)
    own = known.filter(name=usual).first()
    rows = known.order_by("memory_mib", "position")
    if own is not None:
        rows = rows.filter(architecture=own.architecture)
    for one in rows:
        if one.storage_gib is None or one.storage_gib * _GIB >= _ROOM * size:
            return one.name
    return usual


def _tables(backup: Backup, order: DrillOrder) -> Sequence[Mapping[str, str]]:
    """Raises Invalid for what is not in the backup."""
    every = list(backup.tables.order_by("keyspace", "name").values("keyspace", "name"))
    there = [{"keyspace": one["keyspace"], "table": one["name"]} for one in every]
    if not order.selection:
        return there
    found: list[dict[str, str]] = []
    for position, wanted in enumerate(order.selection):
        matching = [o for o in there if o["keyspace"] == wanted.keyspace and wanted.table in (None, "", o["table"])]
        if not matching:
            raise Invalid(
                "unknown_table",
                f"There is no {wanted.keyspace}.{wanted.table or '*'} in the backup.",
                hint="get_backup lists its tables.",
                field=f"selection.{position}",
            )
        found += [one for one in matching if one not in found]
    return found


def _bytes(backup: Backup, order: DrillOrder) -> int:
    """What each node fetches: all nodes' files, as the shapes differ."""
    names = {(one["keyspace"], one["table"]) for one in _tables(backup, order)}
    tables = [table.id for table in backup.tables.all() if (table.keyspace, table.name) in names]
    sizes = BackupBundle.objects.filter(node__backup=backup, table_id__in=tables).values_list(
        "object__bytes", flat=True
    )
    return sum(sizes)


def _backup(who: Identity, cluster: Cluster, order: DrillOrder) -> Backup | None:
    rows = Backup.objects.filter(organisation_id=who.organisation_id, cluster=cluster)
    if order.backup_id is None:
        return rows.filter(state=BackupState.COMPLETE).order_by("-id").first()
    found = rows.filter(id=order.backup_id).first()
    if found is None:
        raise backup_not_found()
    return found


def _against_backup(who: Identity, backup: Backup) -> list[str]:
    shown = get_backup(who, backup.id, details=False)
    reason = next(a["reason"] for a in shown["allowed_actions"] if a["action"] == "restore_backup")
    return [str(reason)] if reason else []


def _cluster(who: Identity, cluster_id: str) -> Cluster:
    found = clusters(who).filter(id=cluster_id).first()
    if found is None:
        raise cluster_not_found()
    return found


# Schedule


@transaction.atomic
def set_schedule(who: Identity, cluster_id: str, order: DrillScheduleOrder) -> None:
    """In the place of the one before. Raises NotFound, Forbidden, Invalid, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    cluster = locked_cluster(who, cluster_id)
    if reason := reason_against(who, cluster, busy=False):
        raise Conflict("cannot_drill", reason, hint="Look at the cluster.")
    try:
        due = timing.next_due(
            cron=order.cron or "",
            interval_minutes=order.interval_minutes,
            time_zone=order.time_zone,
            after=datetime.now(UTC),
        )
    except timing.NeverFires as error:
        raise Invalid(
            "cron_never_fires", str(error), hint="For example 0 4 * * 0: every Sunday at four.", field="cron"
        ) from error
    columns = order.model_dump(exclude={"cron", "selection"}) | {
        "cron": order.cron or "",
        "selection": chosen(cluster, order.selection),
        "due_at": due if order.enabled else None,
        "created_by": who.actor,
        "skipped": "",
    }
    DrillSchedule.objects.update_or_create(cluster=cluster, defaults=columns)
    _record_schedule(who, cluster, after=order.model_dump(mode="json"))


@transaction.atomic
def delete_schedule(who: Identity, cluster_id: str) -> None:
    """Raises NotFound, Forbidden."""
    require(who, Permission.CLUSTERS_WRITE)
    cluster = locked_cluster(who, cluster_id)
    DrillSchedule.objects.filter(cluster=cluster).delete()
    _record_schedule(who, cluster, after=None)


def _record_schedule(who: Identity, cluster: Cluster, *, after: dict[str, Any] | None) -> None:
    audit.record(
        who,
        action="backup.set_drill_schedule",
        target_type="cluster",
        target_id=cluster.id,
        target_name=cluster.name,
        after=after,
    )
    operations.notify(who.organisation_id, "cluster", cluster.id, cluster.id)


def start_due(schedule: DrillSchedule, *, actor: str) -> Operation | None:
    """Its turn: None when it was passed over, which it then says."""
    row = DrillSchedule.objects.filter(cluster=schedule.cluster_id, due_at=schedule.due_at)
    due = timing.next_due(
        cron=schedule.cron,
        interval_minutes=schedule.interval_minutes,
        time_zone=schedule.time_zone,
        after=datetime.now(UTC),
    )
    if not row.update(due_at=due, skipped=""):
        return None
    order = DrillOrder.model_validate(
        {
            "selection": [{"keyspace": one["keyspace"], "table": one["table"] or None} for one in schedule.selection],
            "shape": schedule.shape,
            "compare_live": schedule.compare_live,
        }
    )
    try:
        started = start(acting(schedule.cluster.organisation_id, actor), schedule.cluster_id, order)
    except DomainError as refused:
        DrillSchedule.objects.filter(cluster=schedule.cluster_id).update(skipped=refused.message)
        return None
    return Operation.objects.get(id=started["operation"]["id"])


def acting(organisation_id: str, actor: str) -> Identity:
    """Who orders what a drill needs: the control plane, for the organisation."""
    may = {Permission.CLUSTERS_READ, Permission.CLUSTERS_WRITE, Permission.OPERATIONS_WRITE}
    return Identity(
        organisation_id=organisation_id,
        user_id="",
        user_email=actor,
        role=Role.OWNER,
        permissions=frozenset(may),
    )
