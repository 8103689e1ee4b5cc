"""Reading backups, and what can be backed up."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Count, F, Max, Q, QuerySet, Sum
from django.db.models.functions import Now

from backend.accounts.queries import Identity
from backend.backups import copies
from backend.backups.access import cluster_of, may_change, may_export, shown
from backend.backups.location_queries import location_for
from backend.backups.models import (
    Backup,
    BackupBundle,
    BackupLocation,
    BackupObject,
    Restore,
    TableReading,
)
from backend.backups.schedule_queries import against_scheduling
from backend.backups.states import (
    BackupState,
    RestoreState,
    reason_against_backing_up,
    reason_against_deleting,
    reason_against_exporting,
    reason_against_restoring,
    reason_against_verifying,
)
from backend.catalog.queries import makes_backups
from backend.clusters.models import Cluster
from backend.clusters.reach import of_clusters
from backend.clusters.states import SERVING, ClusterState
from backend.core.errors import Conflict, NotFound
from backend.core.pagination import PageQuery, page
from backend.core.schemas import allowed
from backend.operations.models import Operation
from backend.operations.states import OPEN

INTEREST = timedelta(days=1)
_NOTE_INTEREST_EVERY = timedelta(hours=1)
_BACKUP_COLUMNS = (
    "id",
    "cluster_id",
    "cluster_name",
    "cluster__deleted_at",
    "location_id",
    "location__name",
    "schedule_id",
    "schedule__name",
    "state",
    "reason",
    "missing",
    "selection",
    "engine",
    "engine_version",
    "taken_at",
    "bundles",
    "bytes",
    "new_bytes",
    "verified_at",
    "contents_verified_at",
    "expires_at",
    "locked_until",
    "operation_id",
    "created_by",
    "created_at",
    "finished_at",
)


def cluster_backups(who: Identity, cluster_id: str) -> dict[str, Any]:
    """What can be done. Notes that somebody looks, so that the list of tables is kept fresh. Raises NotFound."""
    cluster = cluster_of(who, cluster_id)
    reading = note_interest(cluster)
    complete = Backup.objects.filter(cluster=cluster, state=BackupState.COMPLETE).aggregate(
        count=Count("id"), last=Max("taken_at")
    )
    can = makes_backups(cluster.engine)
    against = reason_against_backing_up(ClusterState(cluster.state), may=may_change(who), can=can)
    return {
        "tables": [{"keyspace": one["keyspace"], "table": one["table"]} for one in reading.tables],
        "tables_read_at": reading.read_at,
        "complete": complete["count"],
        "last_complete_at": complete["last"],
        "allowed_actions": [
            allowed("create_backup", against),
            allowed("clone_cluster", against),
            allowed("create_backup_schedule", against_scheduling(who, cluster)),
        ],
    }


def note_interest(cluster: Cluster) -> TableReading:
    row, _ = TableReading.objects.get_or_create(cluster=cluster)
    stale = Q(looked_at=None) | Q(looked_at__lt=Now() - _NOTE_INTEREST_EVERY)
    TableReading.objects.filter(stale, cluster=cluster).update(looked_at=Now())
    return row


def list_backups(who: Identity, query: PageQuery, *, cluster_id: str | None = None) -> dict[str, Any]:
    """Newest first: of a cluster, or of the organisation, then without those that are gone. Raises NotFound."""
    rows = Backup.objects.filter(of_clusters(who), organisation_id=who.organisation_id)
    if cluster_id is not None:
        rows = rows.filter(cluster=cluster_of(who, cluster_id))
    rows = rows.exclude(state=BackupState.DELETED)
    found = page(rows.values(*_BACKUP_COLUMNS), query, lambda row: row)
    return found | {"items": _backups(who, found["items"])}


def get_backup(who: Identity, backup_id: str, *, details: bool = True) -> dict[str, Any]:
    """One, also one that is gone. `details`: with nodes and tables. Raises NotFound."""
    rows = Backup.objects.filter(of_clusters(who), organisation_id=who.organisation_id, id=backup_id)
    row = rows.values(*_BACKUP_COLUMNS).first()
    if row is None:
        raise backup_not_found()
    shown = _backups(who, [row])[0]
    return shown | _details(backup_id) if details else shown


def backup_not_found() -> NotFound:
    return NotFound("backup_not_found", "There is no such backup.", hint="List backups to see their ids.")


def _details(backup_id: str) -> dict[str, Any]:
    row = Backup.objects.get(id=backup_id)
    sizes = BackupBundle.objects.filter(node__backup=row).values("table_id")
    by_table = {
        one["table_id"]: {"bundles": one["bundles"], "bytes": one["bytes"]}
        for one in sizes.annotate(bundles=Count("id"), bytes=Sum("object__bytes"))
    }
    nothing = {"bundles": 0, "bytes": 0}
    return {
        "nodes": [
            {
                "name": node.name,
                "datacenter": node.datacenter,
                "rack": node.rack,
                "state": node.state,
                "reason": node.reason or None,
                "bundles": node.bundles,
                "bytes": node.bytes,
                "new_bytes": node.new_bytes,
                "uploaded_bytes": node.uploaded_bytes,
            }
            for node in row.nodes.order_by("name")
        ],
        "tables": [
            {"keyspace": table.keyspace, "table": table.name} | by_table.get(table.id, nothing)
            for table in row.tables.order_by("keyspace", "name")
        ],
    }


def _backups(who: Identity, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    ids = [row["id"] for row in rows]
    bad = damaged(ids)
    restoring = set(
        Restore.objects.filter(backup_id__in=ids, state=RestoreState.RUNNING).values_list("backup_id", flat=True)
    )
    verifying = {
        operation.parameters["backup"]
        for operation in Operation.objects.filter(
            organisation_id=who.organisation_id, kind="verify_backup", state__in=OPEN
        )
    }
    elsewhere = copies.with_healthy_copy(ids)
    shown = [
        _backup(
            who,
            row,
            bad.get(row["id"], ""),
            elsewhere=row["id"] in elsewhere,
            restoring=row["id"] in restoring,
            verifying=row["id"] in verifying,
        )
        for row in rows
    ]
    of_backups = copies.of_backups(ids)
    return [one | {"copies": of_backups.get(one["id"], [])} for one in shown]


def damaged(backup_ids: Collection[str]) -> dict[str, str]:
    """By backup, the name of one of its objects that is known to be missing or changed. Only of those that have one."""
    found = BackupBundle.objects.filter(node__backup_id__in=backup_ids, object__in=_bad_objects(backup_ids))
    names = found.values_list("node__backup_id", "object__key").distinct()
    manifests = Backup.objects.filter(~Q(damaged_manifest=""), id__in=backup_ids)
    return dict(names) | dict(manifests.values_list("id", "damaged_manifest"))


def _bad_objects(backup_ids: Collection[str]) -> QuerySet[BackupObject]:
    places = Backup.objects.filter(id__in=backup_ids).values("location_id")
    return BackupObject.objects.filter(~Q(bad=""), location_id__in=places)


def _backup(
    who: Identity, row: dict[str, Any], bad: str, *, elsewhere: bool, restoring: bool, verifying: bool
) -> dict[str, Any]:
    """`elsewhere`: a copy in a second location is well."""
    state, may = BackupState(row["state"]), may_change(who)
    locked = row["locked_until"]
    is_locked = locked is not None and locked > datetime.now(UTC)
    deleting = reason_against_deleting(
        state, may=may, locked_until=f"{locked:%Y-%m-%d %H:%M} UTC" if is_locked else "", restoring=restoring
    )
    missing = row["missing"][0] if row["missing"] else ""
    lost = "" if elsewhere else bad
    return {
        "id": row["id"],
        "cluster_id": row["cluster_id"],
        "cluster_name": row["cluster_name"],
        "cluster_deleted": row["cluster__deleted_at"] is not None,
        "location_id": row["location_id"],
        "location_name": row["location__name"],
        "schedule_id": row["schedule_id"],
        "schedule_name": row["schedule__name"],
        "state": state,
        "reason": row["reason"] or None,
        "missing": row["missing"],
        "selection": shown(row["selection"]),
        "engine": row["engine"],
        "engine_version": row["engine_version"],
        "taken_at": row["taken_at"],
        "bundles": row["bundles"],
        "bytes": row["bytes"],
        "new_bytes": row["new_bytes"],
        "verified_at": row["verified_at"],
        "contents_verified_at": row["contents_verified_at"],
        "damaged": bad or None,
        "expires_at": row["expires_at"],
        "locked_until": row["locked_until"],
        "operation_id": row["operation_id"] or None,
        "created_by": row["created_by"],
        "created_at": row["created_at"],
        "finished_at": row["finished_at"],
        "allowed_actions": [
            allowed("delete_backup", deleting),
            allowed("verify_backup", reason_against_verifying(state, may=may, verifying=verifying)),
            allowed("download_backup", reason_against_exporting(state, may=may_export(who))),
            allowed(
                "restore_backup",
                reason_against_restoring(state, may=may, missing=missing, damaged=lost),
            ),
        ],
    }


def reason_against_order(cluster: Cluster, location: BackupLocation, *, may: bool) -> str | None:
    """Why no backup of the cluster can be made there, as far as the database knows."""
    can = makes_backups(cluster.engine)
    if reason := reason_against_backing_up(ClusterState(cluster.state), may=may, can=can):
        return reason
    return f"The location {location.name} cannot be written: {location.problem}" if location.problem else None


def estimate(who: Identity, cluster_id: str, location_id: str | None) -> dict[str, Any]:
    """What a backup would come to. Raises NotFound."""
    cluster = cluster_of(who, cluster_id)
    nodes = list(cluster.nodes.filter(deleted_at=None))
    known = [node for node in nodes if node.data_bytes is not None]
    total = sum(node.data_bytes or 0 for node in known) if known and len(known) == len(nodes) else None
    before = (
        Backup.objects.filter(cluster=cluster, state=BackupState.COMPLETE, finished_at__isnull=False)
        .order_by("-id")
        .first()
    )
    new, seconds = total, None
    if before is not None and before.bytes and total is not None:
        new = min(total, round(total * before.new_bytes / before.bytes))
        assert before.finished_at is not None
        took = (before.finished_at - before.created_at).total_seconds()
        seconds = took * max(new, 1) / max(before.new_bytes, 1) if before.new_bytes else took
    free = [node.disk_free_bytes for node in nodes if node.disk_free_bytes is not None]
    warnings = [
        f"{node.name} has little room: while a snapshot is kept, compactions free none."
        for node in nodes
        if node.disk_free_bytes is not None
        and node.disk_total_bytes
        and node.disk_free_bytes < node.disk_total_bytes // 10
    ]
    if before is None:
        warnings.append("This is the first backup there: everything is new.")
    try:
        problem = reason_against_order(cluster, location_for(who, location_id), may=may_change(who))
    except Conflict as nowhere:
        problem = f"{nowhere.message} {nowhere.hint}"
    return {
        "bytes": total,
        "new_bytes": new,
        "seconds": seconds,
        "free_bytes": min(free, default=None),
        "warnings": warnings,
        "problems": [problem] if problem else [],
    }


# For the provisioner


def to_verify(*, every: timedelta, at_most: int) -> list[Backup]:
    """Complete backups that were not verified for so long, the longest first."""
    rows = Backup.objects.filter(
        Q(verified_at=None, finished_at__lt=Now() - every) | Q(verified_at__lt=Now() - every),
        state=BackupState.COMPLETE,
    )
    return list(rows.order_by(F("verified_at").asc(nulls_first=True))[:at_most])


def readings_to_make(*, older_than: timedelta, at_most: int) -> list[Cluster]:
    """Clusters whose tables somebody wants to see, and that were read long ago."""
    rows = TableReading.objects.filter(
        Q(read_at=None) | Q(read_at__lt=Now() - older_than),
        looked_at__gte=Now() - INTEREST,
        cluster__deleted_at=None,
        cluster__state__in=SERVING,
    )
    return [row.cluster for row in rows.select_related("cluster").order_by("read_at")[:at_most]]
