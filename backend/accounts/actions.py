"""Every change to members and invitations. Each is one transaction with its line in the audit log."""

import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from backend.accounts.models import ApiToken, CustomRole, Invitation, Membership, Organisation, User
from backend.accounts.queries import (
    Identity,
    get_invitation,
    get_member,
    hash_secret,
    open_invitation,
    require,
    role_not_found,
)
from backend.accounts.states import (
    Held,
    MemberSource,
    Permission,
    Role,
    missing_to_grant,
    reason_against_changing_role,
    reason_against_removing,
    role_permissions,
)
from backend.accounts.token_actions import create_token
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
    return list(Membership.objects.filter(organisation_id=who.organisation_id).select_related("user", "custom_role"))


def _find_member(members: list[Membership], membership_id: str) -> tuple[Membership, int]:
    """The member and how many owners there are."""
    owners = sum(1 for member in members if member.role == Role.OWNER)
    for member in members:
        if member.id == membership_id:
            return member, owners
    raise NotFound("member_not_found", "There is no such member.", hint="List the members to see their ids.")


@transaction.atomic
def change_member_role(
    who: Identity, membership_id: str, role: Role, custom_role_id: str | None = None
) -> dict[str, Any]:
    require(who, Permission.MEMBERS_WRITE)
    member, owners = _find_member(_locked_members(who), membership_id)
    before = Role(member.role)
    if (role, custom_role_id) == (before, member.custom_role_id):
        return get_member(who, membership_id)
    follows = member.source == MemberSource.GROUPS
    beyond = _beyond(who, member)
    _refuse(reason_against_changing_role(who.role, True, before, owners, beyond=beyond, by_groups=follows))
    custom = grantable_role(who, role, custom_role_id)
    Membership.objects.filter(id=member.id).update(role=role, custom_role=custom)
    audit.record(
        who,
        action="member.change_role",
        target_type="member",
        target_id=member.id,
        target_name=member.user.email,
        before={"role": role_word(before, member.custom_role)},
        after={"role": role_word(role, custom)},
    )
    return get_member(who, membership_id)


@transaction.atomic
def remove_member(who: Identity, membership_id: str) -> None:
    """Their tokens of this organisation are revoked too, so that a later return does not bring them back to life."""
    require(who, Permission.MEMBERS_WRITE)
    member, owners = _find_member(_locked_members(who), membership_id)
    _refuse(reason_against_removing(who.role, True, Role(member.role), owners, beyond=_beyond(who, member)))
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
        before={"role": role_word(Role(member.role), member.custom_role)},
    )


def _beyond(who: Identity, member: Membership) -> frozenset[Permission]:
    """What a member may do and the role of who wants to change them may not."""
    return role_permissions(Role(member.role), _held(member.custom_role)) - who.role_permissions


def _refuse(reason: str | None) -> None:
    if reason is not None:
        raise Forbidden("not_allowed_for_owner", reason, hint=_ASK_AN_OWNER)


def _held(custom: CustomRole | None) -> Held | None:
    return None if custom is None else custom.held


def role_word(role: Role, custom: CustomRole | None) -> str:
    """As the audit log tells it."""
    return role if custom is None else f"{custom.name} ({custom.id})"


def grantable_role(who: Identity, role: Role, custom_role_id: str | None) -> CustomRole | None:
    """The custom role if it is one, locked so that it is not deleted meanwhile. Raises NotFound, Forbidden."""
    custom = None
    if custom_role_id is not None:
        mine = CustomRole.objects.select_for_update().filter(organisation_id=who.organisation_id, deleted_at=None)
        custom = mine.filter(id=custom_role_id).first()
        if custom is None:
            raise role_not_found()
    wanted = role_permissions(role, _held(custom))
    if missing := missing_to_grant(who.role, who.permissions, role, wanted):
        raise Forbidden(
            "role_above_own",
            f"Nobody gives what they do not hold, and you or your token lack {', '.join(missing)}.",
            hint=_ASK_AN_OWNER,
        )
    return custom


# Invitations


@dataclass(frozen=True)
class NewInvitation:
    invitation: dict[str, Any]
    url: str


@transaction.atomic
def create_invitation(who: Identity, *, email: str, role: Role, custom_role_id: str | None = None) -> NewInvitation:
    """The link is in the answer and nowhere else. Conflict if the person is a member or already invited."""
    require(who, Permission.MEMBERS_WRITE)
    custom = grantable_role(who, role, custom_role_id)
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
        custom_role=custom,
        secret_hash=hash_secret(secret),
        created_by_id=None if who.service_account_id else who.user_id,
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
        after={"email": email, "role": role_word(role, custom)},
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
    *,
    secret: str,
    name: str,
    password: str | None,
    signed_in: User | None,
    source_address: str | None,
    request_id: str,
) -> dict[str, Any]:
    """Makes the account, or adds the membership to the existing one after its password was proved.

    Without a password ``signed_in`` must be whom it is for: who comes through an identity provider has none.

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
        secret=secret,
        name=name,
        password=password,
        signed_in=signed_in,
        source_address=source_address,
        request_id=request_id,
    )


@transaction.atomic
def _accept_invitation(
    *,
    secret: str,
    name: str,
    password: str | None,
    signed_in: User | None,
    source_address: str | None,
    request_id: str,
) -> dict[str, Any]:
    invitation = open_invitation(secret)
    # Held until the membership is written: a role that somebody is about to hold is not deleted.
    if invitation.custom_role_id is not None:
        CustomRole.objects.select_for_update().get(id=invitation.custom_role_id)
    user = User.objects.filter(email__iexact=invitation.email).first()
    if password is None:
        if user is None or signed_in is None or signed_in.id != user.id:
            raise Unauthenticated(
                "sign_in_first",
                f"Without a password an invitation is for who is signed in, and {invitation.email} is not.",
                hint="Sign in through your identity provider and open the link again, or send the password.",
            )
    elif user is None:
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
        organisation_id=invitation.organisation_id,
        user=user,
        defaults={"role": invitation.role, "custom_role": invitation.custom_role},
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
        after={"role": role_word(Role(invitation.role), invitation.custom_role)},
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


@transaction.atomic
def set_password(email: str, password: str) -> bool:
    """False: there is no such person. Their sessions end, as each is bound to the password. For the command line.

    Raises Invalid for a weak one.
    """
    user = User.objects.select_for_update().filter(email__iexact=email).first()
    if user is None:
        return False
    check_password_strength(password, user)
    user.set_password(password)
    user.save(update_fields=["password"])
    return True
