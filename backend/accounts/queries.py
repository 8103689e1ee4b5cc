"""Who is asking, and what the accounts pages show."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from django.db import connection
from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils import timezone

from backend.accounts.models import ApiToken, Invitation, Membership, Organisation, User
from backend.accounts.states import (
    PERMISSIONS,
    PLATFORM,
    Permission,
    Role,
    permissions_of,
    reason_against_changing_role,
    reason_against_removing,
    reason_against_revoking_token,
)
from backend.core.errors import Forbidden, NotFound, Unauthenticated
from backend.core.pagination import PageQuery, page
from backend.core.schemas import allowed

TOKEN_PREFIX = "rmt_"


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Who asks, for which organisation, and what they may do. Made once per request."""

    organisation_id: str
    user_id: str
    user_email: str
    role: Role
    permissions: frozenset[Permission]
    token_id: str | None = None
    token_name: str = ""
    source_address: str | None = None
    request_id: str = ""

    @property
    def actor(self) -> str:
        """As the audit log names them: the e-mail address, with the token's name in brackets if one was used."""
        return f"{self.user_email} [{self.token_name}]" if self.token_id else self.user_email


def identity(request: HttpRequest) -> Identity:
    """The identity that authentication (authentication.py) found. Routes without authentication have none."""
    return cast(Identity, request.auth)  # type: ignore[attr-defined]  # set by ninja


def require(who: Identity, permission: Permission) -> None:
    """Raises Forbidden unless the caller has the permission."""
    if permission in who.permissions:
        return
    if permission in PERMISSIONS[who.role]:
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
        f"Your role ({who.role}) does not include {permission}.",
        hint="Ask an owner or admin of the organisation to do it or to change your role.",
    )


def hash_secret(secret: str) -> bytes:
    """How tokens and invitations are stored. Their secrets are 256 random bits, so neither salt nor stretching adds."""
    return hashlib.sha256(secret.encode()).digest()


# Written out because every request of every program pays for it: building it from models costs more than running it.
_TOKEN_SQL = """
SELECT token.id, token.name, token.scopes, token.expires_at, token.revoked_at, token.last_used_at,
       token.organisation_id, token.user_id, person.email, member.role, person.platform_admin
  FROM accounts_apitoken token
  JOIN accounts_user person ON person.id = token.user_id AND person.is_active
  JOIN accounts_membership member ON member.user_id = token.user_id AND member.organisation_id = token.organisation_id
 WHERE token.secret_hash = %s
"""


def token_identity(secret: str, *, source_address: str | None, request_id: str) -> tuple[Identity, datetime | None]:
    """The identity behind an API token and when it was last used. Unauthenticated if it is wrong, expired or revoked.

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
        expires_at,
        revoked_at,
        last_used_at,
        organisation_id,
        user_id,
        email,
        role,
        platform_admin,
    ) = row
    if revoked_at is not None:
        raise Unauthenticated("token_revoked", "This API token was revoked.", hint="Make a new token.")
    if expires_at is not None and expires_at <= timezone.now():
        raise Unauthenticated("token_expired", "This API token has expired.", hint="Make a new token.")
    who = Identity(
        organisation_id=organisation_id,
        user_id=user_id,
        user_email=email,
        role=Role(role),
        permissions=permissions_of(Role(role), platform_admin=platform_admin) & frozenset(scopes),
        token_id=token_id,
        token_name=name,
        source_address=source_address,
        request_id=request_id,
    )
    return who, last_used_at


def memberships_of(user_id: str) -> list[Membership]:
    """The memberships of an active user with user and organisation, oldest first. One query."""
    return list(
        Membership.objects.filter(user_id=user_id, user__is_active=True)
        .select_related("user", "organisation")
        .order_by("id")
    )


def member_identity(membership: Membership, *, source_address: str | None, request_id: str) -> Identity:
    role = Role(membership.role)
    return Identity(
        organisation_id=membership.organisation_id,
        user_id=membership.user_id,
        user_email=membership.user.email,
        role=role,
        permissions=permissions_of(role, platform_admin=membership.user.platform_admin),
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
    return (
        Membership.objects.filter(organisation_id=who.organisation_id)
        .annotate(owners=Coalesce(Subquery(owners), 0))
        .values("id", "user_id", "role", "created_at", "owners", email=F("user__email"), name=F("user__name"))
    )


def _member(who: Identity, row: dict[str, Any]) -> dict[str, Any]:
    role, owners = Role(row["role"]), row.pop("owners")
    may = Permission.MEMBERS_WRITE in who.permissions
    return row | {
        "allowed_actions": [
            allowed("change_member_role", reason_against_changing_role(who.role, may, role, owners)),
            allowed("remove_member", reason_against_removing(who.role, may, role, owners)),
        ]
    }


def list_members(who: Identity, query: PageQuery) -> dict[str, Any]:
    return page(_members(who), query, lambda row: _member(who, row))


def get_member(who: Identity, membership_id: str) -> dict[str, Any]:
    row = _members(who).filter(id=membership_id).first()
    if row is None:
        raise NotFound("member_not_found", "There is no such member.", hint="List the members to see their ids.")
    return _member(who, row)


# Invitations


def _invitation(who: Identity, row: dict[str, Any]) -> dict[str, Any]:
    now = timezone.now()
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
    return Invitation.objects.filter(organisation_id=who.organisation_id).values(
        "id", "email", "role", "created_at", "expires_at", "accepted_at", "revoked_at", inviter=F("created_by__email")
    )


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
        Invitation.objects.select_related("organisation")
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
        "organisation_name": found.organisation.name,
        "expires_at": found.expires_at,
        "has_account": User.objects.filter(email__iexact=found.email).exists(),
    }


# API tokens


def visible_tokens(who: Identity) -> QuerySet[ApiToken]:
    """Everybody sees their own tokens; who may change members sees those of the whole organisation."""
    mine = Q() if Permission.MEMBERS_WRITE in who.permissions else Q(user_id=who.user_id)
    return ApiToken.objects.filter(mine, organisation_id=who.organisation_id)


def _tokens(who: Identity) -> QuerySet[ApiToken, Any]:
    role = Membership.objects.filter(organisation_id=OuterRef("organisation_id"), user_id=OuterRef("user_id"))
    return (
        visible_tokens(who)
        .annotate(owner_role=Subquery(role.values("role")[:1]))
        .values(
            "id",
            "name",
            "hint",
            "scopes",
            "created_at",
            "expires_at",
            "revoked_at",
            "last_used_at",
            "user_id",
            "owner_role",
            user_email=F("user__email"),
        )
    )


def _token(who: Identity, row: dict[str, Any]) -> dict[str, Any]:
    role = Role(row.pop("owner_role") or Role.VIEWER)
    reason: str | None
    if row["revoked_at"]:
        state, reason = "revoked", "The token is already revoked."
    else:
        state = "expired" if row["expires_at"] and row["expires_at"] <= timezone.now() else "active"
        reason = reason_against_revoking_token(
            who.role, Permission.TOKENS_WRITE in who.permissions, role, row["user_id"] == who.user_id
        )
    return row | {"state": state, "allowed_actions": [allowed("revoke_token", reason)]}


def list_tokens(who: Identity, query: PageQuery) -> dict[str, Any]:
    return page(_tokens(who), query, lambda row: _token(who, row))


def get_token(who: Identity, token_id: str) -> dict[str, Any]:
    row = _tokens(who).filter(id=token_id).first()
    if row is None:
        raise NotFound("token_not_found", "There is no such API token.", hint="List the tokens to see their ids.")
    return _token(who, row)


def token_use_is_stale(last_used_at: datetime | None) -> bool:
    """``last_used_at`` is written at most once a minute, so that reading does not mean writing."""
    return last_used_at is None or last_used_at < timezone.now() - timedelta(minutes=1)
