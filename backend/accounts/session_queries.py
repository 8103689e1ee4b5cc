"""Which browsers people are signed in with."""

from typing import Any

from django.contrib.sessions.models import Session
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from backend.accounts.models import ConsoleSession, Membership
from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission, Role, reason_against_ending_sessions, role_permissions
from backend.core.errors import Forbidden, NotFound
from backend.core.pagination import PageQuery, page

_COLUMNS = ("id", "user_agent", "source_address", "created_at", "last_used_at")


def living(user_id: str) -> QuerySet[ConsoleSession]:
    """Those that were neither ended nor signed out of, and have not expired."""
    keys = Session.objects.filter(session_key=OuterRef("session_key"), expire_date__gt=timezone.now())
    return ConsoleSession.objects.filter(Exists(keys), user_id=user_id)


def require_session(who: Identity) -> str:
    """The session that asks. Raises Forbidden: a program does not see where its person is signed in."""
    if who.session_id is None:
        raise Forbidden(
            "session_needed",
            "Only somebody who is signed in to the console sees and ends their own sessions.",
            hint="Sign in to the console, or use list_member_sessions with members:write.",
        )
    return who.session_id


def list_sessions(who: Identity, query: PageQuery) -> dict[str, Any]:
    """The caller's own. Raises Forbidden."""
    require_session(who)
    return _listed(who, who.user_id, query)


def list_member_sessions(who: Identity, membership_id: str, query: PageQuery) -> dict[str, Any]:
    """Raises Forbidden, NotFound."""
    require(who, Permission.MEMBERS_WRITE)
    return _listed(who, find_member(who, membership_id).user_id, query)


def _listed(who: Identity, user_id: str, query: PageQuery) -> dict[str, Any]:
    return page(living(user_id).values(*_COLUMNS), query, lambda row: row | {"current": row["id"] == who.session_id})


def find_member(who: Identity, membership_id: str) -> Membership:
    """Raises NotFound."""
    mine = Membership.objects.filter(organisation_id=who.organisation_id).select_related("user", "custom_role")
    found = mine.filter(id=membership_id).first()
    if found is None:
        raise NotFound("member_not_found", "There is no such member.", hint="List the members to see their ids.")
    return found


def find_session(who: Identity, session_id: str) -> tuple[ConsoleSession, Membership]:
    """One of the caller's own, or of a member, with their membership here. Raises NotFound, also for other people's."""
    found = ConsoleSession.objects.filter(id=session_id).first()
    own = found is not None and found.user_id == who.user_id and who.session_id is not None
    member = None
    if found is not None and (own or Permission.MEMBERS_WRITE in who.permissions):
        mine = Membership.objects.filter(organisation_id=who.organisation_id, user_id=found.user_id)
        member = mine.select_related("user", "custom_role").first()
    if found is None or member is None or not living(found.user_id).filter(id=session_id).exists():
        raise NotFound("session_not_found", "There is no such session.", hint="List the sessions to see their ids.")
    return found, member


def check_may_end(who: Identity, member: Membership) -> None:
    """Raises Forbidden. One's own may always be ended."""
    if member.user_id == who.user_id and who.session_id is not None:
        return
    require(who, Permission.MEMBERS_WRITE)
    held = None if member.custom_role is None else member.custom_role.held
    beyond = role_permissions(Role(member.role), held) - who.role_permissions
    if (reason := reason_against_ending_sessions(who.role, Role(member.role), beyond=beyond)) is not None:
        raise Forbidden("not_allowed_for_owner", reason, hint="Ask an owner of the organisation.")
