"""Asking for a delete, confirming it as a second person, and withdrawing it. docs/decisions/0065."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from backend.accounts.models import DeletionRequest, Organisation
from backend.accounts.queries import Identity, require
from backend.accounts.second_person import HOURS, OPEN
from backend.accounts.states import DeletionRequestState, DeletionTarget
from backend.audit import actions as audit
from backend.backups.models import Backup
from backend.backups.queries import backup_not_found
from backend.backups.states import BackupState
from backend.clusters.queries import cluster_not_found
from backend.clusters.reach import clusters, of_clusters
from backend.clusters.states import ClusterState
from backend.core.errors import Conflict, Forbidden, NotFound
from backend.deletions.queries import deletion_request_not_found, get_request, requests, state_now
from backend.deletions.states import (
    NEEDED,
    NO_PERSON,
    OWN,
    reason_against_confirming,
    reason_against_withdrawing,
)
from backend.operations import actions as operations


@dataclass(frozen=True)
class _Found:
    name: str
    cluster_id: str = ""


@transaction.atomic
def create(who: Identity, target: DeletionTarget, target_id: str) -> dict[str, Any]:
    """Asks for it. Raises Forbidden, NotFound, Conflict: also where one person is enough."""
    require(who, NEEDED[target])
    found = _find(who, target, target_id)
    _check_person(who)
    if not Organisation.objects.filter(id=who.organisation_id, deletes_need_two=True).exists():
        raise Conflict(
            "second_person_not_needed",
            "In this organisation one person is enough to delete.",
            hint="Delete it, or have an administrator turn deletes_need_two on first (update_access_settings).",
        )
    now = timezone.now()
    rows = DeletionRequest.objects.filter(
        organisation_id=who.organisation_id, target_type=target, target_id=target_id, state__in=OPEN
    )
    rows.filter(expires_at__lte=now).update(state=DeletionRequestState.EXPIRED)
    try:
        with transaction.atomic():
            made = DeletionRequest.objects.create(
                organisation_id=who.organisation_id,
                target_type=target,
                target_id=target_id,
                target_name=found.name,
                cluster_id=found.cluster_id,
                requested_by=who.actor,
                requested_by_user_id=who.user_id,
                expires_at=now + timedelta(hours=HOURS),
            )
    except IntegrityError:
        raise _there_already(rows.first()) from None
    _record(who, "deletion_request.create", made)
    return get_request(who, made.id)


@transaction.atomic
def confirm(who: Identity, request_id: str) -> dict[str, Any]:
    """As somebody else than who asked. Raises Forbidden, NotFound, Conflict."""
    row = _find_request(who, request_id)
    _check_person(who)
    if row.requested_by_user_id == who.user_id:
        raise Forbidden("own_deletion_request", OWN, hint="An API token of yours counts as you.")
    now = timezone.now()
    state = state_now(row.state, expired=row.expires_at <= now)
    _refuse(reason_against_confirming(state, may=True, own=False, person=True))
    pending = DeletionRequest.objects.filter(id=row.id, state=DeletionRequestState.PENDING, expires_at__gt=now)
    changed = pending.update(
        state=DeletionRequestState.CONFIRMED,
        confirmed_by=who.actor,
        confirmed_by_user_id=who.user_id,
        confirmed_at=now,
    )
    if not changed:
        _refuse("Somebody was quicker: the request does not wait any more.")
    _record(who, "deletion_request.confirm", row)
    return get_request(who, row.id)


@transaction.atomic
def withdraw(who: Identity, request_id: str) -> dict[str, Any]:
    """By who asked, or by anybody else who could confirm it. Raises Forbidden, NotFound, Conflict."""
    row = _find_request(who, request_id)
    now = timezone.now()
    _refuse(reason_against_withdrawing(state_now(row.state, expired=row.expires_at <= now), may=True))
    changed = DeletionRequest.objects.filter(id=row.id, state__in=OPEN).update(
        state=DeletionRequestState.WITHDRAWN, closed_at=now, closed_by=who.actor
    )
    if not changed:
        _refuse("Somebody was quicker: the request is closed.")
    _record(who, "deletion_request.withdraw", row)
    return get_request(who, row.id)


def _find_request(who: Identity, request_id: str) -> DeletionRequest:
    """That the caller may decide about. Raises Forbidden, NotFound."""
    row = requests(who).filter(id=request_id).first()
    if row is None:
        raise deletion_request_not_found()
    require(who, NEEDED[DeletionTarget(row.target_type)])
    return row


def _find(who: Identity, target: DeletionTarget, target_id: str) -> _Found:
    """Whether it is there, within reach. Raises NotFound, and Conflict for what goes or has gone."""
    match target:
        case DeletionTarget.CLUSTER:
            cluster = clusters(who).filter(id=target_id).first()
            if cluster is None:
                raise cluster_not_found()
            if cluster.state in (ClusterState.DELETING, ClusterState.DELETED):
                raise _gone(f"The cluster {cluster.name} is {cluster.state}.")
            return _Found(cluster.name, cluster.id)
        case DeletionTarget.BACKUP:
            backup = Backup.objects.filter(of_clusters(who), organisation_id=who.organisation_id, id=target_id).first()
            if backup is None:
                raise backup_not_found()
            if backup.state in (BackupState.DELETING, BackupState.DELETED):
                raise _gone(f"The backup is {backup.state}.")
            return _Found(backup.cluster_name, backup.cluster_id)
        case DeletionTarget.ACCESS_SETTINGS:
            organisation = Organisation.objects.filter(id=who.organisation_id).get()
            if target_id != organisation.id:
                raise NotFound(
                    "organisation_not_found",
                    "This is not the id of your organisation.",
                    hint="get_organisation has it.",
                    field="target_id",
                )
            return _Found(organisation.name)


def _check_person(who: Identity) -> None:
    """Two service accounts, or one and who made it, would be one person. Raises Forbidden."""
    if who.service_account_id is not None:
        raise Forbidden(
            "person_needed",
            NO_PERSON,
            hint="Two people ask for it and confirm it; the delete itself may then come from the service account.",
        )


def _refuse(reason: str | None) -> None:
    if reason is not None:
        raise Conflict("deletion_request_closed", reason, hint="Look at the request; make another one if need be.")


def _gone(reason: str) -> Conflict:
    return Conflict("target_gone", reason, hint="There is nothing left to ask for.")


def _there_already(row: DeletionRequest | None) -> Conflict:
    about = "" if row is None else f": {row.id} by {row.requested_by}, {row.state}"
    return Conflict(
        "deletion_request_exists",
        f"Somebody asked for this already{about}.",
        hint="Have it confirmed (confirm_deletion_request), or withdraw it first.",
    )


def _record(who: Identity, action: str, row: DeletionRequest) -> None:
    """Of the cluster, so that it is found with all else that became of it; who looks at that is told, too."""
    of_cluster = bool(row.cluster_id)
    if of_cluster:
        operations.notify(who.organisation_id, "cluster", row.cluster_id, row.cluster_id)
    audit.record(
        who,
        action=action,
        target_type="cluster" if of_cluster else "organisation",
        target_id=row.cluster_id if of_cluster else who.organisation_id,
        target_name=row.target_name,
        after={"deletion_request": row.id, row.target_type: row.target_id},
    )
