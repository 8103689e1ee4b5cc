"""Every change to members, invitations and API tokens. Each is one transaction with its line in the audit log."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from backend.accounts.models import ApiToken, Invitation, Membership, Organisation, User
from backend.accounts.queries import (
    TOKEN_PREFIX,
    Identity,
    get_invitation,
    get_member,
    get_token,
    hash_secret,
    open_invitation,
    require,
    visible_tokens,
)
from backend.accounts.states import (
    Permission,
    Role,
    may_grant,
    reason_against_changing_role,
    reason_against_removing,
    reason_against_revoking_token,
)
from backend.audit import actions as audit
from backend.core.errors import Conflict, Forbidden, Invalid, NotFound, TooManyRequests, Unauthenticated

INVITATION_DAYS = 7
INVITATION_TRIES = 10
INVITATION_TRIES_WINDOW = 300  # seconds
_ASK_AN_OWNER = "Ask an owner of the organisation."


# Members


def _locked_members(who: Identity) -> list[Membership]:
    """Every membership of the organisation. The lock on the organisation keeps two owners from removing each other."""
    Organisation.objects.select_for_update().get(id=who.organisation_id)
    return list(Membership.objects.filter(organisation_id=who.organisation_id).select_related("user"))


def _find_member(members: list[Membership], membership_id: str) -> tuple[Membership, int]:
    """The member and how many owners there are."""
    owners = sum(1 for member in members if member.role == Role.OWNER)
    for member in members:
        if member.id == membership_id:
            return member, owners
    raise NotFound("member_not_found", "There is no such member.", hint="List the members to see their ids.")


@transaction.atomic
def change_member_role(who: Identity, membership_id: str, role: Role) -> dict[str, Any]:
    require(who, Permission.MEMBERS_WRITE)
    member, owners = _find_member(_locked_members(who), membership_id)
    before = Role(member.role)
    if role is before:
        return get_member(who, membership_id)
    _refuse(reason_against_changing_role(who.role, True, before, owners))
    _check_grant(who, role)
    Membership.objects.filter(id=member.id).update(role=role)
    audit.record(
        who,
        action="member.change_role",
        target_type="member",
        target_id=member.id,
        target_name=member.user.email,
        before={"role": before},
        after={"role": role},
    )
    return get_member(who, membership_id)


@transaction.atomic
def remove_member(who: Identity, membership_id: str) -> None:
    """Their tokens of this organisation are revoked too, so that a later return does not bring them back to life."""
    require(who, Permission.MEMBERS_WRITE)
    member, owners = _find_member(_locked_members(who), membership_id)
    _refuse(reason_against_removing(who.role, True, Role(member.role), owners))
    ApiToken.objects.filter(organisation_id=who.organisation_id, user_id=member.user_id, revoked_at=None).update(
        revoked_at=timezone.now()
    )
    Membership.objects.filter(id=member.id).delete()
    audit.record(
        who,
        action="member.remove",
        target_type="member",
        target_id=membership_id,
        target_name=member.user.email,
        before={"role": member.role},
    )


def _refuse(reason: str | None) -> None:
    if reason is not None:
        raise Forbidden("not_allowed_for_owner", reason, hint=_ASK_AN_OWNER)


def _check_grant(who: Identity, role: Role) -> None:
    if not may_grant(who.role, role):
        raise Forbidden("role_above_own", f"Your role ({who.role}) may not make somebody {role}.", hint=_ASK_AN_OWNER)


# Invitations


@dataclass(frozen=True)
class NewInvitation:
    invitation: dict[str, Any]
    url: str


@transaction.atomic
def create_invitation(who: Identity, *, email: str, role: Role) -> NewInvitation:
    """The link is in the answer and nowhere else. Conflict if the person is a member or already invited."""
    require(who, Permission.MEMBERS_WRITE)
    _check_grant(who, role)
    email = email.lower()
    if Membership.objects.filter(organisation_id=who.organisation_id, user__email__iexact=email).exists():
        raise Conflict("already_member", f"{email} is already a member.", hint="Change their role instead.")
    now = timezone.now()
    mine = Invitation.objects.filter(
        organisation_id=who.organisation_id, email=email, accepted_at=None, revoked_at=None
    )
    mine.filter(expires_at__lte=now).update(revoked_at=now)
    secret = secrets.token_urlsafe(32)
    invitation = Invitation(
        organisation_id=who.organisation_id,
        email=email,
        role=role,
        secret_hash=hash_secret(secret),
        created_by_id=who.user_id,
        expires_at=now + timedelta(days=INVITATION_DAYS),
    )
    try:
        with transaction.atomic():
            invitation.save(force_insert=True)
    except IntegrityError as error:
        raise Conflict(
            "already_invited",
            f"{email} already has an open invitation.",
            hint="Revoke it first to make a new link.",
        ) from error
    audit.record(
        who,
        action="invitation.create",
        target_type="invitation",
        target_id=invitation.id,
        target_name=email,
        after={"email": email, "role": role},
    )
    # After the '#': browsers do not send it, so it is in no server's log.
    url = f"{settings.ENV.ringmaster_public_url}/accept-invitation#{secret}"
    return NewInvitation(get_invitation(who, invitation.id), url)


@transaction.atomic
def revoke_invitation(who: Identity, invitation_id: str) -> None:
    require(who, Permission.MEMBERS_WRITE)
    invitation = get_invitation(who, invitation_id)
    changed = Invitation.objects.filter(id=invitation_id, accepted_at=None, revoked_at=None).update(
        revoked_at=timezone.now()
    )
    if not changed:
        raise Conflict(
            "invitation_closed",
            f"The invitation is {invitation['state']} and cannot be revoked.",
            hint="To take access away, remove the member.",
        )
    audit.record(
        who,
        action="invitation.revoke",
        target_type="invitation",
        target_id=invitation_id,
        target_name=invitation["email"],
        before={"role": invitation["role"]},
    )


def accept_invitation(
    *, secret: str, name: str, password: str, source_address: str | None, request_id: str
) -> dict[str, Any]:
    """Makes the account, or adds the membership to the existing one after its password was proved.

    Whoever holds the link may try passwords of the invited person's account, so the tries are limited. They are
    counted outside the transaction, because a refused try undoes it.
    """
    tries = f"accept-invitation:{open_invitation(secret).id}"
    cache.add(tries, 0, timeout=INVITATION_TRIES_WINDOW)
    if cache.incr(tries) > INVITATION_TRIES:
        raise TooManyRequests(
            "too_many_tries",
            "Too many tries to accept this invitation.",
            hint="Wait five minutes and try again.",
            retry_after=INVITATION_TRIES_WINDOW,
        )
    return _accept_invitation(
        secret=secret, name=name, password=password, source_address=source_address, request_id=request_id
    )


@transaction.atomic
def _accept_invitation(
    *, secret: str, name: str, password: str, source_address: str | None, request_id: str
) -> dict[str, Any]:
    invitation = open_invitation(secret)
    user = User.objects.filter(email__iexact=invitation.email).first()
    if user is None:
        user = User(email=invitation.email, name=name)
        check_password_strength(password, user)
        user.set_password(password)
        user.save(force_insert=True)
    elif not user.is_active or not user.check_password(password):
        raise Unauthenticated(
            "wrong_password",
            f"{invitation.email} has an account already, and this is not its password.",
            hint="Use the password of that account.",
        )
    claimed = Invitation.objects.filter(id=invitation.id, accepted_at=None, revoked_at=None).update(
        accepted_at=timezone.now()
    )
    if not claimed:
        raise Conflict("invitation_closed", "This invitation was used a moment ago.", hint="Sign in.")
    membership, made = Membership.objects.get_or_create(
        organisation_id=invitation.organisation_id, user=user, defaults={"role": invitation.role}
    )
    if not made:
        raise Conflict("already_member", f"{invitation.email} is already a member.", hint="Sign in.")
    audit.record(
        Identity(
            organisation_id=invitation.organisation_id,
            user_id=user.id,
            user_email=user.email,
            role=Role(invitation.role),
            permissions=frozenset(),
            source_address=source_address,
            request_id=request_id,
        ),
        action="invitation.accept",
        target_type="member",
        target_id=membership.id,
        target_name=user.email,
        after={"role": invitation.role},
    )
    return {
        "email": user.email,
        "organisation": {"id": invitation.organisation_id, "name": invitation.organisation.name},
    }


def check_password_strength(password: str, user: User) -> None:
    """Invalid, naming the field ``password``, when Django's validators refuse it."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise Invalid(
            "weak_password",
            " ".join(error.messages),
            hint="Use at least 12 characters that are not a common word or your name.",
            field="password",
        ) from error


# API tokens


@dataclass(frozen=True)
class NewToken:
    token: dict[str, Any]
    secret: str


@transaction.atomic
def create_token(who: Identity, *, name: str, scopes: list[Permission], expires_in_days: int | None) -> NewToken:
    """The secret is in the answer and nowhere else. Nobody puts a permission into a token that they do not have."""
    require(who, Permission.TOKENS_WRITE)
    beyond = sorted(set(scopes) - who.permissions)
    if beyond:
        raise Forbidden(
            "scope_above_own",
            f"You cannot give a token what you do not have yourself: {', '.join(beyond)}.",
            hint=f"Choose from: {', '.join(sorted(who.permissions))}.",
            field="scopes",
        )
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        organisation_id=who.organisation_id,
        user_id=who.user_id,
        name=name,
        secret_hash=hash_secret(secret),
        hint=secret[-4:],
        scopes=sorted(set(scopes)),
        expires_at=None if expires_in_days is None else timezone.now() + timedelta(days=expires_in_days),
    )
    audit.record(
        who,
        action="token.create",
        target_type="token",
        target_id=token.id,
        target_name=name,
        after={
            "name": name,
            "scopes": token.scopes,
            "expires_at": token.expires_at.isoformat() if token.expires_at else None,
        },
    )
    return NewToken(get_token(who, token.id), secret)


@transaction.atomic
def revoke_token(who: Identity, token_id: str) -> None:
    """Revoking twice is revoking once."""
    require(who, Permission.TOKENS_WRITE)
    token = visible_tokens(who).filter(id=token_id).first()
    if token is None:
        raise NotFound("token_not_found", "There is no such API token.", hint="List the tokens to see their ids.")
    holder = Membership.objects.filter(organisation_id=who.organisation_id, user_id=token.user_id).first()
    role = Role(holder.role) if holder else Role.VIEWER
    _refuse(reason_against_revoking_token(who.role, True, role, token.user_id == who.user_id))
    if not ApiToken.objects.filter(id=token_id, revoked_at=None).update(revoked_at=timezone.now()):
        return
    audit.record(
        who,
        action="token.revoke",
        target_type="token",
        target_id=token_id,
        target_name=token.name,
        before={"scopes": token.scopes},
    )


def note_token_use(token_id: str, last_used_at: datetime | None) -> None:
    """Of several requests that find the time stale, one writes."""
    ApiToken.objects.filter(id=token_id, last_used_at=last_used_at).update(last_used_at=timezone.now())


# The first organisation


@dataclass(frozen=True)
class FirstOwner:
    email: str
    password: str
    token: str
    organisation_id: str


@transaction.atomic
def ensure_first_owner(*, organisation: str, slug: str, email: str) -> FirstOwner | None:
    """The first organisation with its owner and an API token; None when there is an organisation already."""
    if Organisation.objects.exists():
        return None
    password = secrets.token_urlsafe(16)
    user = User(email=email.lower(), platform_admin=True)
    user.set_password(password)
    user.save(force_insert=True)
    tenant = Organisation.objects.create(name=organisation, slug=slug)
    Membership.objects.create(organisation=tenant, user=user, role=Role.OWNER)
    who = Identity(
        organisation_id=tenant.id,
        user_id=user.id,
        user_email=user.email,
        role=Role.OWNER,
        permissions=frozenset(Permission),
    )
    audit.record(
        who,
        action="organisation.create",
        target_type="organisation",
        target_id=tenant.id,
        target_name=organisation,
        after={"name": organisation, "slug": slug, "owner": user.email},
    )
    token = create_token(who, name="bootstrap", scopes=list(Permission), expires_in_days=None)
    return FirstOwner(email=user.email, password=password, token=token.secret, organisation_id=tenant.id)


def set_platform_admin(email: str, wanted: bool) -> bool:
    """Lets a person run what is everybody's, or not any more. False: there is no such person. For the command line."""
    return bool(User.objects.filter(email__iexact=email).update(platform_admin=wanted))
