"""What the page of service accounts shows."""

from typing import Any

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from backend.accounts.models import ApiToken, ServiceAccount
from backend.accounts.queries import Identity, account_not_found, take_custom_role
from backend.accounts.states import Permission, reason_against_changing_account
from backend.core.pagination import PageQuery, page
from backend.core.schemas import allowed


def _accounts(who: Identity) -> QuerySet[ServiceAccount, Any]:
    alive = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    counted = ApiToken.objects.filter(alive, service_account_id=OuterRef("id"), revoked_at=None).order_by()
    tokens = counted.values("service_account_id").annotate(n=Count("id")).values("n")
    rows: QuerySet[ServiceAccount, Any] = (
        ServiceAccount.objects.filter(organisation_id=who.organisation_id)
        .annotate(tokens=Coalesce(Subquery(tokens), 0))
        .values(
            "id",
            "name",
            "description",
            "contact",
            "role",
            "custom_role_id",
            "custom_role__name",
            "custom_role__permissions",
            "created_by",
            "created_at",
            "disabled_at",
            "tokens",
        )
    )
    return rows


def _account(who: Identity, row: dict[str, Any]) -> dict[str, Any]:
    beyond = take_custom_role(row) - who.role_permissions
    against = reason_against_changing_account(Permission.MEMBERS_WRITE in who.permissions, beyond)
    disabled = "It is disabled." if row["disabled_at"] else None
    return row | {
        "allowed_actions": [
            allowed("update_service_account", against),
            allowed("create_token", against or disabled),
        ]
    }


def list_accounts(who: Identity, query: PageQuery) -> dict[str, Any]:
    return page(_accounts(who), query, lambda row: _account(who, row))


def get_account(who: Identity, account_id: str) -> dict[str, Any]:
    """Raises NotFound."""
    row = _accounts(who).filter(id=account_id).first()
    if row is None:
        raise account_not_found()
    return _account(who, row)
