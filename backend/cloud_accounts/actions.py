"""Bringing cloud accounts: what people do, and what a check of the provisioner finds out."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission
from backend.audit import actions as audit
from backend.catalog import queries as catalog
from backend.cloud_accounts import plans
from backend.cloud_accounts.models import CloudAccount, RegionCapacity
from backend.cloud_accounts.queries import account_not_found, get_account
from backend.cloud_accounts.schemas import CloudAccountOrder
from backend.cloud_accounts.states import CheckState, reason_against_deleting
from backend.core.errors import Conflict, Invalid
from backend.operations import actions as operations
from backend.operations.models import Operation
from backend.operations.queries import get_operation

Answer = TypeVar("Answer")

# Of a Google service account's name, which has at most 30 characters, `ringmaster-` takes 11.
_EXTERNAL_ID: Mapping[str, Callable[[], str]] = {
    "aws": lambda: secrets.token_urlsafe(24),
    "gcp": lambda: secrets.token_hex(8),
}

# What people do


@transaction.atomic
def create(who: Identity, order: CloudAccountOrder) -> dict[str, Any]:
    """Registers an account and starts to check it. Raises Forbidden, Invalid, Conflict."""
    require(who, Permission.CLOUD_ACCOUNTS_WRITE)
    regions = catalog.region_names(order.provider)
    if not regions:
        raise Invalid(
            "unknown_provider",
            f"This installation does not offer {order.provider}.",
            hint="Choose a provider that get_catalog lists.",
            field="provider",
        )
    if unknown := sorted(set(order.settings.vpcs) - set(regions)):
        raise Invalid(
            "unknown_region",
            f"There is no region {unknown[0]} of {order.provider}. Known: {', '.join(regions)}.",
            hint="Choose from what get_catalog lists.",
            field="settings.vpcs",
        )
    account = _named(
        order.name,
        lambda: CloudAccount.objects.create(
            organisation_id=who.organisation_id,
            name=order.name,
            provider=order.provider,
            external_id=_EXTERNAL_ID[order.provider](),
            role_arn=order.role_arn or "",
            project=order.project or "",
            settings=order.settings.model_dump(),
            created_by=who.actor,
        ),
    )
    operation = _start_check(who, account)
    _record(who, account, "cloud_account.create", after=order.model_dump())
    return {"cloud_account": get_account(who, account.id), "operation": get_operation(who, operation.id)}


@transaction.atomic
def rename(who: Identity, account_id: str, *, name: str) -> dict[str, Any]:
    """Raises Forbidden, NotFound, Conflict."""
    account = _locked(who, account_id)
    _named(name, lambda: CloudAccount.objects.filter(id=account.id).update(name=name))
    _record(who, account, "cloud_account.update", before={"name": account.name}, after={"name": name})
    return get_account(who, account_id)


@transaction.atomic
def check(who: Identity, account_id: str) -> dict[str, Any]:
    """Starts a check. Raises Forbidden, NotFound, Conflict."""
    account = _locked(who, account_id)
    if account.check_operation_id:
        raise Conflict(
            "check_in_progress",
            f"The operation {account.check_operation_id} is checking this account.",
            hint="Wait until it has ended, or cancel it.",
        )
    operation = _start_check(who, account)
    _record(who, account, "cloud_account.check")
    return {"cloud_account": get_account(who, account_id), "operation": get_operation(who, operation.id)}


@transaction.atomic
def delete(who: Identity, account_id: str) -> None:
    """Forgets an account; nothing is changed in the cloud. Raises Forbidden, NotFound, Conflict."""
    account = _locked(who, account_id)
    # Orders lock the account too, so none comes in between.
    clusters = account.clusters.filter(deleted_at=None).count()
    if reason := reason_against_deleting(may=True, clusters=clusters):
        raise Conflict("cloud_account_in_use", reason, hint="Delete the clusters in it first.")
    CloudAccount.objects.filter(id=account.id).update(deleted_at=Now())
    _record(who, account, "cloud_account.delete", before={"name": account.name})


def _locked(who: Identity, account_id: str) -> CloudAccount:
    require(who, Permission.CLOUD_ACCOUNTS_WRITE)
    rows = CloudAccount.objects.select_for_update().filter(organisation_id=who.organisation_id, deleted_at=None)
    account = rows.filter(id=account_id).first()
    if account is None:
        raise account_not_found()
    return account


def _named(name: str, write: Callable[[], Answer]) -> Answer:
    try:
        with transaction.atomic():
            return write()
    except IntegrityError as error:
        if "cloud_account_name_once" not in str(error):
            raise
        raise Conflict(
            "name_taken", f"A cloud account named {name} exists already.", hint="Choose another name.", field="name"
        ) from error


def _start_check(who: Identity, account: CloudAccount) -> Operation:
    regions = catalog.region_names(account.provider)
    operation = operations.start(
        organisation_id=who.organisation_id,
        kind="check_cloud_account",
        cluster_id="",
        cluster_name="",
        actor=who.actor,
        parameters={"cloud_account_id": account.id, "name": account.name},
        # What a Google project allows it allows in all of its regions; AWS may refuse single regions.
        groups=plans.check_cloud_account(regions[:1] if account.provider == "gcp" else regions),
        expected_seconds=plans.CHECK_SECONDS,
    )
    CloudAccount.objects.filter(id=account.id).update(check_operation_id=operation.id)
    return operation


def _record(
    who: Identity,
    account: CloudAccount,
    action: str,
    *,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    audit.record(
        who,
        action=action,
        target_type="cloud_account",
        target_id=account.id,
        target_name=account.name,
        before=before,
        after=after,
    )


# What the provisioner finds out


def checked(operation_id: str, results: Sequence[Mapping[str, Any]]) -> None:
    """What the check of this operation found. `results`: as schemas.AccountCheckResult."""
    if any(result["problem"] for result in results):
        state = CheckState.REFUSED
    elif any(result["missing"] for result in results):
        state = CheckState.INCOMPLETE
    else:
        state = CheckState.READY
    CloudAccount.objects.filter(check_operation_id=operation_id).update(
        check_state=state, check_results=list(results), checked_at=Now(), check_operation_id=""
    )


def check_cancelled(operation_id: str) -> None:
    """What the check before found still holds."""
    CloudAccount.objects.filter(check_operation_id=operation_id).update(check_operation_id="")


def record_capacity(
    region_id: str,
    account: CloudAccount | None,
    *,
    quotas: Sequence[Mapping[str, Any]],
    offered: Mapping[str, Sequence[str]] | None,
) -> None:
    """What the cloud answered just now. `quotas`: as room.QuotaFacts; `offered`: machine types by zone."""
    RegionCapacity.objects.update_or_create(
        region_id=region_id,
        cloud_account=account,
        defaults={"quotas": quotas, "offered": offered, "asked_at": Now(), "answered_at": Now(), "problem": ""},
    )


def record_no_answer(region_id: str, account: CloudAccount | None, problem: str) -> None:
    """It could not be asked. What it told before stays."""
    RegionCapacity.objects.update_or_create(
        region_id=region_id, cloud_account=account, defaults={"asked_at": Now(), "problem": problem}
    )
