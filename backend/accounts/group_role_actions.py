"""Every change to which groups give which roles. Each is one transaction with its line in the audit log.

Who is a member by a group has what the mapping says of them at once (group_members.py).
"""

from typing import Any

from django.db import IntegrityError, transaction

from backend.accounts.actions import grantable_role, role_word
from backend.accounts.group_members import follow_mapping
from backend.accounts.group_role_queries import get_group_role, group_role_not_found
from backend.accounts.models import GroupRole, IdentityProvider, Organisation
from backend.accounts.queries import Identity, require
from backend.accounts.states import PERMISSIONS, Permission, Role, reason_against_changing_group_role
from backend.audit import actions as audit
from backend.core.errors import Conflict, Forbidden, NotFound

GROUP_ROLES_LIMIT = 200


@transaction.atomic
def create_group_role(
    who: Identity, *, provider_id: str, group: str, role: Role, custom_role_id: str | None, rank: int
) -> dict[str, Any]:
    """Raises Forbidden, NotFound, Conflict."""
    require(who, Permission.MEMBERS_WRITE)
    _lock(who)
    provider = IdentityProvider.objects.filter(id=provider_id, disabled_at=None).first()
    if provider is None:
        raise NotFound(
            "identity_provider_not_found",
            "There is no such identity provider.",
            hint="list_identity_providers shows their ids.",
            field="identity_provider_id",
        )
    if GroupRole.objects.filter(organisation_id=who.organisation_id).count() >= GROUP_ROLES_LIMIT:
        raise Conflict(
            "too_many_group_roles",
            f"There are {GROUP_ROLES_LIMIT} groups with roles already.",
            hint="Delete one first.",
        )
    made = GroupRole(
        organisation_id=who.organisation_id,
        provider=provider,
        group=group,
        role=role,
        custom_role=grantable_role(who, role, custom_role_id),
        rank=rank,
        created_by=who.actor,
    )
    try:
        with transaction.atomic():
            made.save(force_insert=True)
    except IntegrityError as error:
        raise Conflict(
            "group_role_exists",
            f"The group {group} of {provider.name} has a role already.",
            hint="Change that one.",
            field="group",
        ) from error
    follow_mapping(provider.id, who.organisation_id)
    _record(who, "group_role.create", made, after=_described(made))
    return get_group_role(who, made.id)


@transaction.atomic
def update_group_role(
    who: Identity, group_role_id: str, *, role: Role | None, custom_role_id: str | None, rank: int | None
) -> dict[str, Any]:
    """What is None stays. Raises Forbidden, NotFound."""
    require(who, Permission.MEMBERS_WRITE)
    mapped = _locked(who, group_role_id)
    before = _described(mapped)
    if role is not None and (role, custom_role_id) != (mapped.role, mapped.custom_role_id):
        mapped.custom_role = grantable_role(who, role, custom_role_id)
        mapped.role = role
    mapped.rank = mapped.rank if rank is None else rank
    after = _described(mapped)
    changed = [key for key in after if after[key] != before[key]]
    if changed:
        mapped.save(update_fields=["role", "custom_role", "rank"])
        follow_mapping(mapped.provider_id, who.organisation_id)
        _record(
            who,
            "group_role.update",
            mapped,
            before={key: before[key] for key in changed},
            after={key: after[key] for key in changed},
        )
    return get_group_role(who, group_role_id)


@transaction.atomic
def delete_group_role(who: Identity, group_role_id: str) -> None:
    """Who is a member by this group only is none any more. Raises Forbidden, NotFound."""
    require(who, Permission.MEMBERS_WRITE)
    mapped = _locked(who, group_role_id)
    GroupRole.objects.filter(id=mapped.id).delete()
    follow_mapping(mapped.provider_id, who.organisation_id)
    _record(who, "group_role.delete", mapped, before=_described(mapped))


def _lock(who: Identity) -> None:
    """As sign-ins and changes of members do, so that a mapping is not read half changed."""
    Organisation.objects.select_for_update().get(id=who.organisation_id)


def _locked(who: Identity, group_role_id: str) -> GroupRole:
    _lock(who)
    mine = GroupRole.objects.filter(organisation_id=who.organisation_id)
    mapped = mine.filter(id=group_role_id).select_related("custom_role", "provider").first()
    if mapped is None:
        raise group_role_not_found()
    held = PERMISSIONS[Role(mapped.role)] if mapped.custom_role is None else mapped.custom_role.held.permissions
    reason = reason_against_changing_group_role(who.role, True, Role(mapped.role), held - who.role_permissions)
    if reason is not None:
        raise Forbidden("role_above_own", reason, hint="Ask somebody who holds all of it.")
    return mapped


def _described(mapped: GroupRole) -> dict[str, Any]:
    return {
        "identity_provider": mapped.provider.name,
        "group": mapped.group,
        "role": role_word(Role(mapped.role), mapped.custom_role),
        "rank": mapped.rank,
    }


def _record(who: Identity, action: str, mapped: GroupRole, **told: Any) -> None:
    # Names of groups may be longer than what the log has room for.
    audit.record(
        who, action=action, target_type="group_role", target_id=mapped.id, target_name=mapped.group[:200], **told
    )
