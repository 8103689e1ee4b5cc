"""Backup locations: what people order of them, and purging."""

from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission
from backend.backups import listing, plans, vault_keys
from backend.backups.location_queries import get_location, location_not_found, locations, open_work
from backend.backups.models import BackupLocation
from backend.backups.ordering import named, record, start
from backend.backups.schemas import (
    AnyLocationOrder,
    GcsLocationOrder,
    LocationUpdate,
    S3LocationOrder,
)
from backend.backups.states import (
    BackupState,
    reason_against_location_change,
    reason_against_location_delete,
)
from backend.core.errors import Conflict, Invalid
from backend.operations import actions as operations
from backend.operations.models import Operation
from backend.operations.queries import get_operation


@transaction.atomic
def create_location(who: Identity, order: AnyLocationOrder) -> dict[str, Any]:
    """Stores it with its credentials and starts to try it. Raises Forbidden, Conflict."""
    require(who, Permission.CLOUD_ACCOUNTS_WRITE)
    place = {"kind": order.kind, "bucket": order.bucket, "prefix": order.prefix, "object_lock": order.object_lock or ""}
    match order:
        case S3LocationOrder():
            place |= {"region": order.region, "endpoint": order.endpoint or ""}
            credentials = {"access_key_id": order.access_key_id, "secret_access_key": order.secret_access_key}
        case GcsLocationOrder():
            credentials = {"service_account": order.service_account}
    row = named(
        f"A backup location named {order.name} exists already.",
        lambda: BackupLocation.objects.create(
            organisation_id=who.organisation_id, name=order.name, created_by=who.actor, **place
        ),
    )
    vault_keys.keep_credentials(row.id, credentials)
    operation = _start_check(who, row)
    record(who, "backup_location.create", "backup_location", row.id, row.name, after=place | {"name": row.name})
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
        named(
            f"A backup location named {name} exists already.",
            lambda: BackupLocation.objects.filter(id=row.id).update(name=name),
        )
    if given:
        vault_keys.keep_credentials(row.id, given)
        if not row.check_operation_id:
            _start_check(who, row)
    after = {"name": wanted.name or row.name} | ({"credentials": "new"} if given else {})
    record(who, "backup_location.update", "backup_location", row.id, row.name, before={"name": row.name}, after=after)
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
    record(who, "backup_location.check", "backup_location", row.id, row.name)
    return {"location": get_location(who, row.id), "operation": get_operation(who, operation.id)}


@transaction.atomic
def delete_location(who: Identity, location_id: str) -> None:
    """Forgets it. Raises Forbidden, NotFound, Conflict."""
    row = _locked_location(who, location_id)
    backups = row.backups.exclude(state=BackupState.DELETED).count()
    schedules = row.schedules.filter(deleted_at=None, cluster__deleted_at=None).count()
    schedules += row.second_schedules.filter(deleted_at=None, cluster__deleted_at=None).count()
    reason = reason_against_location_delete(may=True, operators=False, backups=backups, schedules=schedules)
    if reason:
        raise Conflict("backup_location_in_use", reason, hint="Move or delete these first.")
    if row.log_archives.filter(enabled=True, cluster__deleted_at=None).exists():
        raise Conflict(
            "backup_location_in_use",
            "The commit logs of a cluster are archived there.",
            hint="Turn that off, or give it another location.",
        )
    if row.stored_objects.exists():
        raise Conflict(
            "backup_location_in_use",
            "Objects of deleted backups are still in it.",
            hint="Purge it; they go a day after their backups.",
        )
    BackupLocation.objects.filter(id=row.id).update(deleted_at=Now())
    vault_keys.forget_credentials(row.id)
    record(who, "backup_location.delete", "backup_location", row.id, row.name, before={"name": row.name})


def _locked_location(who: Identity, location_id: str) -> BackupLocation:
    require(who, Permission.CLOUD_ACCOUNTS_WRITE)
    row = locations(who).select_for_update().filter(id=location_id).first()
    if row is None:
        raise location_not_found()
    if reason := reason_against_location_change(may=True, operators=row.organisation_id is None):
        raise Conflict("backup_location_not_yours", reason, hint="Bring a location of your own.")
    return row


def _start_check(who: Identity, row: BackupLocation) -> Operation:
    operation = start(who, "check_backup_location", plans.check_location(), plans.CHECK_SECONDS, location=row.id)
    BackupLocation.objects.filter(id=row.id).update(check_operation_id=operation.id)
    return operation


# Purging


@transaction.atomic
def purge_location(who: Identity, location_id: str) -> dict[str, Any]:
    """Deletes what is kept no longer and what nobody needs. Raises NotFound, Forbidden."""
    require(who, Permission.CLUSTERS_WRITE)
    row = locations(who).filter(id=location_id).first()
    if row is None:
        raise location_not_found()
    operation = start_purge(row, who.organisation_id, actor=who.actor)
    record(who, "backup_location.purge", "backup_location", row.id, row.name)
    return {"location": get_location(who, row.id), "operation": get_operation(who, operation.id)}


@transaction.atomic
def start_purge(location: BackupLocation, organisation_id: str, *, actor: str) -> Operation:
    """The one that is open already, or a new one: one at a time for an organisation's place in a location."""
    BackupLocation.objects.select_for_update().get(id=location.id)
    if found := open_work("purge_backups", location=location.id, organisation_id=organisation_id):
        return found
    BackupLocation.objects.filter(id=location.id).update(swept_at=Now())
    listing.ensure_place(location, organisation_id)
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
