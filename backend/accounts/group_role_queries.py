"""Which groups of identity providers give which roles."""

from typing import Any

from django.db.models import F, QuerySet

from backend.accounts.models import GroupRole, IdentityProvider
from backend.accounts.queries import Identity, take_custom_role
from backend.accounts.states import Permission, Role, reason_against_changing_group_role
from backend.core.errors import NotFound
from backend.core.pagination import PageQuery, page
from backend.core.schemas import allowed


def list_identity_providers() -> dict[str, Any]:
    """Those that people can sign in through."""
    return {"items": list(IdentityProvider.objects.filter(disabled_at=None).order_by("name").values("id", "name"))}


def _group_roles(who: Identity) -> QuerySet[GroupRole, Any]:
    rows: QuerySet[GroupRole, Any] = GroupRole.objects.filter(organisation_id=who.organisation_id).values(
        "id",
        "group",
        "role",
        "rank",
        "custom_role_id",
        "custom_role__name",
        "custom_role__permissions",
        "created_by",
        "created_at",
        provider_key=F("provider_id"),
        provider_name=F("provider__name"),
    )
    return rows


def _group_role(who: Identity, row: dict[str, Any]) -> dict[str, Any]:
    beyond = take_custom_role(row) - who.role_permissions
    row["identity_provider"] = {"id": row.pop("provider_key"), "name": row.pop("provider_name")}
    may = Permission.MEMBERS_WRITE in who.permissions
    against = reason_against_changing_group_role(who.role, may, Role(row["role"]), beyond)
    return row | {
        "allowed_actions": [allowed("update_group_role", against), allowed("delete_group_role", against)],
    }


def list_group_roles(who: Identity, query: PageQuery) -> dict[str, Any]:
    return page(_group_roles(who), query, lambda row: _group_role(who, row))


def get_group_role(who: Identity, group_role_id: str) -> dict[str, Any]:
    """Raises NotFound."""
    row = _group_roles(who).filter(id=group_role_id).first()
    if row is None:
        raise group_role_not_found()
    return _group_role(who, row)


def group_role_not_found() -> NotFound:
    return NotFound(
        "group_role_not_found", "There is no such role of a group.", hint="list_group_roles shows their ids."
    )
