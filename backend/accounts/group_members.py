"""Memberships that follow a person's groups at an identity provider."""

from collections.abc import Collection, Iterable

import structlog
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from backend.accounts.actions import role_word
from backend.accounts.models import (
    ApiToken,
    ExternalIdentity,
    GroupRole,
    IdentityProvider,
    Membership,
    Organisation,
    User,
)
from backend.accounts.queries import Identity
from backend.accounts.states import MemberSource, Role
from backend.audit import actions as audit

log = structlog.get_logger(__name__)


def by_provider(
    provider: IdentityProvider, organisation_id: str, *, source_address: str | None = None, request_id: str = ""
) -> Identity:
    """The provider as the audit log names who did it. It may nothing."""
    return Identity(
        organisation_id=organisation_id,
        user_id=provider.id,
        user_email=f"{provider.name} (identity provider)",
        role=Role.VIEWER,
        permissions=frozenset(),
        source_address=source_address,
        request_id=request_id,
    )


def follow_groups(
    provider: IdentityProvider,
    user: User,
    groups: Collection[str],
    *,
    source_address: str | None,
    request_id: str,
) -> None:
    """At a sign-in: memberships are made, changed and taken away as their organisations map the groups."""
    concerned = Organisation.objects.filter(
        Q(group_roles__provider=provider) | Q(memberships__identity_provider=provider, memberships__user=user)
    )
    for organisation_id in concerned.order_by("id").values_list("id", flat=True).distinct():
        who = by_provider(provider, organisation_id, source_address=source_address, request_id=request_id)
        with transaction.atomic():
            Organisation.objects.select_for_update().get(id=organisation_id)
            _follow(who, provider, user, groups)


def groups_of(identity: ExternalIdentity) -> list[str]:
    """As the provider's directory has them; of whom it told nothing, as they were at their last sign-in."""
    if identity.entry is None:
        return identity.groups
    return list(identity.entry.groups.values_list("name", flat=True)) if identity.entry.active else []


def follow_mapping(provider_id: str, organisation_id: str) -> None:
    """After the mapping changed, by what each person's groups are. The organisation is locked.

    Who is no member yet becomes one with their next sign-in.
    """
    followers = Membership.objects.filter(organisation_id=organisation_id, identity_provider_id=provider_id)
    known = ExternalIdentity.objects.filter(
        provider_id=provider_id, user_id__in=followers.values("user_id")
    ).select_related("provider", "user", "entry")
    for identity in known:
        who = by_provider(identity.provider, organisation_id)
        _follow(who, identity.provider, identity.user, groups_of(identity))


def _follow(who: Identity, provider: IdentityProvider, user: User, groups: Collection[str]) -> None:
    mapping = list(
        GroupRole.objects.filter(organisation_id=who.organisation_id, provider=provider)
        .order_by("rank", "id")
        .select_related("custom_role")
    )
    wanted = chosen(mapping, groups)
    mine = Membership.objects.filter(organisation_id=who.organisation_id, user=user)
    member = mine.select_related("user", "custom_role").first()
    if member is None:
        if wanted is not None:
            _add(who, provider, user, wanted)
    elif member.identity_provider_id != provider.id:
        return
    elif wanted is None:
        take_away(who, member)
    elif (member.role, member.custom_role_id) != (wanted.role, wanted.custom_role_id):
        _change(who, member, wanted)


def chosen(mapping: Iterable[GroupRole], groups: Collection[str]) -> GroupRole | None:
    """The first in the organisation's order."""
    return next((each for each in mapping if each.group in groups), None)


def take_away(who: Identity, member: Membership) -> bool:
    """As when a person removes them. False: they are the last owner, and stay. The organisation is locked."""
    if _is_last_owner(member):
        log.warning("the last owner stays", organisation=who.organisation_id, user=member.user_id)
        return False
    ApiToken.objects.filter(organisation_id=who.organisation_id, user_id=member.user_id, revoked_at=None).update(
        revoked_at=timezone.now()
    )
    Membership.objects.filter(id=member.id).delete()
    audit.record(
        who,
        action="member.remove",
        target_type="member",
        target_id=member.id,
        target_name=member.user.email,
        before={"role": role_word(Role(member.role), member.custom_role)},
    )
    return True


def _add(who: Identity, provider: IdentityProvider, user: User, wanted: GroupRole) -> None:
    member = Membership.objects.create(
        organisation_id=who.organisation_id,
        user=user,
        role=wanted.role,
        custom_role=wanted.custom_role,
        source=MemberSource.GROUPS,
        identity_provider=provider,
    )
    audit.record(
        who,
        action="member.add",
        target_type="member",
        target_id=member.id,
        target_name=user.email,
        after={"role": _word(wanted), "group": wanted.group},
    )


def _change(who: Identity, member: Membership, wanted: GroupRole) -> None:
    if _is_last_owner(member):
        log.warning("the last owner stays", organisation=who.organisation_id, user=member.user_id)
        return
    Membership.objects.filter(id=member.id).update(role=wanted.role, custom_role=wanted.custom_role)
    audit.record(
        who,
        action="member.change_role",
        target_type="member",
        target_id=member.id,
        target_name=member.user.email,
        before={"role": role_word(Role(member.role), member.custom_role)},
        after={"role": _word(wanted), "group": wanted.group},
    )


def _word(wanted: GroupRole) -> str:
    return role_word(Role(wanted.role), wanted.custom_role)


def _is_last_owner(member: Membership) -> bool:
    owners = list(
        Membership.objects.filter(organisation_id=member.organisation_id, role=Role.OWNER).values_list("id", flat=True)
    )
    return owners == [member.id]
