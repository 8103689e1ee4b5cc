"""What went wrong, in words for people on the standard error output, and as an exit code for scripts."""

from __future__ import annotations

import json
import sys

import click

from ringmaster.errors import (
    ApiError,
    Forbidden,
    NotFound,
    OperationError,
    OperationStands,
    RingmasterError,
    ServerError,
    TooManyRequests,
    Unauthenticated,
    Unreachable,
    WaitTimeout,
)

FAILED, USAGE, REFUSED, NOT_FOUND, NOT_ALLOWED, OPERATION_FAILED, OPERATION_STANDS, AWAY = range(1, 9)
INTERRUPTED = 130
MEANINGS = {
    0: "done",
    FAILED: "something else went wrong",
    USAGE: "the command line is not right",
    REFUSED: "the server refused: the request is not right, or not possible as things are",
    NOT_FOUND: "there is no such thing",
    NOT_ALLOWED: "not signed in, or not allowed",
    OPERATION_FAILED: "the operation that was waited for failed or was cancelled",
    OPERATION_STANDS: "the operation is blocked or paused, or took longer than --timeout",
    AWAY: "the server did not answer, failed, or had too much to do",
    INTERRUPTED: "interrupted",
}


def exit_code(problem: Exception) -> int:
    match problem:
        case click.ClickException():
            return problem.exit_code
        case NotFound():
            return NOT_FOUND
        case Unauthenticated() | Forbidden():
            return NOT_ALLOWED
        case ServerError() | TooManyRequests() | Unreachable():
            return AWAY
        case ApiError():
            return REFUSED
        case OperationStands() | WaitTimeout():
            return OPERATION_STANDS
        case OperationError():
            return OPERATION_FAILED
    return FAILED


def tell(problem: RingmasterError, *, as_json: bool) -> None:
    """Writes it down: for people, or as the API's error body."""
    sys.stderr.write((_document(problem) if as_json else _words(problem)) + "\n")


def _words(problem: RingmasterError) -> str:
    if not isinstance(problem, ApiError):
        return f"Error: {problem}"
    lines = [f"Error: {problem.message}"]
    lines += [f"  {one.field}: {one.message}" for one in problem.fields if one.message != problem.message]
    if problem.field and not problem.fields:
        lines.append(f"  at {problem.field}")
    if problem.hint:
        lines.append(f"  {problem.hint}")
    if problem.request_id:
        lines.append(f"  ({problem.code}, HTTP {problem.status}, request {problem.request_id})")
    return "\n".join(lines)


def _document(problem: RingmasterError) -> str:
    if not isinstance(problem, ApiError):
        code = problem.code if isinstance(problem, OperationError) and problem.code else type(problem).__name__
        return json.dumps({"error": {"code": code, "message": str(problem)}})
    detail = {
        "code": problem.code,
        "message": problem.message,
        "hint": problem.hint,
        "field": problem.field,
        "fields": [{"field": one.field, "message": one.message} for one in problem.fields],
        "request_id": problem.request_id,
        "status": problem.status,
    }
    return json.dumps({"error": detail})
