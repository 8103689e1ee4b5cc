"""Console sessions over HTTP: one's own, and those of members."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Status

from backend.accounts import second_factor_actions, session_actions, session_queries, session_schemas
from backend.accounts.queries import identity
from backend.core.pagination import PageQuery, prepared

router = Router(tags=["session"])


@router.get("/sessions", operation_id="list_sessions", response=session_schemas.ConsoleSessionPage)
def list_sessions(request: HttpRequest, page: Query[PageQuery]) -> HttpResponse:
    """Where you are signed in to the console, newest first. For the console only, not for API tokens."""
    return prepared(session_queries.list_sessions(identity(request), page))


@router.delete("/sessions", operation_id="end_other_sessions", response=session_schemas.SessionsEnded)
def end_other_sessions(request: HttpRequest) -> Any:
    """Signs you out everywhere else, at once. For the console only, not for API tokens."""
    return {"ended": session_actions.end_other_sessions(identity(request))}


@router.delete("/sessions/{console_session_id}", operation_id="end_session", response={204: None})
def end_session(request: HttpRequest, console_session_id: str) -> Any:
    """Signs a browser out, at once: one of your own or, with members:write, of a member."""
    session_actions.end_session(identity(request), console_session_id)
    return Status(204, None)


@router.get(
    "/members/{member_id}/sessions",
    operation_id="list_member_sessions",
    response=session_schemas.ConsoleSessionPage,
)
def list_member_sessions(request: HttpRequest, member_id: str, page: Query[PageQuery]) -> HttpResponse:
    """Where a member is signed in to the console, newest first."""
    return prepared(session_queries.list_member_sessions(identity(request), member_id, page))


@router.delete(
    "/members/{member_id}/sessions", operation_id="end_member_sessions", response=session_schemas.SessionsEnded
)
def end_member_sessions(request: HttpRequest, member_id: str) -> Any:
    """Signs a member out everywhere, at once. They may sign in again; API tokens stay."""
    return {"ended": session_actions.end_member_sessions(identity(request), member_id)}


@router.delete(
    "/members/{member_id}/second-factor",
    operation_id="reset_member_second_factor",
    tags=["members"],
    response={204: None},
)
def reset_member_second_factor(request: HttpRequest, member_id: str) -> Any:
    """Takes away the second factor that a member lost, and signs them out everywhere.

    Not for those who belong to other organisations as well, or run the installation: they ask its operator.
    """
    second_factor_actions.reset_member_second_factor(identity(request), member_id)
    return Status(204, None)
