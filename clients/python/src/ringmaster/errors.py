"""What can go wrong, as exceptions that carry what the server said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class RingmasterError(Exception):
    """Everything that this package raises is one of these."""


class Unreachable(RingmasterError):
    """No answer came. Of a write it is not known whether it was done: ask, or send it again with the same key."""


class WaitTimeout(RingmasterError):
    """The operation goes on, but was not waited for any longer."""


@dataclass(frozen=True)
class FieldProblem:
    """A field of a request that is not right, dotted (zones.0), and why."""

    field: str
    message: str


class ApiError(RingmasterError):
    """An answer that is not a success. `code` is stable; quote `request_id` when you ask for help."""

    def __init__(self, status: int, detail: dict[str, Any], retry_after: float | None = None) -> None:
        """`retry_after` is in seconds."""
        self.status = status
        self.code = str(detail.get("code", "no_answer_of_ringmaster"))
        self.message = str(detail.get("message", f"The server answered {status}."))
        self.hint = str(detail.get("hint") or "")
        self.field: str | None = detail.get("field")
        self.fields = [FieldProblem(str(one["field"]), str(one["message"])) for one in detail.get("fields") or []]
        self.docs_url: str | None = detail.get("docs_url")
        self.request_id = str(detail.get("request_id", ""))
        self.retry_after = retry_after
        super().__init__(f"{self.message} {self.hint}".strip() + f" ({self.code}, request {self.request_id})")


class Unauthenticated(ApiError):
    """The token is missing, wrong, expired or revoked."""


class Forbidden(ApiError):
    """Role or scopes do not allow it."""


class NotFound(ApiError):
    """It does not exist, or not in this organisation."""


class Conflict(ApiError):
    """Not possible as things are now."""


class PreconditionFailed(ApiError):
    """It is not as you saw it any more: `if_match` does not fit. Read it again."""


class Invalid(ApiError):
    """The request is not right: `fields` says where."""


class TooManyRequests(ApiError):
    """Also after it was tried again."""


class ServerError(ApiError):
    """The server failed, or is away; also after it was tried again."""


_BY_STATUS: dict[int, type[ApiError]] = {
    400: Invalid,
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    412: PreconditionFailed,
    413: Invalid,
    422: Invalid,
    429: TooManyRequests,
}


def api_error(status: int, body: Any, retry_after: float | None = None) -> ApiError:
    """The exception for an answer; `body` is what came as JSON, or None."""
    detail = body.get("error") if isinstance(body, dict) else None
    kind = _BY_STATUS.get(status, ServerError if status >= 500 else ApiError)
    return kind(status, detail if isinstance(detail, dict) else {}, retry_after)


class OperationError(RingmasterError):
    """An operation does not lead to its end by itself. `operation` is how it stands, as the API tells it."""

    def __init__(self, operation: dict[str, Any]) -> None:
        self.operation = operation
        reason = operation.get("reason") or {}
        self.id = str(operation["id"])
        self.state = str(operation["state"])
        self.code = str(reason.get("code", ""))
        self.hint = str(reason.get("hint", ""))
        said = f"{operation.get('title', 'Operation')} ({self.id}) is {self.state}."
        super().__init__(" ".join(word for word in (said, reason.get("message", ""), self.hint) if word))


class OperationFailed(OperationError):
    """It has ended, and not well."""


class OperationCancelled(OperationError):
    """It has ended because somebody cancelled it."""


class OperationStands(OperationError):
    """It is blocked or paused: somebody has to do something, then retry or resume it."""
