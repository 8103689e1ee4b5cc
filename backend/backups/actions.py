"""Backing up: what people order. What the provisioner finds out is written by progress.py and objects.py.

An order is one transaction with operation and audit record. It is checked here as far as the database knows; what only
the nodes and the store know, the operation checks first, before it changes anything.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction

from backend.accounts import second_person
from backend.accounts.queries import Identity, require
from backend.accounts.states import DeletionTarget, Permission
from backend.backups import plans, vault_keys
from backend.backups.location_actions import start_purge
from backend.backups.location_queries import location_for, open_work
from backend.backups.models import Backup, BackupLocation, BackupNode, BackupSchedule
from backend.backups.ordering import PLEASE_LOOK, chosen, locked_cluster, record
from backend.backups.queries import backup_not_found, get_backup, reason_against_order
from backend.backups.schemas import (
    BackupOrder,
)
from backend.backups.states import (
    BackupState,
    RestoreState,
    reason_against_deleting,
    reason_against_verifying,
)
from backend.catalog.queries import places_by_itself
from backend.clusters.models import Cluster, Node
from backend.core.errors import Conflict
from backend.operations import actions as operations
from backend.operations.models import Operation
from backend.operations.queries import get_operation


@transaction.atomic
def create_backup(who: Identity, cluster_id: str, order: BackupOrder) -> dict[str, Any]:
    """Starts one now. Raises NotFound, Forbidden, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    cluster = locked_cluster(who, cluster_id)
    location = location_for(who, order.location_id)
    if reason := reason_against_order(cluster, location, may=True):
        raise Conflict("cannot_back_up", reason, hint=PLEASE_LOOK)
    now = datetime.now(UTC)
    row, operation = start_backup(
        cluster,
        location,
        actor=who.actor,
        selection=chosen(cluster, order.selection),
        rate=order.rate_mib_per_second,
        expires_at=None if order.keep_days is None else now + timedelta(days=order.keep_days),
        locked_until=None if order.lock_days is None else now + timedelta(days=order.lock_days),
    )
    record(who, "backup.create", "cluster", cluster.id, cluster.name, after=order.model_dump(mode="json"))
    return {"backup": get_backup(who, row.id, details=False), "operation": get_operation(who, operation.id)}


def start_backup(
    cluster: Cluster,
    location: BackupLocation,
    *,
    actor: str,
    selection: list[dict[str, Any]],
    rate: int | None,
    schedule: BackupSchedule | None = None,
    expires_at: datetime | None = None,
    locked_until: datetime | None = None,
) -> tuple[Backup, Operation]:
    """To be called in a transaction. Raises Conflict when the coordinator refuses it."""
    row, nodes = new_backup(
        cluster,
        location,
        actor=actor,
        selection=selection,
        rate=rate,
        schedule=schedule,
        expires_at=expires_at,
        locked_until=locked_until,
    )
    operation = operations.start(
        organisation_id=cluster.organisation_id,
        kind="backup",
        cluster_id=cluster.id,
        cluster_name=cluster.name,
        actor=actor,
        parameters={"backup": row.id, "scheduled": schedule is not None},
        groups=plans.backup(
            nodes,
            lock=bool(location.object_lock and row.locked_until),
            hold=places_by_itself(cluster.engine),
        ),
        expected_seconds=plans.BACKUP_SECONDS,
        pausable=True,
    )
    Backup.objects.filter(id=row.id).update(operation_id=operation.id)
    operations.notify(cluster.organisation_id, "cluster", cluster.id, cluster.id)
    return row, operation


def new_backup(
    cluster: Cluster,
    location: BackupLocation,
    *,
    actor: str,
    selection: list[dict[str, Any]],
    rate: int | None = None,
    schedule: BackupSchedule | None = None,
    expires_at: datetime | None = None,
    locked_until: datetime | None = None,
) -> tuple[Backup, list[Node]]:
    """Its rows, one for each node. The operation is the caller's."""
    key = vault_keys.ensure_key(cluster.organisation_id)
    row = Backup.objects.create(
        organisation_id=cluster.organisation_id,
        cluster=cluster,
        cluster_name=cluster.name,
        location=location,
        schedule=schedule,
        selection=selection,
        rate_mib_per_second=rate,
        engine=cluster.engine,
        engine_version=cluster.engine_version,
        key_id=vault_keys.key_id(key),
        expires_at=expires_at,
        locked_until=locked_until,
        created_by=actor,
    )
    nodes = list(cluster.nodes.filter(deleted_at=None).select_related("datacenter").order_by("position"))
    BackupNode.objects.bulk_create(_of_node(row, node) for node in nodes)
    return row, nodes


def _of_node(backup: Backup, node: Node) -> BackupNode:
    return BackupNode(
        backup=backup,
        node=node,
        name=node.name,
        host_id=node.host_id,
        datacenter=node.datacenter.name,
        rack=node.zone,
        tokens=node.tokens,
    )


@transaction.atomic
def delete_backup(who: Identity, backup_id: str) -> dict[str, Any]:
    """Begins to take it away: manifests first, then what only it needs. Raises NotFound, Forbidden, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    row = _locked_backup(who, backup_id)
    locked = row.locked_until if row.locked_until is not None and row.locked_until > datetime.now(UTC) else None
    reason = reason_against_deleting(
        BackupState(row.state),
        may=True,
        locked_until="" if locked is None else f"{locked:%Y-%m-%d %H:%M} UTC",
        restoring=row.restores.filter(state=RestoreState.RUNNING).exists(),
    )
    if reason:
        raise Conflict("backup_cannot_be_deleted", reason, hint="Look at the backup.")
    agreed = second_person.agreed(who, DeletionTarget.BACKUP, row.id, name=row.cluster_name)
    Backup.objects.filter(id=row.id).update(state=BackupState.DELETING)
    operation = start_purge(row.location, who.organisation_id, actor=who.actor)
    was = {"backup": row.id}
    record(who, "backup.delete", "cluster", row.cluster_id, row.cluster_name, before=was, after=agreed or None)
    return {"backup": get_backup(who, row.id, details=False), "operation": get_operation(who, operation.id)}


@transaction.atomic
def verify_backup(who: Identity, backup_id: str) -> dict[str, Any]:
    """Looks at all of its objects, and reads a sample. Raises NotFound, Forbidden, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    row = _locked_backup(who, backup_id)
    open_one = open_work("verify_backup", backup=row.id)
    reason = reason_against_verifying(BackupState(row.state), may=True, verifying=open_one is not None)
    if reason:
        raise Conflict("backup_cannot_be_verified", reason, hint="Look at the backup and its operations.")
    operation = start_verify(row, actor=who.actor)
    record(who, "backup.verify", "cluster", row.cluster_id, row.cluster_name, after={"backup": row.id})
    return {"operation": get_operation(who, operation.id)}


def start_verify(row: Backup, *, actor: str) -> Operation:
    return operations.start(
        organisation_id=row.organisation_id,
        kind="verify_backup",
        cluster_id="",
        cluster_name=row.cluster_name,
        actor=actor,
        parameters={"backup": row.id},
        groups=plans.verify(),
        expected_seconds=plans.VERIFY_SECONDS,
    )


def _locked_backup(who: Identity, backup_id: str) -> Backup:
    rows = Backup.objects.select_for_update(of=("self",)).select_related("location", "cluster")
    row = rows.filter(organisation_id=who.organisation_id, id=backup_id).first()
    if row is None:
        raise backup_not_found()
    return row
