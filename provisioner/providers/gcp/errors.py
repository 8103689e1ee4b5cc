"""The one place where GCP's errors become ours: HTTP answers, errors inside finished operations, lost connections."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import google.auth.exceptions
import requests
from google.api_core.exceptions import GoogleAPICallError
from google.cloud import compute_v1

from provisioner.providers.base import (
    AccessDenied,
    InvalidRequest,
    NotFound,
    OutOfCapacity,
    ProviderError,
    QuotaExceeded,
    RateLimited,
)


class NotReady(ProviderError):
    """Something is still being made, or still ending; the same call works when that is done."""

    code = "not-ready"


class InUse(ProviderError):
    """It cannot go while something else uses it."""

    code = "in-use"


class AlreadyThere(InvalidRequest):
    """Somebody made one of this name meanwhile."""

    code = "already-there"


_BY_REASON: dict[str, type[ProviderError]] = {
    "zoneresourcepoolexhausted": OutOfCapacity,
    "zoneresourcepoolexhaustedwithdetails": OutOfCapacity,
    "resourcepoolexhausted": OutOfCapacity,
    "quotaexceeded": QuotaExceeded,
    "limitexceeded": QuotaExceeded,
    "ratelimitexceeded": RateLimited,
    "userratelimitexceeded": RateLimited,
    "operationratelimitexceeded": RateLimited,
    "resourcenotready": NotReady,
    "operationinprogress": NotReady,
    "resourceinusebyanotherresource": InUse,
    "alreadyexists": AlreadyThere,
    "resourcealreadyexists": AlreadyThere,
    "notfound": NotFound,
    "resourcenotfound": NotFound,
    "permissionserror": AccessDenied,
    "accessnotconfigured": AccessDenied,
}
"""By reason (HTTP answers, camel case) and code (operations, upper case): compared without case and underscores."""

_BY_STATUS: dict[int, type[ProviderError]] = {
    400: InvalidRequest,
    401: AccessDenied,
    403: AccessDenied,
    404: NotFound,
    409: InvalidRequest,
    412: NotReady,
    429: RateLimited,
}

_HINTS: dict[type[ProviderError], str] = {
    OutOfCapacity: "Retry later, or order another machine type; another zone is never taken silently.",
    QuotaExceeded: "Ask Google for more of this quota in the project, or delete what is not needed.",
    AccessDenied: "Give the account the role in infra/gcp/role.yaml, then retry.",
}

_PERMISSION = re.compile(r"'([a-z]+\.[a-zA-Z]+\.[a-zA-Z]+)'")


@contextmanager
def translating() -> Iterator[None]:
    try:
        yield
    except GoogleAPICallError as error:
        raise _of_answer(error) from error
    except google.auth.exceptions.TransportError as error:
        raise ProviderError(f"Google's sign-in could not be reached: {error}") from error
    except google.auth.exceptions.GoogleAuthError as error:
        raise AccessDenied(
            f"Google does not accept the credentials: {_said(error)}", hint=_HINTS[AccessDenied]
        ) from error
    except requests.RequestException as error:
        raise ProviderError(f"GCP could not be reached: {error}") from error


def of_operation(operation: compute_v1.Operation) -> ProviderError | None:
    """The error inside a finished operation; None if it has none or has not finished."""
    if operation.status != compute_v1.Operation.Status.DONE or not operation.error.errors:
        return None
    first = operation.error.errors[0]
    return _error(_BY_REASON.get(_plain(first.code), ProviderError), f"{first.message} ({first.code})")


def _said(error: google.auth.exceptions.GoogleAuthError) -> str:
    """google-auth hands on the body of the answer as it came; the sentence in it is what people can read."""
    for part in error.args:
        with suppress(ValueError, LookupError, TypeError):
            return str(json.loads(part)["error"]["message"])
    return str(error)


def _of_answer(error: GoogleAPICallError) -> ProviderError:
    reasons = [str(entry.get("reason", "")) for entry in error.errors if isinstance(entry, dict)]
    status = int(error.code) if error.code is not None else 500
    for reason in reasons:
        if kind := _BY_REASON.get(_plain(reason)):
            return _error(kind, error.message)
    return _error(_BY_STATUS.get(status, ProviderError if status >= 500 else InvalidRequest), error.message)


def _error(kind: type[ProviderError], message: str) -> ProviderError:
    if kind is AccessDenied and (permission := _PERMISSION.search(message)):
        message = f"The account lacks the permission {permission[1]}: {message}"
    return kind(message, hint=_HINTS.get(kind, ""))


def _plain(reason: str) -> str:
    return reason.replace("_", "").lower()
