"""Who may speak for a provider's directory, and every change that it makes: one transaction each, which counts at once
for who is a member.

A directory knows people before they come here, so its entries are no accounts. It touches the account of whoever has
signed in through its provider, and of nobody else: their memberships follow its groups, and who is not active in it
any more is not active here either.
"""

import secrets
from collections.abc import Iterable, Sequence

from django.db import IntegrityError, transaction
from django.utils import timezone
from scim2_models import UniquenessException
from scim2_models.exceptions import InvalidValueException, NotFoundException

from backend.accounts.directory import Group, User, address_of, kept
from backend.accounts.group_members import by_provider, follow_groups, groups_of
from backend.accounts.models import (
    ApiToken,
    DirectoryGroup,
    DirectoryUser,
    ExternalIdentity,
    IdentityProvider,
    Membership,
)
from backend.accounts.models import User as Account
from backend.accounts.queries import hash_secret
from backend.accounts.session_actions import end_sessions_of
from backend.audit import actions as audit

TOKEN_PREFIX = "rmd_"
_LONGEST = 255


def new_token(provider: IdentityProvider) -> str:
    """By which its directory tells us of people and groups. One from before is good for nothing then."""
    token = TOKEN_PREFIX + secrets.token_urlsafe(32)
    provider.directory_token_hash = hash_secret(token)
    provider.save(update_fields=["directory_token_hash"])
    return token


def provider_of_token(token: str) -> IdentityProvider | None:
    if not token.startswith(TOKEN_PREFIX):
        return None
    return IdentityProvider.objects.filter(directory_token_hash=hash_secret(token), disabled_at=None).first()


@transaction.atomic
def forget_directory(provider: IdentityProvider) -> int:
    """Its token, and all that it told: how many people. Groups are those of sign-ins again, and accounts active."""
    IdentityProvider.objects.select_for_update().filter(id=provider.id).update(directory_token_hash=None)
    mine = ExternalIdentity.objects.filter(provider=provider, entry__isnull=False)
    users = list(mine.values_list("user_id", flat=True))
    told = DirectoryUser.objects.filter(provider=provider)
    count = told.count()
    told.delete()
    DirectoryGroup.objects.filter(provider=provider).delete()
    let_accounts_be(users)
    return count


def let_accounts_be(users: Sequence[str]) -> None:
    """After a directory has nothing more to say of them: active, unless another directory says otherwise."""
    held = ExternalIdentity.objects.filter(user_id__in=users, entry__active=False).values("user_id")
    Account.objects.filter(id__in=users, is_active=False).exclude(id__in=held).update(is_active=True)


def lock_directory(provider_id: str) -> IdentityProvider:
    """Its changes are made one after the other. Within a transaction."""
    return IdentityProvider.objects.select_for_update().get(id=provider_id)


@transaction.atomic
def put_user(provider_id: str, user: User, entry_id: str | None, *, source_address: str | None, request_id: str) -> str:
    """Makes an entry, or makes one so. Its id. Raises UniquenessException, InvalidValueException, NotFoundException."""
    provider = lock_directory(provider_id)
    row = DirectoryUser(provider=provider) if entry_id is None else find_user(provider_id, entry_id)
    name = (user.user_name or "").strip()
    external = user.external_id or ""
    if not name or len(name) > _LONGEST or len(external) > _LONGEST:
        raise InvalidValueException(
            detail=f"userName must have 1 to {_LONGEST} characters, externalId at most so many."
        )
    row.user_name, row.external_id, row.active = name, external, user.active is not False
    row.email, row.told = address_of(user, provider), kept(user)
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        raise UniquenessException(
            detail=f"There is somebody with the userName {name} or the address {row.email}."
        ) from error
    if row.email:
        # Who signed in before the directory told of them.
        ExternalIdentity.objects.filter(provider=provider, entry=None, user__email__iexact=row.email).update(entry=row)
    _follow(provider, [row.id], source_address, request_id)
    return row.id


@transaction.atomic
def delete_user(provider_id: str, entry_id: str, *, source_address: str | None, request_id: str) -> None:
    """Whose account it was is not active any more, and their API tokens are revoked. Raises NotFoundException."""
    provider = lock_directory(provider_id)
    row = find_user(provider_id, entry_id)
    row.active = False
    row.save(update_fields=["active"])
    _follow(provider, [row.id], source_address, request_id)
    mine = ExternalIdentity.objects.filter(entry=row)
    ApiToken.objects.filter(user_id__in=mine.values("user_id"), revoked_at=None).update(revoked_at=timezone.now())
    mine.update(groups=[])
    row.delete()


@transaction.atomic
def put_group(
    provider_id: str, group: Group, entry_id: str | None, *, source_address: str | None, request_id: str
) -> str:
    """As put_user does."""
    provider = lock_directory(provider_id)
    row = DirectoryGroup(provider=provider) if entry_id is None else find_group(provider_id, entry_id)
    name, external = (group.display_name or "").strip(), group.external_id or ""
    if not name or len(name) > _LONGEST or len(external) > _LONGEST:
        raise InvalidValueException(
            detail=f"displayName must have 1 to {_LONGEST} characters, externalId at most so many."
        )
    wanted = {each.value for each in group.members or [] if each.value}
    rows = DirectoryUser.objects.filter(provider=provider, id__in=wanted)
    known = set(rows.values_list("id", flat=True))
    if wanted - known:
        raise InvalidValueException(detail=f"There is no user {min(wanted - known)}. Groups in groups are not kept.")
    before = set() if entry_id is None else set(row.members.values_list("id", flat=True))
    renamed = row.name != name
    row.name, row.external_id = name, external
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        raise UniquenessException(detail=f"There is a group {name}.") from error
    row.members.set(rows)
    _follow(provider, known | before if renamed else known ^ before, source_address, request_id)
    return row.id


@transaction.atomic
def delete_group(provider_id: str, entry_id: str, *, source_address: str | None, request_id: str) -> None:
    """Raises NotFoundException."""
    provider = lock_directory(provider_id)
    row = find_group(provider_id, entry_id)
    before = list(row.members.values_list("id", flat=True))
    row.delete()
    _follow(provider, before, source_address, request_id)


def find_user(provider_id: str, entry_id: str) -> DirectoryUser:
    """Raises NotFoundException."""
    row = DirectoryUser.objects.filter(provider_id=provider_id, id=entry_id).first()
    if row is None:
        raise NotFoundException(detail="There is no such user.")
    return row


def find_group(provider_id: str, entry_id: str) -> DirectoryGroup:
    """Raises NotFoundException."""
    row = DirectoryGroup.objects.filter(provider_id=provider_id, id=entry_id).prefetch_related("members").first()
    if row is None:
        raise NotFoundException(detail="There is no such group.")
    return row


def _follow(provider: IdentityProvider, entries: Iterable[str], source_address: str | None, request_id: str) -> None:
    concerned = ExternalIdentity.objects.filter(entry_id__in=list(entries)).select_related("user", "entry")
    for identity in concerned.order_by("id"):
        follow_groups(
            provider, identity.user, groups_of(identity), source_address=source_address, request_id=request_id
        )
        active = not ExternalIdentity.objects.filter(user=identity.user, entry__active=False).exists()
        if active != identity.user.is_active:
            _set_active(provider, identity.user, active, source_address, request_id)


def _set_active(
    provider: IdentityProvider, user: Account, active: bool, source_address: str | None, request_id: str
) -> None:
    Account.objects.filter(id=user.id).update(is_active=active)
    if not active:
        end_sessions_of(user.id)
    for member in Membership.objects.filter(user=user).order_by("organisation_id"):
        audit.record(
            by_provider(provider, member.organisation_id, source_address=source_address, request_id=request_id),
            action="member.activate" if active else "member.deactivate",
            target_type="member",
            target_id=member.id,
            target_name=user.email,
        )
