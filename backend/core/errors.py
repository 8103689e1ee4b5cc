"""What can go wrong, in words a customer can act on, and the one place where it becomes an HTTP answer.

Code raises a ``DomainError`` with a stable code. Everything else (validation, unknown URLs, a database that is away,
bugs) is turned into one here too, so that every answer that is not a success has the same body.
"""

from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import BadRequest, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.http.request import UnreadablePostError
from ninja import Schema
from ninja.errors import AuthenticationError, HttpError, ValidationError
from pydantic import Field
from pydantic_core import to_json

REQUEST_ID = "RINGMASTER_REQUEST_ID"  # key in request.META, set by config/middleware.py

log = structlog.get_logger(__name__)


class DomainError(Exception):
    """Something a person or a program asked for cannot be done. ``code`` is stable; ``hint`` says what to do."""

    status = 400

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int | None = None,
        hint: str = "",
        field: str | None = None,
        fields: list[tuple[str, str]] | None = None,
        retry_after: int | None = None,
    ) -> None:
        """``fields`` holds every wrong field with its message; ``retry_after`` is in seconds."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status if status is not None else type(self).status
        self.hint = hint
        self.field = field
        self.fields = fields
        self.retry_after = retry_after


class Unauthenticated(DomainError):
    status = 401


class Forbidden(DomainError):
    status = 403


class NotFound(DomainError):
    """Also for what belongs to another organisation: its existence is none of the caller's business."""

    status = 404


class Conflict(DomainError):
    status = 409


class Invalid(DomainError):
    status = 422


class TooManyRequests(DomainError):
    status = 429


class FieldError(Schema):
    field: str = Field(description="Where in the request, dotted: zones.0; empty: the body as a whole")
    message: str = Field(description="What is wrong with it, a sentence for people")


class ErrorDetail(Schema):
    code: str = Field(
        description="Stable, for programs: invalid_field, cluster_not_found ... All are in docs/errors.md"
    )
    message: str = Field(description="One sentence for people: what happened")
    hint: str = Field(description="What to do about it; may be empty")
    field: str | None = Field(None, description="The (first) field that is wrong, dotted: zones.0")
    fields: list[FieldError] | None = Field(None, description="Every field that is wrong")
    docs_url: str | None = Field(None, description="The code in the API reference of this installation's console")
    request_id: str = Field(description="Quote it when you ask for help; it is in the logs and the audit log too")


class Error(Schema):
    error: ErrorDetail = Field(description="What went wrong")


def request_id_of(request: HttpRequest) -> str:
    return str(request.META.get(REQUEST_ID, ""))


def error_response(request: HttpRequest, problem: Exception) -> HttpResponse:
    """The answer for anything that was raised. Bugs are logged with their traceback and answered without it."""
    error = _translate(problem)
    if error.status >= 500:
        log.error("request failed", code=error.code, exc_info=problem)
    detail: dict[str, Any] = {"code": error.code, "message": error.message, "hint": error.hint}
    if error.field is not None:
        detail["field"] = error.field
    if error.fields is not None:
        detail["fields"] = [{"field": field, "message": message} for field, message in error.fields]
    detail["docs_url"] = f"{settings.ENV.ringmaster_public_url}/api-reference/errors?q={error.code}"
    detail["request_id"] = request_id_of(request)
    response = HttpResponse(to_json({"error": detail}), status=error.status, content_type="application/json")
    if error.retry_after is not None:
        response["Retry-After"] = str(error.retry_after)
    if error.status == 401:
        response["WWW-Authenticate"] = "Bearer"
    return response


def _translate(problem: Exception) -> DomainError:
    match problem:
        case DomainError():
            return problem
        case ValidationError():
            return _invalid_fields(problem)
        case AuthenticationError():
            return Unauthenticated(
                "authentication_required",
                "You are not signed in.",
                hint="Sign in, or send an API token in the header Authorization: Bearer rmt_...",
            )
        case RequestDataTooBig():
            return DomainError(
                "body_too_large", "The request body is larger than 1 MiB.", status=413, hint="Send less at once."
            )
        case HttpError() if isinstance(problem.__cause__, RequestDataTooBig):
            return _translate(problem.__cause__)
        case HttpError() if problem.status_code == 400:
            return DomainError("malformed_body", "The request body is not valid JSON.", hint="Send UTF-8 encoded JSON.")
        case HttpError() if problem.status_code == 403:
            return csrf_error()
        case Http404():
            return NotFound(
                "unknown_url", "There is nothing at this address.", hint="The API's description lists every address."
            )
        case OperationalError() | InterfaceError():
            return DomainError(
                "temporarily_unavailable",
                "The control plane's database does not answer right now. Nothing was changed.",
                status=503,
                hint="Try again in a few seconds. Running clusters are not affected.",
                retry_after=2,
            )
        case UnreadablePostError() | SuspiciousOperation() | BadRequest():
            return DomainError("bad_request", "The request cannot be understood.", hint="Check address and headers.")
        case _:
            return DomainError(
                "internal_error",
                "Something went wrong on our side.",
                status=500,
                hint="Try again; if it happens again, report it with the request id.",
            )


def csrf_error() -> DomainError:
    return Forbidden(
        "csrf_failed",
        "The request does not carry this session's CSRF token.",
        hint="Send the csrf_token of GET /api/v1/session in the header X-CSRFToken.",
    )


def _invalid_fields(problem: ValidationError) -> DomainError:
    fields = [(_field_name(error["loc"]), _sentence(error)) for error in problem.errors]
    name, message = fields[0]
    return Invalid(
        "invalid_field",
        f"{name}: {message}" if name else message,
        hint="Correct the named field and send the request again.",
        field=name,
        fields=fields,
    )


def _field_name(loc: tuple[str | int, ...]) -> str:
    """('body', 'order', 'zones', 0) is zones.0 to the caller; 'order' is only the name of a Python argument."""
    skip = 2 if loc[0] == "body" else 1
    return ".".join(str(part) for part in loc[skip:] if part != "query")


def _sentence(error: dict[str, Any]) -> str:
    message = str(error["msg"]).removeprefix("Value error, ")
    return message[:1].upper() + message[1:]
