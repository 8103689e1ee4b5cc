"""Backing up: what people order. What the provisioner finds out is written by progress.py and objects.py.

An order is one transaction with operation and audit record. It is checked here as far as the database knows; what only
the nodes and the store know, the operation checks first, before it changes anything.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission
from backend.audit import actions as audit
from backend.backups import plans, timing, vault_keys
from backend.backups.models import Backup, BackupLocation, BackupNode, BackupSchedule
from backend.backups.queries import (
    backup_not_found,
    get_backup,
    get_location,
    get_schedule,
    location_for,
    location_not_found,
    locations,
    open_work,
    reason_against_order,
    schedule_not_found,
)
from backend.backups.schemas import (
    AnyLocationOrder,
    BackupOrder,
    BackupScheduleOrder,
    GcsLocationOrder,
    LocationUpdate,
    S3LocationOrder,
    TableChoice,
)
from backend.backups.states import (
    BackupState,
    RestoreState,
    reason_against_deleting,
    reason_against_location_change,
    reason_against_location_delete,
    reason_against_scheduling,
    reason_against_verifying,
)
from backend.catalog.queries import makes_backups
from backend.clusters.models import Cluster, Node
from backend.clusters.queries import cluster_not_found
from backend.clusters.states import ClusterState
from backend.core.errors import Conflict, Invalid
from backend.operations import actions as operations
from backend.operations.models import Operation
from backend.operations.queries import get_operation

Answer = TypeVar("Answer")
SCHEDULER = "the schedule"
_PLEASE_LOOK = "Look at the cluster's state and its operations."

# Locations


@transaction.atomic
def create_location(who: Identity, order: AnyLocationOrder) -> dict[str, Any]:
    """Stores it with its credentials and starts to try it. Raises Forbidden, Conflict."""
    require(who, Permission.CLOUD_ACCOUNTS_WRITE)
    place = {"kind": order.kind, "bucket": order.bucket, "prefix": order.prefix}
    match order:
        case S3LocationOrder():
            place |= {"region": order.region, "endpoint": order.endpoint or ""}
            credentials = {"access_key_id": order.access_key_id, "secret_access_key": order.secret_access_key}
        case GcsLocationOrder():
            credentials = {"service_account": order.service_account}
    row = _named(
        f"A backup location named {order.name} exists already.",
        lambda: BackupLocation.objects.create(
            organisation_id=who.organisation_id, name=order.name, created_by=who.actor, **place
        ),
    )
    vault_keys.keep_credentials(row.id, credentials)
    operation = _start_check(who, row)
    _record(who, "backup_location.create", "backup_location", row.id, row.name, after=place | {"name": row.name})
    return {"location": get_location(who, row.id), "operation": get_operation(who, operation.id)}


@transaction.atomic
def update_location(who: Identity, location_id: str, wanted: LocationUpdate) -> dict[str, Any]:
    """Another name, other credentials: those are tried at once. Raises Forbidden, NotFound, Invalid, Conflict."""
    row = _locked_location(who, location_id)
    given = wanted.model_dump(exclude_none=True, exclude={"name"})
    needed = {"access_key_id", "secret_access_key"} if row.kind == "s3" else {"service_account"}
    if given and set(given) != needed:
        raise Invalid(
            "wrong_credentials",
            f"The credentials of a location of kind {row.kind} are {' and '.join(sorted(needed))}.",
            hint="Give all of them, and no others.",
            field=min(set(given) ^ needed),
        )
    if wanted.name is not None:
        name = wanted.name
        _named(
            f"A backup location named {name} exists already.",
            lambda: BackupLocation.objects.filter(id=row.id).update(name=name),
        )
    if given:
        vault_keys.keep_credentials(row.id, given)
        if not row.check_operation_id:
            _start_check(who, row)
    after = {"name": wanted.name or row.name} | ({"credentials": "new"} if given else {})
    _record(who, "backup_location.update", "backup_location", row.id, row.name, before={"name": row.name}, after=after)
    return get_location(who, location_id)


@transaction.atomic
def check_location(who: Identity, location_id: str) -> dict[str, Any]:
    """Starts to try it. The operator's too: to look does no harm. Raises Forbidden, NotFound, Conflict."""
    require(who, Permission.CLOUD_ACCOUNTS_WRITE)
    row = locations(who).select_for_update().filter(id=location_id).first()
    if row is None:
        raise location_not_found()
    if row.check_operation_id and open_work("check_backup_location", location=row.id):
        raise Conflict("check_in_progress", "It is being checked.", hint="Wait until that has ended, or cancel it.")
    operation = _start_check(who, row)
    _record(who, "backup_location.check", "backup_location", row.id, row.name)
    return {"location": get_location(who, row.id), "operation": get_operation(who, operation.id)}


@transaction.atomic
def delete_location(who: Identity, location_id: str) -> None:
    """Forgets it. Raises Forbidden, NotFound, Conflict."""
    row = _locked_location(who, location_id)
    backups = row.backups.exclude(state=BackupState.DELETED).count()
    schedules = row.schedules.filter(deleted_at=None, cluster__deleted_at=None).count()
    reason = reason_against_location_delete(may=True, operators=False, backups=backups, schedules=schedules)
    if reason:
        raise Conflict("backup_location_in_use", reason, hint="Move or delete these first.")
    if row.stored_objects.exists():
        raise Conflict(
            "backup_location_in_use",
            "Objects of deleted backups are still in it.",
            hint="Purge it; they go a day after their backups.",
        )
    BackupLocation.objects.filter(id=row.id).update(deleted_at=Now())
    vault_keys.forget_credentials(row.id)
    _record(who, "backup_location.delete", "backup_location", row.id, row.name, before={"name": row.name})


def _locked_location(who: Identity, location_id: str) -> BackupLocation:
    require(who, Permission.CLOUD_ACCOUNTS_WRITE)
    row = locations(who).select_for_update().filter(id=location_id).first()
    if row is None:
        raise location_not_found()
    if reason := reason_against_location_change(may=True, operators=row.organisation_id is None):
        raise Conflict("backup_location_not_yours", reason, hint="Bring a location of your own.")
    return row


def _start_check(who: Identity, row: BackupLocation) -> Operation:
    operation = _start(who, "check_backup_location", plans.check_location(), plans.CHECK_SECONDS, location=row.id)
    BackupLocation.objects.filter(id=row.id).update(check_operation_id=operation.id)
    return operation


# Schedules


@transaction.atomic
def create_schedule(who: Identity, cluster_id: str, order: BackupScheduleOrder) -> dict[str, Any]:
    """Raises NotFound, Forbidden, Invalid, Conflict."""
    cluster = _schedulable(who, cluster_id)
    columns = _schedule_columns(who, order)
    row = _named(
        f"The cluster has a schedule {order.name} already.",
        lambda: BackupSchedule.objects.create(cluster=cluster, created_by=who.actor, **columns),
    )
    _record(who, "backup_schedule.create", "cluster", cluster.id, cluster.name, after=order.model_dump(mode="json"))
    return get_schedule(who, cluster_id, row.id)


@transaction.atomic
def replace_schedule(who: Identity, cluster_id: str, schedule_id: str, order: BackupScheduleOrder) -> dict[str, Any]:
    """Puts another in its place; its backups stay its own. Raises NotFound, Forbidden, Invalid, Conflict."""
    cluster = _schedulable(who, cluster_id)
    row = _locked_schedule(cluster, schedule_id)
    before = get_schedule(who, cluster_id, row.id)
    columns = _schedule_columns(who, order)
    _named(
        f"The cluster has a schedule {order.name} already.",
        lambda: BackupSchedule.objects.filter(id=row.id).update(**columns),
    )
    kept = {name: before[name] for name in order.model_dump() if name in before}
    _record(
        who,
        "backup_schedule.replace",
        "cluster",
        cluster.id,
        cluster.name,
        before=kept,
        after=order.model_dump(mode="json"),
    )
    return get_schedule(who, cluster_id, row.id)


@transaction.atomic
def delete_schedule(who: Identity, cluster_id: str, schedule_id: str) -> None:
    """Its backups stay, and are kept as it said. Raises NotFound, Forbidden, Conflict."""
    cluster = _schedulable(who, cluster_id)
    row = _locked_schedule(cluster, schedule_id)
    BackupSchedule.objects.filter(id=row.id).update(deleted_at=Now(), enabled=False, due_at=None)
    _record(who, "backup_schedule.delete", "cluster", cluster.id, cluster.name, before={"name": row.name})


def _schedulable(who: Identity, cluster_id: str) -> Cluster:
    require(who, Permission.CLUSTERS_WRITE)
    cluster = _locked_cluster(who, cluster_id)
    can = makes_backups(cluster.engine)
    if reason := reason_against_scheduling(ClusterState(cluster.state), may=True, can=can):
        raise Conflict("cannot_schedule_backups", reason, hint=_PLEASE_LOOK)
    return cluster


def _locked_schedule(cluster: Cluster, schedule_id: str) -> BackupSchedule:
    rows = BackupSchedule.objects.select_for_update().filter(cluster=cluster, deleted_at=None)
    row = rows.filter(id=schedule_id).first()
    if row is None:
        raise schedule_not_found()
    return row


def _schedule_columns(who: Identity, order: BackupScheduleOrder) -> dict[str, Any]:
    location = location_for(who, order.location_id)
    try:
        due = timing.next_due(
            cron=order.cron or "",
            interval_minutes=order.interval_minutes,
            time_zone=order.time_zone,
            after=datetime.now(UTC),
        )
    except timing.NeverFires as error:
        raise Invalid(
            "cron_never_fires", str(error), hint="For example 30 2 * * *: every night at half past two.", field="cron"
        ) from error
    return order.model_dump(exclude={"cron", "selection", "location_id"}) | {
        "cron": order.cron or "",
        "selection": _selection(order.selection),
        "location": location,
        "due_at": due if order.enabled else None,
    }


# Backups


@transaction.atomic
def create_backup(who: Identity, cluster_id: str, order: BackupOrder) -> dict[str, Any]:
    """Starts one now. Raises NotFound, Forbidden, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    cluster = _locked_cluster(who, cluster_id)
    location = location_for(who, order.location_id)
    if reason := reason_against_order(cluster, location, may=True):
        raise Conflict("cannot_back_up", reason, hint=_PLEASE_LOOK)
    now = datetime.now(UTC)
    row, operation = start_backup(
        cluster,
        location,
        actor=who.actor,
        selection=_selection(order.selection),
        rate=order.rate_mib_per_second,
        expires_at=None if order.keep_days is None else now + timedelta(days=order.keep_days),
        locked_until=None if order.lock_days is None else now + timedelta(days=order.lock_days),
    )
    _record(who, "backup.create", "cluster", cluster.id, cluster.name, after=order.model_dump(mode="json"))
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
    operation = operations.start(
        organisation_id=cluster.organisation_id,
        kind="backup",
        cluster_id=cluster.id,
        cluster_name=cluster.name,
        actor=actor,
        parameters={"backup": row.id, "scheduled": schedule is not None},
        groups=plans.backup(nodes),
        expected_seconds=plans.BACKUP_SECONDS,
        pausable=True,
    )
    Backup.objects.filter(id=row.id).update(operation_id=operation.id)
    operations.notify(cluster.organisation_id, "cluster", cluster.id, cluster.id)
    return row, operation


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
    Backup.objects.filter(id=row.id).update(state=BackupState.DELETING)
    operation = start_purge(row.location, who.organisation_id, actor=who.actor)
    _record(who, "backup.delete", "cluster", row.cluster_id, row.cluster_name, before={"backup": row.id})
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
    _record(who, "backup.verify", "cluster", row.cluster_id, row.cluster_name, after={"backup": row.id})
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


@transaction.atomic
def purge_location(who: Identity, location_id: str) -> dict[str, Any]:
    """Deletes what is kept no longer and what nobody needs. Raises NotFound, Forbidden."""
    require(who, Permission.CLUSTERS_WRITE)
    row = locations(who).filter(id=location_id).first()
    if row is None:
        raise location_not_found()
    operation = start_purge(row, who.organisation_id, actor=who.actor)
    _record(who, "backup_location.purge", "backup_location", row.id, row.name)
    return {"location": get_location(who, row.id), "operation": get_operation(who, operation.id)}


@transaction.atomic
def start_purge(location: BackupLocation, organisation_id: str, *, actor: str) -> Operation:
    """The one that is open already, or a new one: one at a time for an organisation's place in a location."""
    BackupLocation.objects.select_for_update().get(id=location.id)
    if found := open_work("purge_backups", location=location.id, organisation_id=organisation_id):
        return found
    BackupLocation.objects.filter(id=location.id).update(swept_at=Now())
    return operations.start(
        organisation_id=organisation_id,
        kind="purge_backups",
        cluster_id="",
        cluster_name="",
        actor=actor,
        parameters={"location": location.id, "name": location.name},
        groups=plans.purge(),
        expected_seconds=plans.PURGE_SECONDS,
    )


def _locked_backup(who: Identity, backup_id: str) -> Backup:
    rows = Backup.objects.select_for_update(of=("self",)).select_related("location", "cluster")
    row = rows.filter(organisation_id=who.organisation_id, id=backup_id).first()
    if row is None:
        raise backup_not_found()
    return row


def _locked_cluster(who: Identity, cluster_id: str) -> Cluster:
    found = Cluster.objects.select_for_update().filter(organisation_id=who.organisation_id, id=cluster_id).first()
    if found is None:
        raise cluster_not_found()
    return found


def _selection(wanted: list[TableChoice]) -> list[dict[str, Any]]:
    return [{"keyspace": one.keyspace, "table": one.table or ""} for one in wanted]


def _named(taken: str, write: Callable[[], Answer]) -> Answer:
    try:
        with transaction.atomic():
            return write()
    except IntegrityError as error:
        if "_name_once" not in str(error):
            raise
        raise Conflict("name_taken", taken, hint="Choose another name.", field="name") from error


def _start(who: Identity, kind: str, groups: plans.Groups, seconds: int, **parameters: str) -> Operation:
    return operations.start(
        organisation_id=who.organisation_id,
        kind=kind,
        cluster_id="",
        cluster_name="",
        actor=who.actor,
        parameters=parameters,
        groups=groups,
        expected_seconds=seconds,
    )


def _record(
    who: Identity,
    action: str,
    target_type: str,
    target_id: str,
    target_name: str,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    audit.record(
        who,
        action=action,
        target_type=target_type,
        target_id=target_id,
        target_name=target_name,
        before=None if before is None else dict(before),
        after=None if after is None else dict(after),
    )
