"""Console sessions: kept at sign-in, noted when they are used, ended by people."""

import time
from datetime import timedelta
from typing import Any

from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from backend.accounts.models import ConsoleSession, IdentityProvider, Membership, User
from backend.accounts.queries import Identity, require
from backend.accounts.second_factor import PROVED, proved_by
from backend.accounts.session_queries import check_may_end, find_member, find_session, living, require_session
from backend.accounts.states import Permission
from backend.audit import actions as audit

SESSION_ID = "console_session"
"""In Django's session: the id of its ConsoleSession."""
PROVIDER = "identity_provider"
"""In Django's session: the id of the identity provider by which somebody signed in."""
NOTED_EVERY = 60.0
"""Seconds. Another process notes a use by its own clock."""
_MOST_NOTED = 10_000

_noted: dict[str, float] = {}


@transaction.atomic
def keep_session(
    request: HttpRequest, user: User, *, source_address: str | None, provider: IdentityProvider | None
) -> None:
    """Called when somebody has signed in. What is left of their sessions that are over goes.

    ``provider``: by which they did; it says how long the session lasts.
    """
    ConsoleSession.objects.filter(user=user).exclude(id__in=living(user.id).values("id")).delete()
    session: Any = request.session
    if provider is None:
        session.pop(PROVIDER, None)
        session.set_expiry(None)
    else:
        session[PROVIDER] = provider.id
        session.set_expiry(provider.session_hours * 3600)
    if session.session_key is None:
        session.save()
    kept = ConsoleSession.objects.create(
        user=user,
        session_key=session.session_key,
        user_agent=_plain(request.headers.get("User-Agent", "")),
        source_address=source_address,
        identity_provider=provider,
        second_factor=bool(proved_by(request, user)),
        last_used_at=timezone.now(),
    )
    session[SESSION_ID] = kept.id
    session[PROVED] = kept.second_factor


def note_session_use(who: Identity) -> None:
    """When and where from, about once a minute, so that reading does not mean writing."""
    now = time.monotonic()
    if who.session_id is None or now - _noted.get(who.session_id, float("-inf")) < NOTED_EVERY:
        return
    if len(_noted) >= _MOST_NOTED:
        _noted.clear()
    _noted[who.session_id] = now
    stale = timezone.now() - timedelta(seconds=NOTED_EVERY)
    ConsoleSession.objects.filter(id=who.session_id, last_used_at__lt=stale).update(
        last_used_at=timezone.now(), source_address=who.source_address
    )


@transaction.atomic
def end_session(who: Identity, session_id: str) -> None:
    """One's own, or a member's. Raises NotFound, Forbidden."""
    found, member = find_session(who, session_id)
    check_may_end(who, member)
    _end(ConsoleSession.objects.filter(id=found.id))
    _record(who, member, 1)


@transaction.atomic
def end_other_sessions(who: Identity) -> int:
    """All of one's own but this one; how many. Raises Forbidden."""
    rows = living(who.user_id).exclude(id=require_session(who))
    member = Membership.objects.select_related("user").get(organisation_id=who.organisation_id, user_id=who.user_id)
    ended = _end(rows)
    if ended:
        _record(who, member, ended)
    return ended


@transaction.atomic
def end_member_sessions(who: Identity, membership_id: str) -> int:
    """All of a member, also those that they use for other organisations; how many. Raises NotFound, Forbidden."""
    require(who, Permission.MEMBERS_WRITE)
    member = find_member(who, membership_id)
    check_may_end(who, member)
    ended = _end(living(member.user_id))
    if ended:
        _record(who, member, ended)
    return ended


@transaction.atomic
def forget_password(user: User) -> None:
    """Nobody signs in to the account by password any more, and who is signed in is signed out."""
    user.set_unusable_password()
    user.save(update_fields=["password"])
    _end(ConsoleSession.objects.filter(user=user))


def end_sessions_of(user_id: str, *, but: str | None = None) -> int:
    """All of a person, perhaps but one; how many. For changes that write their own line in the audit log."""
    return _end(living(user_id).exclude(id=but) if but is not None else living(user_id))


def _end(rows: QuerySet[ConsoleSession]) -> int:
    """Each request looks Django's row up, so the next one is nobody's."""
    keys = list(rows.values_list("session_key", flat=True))
    Session.objects.filter(session_key__in=keys).delete()
    ConsoleSession.objects.filter(session_key__in=keys).delete()
    return len(keys)


def _record(who: Identity, member: Membership, ended: int) -> None:
    audit.record(
        who,
        action="session.end",
        target_type="member",
        target_id=member.id,
        target_name=member.user.email,
        before={"sessions": ended},
    )


def _plain(text: str) -> str:
    """On one line, as short as the column: a browser may send anything."""
    return "".join(each for each in text if each.isprintable())[:300]
