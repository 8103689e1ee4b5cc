"""How a request proves who sends it: an API token, or the console's session with its CSRF token."""

import ipaddress
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.http import HttpRequest
from django.middleware.csrf import get_token
from django.utils.crypto import constant_time_compare
from ninja.security import APIKeyCookie, HttpBearer
from ninja.utils import check_csrf

from backend.accounts.models import Membership, Organisation, User
from backend.accounts.queries import SERVICE_ACCOUNT_SUFFIX, Identity, member_identity, memberships_of, token_identity
from backend.accounts.second_factor import PROVED
from backend.accounts.session_actions import PROVIDER, SESSION_ID, note_session_use
from backend.accounts.states import Role
from backend.accounts.token_actions import check_source, note_token_use
from backend.accounts.token_queries import token_use_is_stale
from backend.core.errors import Forbidden, NotFound, Unauthenticated, csrf_error, request_id_of

ORGANISATION_HEADER = "Ringmaster-Organisation"
_UNKNOWN_ORGANISATION = NotFound(
    "organisation_not_found",
    f"The organisation in the header {ORGANISATION_HEADER} does not exist or is not yours.",
    hint="GET /api/v1/session lists your organisations.",
)
_MEMO = "_ringmaster_identity"


class TokenAuth(HttpBearer):
    """`Authorization: Bearer rmt_…`. A token is bound to one organisation."""

    openapi_description = "An API token, made in the console or with create_token. Starts with rmt_."

    def authenticate(self, request: HttpRequest, token: str) -> Identity:
        if (known := getattr(request, _MEMO, None)) is not None:
            return known  # type: ignore[no-any-return]
        use = token_identity(token, source_address=source_address(request), request_id=request_id_of(request))
        who = use.who
        check_source(use)
        wanted = request.headers.get(ORGANISATION_HEADER)
        if wanted is not None and wanted != who.organisation_id:
            raise _UNKNOWN_ORGANISATION
        if token_use_is_stale(use.last_used_at) and who.token_id is not None:
            note_token_use(who.token_id, use.last_used_at)
        setattr(request, _MEMO, who)
        return who


class SessionAuth(APIKeyCookie):
    """The console's session cookie. Requests that change something must carry its CSRF token in X-CSRFToken."""

    param_name = settings.SESSION_COOKIE_NAME
    openapi_description = "The console's session. Writes need the header X-CSRFToken with get_session's csrf_token."

    def __init__(self) -> None:
        super().__init__(csrf=False)  # checked below, only for requests that have a session

    def authenticate(self, request: HttpRequest, key: str | None) -> Identity | None:
        if (known := getattr(request, _MEMO, None)) is not None:
            return known  # type: ignore[no-any-return]
        if key is None or (memberships := session_memberships(request)) is None:
            return None
        if check_csrf(request) is not None:
            raise csrf_error()
        membership = chosen_membership(request, memberships)
        if not _takes(request, membership):
            raise Forbidden(
                "provider_sign_in_needed",
                f"{membership.organisation.name} is for people who signed in through an identity provider.",
                hint="Sign out, and sign in with the button of your identity provider.",
            )
        if needs_second_factor(request, membership):
            raise Forbidden(
                "second_factor_needed",
                f"{membership.organisation.name} requires a second factor, and you signed in without one.",
                hint="Set one up in the console (Second factor, in the account's menu), or sign in with yours.",
            )
        who = member_identity(
            membership,
            source_address=source_address(request),
            request_id=request_id_of(request),
            session_id=request.session.get(SESSION_ID),
            second_factor=request.session.get(PROVED, False),
        )
        note_session_use(who)
        setattr(request, _MEMO, who)
        return who


AUTHENTICATION = [TokenAuth(), SessionAuth()]


def find_identity(request: HttpRequest) -> Identity | None:
    """The identity, or None where authentication will refuse the request anyway. Costs nothing a second time."""
    try:
        for method in AUTHENTICATION:
            who: Identity | None = method(request)
            if who is not None:
                return who
    except (Unauthenticated, Forbidden, NotFound):
        return None
    return None


def session_memberships(request: HttpRequest) -> list[Membership] | None:
    """The memberships behind the session; None without a valid one. Two queries: the session, then user and roles.

    Django's ``request.user`` would be a third; its check that the password is still the one the session was made
    with is done here instead.
    """
    session: Any = request.session
    user_id = session.get(SESSION_KEY)
    if user_id is None or session.get(BACKEND_SESSION_KEY) not in settings.AUTHENTICATION_BACKENDS:
        return None
    memberships = memberships_of(user_id)
    if memberships:
        expected = memberships[0].user.get_session_auth_hash()
        if not constant_time_compare(session.get(HASH_SESSION_KEY, ""), expected):
            return None
    return memberships


def _takes(request: HttpRequest, membership: Membership) -> bool:
    """Whether the organisation lets in by how they signed in. Owners keep their way when the provider is away."""
    open_to_all = membership.organisation.password_sign_in or membership.role == Role.OWNER
    return open_to_all or PROVIDER in request.session


def signed_in_user(request: HttpRequest) -> User | None:
    """Who is signed in, also to no organisation."""
    session: Any = request.session
    user_id = session.get(SESSION_KEY)
    if user_id is None or session.get(BACKEND_SESSION_KEY) not in settings.AUTHENTICATION_BACKENDS:
        return None
    user = User.objects.filter(id=user_id, is_active=True).first()
    if user is None or not constant_time_compare(session.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash()):
        return None
    return user


def chosen_membership(request: HttpRequest, memberships: list[Membership]) -> Membership:
    """The one the header names, else the oldest that takes this sign-in, else the oldest.

    NotFound for a foreign organisation, Forbidden without any.
    """
    wanted = request.headers.get(ORGANISATION_HEADER)
    if wanted is not None:
        for membership in memberships:
            if membership.organisation_id == wanted:
                return membership
        raise _UNKNOWN_ORGANISATION
    if not memberships:
        raise Forbidden(
            "no_organisation", "You do not belong to any organisation.", hint="Ask an administrator to invite you."
        )
    return next((each for each in memberships if _takes(request, each)), memberships[0])


def needs_second_factor(request: HttpRequest, membership: Membership) -> bool:
    """Whether this session gets nothing of the organisation. Costs no query."""
    return membership.organisation.second_factor_required and not request.session.get(PROVED, False)


def session_view(request: HttpRequest) -> dict[str, Any]:
    """What the console asks first. With an API token it describes the token's authority; with nothing, nobody."""
    if "Authorization" in request.headers:
        who = AUTHENTICATION[0](request)
        memberships = memberships_of(who.user_id) if who is not None and who.service_account_id is None else []
    else:
        who = None
        memberships = session_memberships(request) or []
    chosen: Membership | None = None
    if who is not None:
        chosen = next((m for m in memberships if m.organisation_id == who.organisation_id), None)
    elif memberships:
        chosen = chosen_membership(request, memberships)
        who = member_identity(
            chosen, source_address=None, request_id="", second_factor=request.session.get(PROVED, False)
        )
        if not _takes(request, chosen):
            who = replace(who, permissions=frozenset())
    alone = signed_in_user(request) if who is None else None
    user, organisation = (chosen.user, chosen.organisation) if chosen else (None, None)
    if who is not None and who.service_account_id is not None:
        organisation = Organisation.objects.get(id=who.organisation_id)
    return {
        "authenticated": who is not None,
        "user": user and {"id": user.id, "email": user.email, "name": user.name},
        "service_account": service_account_of(who),
        "without_organisation": alone and {"id": alone.id, "email": alone.email, "name": alone.name},
        "organisation": organisation and {"id": organisation.id, "name": organisation.name, "slug": organisation.slug},
        "role": who and who.role,
        "custom_role": who and who.custom_role and {"id": who.custom_role.id, "name": who.custom_role.name},
        "tags": who and who.tags,
        "permissions": sorted(who.permissions) if who else [],
        "organisations": [{"id": m.organisation_id, "name": m.organisation.name, "role": m.role} for m in memberships],
        "second_factor": who is not None and who.second_factor,
        "second_factor_needed": who is not None
        and who.token_id is None
        and chosen is not None
        and needs_second_factor(request, chosen),
        "csrf_token": get_token(request),
    }


def service_account_of(who: Identity | None) -> dict[str, Any] | None:
    if who is None or who.service_account_id is None:
        return None
    return {"id": who.service_account_id, "name": who.user_email.removesuffix(SERVICE_ACCOUNT_SUFFIX)}


def source_address(request: HttpRequest) -> str | None:
    """The peer's address; None on a Unix socket. Proxies are the server's business (uvicorn --forwarded-allow-ips)."""
    try:
        return str(ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")))
    except ValueError:
        return None
