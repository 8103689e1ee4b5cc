"""Every change to API tokens. Each is one transaction with its line in the audit log."""

import ipaddress
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.core.cache import cache
from django.db import transaction
from django.utils import timezone

from backend.accounts.models import ApiToken, Membership, Organisation, ServiceAccount
from backend.accounts.queries import TOKEN_PREFIX, Identity, TokenUse, account_not_found, hash_secret, require
from backend.accounts.states import Permission, Role, reason_against_revoking_token
from backend.accounts.token_queries import get_token, visible_tokens
from backend.audit import actions as audit
from backend.core.errors import Conflict, Forbidden, Invalid, NotFound, Unauthenticated

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class NewToken:
    token: dict[str, Any]
    secret: str


@transaction.atomic
def create_token(
    who: Identity,
    *,
    name: str,
    scopes: list[Permission],
    expires_in_days: int | None,
    usual_expiry: bool = False,
    source_ranges: Sequence[str] = (),
    service_account_id: str | None = None,
) -> NewToken:
    """The secret is in the answer and nowhere else. Nobody puts a permission into a token that they do not have.

    ``usual_expiry``: as the organisation wants it when nobody says. Raises Forbidden, Invalid, NotFound.
    """
    require(who, Permission.TOKENS_WRITE)
    if service_account_id not in (None, who.service_account_id):
        require(who, Permission.MEMBERS_WRITE)
    beyond = sorted(set(scopes) - who.permissions)
    if beyond:
        raise Forbidden(
            "scope_above_own",
            f"You cannot give a token what you do not have yourself: {', '.join(beyond)}.",
            hint=f"Choose from: {', '.join(sorted(who.permissions))}.",
            field="scopes",
        )
    account = _account(who, service_account_id or who.service_account_id)
    days = _days(who, expires_in_days, usual=usual_expiry)
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        organisation_id=who.organisation_id,
        user_id=who.user_id if account is None else None,
        service_account=account,
        made_by=who.actor,
        name=name,
        secret_hash=hash_secret(secret),
        hint=secret[-4:],
        scopes=sorted(set(scopes)),
        source_ranges=list(source_ranges),
        expires_at=None if days is None else timezone.now() + timedelta(days=days),
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
            "source_ranges": token.source_ranges,
            "service_account": account and account.name,
            "expires_at": token.expires_at.isoformat() if token.expires_at else None,
        },
    )
    return NewToken(get_token(who, token.id), secret)


def _account(who: Identity, account_id: str | None) -> ServiceAccount | None:
    """Held until the transaction ends, so that it is not disabled meanwhile."""
    if account_id is None:
        return None
    mine = ServiceAccount.objects.select_for_update().filter(organisation_id=who.organisation_id)
    account = mine.filter(id=account_id).first()
    if account is None:
        raise account_not_found()
    if account.disabled_at is not None:
        raise Conflict("service_account_disabled", f"{account.name} is disabled.", hint="Enable it first.")
    return account


def _days(who: Identity, wanted: int | None, *, usual: bool) -> int | None:
    """How long it lives. Raises Invalid for longer than the organisation allows."""
    columns = Organisation.objects.values_list("token_days_default", "token_days_max")
    default, most = columns.get(id=who.organisation_id)
    days = (default or most) if usual else wanted
    if most is not None and (days is None or days > most):
        raise Invalid(
            "token_lives_too_long",
            f"API tokens of this organisation live {most} days at most.",
            hint=f"Choose 1 to {most} days, or leave it out for {default or most}.",
            field="expires_in_days",
        )
    return days


@transaction.atomic
def revoke_token(who: Identity, token_id: str) -> None:
    """Revoking twice is revoking once."""
    require(who, Permission.TOKENS_WRITE)
    token = visible_tokens(who).filter(id=token_id).first()
    if token is None:
        raise NotFound("token_not_found", "There is no such API token.", hint="List the tokens to see their ids.")
    holder = Membership.objects.filter(organisation_id=who.organisation_id, user_id=token.user_id).first()
    role = Role(holder.role) if holder else Role.VIEWER
    reason = reason_against_revoking_token(
        who.role, True, role, who.user_id in (token.user_id, token.service_account_id)
    )
    if reason is not None:
        raise Forbidden("not_allowed_for_owner", reason, hint="Ask an owner of the organisation.")
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


REFUSALS_EVERY = 600
"""Seconds in which one line is written of a token that comes from an address it may not come from."""


def check_source(use: TokenUse) -> None:
    """Raises Unauthenticated, and writes it down, when a token is used from where it may not be."""
    if not use.source_ranges:
        return
    seen = use.who.source_address
    if seen is not None and any(_is_in(seen, each) for each in use.source_ranges):
        return
    log.warning("token refused", token=use.who.token_id, source_address=seen)
    if cache.add(f"token-refused:{use.who.token_id}:{seen}", 1, timeout=REFUSALS_EVERY):
        audit.record(
            use.who,
            action="token.refuse",
            target_type="token",
            target_id=use.who.token_id or "",
            target_name=use.who.token_name,
            after={"source_address": seen, "source_ranges": list(use.source_ranges)},
        )
    raise Unauthenticated(
        "source_address_refused",
        f"This API token may not be used from {seen or 'an unknown address'}.",
        hint="Use it from one of its source ranges, or make a token for this address.",
    )


def _is_in(address: str, source_range: str) -> bool:
    seen = ipaddress.ip_address(address)
    if isinstance(seen, ipaddress.IPv6Address) and seen.ipv4_mapped is not None:
        seen = seen.ipv4_mapped
    return seen in ipaddress.ip_network(source_range)


def note_token_use(token_id: str, last_used_at: datetime | None) -> None:
    """Of several requests that find the time stale, one writes."""
    ApiToken.objects.filter(id=token_id, last_used_at=last_used_at).update(last_used_at=timezone.now())
