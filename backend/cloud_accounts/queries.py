"""Reading cloud accounts. Nothing of another organisation's is ever found here."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Count, Q, QuerySet

from backend.accounts.queries import Identity
from backend.accounts.states import Permission
from backend.cloud_accounts.instructions import setup_of
from backend.cloud_accounts.models import CloudAccount, RegionCapacity
from backend.cloud_accounts.room import QuotaFacts, Room
from backend.cloud_accounts.states import (
    CheckState,
    reason_against_changing,
    reason_against_checking,
    reason_against_deleting,
    reason_against_ordering,
)
from backend.core.errors import Conflict, Invalid, NotFound
from backend.core.pagination import PageQuery, cut
from backend.core.schemas import allowed


def _living(who: Identity) -> QuerySet[CloudAccount]:
    return CloudAccount.objects.filter(organisation_id=who.organisation_id, deleted_at=None)


def _counted(rows: QuerySet[CloudAccount]) -> QuerySet[CloudAccount, Any]:
    return rows.annotate(clusters_total=Count("clusters", filter=Q(clusters__deleted_at=None)))


def list_accounts(who: Identity, query: PageQuery) -> dict[str, Any]:
    """Newest first. One statement."""
    rows = _counted(_living(who))
    if query.cursor is not None:
        rows = rows.filter(id__lt=query.cursor)
    found = [_account(who, row) for row in rows.order_by("-id")[: query.limit + 1]]
    return cut(found, query, lambda row: row)


def get_account(who: Identity, account_id: str) -> dict[str, Any]:
    """With what has to be done in the cloud. Raises NotFound."""
    row = _counted(_living(who)).filter(id=account_id).first()
    if row is None:
        raise account_not_found()
    return _account(who, row) | {"setup": setup_of(row)}


def account_not_found() -> NotFound:
    return NotFound(
        "cloud_account_not_found", "There is no such cloud account.", hint="List the cloud accounts to see their ids."
    )


def find_for_order(who: Identity, account_id: str, *, provider: str, lock: bool = False) -> CloudAccount:
    """The account that a cluster at this provider is to be made in. Raises Invalid, Conflict.

    `lock`: it is not deleted before the transaction ends.
    """
    rows = _living(who).select_for_update(no_key=True) if lock else _living(who)
    account = rows.filter(id=account_id).first()
    if account is None:
        raise Invalid(
            "unknown_cloud_account",
            f"There is no cloud account {account_id}.",
            hint="Choose from what list_cloud_accounts lists, or leave it out.",
            field="cloud_account",
        )
    if account.provider != provider:
        raise Invalid(
            "cloud_account_elsewhere",
            f"The cloud account {account.name} is at {account.provider}, the cluster would be at {provider}.",
            hint="Choose another cloud account, or another provider.",
            field="cloud_account",
        )
    if reason := reason_against_ordering(account.state, missing=len(account.missing)):
        raise Conflict(
            "cloud_account_not_ready",
            f"Nothing can be ordered into the cloud account {account.name}. {reason}",
            hint="See what its check found, do what it says, and check it again.",
            field="cloud_account",
        )
    return account


def find_account(who: Identity, account_id: str) -> CloudAccount:
    """Raises NotFound."""
    account = _living(who).filter(id=account_id).first()
    if account is None:
        raise account_not_found()
    return account


def recorded_room(region_id: str, account: CloudAccount | None) -> Room:
    """As the cloud told last. Nothing is promised in it: who knows of nodes adds that."""
    region = region_id.partition("/")[2]
    whose = "The installation's account" if account is None else f"The cloud account {account.name}"
    row = RegionCapacity.objects.filter(region_id=region_id, cloud_account=account).first()
    if row is None:
        return Room(whose=whose, region=region)
    return Room(
        whose=whose,
        region=region,
        quotas=tuple(QuotaFacts(**quota) for quota in row.quotas),
        offered=None if row.offered is None else {zone: frozenset(names) for zone, names in row.offered.items()},
        answered_at=row.answered_at,
        problem=row.problem,
    )


def living_accounts(provider: str) -> Sequence[CloudAccount]:
    """Of all organisations; for the provisioner."""
    return list(CloudAccount.objects.filter(provider=provider, deleted_at=None).order_by("id"))


def _account(who: Identity, row: Any) -> dict[str, Any]:
    may = Permission.CLOUD_ACCOUNTS_WRITE in who.permissions
    return {
        "id": row.id,
        "name": row.name,
        "provider": row.provider,
        "role_arn": row.role_arn or None,
        "external_id": row.external_id,
        "project": row.project or None,
        "service_account": row.service_account or None,
        "settings": row.settings,
        "check": {
            "state": row.state,
            "checked_at": row.checked_at,
            "missing": row.missing,
            "results": row.check_results,
            "operation_id": row.check_operation_id or None,
        },
        "clusters": row.clusters_total,
        "created_by": row.created_by,
        "created_at": row.created_at,
        "allowed_actions": [
            allowed("update_cloud_account", reason_against_changing(may=may)),
            allowed("check_cloud_account", reason_against_checking(may=may, checking=row.state is CheckState.CHECKING)),
            allowed("delete_cloud_account", reason_against_deleting(may=may, clusters=row.clusters_total)),
            allowed("create_cluster", reason_against_ordering(row.state, missing=len(row.missing))),
        ],
    }
