"""Who is asking, and what the accounts pages show."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from allauth.mfa.models import Authenticator
from django.db import connection
from django.db.models import Count, Exists, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils import timezone

from backend.accounts.models import Invitation, Membership, Organisation, User
from backend.accounts.second_factor import KINDS
from backend.accounts.states import (
    PERMISSIONS,
    PLATFORM,
    Held,
    MemberSource,
    Permission,
    Role,
    permissions_of,
    reason_against_changing_role,
    reason_against_ending_sessions,
    reason_against_removing,
    reason_against_resetting_second_factor,
    role_permissions,
)
from backend.core.errors import Forbidden, NotFound, Unauthenticated
from backend.core.pagination import PageQuery, page
from backend.core.schemas import allowed

TOKEN_PREFIX = "rmt_"
SERVICE_ACCOUNT_SUFFIX = " (service account)"


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Who asks, for which organisation, and what they may do. Made once per request."""

    organisation_id: str
    user_id: str
    user_email: str
    role: Role
    permissions: frozenset[Permission]
    custom_role: Held | None = None
    service_account_id: str | None = None
    """Of a program that is nobody's: then it is the user_id, too, and the name is in the place of an e-mail address."""
    session_id: str | None = None
    """Of the console session (models.ConsoleSession) that was used, if one was."""
    second_factor: bool = False
    """Whether one was proved in that session."""
    token_id: str | None = None
    token_name: str = ""
    source_address: str | None = None
    request_id: str = ""

    @property
    def actor(self) -> str:
        """As the audit log names them: the e-mail address, with the token's name in brackets if one was used."""
        return f"{self.user_email} [{self.token_name}]" if self.token_id else self.user_email

    @property
    def role_name(self) -> str:
        return self.role if self.custom_role is None else self.custom_role.name

    @property
    def role_permissions(self) -> frozenset[Permission]:
        """Of the role, also where the token may do less."""
        return role_permissions(self.role, self.custom_role)

    @property
    def tags(self) -> Mapping[str, Sequence[str]] | None:
        """They act on clusters that have one of the values of each key; None: on all of the organisation."""
        return None if self.custom_role is None else self.custom_role.tags


def identity(request: HttpRequest) -> Identity:
    """The identity that authentication (authentication.py) found. Routes without authentication have none."""
    return cast(Identity, request.auth)  # type: ignore[attr-defined]  # set by ninja


def require(who: Identity, permission: Permission) -> None:
    """Raises Forbidden unless the caller has the permission."""
    if permission in who.permissions:
        return
    if permission in who.role_permissions:
        raise Forbidden(
            "missing_scope",
            f"This API token does not have the scope {permission}.",
            hint="Make a token with this scope.",
        )
    if permission in PLATFORM:
        raise Forbidden(
            "forbidden",
            "Only people who run this installation may do this.",
            hint=f"Ask a platform administrator; an API token of theirs needs the scope {permission}.",
        )
    raise Forbidden(
        "forbidden",
        f"Your role ({who.role_name}) does not include {permission}.",
        hint="Ask an owner or admin of the organisation to do it or to change your role.",
    )


def hash_secret(secret: str) -> bytes:
    """How tokens and invitations are stored. Their secrets are 256 random bits, so neither salt nor stretching adds."""
    return hashlib.sha256(secret.encode()).digest()


# Written out because every request of every program pays for it: building it from models costs more than running it.
_TOKEN_SQL = """
SELECT token.id, token.name, token.scopes, token.source_ranges, token.expires_at, token.revoked_at, token.last_used_at,
       token.organisation_id, COALESCE(account.id, person.id), account.id, COALESCE(account.name, person.email),
       COALESCE(account.role, member.role), COALESCE(person.platform_admin, false),
       custom.id, custom.name, custom.permissions, custom.tags
  FROM accounts_apitoken token
  LEFT JOIN accounts_user person ON person.id = token.user_id AND person.is_active
  LEFT JOIN accounts_membership member
         ON member.user_id = person.id AND member.organisation_id = token.organisation_id
  LEFT JOIN accounts_serviceaccount account ON account.id = token.service_account_id AND account.disabled_at IS NULL
  LEFT JOIN accounts_customrole custom ON custom.id = COALESCE(account.custom_role_id, member.custom_role_id)
 WHERE token.secret_hash = %s AND (member.id IS NOT NULL OR account.id IS NOT NULL)
"""


@dataclass(frozen=True)
class TokenUse:
    who: Identity
    last_used_at: datetime | None
    source_ranges: Sequence[str]
    """Where it may be used from; empty: anywhere."""


def token_identity(secret: str, *, source_address: str | None, request_id: str) -> TokenUse:
    """The identity behind an API token. Unauthenticated if it is wrong, expired or revoked.

    One query: token, user and membership together, so a removed member's token is dead at once and a changed role
    counts at once. The authority is the scopes that the role still allows.
    """
    row = None
    if secret.startswith(TOKEN_PREFIX):
        with connection.cursor() as cursor:
            cursor.execute(_TOKEN_SQL, [hash_secret(secret)])
            row = cursor.fetchone()
    if row is None:
        raise Unauthenticated(
            "invalid_token", "This API token is not known.", hint="Check that it was copied whole, or make a new one."
        )
    (
        token_id,
        name,
        scopes,
        source_ranges,
        expires_at,
        revoked_at,
        last_used_at,
        organisation_id,
        user_id,
        account_id,
        email,
        role,
        platform_admin,
        *about_role,
    ) = row
    if revoked_at is not None:
        raise Unauthenticated("token_revoked", "This API token was revoked.", hint="Make a new token.")
    if expires_at is not None and expires_at <= timezone.now():
        raise Unauthenticated("token_expired", "This API token has expired.", hint="Make a new token.")
    custom = _held(*about_role)
    who = Identity(
        organisation_id=organisation_id,
        user_id=user_id,
        user_email=email if account_id is None else f"{email}{SERVICE_ACCOUNT_SUFFIX}",
        role=Role(role),
        service_account_id=account_id,
        permissions=permissions_of(Role(role), platform_admin=platform_admin, custom=custom) & frozenset(scopes),
        custom_role=custom,
        token_id=token_id,
        token_name=name,
        source_address=source_address,
        request_id=request_id,
    )
    return TokenUse(who, last_used_at, source_ranges)


def _held(role_id: str | None, name: str, permissions: list[str], tags: str | None) -> Held | None:
    if role_id is None:
        return None
    known = frozenset(Permission(word) for word in permissions)
    return Held(id=role_id, name=name, permissions=known, tags=None if tags is None else json.loads(tags))


def memberships_of(user_id: str) -> list[Membership]:
    """The memberships of an active user with user and organisation, oldest first. One query."""
    return list(
        Membership.objects.filter(user_id=user_id, user__is_active=True)
        .select_related("user", "organisation", "custom_role")
        .order_by("id")
    )


def member_identity(
    membership: Membership,
    *,
    source_address: str | None,
    request_id: str,
    session_id: str | None = None,
    second_factor: bool = False,
) -> Identity:
    role = Role(membership.role)
    custom = membership.custom_role.held if membership.custom_role is not None else None
    return Identity(
        organisation_id=membership.organisation_id,
        user_id=membership.user_id,
        user_email=membership.user.email,
        role=role,
        permissions=permissions_of(role, platform_admin=membership.user.platform_admin, custom=custom),
        custom_role=custom,
        session_id=session_id,
        second_factor=second_factor,
        source_address=source_address,
        request_id=request_id,
    )


def get_organisation(who: Identity) -> dict[str, Any]:
    return dict(Organisation.objects.values("id", "name", "slug", "created_at").get(id=who.organisation_id))


# Members


def _members(who: Identity) -> QuerySet[Membership, Any]:
    owners = (
        Membership.objects.filter(organisation_id=OuterRef("organisation_id"), role=Role.OWNER)
        .order_by()
        .values("organisation_id")
        .annotate(n=Count("id"))
        .values("n")
    )
    elsewhere = Membership.objects.filter(user_id=OuterRef("user_id")).exclude(organisation_id=who.organisation_id)
    factors = Authenticator.objects.filter(user_id=OuterRef("user_id"), type__in=KINDS)
    rows: QuerySet[Membership, Any] = (
        Membership.objects.filter(organisation_id=who.organisation_id)
        .annotate(
            owners=Coalesce(Subquery(owners), 0),
            second_factor=Exists(factors),
            counts_elsewhere=Exists(elsewhere),
        )
        .values(
            "id",
            "user_id",
            "role",
            "created_at",
            "owners",
            "source",
            "identity_provider_id",
            "identity_provider__name",
            "second_factor",
            "counts_elsewhere",
            "user__platform_admin",
            *_CUSTOM_ROLE,
            email=F("user__email"),
            name=F("user__name"),
            active=F("user__is_active"),
        )
    )
    return rows


_CUSTOM_ROLE = ("custom_role_id", "custom_role__name", "custom_role__permissions")


def take_custom_role(row: dict[str, Any]) -> frozenset[Permission]:
    """Makes the columns of ``_CUSTOM_ROLE`` into ``custom_role``; what the row's role, built in or not, holds."""
    role_id, name, words = (row.pop(column) for column in _CUSTOM_ROLE)
    row["custom_role"] = None if role_id is None else {"id": role_id, "name": name}
    return PERMISSIONS[Role(row["role"])] if role_id is None else frozenset(Permission(word) for word in words)


def _member(who: Identity, row: dict[str, Any]) -> dict[str, Any]:
    role, owners = Role(row["role"]), row.pop("owners")
    provider_id, provider_name = row.pop("identity_provider_id"), row.pop("identity_provider__name")
    row["identity_provider"] = provider_id and {"id": provider_id, "name": provider_name}
    follows = row["source"] == MemberSource.GROUPS
    elsewhere, runs_all = row.pop("counts_elsewhere"), row.pop("user__platform_admin")
    own = row["user_id"] == who.user_id
    beyond = take_custom_role(row) - who.role_permissions
    reset = (
        (None if row["second_factor"] else "They have none.")
        or reason_against_resetting_second_factor(own=own, counts_elsewhere=elsewhere or runs_all)
        or reason_against_ending_sessions(who.role, role, beyond=beyond)
    )
    may = Permission.MEMBERS_WRITE in who.permissions
    return row | {
        "allowed_actions": [
            allowed(
                "change_member_role",
                reason_against_changing_role(who.role, may, role, owners, beyond=beyond, by_groups=follows),
            ),
            allowed("remove_member", reason_against_removing(who.role, may, role, owners, beyond=beyond)),
            allowed("reset_member_second_factor", reset if may else "Your role or token may not change members."),
        ]
    }


def list_members(who: Identity, query: PageQuery, *, active: bool | None) -> dict[str, Any]:
    rows = _members(who) if active is None else _members(who).filter(user__is_active=active)
    return page(rows, query, lambda row: _member(who, row))


def get_member(who: Identity, membership_id: str) -> dict[str, Any]:
    row = _members(who).filter(id=membership_id).first()
    if row is None:
        raise NotFound("member_not_found", "There is no such member.", hint="List the members to see their ids.")
    return _member(who, row)


def account_not_found() -> NotFound:
    return NotFound(
        "service_account_not_found",
        "There is no such service account.",
        hint="List the service accounts to see their ids.",
        field="service_account_id",
    )


def role_not_found() -> NotFound:
    return NotFound(
        "role_not_found", "There is no such role.", hint="List the organisation's roles.", field="custom_role_id"
    )


# Invitations


def _invitation(who: Identity, row: dict[str, Any]) -> dict[str, Any]:
    now = timezone.now()
    take_custom_role(row)
    reason: str | None
    if row["accepted_at"]:
        state, reason = "accepted", "The invitation was accepted; remove the member instead."
    elif row["revoked_at"]:
        state, reason = "revoked", "The invitation is already revoked."
    else:
        state, reason = ("expired" if row["expires_at"] <= now else "open"), None
    if Permission.MEMBERS_WRITE not in who.permissions:
        reason = "Your role or token may not change members."
    return row | {
        "created_by": row.pop("inviter"),
        "state": state,
        "allowed_actions": [allowed("revoke_invitation", reason)],
    }


def _invitations(who: Identity) -> QuerySet[Invitation, Any]:
    rows: QuerySet[Invitation, Any] = Invitation.objects.filter(organisation_id=who.organisation_id).values(
        "id",
        "email",
        "role",
        "created_at",
        "expires_at",
        "accepted_at",
        "revoked_at",
        *_CUSTOM_ROLE,
        inviter=F("created_by__email"),
    )
    return rows


def list_invitations(who: Identity, query: PageQuery) -> dict[str, Any]:
    return page(_invitations(who), query, lambda row: _invitation(who, row))


def get_invitation(who: Identity, invitation_id: str) -> dict[str, Any]:
    row = _invitations(who).filter(id=invitation_id).first()
    if row is None:
        raise NotFound("invitation_not_found", "There is no such invitation.", hint="List the invitations.")
    return _invitation(who, row)


def open_invitation(secret: str) -> Invitation:
    """The invitation behind a link, with its organisation, if it can still be accepted; else NotFound."""
    found = (
        Invitation.objects.select_related("organisation", "custom_role")
        .filter(secret_hash=hash_secret(secret), accepted_at=None, revoked_at=None, expires_at__gt=timezone.now())
        .first()
    )
    if found is None:
        raise NotFound(
            "invitation_not_found",
            "This invitation does not exist, was used already, or has expired.",
            hint="Ask the person who invited you for a new link.",
        )
    return found


def invitation_offer(secret: str) -> dict[str, Any]:
    found = open_invitation(secret)
    return {
        "email": found.email,
        "role": found.role,
        "custom_role": found.custom_role and {"id": found.custom_role_id, "name": found.custom_role.name},
        "organisation_name": found.organisation.name,
        "expires_at": found.expires_at,
        "has_account": User.objects.filter(email__iexact=found.email).exists(),
    }
