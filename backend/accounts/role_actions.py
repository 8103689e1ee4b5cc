"""Every change to the roles that an organisation made. Each is one transaction with its line in the audit log."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from backend.accounts.models import CustomRole, Organisation
from backend.accounts.queries import Identity, require, role_not_found
from backend.accounts.role_queries import get_role
from backend.accounts.states import (
    NOT_BY_TAGS,
    PLATFORM,
    Permission,
    Role,
    reason_against_changing_custom_role,
    reason_against_deleting_custom_role,
)
from backend.audit import actions as audit
from backend.core.errors import Conflict, Forbidden, Invalid

ROLES_LIMIT = 100
Tags = Mapping[str, Sequence[str]]


@transaction.atomic
def create_role(
    who: Identity, *, name: str, description: str, permissions: Sequence[Permission], tags: Tags | None
) -> dict[str, Any]:
    """Raises Forbidden, Invalid, Conflict."""
    require(who, Permission.MEMBERS_WRITE)
    # One after the other, so that the limit holds.
    Organisation.objects.select_for_update().get(id=who.organisation_id)
    if CustomRole.objects.filter(organisation_id=who.organisation_id, deleted_at=None).count() >= ROLES_LIMIT:
        raise Conflict("too_many_roles", f"There are {ROLES_LIMIT} roles already.", hint="Delete one first.")
    _check(who, name, permissions, tags)
    role = CustomRole(
        organisation_id=who.organisation_id,
        name=name,
        description=description,
        permissions=sorted(set(permissions)),
        tags=_plain(tags),
        created_by=who.actor,
    )
    _write(role)
    audit.record(
        who, action="role.create", target_type="role", target_id=role.id, target_name=name, after=_described(role)
    )
    return get_role(who, role.id)


@transaction.atomic
def update_role(
    who: Identity,
    role_id: str,
    *,
    name: str | None,
    description: str | None,
    permissions: Sequence[Permission] | None,
    tags: Tags | None,
    for_all: bool,
) -> dict[str, Any]:
    """What is None stays; ``for_all`` takes the tags away. Whoever holds the role has the new one at once."""
    require(who, Permission.MEMBERS_WRITE)
    role = _locked(who, role_id)
    _refuse_beyond(who, role)
    before = _described(role)
    role.name = role.name if name is None else name
    role.description = role.description if description is None else description
    role.permissions = role.permissions if permissions is None else sorted(set(permissions))
    role.tags = None if for_all else role.tags if tags is None else _plain(tags)
    _check(who, role.name, [Permission(word) for word in role.permissions], role.tags)
    after = _described(role)
    if after != before:
        _write(role)
        changed = [key for key in after if after[key] != before[key]]
        audit.record(
            who,
            action="role.update",
            target_type="role",
            target_id=role.id,
            target_name=role.name,
            before={key: before[key] for key in changed},
            after={key: after[key] for key in changed},
        )
    return get_role(who, role.id)


@transaction.atomic
def delete_role(who: Identity, role_id: str) -> None:
    """Raises NotFound, Forbidden; Conflict while somebody holds it or is invited to."""
    require(who, Permission.MEMBERS_WRITE)
    role = _locked(who, role_id)
    _refuse_beyond(who, role)
    holders = get_role(who, role_id)
    if reason := reason_against_deleting_custom_role(
        holders["members"], holders["service_accounts"], holders["invitations"], holders["group_roles"]
    ):
        raise Conflict("role_in_use", reason, hint="Give them another role first.")
    CustomRole.objects.filter(id=role.id).update(deleted_at=timezone.now())
    audit.record(
        who,
        action="role.delete",
        target_type="role",
        target_id=role.id,
        target_name=role.name,
        before=_described(role),
    )


def _locked(who: Identity, role_id: str) -> CustomRole:
    mine = CustomRole.objects.select_for_update().filter(organisation_id=who.organisation_id, deleted_at=None)
    role = mine.filter(id=role_id).first()
    if role is None:
        raise role_not_found()
    return role


def _refuse_beyond(who: Identity, role: CustomRole) -> None:
    reason = reason_against_changing_custom_role(True, role.held.permissions - who.role_permissions)
    if reason is not None:
        raise Forbidden("role_above_own", reason, hint="Ask somebody who holds all of it.")


def _check(who: Identity, name: str, permissions: Sequence[Permission], tags: Tags | None) -> None:
    if name.lower() in set(Role):
        raise Invalid("role_name_built_in", f"{name} is a built-in role.", hint="Choose another name.", field="name")
    wanted = set(permissions)
    if platform := sorted(wanted & PLATFORM):
        raise Invalid(
            "permission_of_platform",
            f"{', '.join(platform)} is not of an organisation but of the people who run the installation.",
            hint="Leave it out.",
            field="permissions",
        )
    if beyond := sorted(wanted - who.permissions):
        raise Forbidden(
            "role_above_own",
            f"Nobody gives what they do not hold, and you or your token lack {', '.join(beyond)}.",
            hint=f"Choose from: {', '.join(sorted(who.permissions - PLATFORM))}.",
            field="permissions",
        )
    if tags is not None and (whole := sorted(wanted & NOT_BY_TAGS.keys())):
        raise Invalid(
            "permission_not_by_tags",
            f"{whole[0]} cannot be limited by tags. {NOT_BY_TAGS[whole[0]]}",
            hint=f"Leave out {', '.join(whole)}, or the tags.",
            field="permissions",
        )


def _plain(tags: Tags | None) -> dict[str, list[str]] | None:
    return None if tags is None else {key: sorted(set(values)) for key, values in sorted(tags.items())}


def _described(role: CustomRole) -> dict[str, Any]:
    return {
        "name": role.name,
        "description": role.description,
        "permissions": list(role.permissions),
        "tags": role.tags,
    }


def _write(role: CustomRole) -> None:
    try:
        with transaction.atomic():
            role.save()
    except IntegrityError as error:
        if "custom_role_name_once" in str(error):
            raise Conflict(
                "role_name_taken", f"There is a role {role.name} already.", hint="Choose another name.", field="name"
            ) from error
        raise
