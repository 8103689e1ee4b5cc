"""The roles of an organisation: the built-in ones, and those it made."""

from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from backend.accounts.models import CustomRole, GroupRole, Invitation, Membership, ServiceAccount
from backend.accounts.queries import Identity, role_not_found
from backend.accounts.states import (
    NOT_BY_TAGS,
    PERMISSIONS,
    PLATFORM,
    Permission,
    Role,
    reason_against_changing_custom_role,
    reason_against_deleting_custom_role,
)
from backend.core.pagination import PageQuery, page
from backend.core.schemas import allowed

_DESCRIPTIONS = {
    Role.OWNER: "Everything, and alone makes, changes and removes owners.",
    Role.ADMIN: "Everything but owners.",
    Role.OPERATOR: "Orders, changes and deletes clusters, and reads their passwords.",
    Role.VIEWER: "Looks at everything but secrets, and changes nothing.",
}


def get_role_choices() -> dict[str, Any]:
    """What a role can be made of, and what the built-in ones hold."""
    return {
        "built_in": [
            {"role": role, "description": text, "permissions": sorted(PERMISSIONS[role])}
            for role, text in _DESCRIPTIONS.items()
        ],
        "permissions": [
            {"permission": each, "by_tags": each not in NOT_BY_TAGS, "reason": NOT_BY_TAGS.get(each)}
            for each in Permission
            if each not in PLATFORM
        ],
    }


def _counted(found: QuerySet[Any]) -> Coalesce:
    counted = found.filter(custom_role_id=OuterRef("id")).order_by().values("custom_role_id")
    return Coalesce(Subquery(counted.annotate(n=Count("id")).values("n")), 0)


def _roles(who: Identity) -> QuerySet[CustomRole, Any]:
    still_open = Invitation.objects.filter(accepted_at=None, revoked_at=None, expires_at__gt=timezone.now())
    return (
        CustomRole.objects.filter(organisation_id=who.organisation_id, deleted_at=None)
        .annotate(
            held_by=_counted(Membership.objects.all()),
            held_by_accounts=_counted(ServiceAccount.objects.all()),
            offered_by=_counted(still_open),
            mapped_by=_counted(GroupRole.objects.all()),
        )
        .values(
            "id",
            "name",
            "description",
            "permissions",
            "tags",
            "created_by",
            "created_at",
            "held_by",
            "held_by_accounts",
            "offered_by",
            "mapped_by",
        )
    )


def _role(who: Identity, row: dict[str, Any]) -> dict[str, Any]:
    row["members"], row["invitations"] = row.pop("held_by"), row.pop("offered_by")
    row["service_accounts"], row["group_roles"] = row.pop("held_by_accounts"), row.pop("mapped_by")
    may = Permission.MEMBERS_WRITE in who.permissions
    beyond = frozenset(map(Permission, row["permissions"])) - who.role_permissions
    against = reason_against_changing_custom_role(may, beyond)
    return row | {
        "allowed_actions": [
            allowed("update_organisation_role", against),
            allowed(
                "delete_organisation_role",
                against
                or reason_against_deleting_custom_role(
                    row["members"], row["service_accounts"], row["invitations"], row["group_roles"]
                ),
            ),
        ]
    }


def list_roles(who: Identity, query: PageQuery) -> dict[str, Any]:
    return page(_roles(who), query, lambda row: _role(who, row))


def get_role(who: Identity, role_id: str) -> dict[str, Any]:
    """Raises NotFound."""
    row = _roles(who).filter(id=role_id).first()
    if row is None:
        raise role_not_found()
    return _role(who, row)
