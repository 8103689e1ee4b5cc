"""Identity providers of the installation: made, changed and taken away by its operator, on the command line."""

from collections.abc import Iterator
from typing import Any

from django.contrib.sessions.models import Session
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from backend.accounts.directory_actions import forget_directory, let_accounts_be
from backend.accounts.group_members import by_provider, take_away
from backend.accounts.models import (
    ConsoleSession,
    ExternalIdentity,
    IdentityProvider,
    Membership,
    Organisation,
)
from backend.accounts.states import MemberSource
from backend.core import master_keys
from backend.core.errors import Conflict, NotFound
from backend.core.secrets import Sealed

PURPOSE = "oidc-client-secret"


@transaction.atomic
def add_provider(*, client_secret: str, **columns: Any) -> IdentityProvider:
    """Raises Conflict when there is one of this name or issuer."""
    provider = IdentityProvider(**columns)
    _put_secret(provider, client_secret)
    try:
        with transaction.atomic():
            provider.save(force_insert=True)
    except IntegrityError as error:
        raise Conflict(
            "identity_provider_exists",
            f"There is an identity provider {provider.name}, or one of {provider.issuer}, already.",
            hint="identity_provider list shows them.",
        ) from error
    return provider


def find_provider(name: str) -> IdentityProvider:
    """By name or id. Raises NotFound."""
    provider = IdentityProvider.objects.filter(Q(name__iexact=name) | Q(id=name)).first()
    if provider is None:
        raise NotFound("identity_provider_not_found", f"There is no identity provider {name}.")
    return provider


def set_secret(provider: IdentityProvider, client_secret: str) -> None:
    _put_secret(provider, client_secret)
    provider.save(update_fields=["ciphertext", "wrapped_key", "master_key_id"])


def client_secret(provider: IdentityProvider) -> str:
    """Raises SecretUnreadable, KeyServiceUnavailable."""
    sealed = Sealed(
        ciphertext=bytes(provider.ciphertext),
        wrapped_key=bytes(provider.wrapped_key),
        master_key_id=provider.master_key_id,
    )
    return master_keys.opened(sealed, owner=provider.id, purpose=PURPOSE).decode()


@transaction.atomic
def disable_provider(provider: IdentityProvider) -> int:
    """Nobody signs in by it, and who did is signed out: how many. Memberships and accounts stay."""
    IdentityProvider.objects.filter(id=provider.id, disabled_at=None).update(disabled_at=timezone.now())
    return _end_sessions(provider)


def enable_provider(provider: IdentityProvider) -> None:
    IdentityProvider.objects.filter(id=provider.id).update(disabled_at=None)


@transaction.atomic
def remove_provider(provider: IdentityProvider) -> tuple[int, int]:
    """Memberships that follow its groups go, and what people had signed in by it. How many of both.

    An organisation's last owner stays, as if invited.
    """
    ended = _end_sessions(provider)
    gone = 0
    for membership in _followers(provider):
        if take_away(by_provider(provider, membership.organisation_id), membership):
            gone += 1
        else:
            Membership.objects.filter(id=membership.id).update(source=MemberSource.INVITATION, identity_provider=None)
    forget_directory(provider)
    provider.delete()
    return ended, gone


@transaction.atomic
def unlink(provider: IdentityProvider, email: str) -> bool:
    """The next who signs in with this address has the account. False: the provider has nobody of it."""
    found = ExternalIdentity.objects.filter(provider=provider, user__email__iexact=email)
    users = list(found.values_list("user_id", flat=True))
    found.delete()
    let_accounts_be(users)
    return bool(users)


def _followers(provider: IdentityProvider) -> Iterator[Membership]:
    """Organisation by organisation, each locked before its members are read."""
    mine = Membership.objects.filter(identity_provider=provider)
    for organisation_id in sorted(set(mine.values_list("organisation_id", flat=True))):
        Organisation.objects.select_for_update().get(id=organisation_id)
        yield from mine.filter(organisation_id=organisation_id).select_related("user", "custom_role")


def _end_sessions(provider: IdentityProvider) -> int:
    rows = ConsoleSession.objects.filter(identity_provider=provider)
    keys = list(rows.values_list("session_key", flat=True))
    Session.objects.filter(session_key__in=keys).delete()
    rows.delete()
    return len(keys)


def _put_secret(provider: IdentityProvider, client_secret: str) -> None:
    sealed = master_keys.sealed(client_secret.encode(), owner=provider.id, purpose=PURPOSE)
    provider.ciphertext = sealed.ciphertext
    provider.wrapped_key = sealed.wrapped_key
    provider.master_key_id = sealed.master_key_id
