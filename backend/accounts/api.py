"""Session, organisation, members, invitations and API tokens over HTTP."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import ensure_csrf_cookie
from ninja import Query, Router, Status
from ninja.decorators import decorate_view
from ninja.utils import check_csrf

from backend.accounts import actions, queries, schemas, token_actions, token_queries
from backend.accounts.authentication import session_view, signed_in_user, source_address
from backend.accounts.queries import identity, require
from backend.accounts.states import Permission
from backend.core.errors import Error, csrf_error, request_id_of
from backend.core.pagination import PageQuery, prepared

router = Router()


@router.get(
    "/session",
    auth=None,
    operation_id="get_session",
    tags=["session"],
    response={200: schemas.Session, 401: Error, 403: Error, 404: Error},
)
@decorate_view(ensure_csrf_cookie)
def get_session(request: HttpRequest) -> Any:
    """Who is signed in, for which organisation, and what they may do. Public: answers also when nobody is."""
    return session_view(request)


@router.get("/organisation", operation_id="get_organisation", tags=["organisation"], response=schemas.Organisation)
def get_organisation(request: HttpRequest) -> Any:
    """The organisation this request is about."""
    return queries.get_organisation(identity(request))


@router.get("/members", operation_id="list_members", tags=["members"], response=schemas.MemberPage)
def list_members(request: HttpRequest, wanted: Query[schemas.MemberFilter], page: Query[PageQuery]) -> HttpResponse:
    """The people of the organisation, newest first, also those whose account is deactivated."""
    who = identity(request)
    require(who, Permission.MEMBERS_READ)
    return prepared(queries.list_members(who, page, active=wanted.active))


@router.patch("/members/{member_id}", operation_id="change_member_role", tags=["members"], response=schemas.Member)
def change_member_role(request: HttpRequest, member_id: str, change: schemas.MemberChange) -> Any:
    """Gives a member another role. Only owners change owners; nobody gives a role above their own."""
    return actions.change_member_role(identity(request), member_id, change.role, change.custom_role_id)


@router.delete("/members/{member_id}", operation_id="remove_member", tags=["members"], response={204: None})
def remove_member(request: HttpRequest, member_id: str) -> Any:
    """Takes a person out of the organisation. Their API tokens for it end at once."""
    actions.remove_member(identity(request), member_id)
    return Status(204, None)


@router.get("/invitations", operation_id="list_invitations", tags=["invitations"], response=schemas.InvitationPage)
def list_invitations(request: HttpRequest, page: Query[PageQuery]) -> HttpResponse:
    """Every invitation, open or not, newest first."""
    who = identity(request)
    require(who, Permission.MEMBERS_READ)
    return prepared(queries.list_invitations(who, page))


@router.post(
    "/invitations",
    operation_id="create_invitation",
    tags=["invitations"],
    response={201: schemas.InvitationCreated},
)
def create_invitation(request: HttpRequest, order: schemas.InvitationOrder) -> Any:
    """Makes a link with which one person joins. It is shown once and works for seven days."""
    made = actions.create_invitation(
        identity(request), email=order.email, role=order.role, custom_role_id=order.custom_role_id
    )
    return Status(201, made.invitation | {"url": made.url})


@router.get(
    "/invitations/by-secret/{secret}",
    auth=None,
    operation_id="get_invitation_offer",
    tags=["invitations"],
    response=schemas.InvitationOffer,
)
def get_invitation_offer(request: HttpRequest, secret: str) -> Any:
    """What a link offers, for the person who opened it. Public: the secret is the key."""
    return queries.invitation_offer(secret)


@router.post(
    "/invitations/accept",
    auth=None,
    operation_id="accept_invitation",
    tags=["invitations"],
    response={200: schemas.InvitationAccepted, 403: Error},
)
def accept_invitation(request: HttpRequest, acceptance: schemas.InvitationAcceptance) -> Any:
    """Joins the organisation: makes the account, or proves the existing one's password. A link works once.

    Somebody who is signed in, and whom it is for, needs no password.
    """
    signed_in = None
    if acceptance.password is None:
        if check_csrf(request) is not None:
            raise csrf_error()
        signed_in = signed_in_user(request)
    return actions.accept_invitation(
        secret=acceptance.secret,
        name=acceptance.name,
        password=acceptance.password,
        signed_in=signed_in,
        source_address=source_address(request),
        request_id=request_id_of(request),
    )


# After the fixed addresses above, which it would otherwise swallow.
@router.delete(
    "/invitations/{invitation_id}", operation_id="revoke_invitation", tags=["invitations"], response={204: None}
)
def revoke_invitation(request: HttpRequest, invitation_id: str) -> Any:
    """Makes an open invitation's link useless."""
    actions.revoke_invitation(identity(request), invitation_id)
    return Status(204, None)


@router.get("/tokens", operation_id="list_tokens", tags=["tokens"], response=schemas.TokenPage)
def list_tokens(request: HttpRequest, page: Query[PageQuery]) -> HttpResponse:
    """Your API tokens, newest first; with members:write those of the whole organisation."""
    who = identity(request)
    require(who, Permission.TOKENS_WRITE)
    return prepared(token_queries.list_tokens(who, page))


@router.post("/tokens", operation_id="create_token", tags=["tokens"], response={201: schemas.TokenCreated})
def create_token(request: HttpRequest, order: schemas.TokenOrder) -> Any:
    """Makes an API token. The secret is shown once. Scopes can only be permissions you have yourself."""
    made = token_actions.create_token(
        identity(request),
        name=order.name,
        scopes=order.scopes,
        expires_in_days=order.expires_in_days,
        usual_expiry="expires_in_days" not in order.model_fields_set,
        source_ranges=order.source_ranges,
        service_account_id=order.service_account_id,
    )
    return Status(201, {"token": made.token, "secret": made.secret})


@router.delete("/tokens/{token_id}", operation_id="revoke_token", tags=["tokens"], response={204: None})
def revoke_token(request: HttpRequest, token_id: str) -> Any:
    """Ends a token at once. Revoking twice is revoking once."""
    token_actions.revoke_token(identity(request), token_id)
    return Status(204, None)
