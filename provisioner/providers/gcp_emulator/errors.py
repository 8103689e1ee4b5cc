"""Errors as the Compute API words them."""

import json


class ApiError(Exception):
    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message

    def body(self) -> str:
        entry = {"message": self.message, "domain": "global", "reason": self.reason}
        return json.dumps({"error": {"code": self.status, "message": self.message, "errors": [entry]}})


class AnswerLost(Exception):
    """The connection ends without an answer."""


def not_found(path: str) -> ApiError:
    return ApiError(404, "notFound", f"The resource '{path}' was not found")


def invalid(message: str) -> ApiError:
    return ApiError(400, "invalid", message)


def already_exists(path: str) -> ApiError:
    return ApiError(409, "alreadyExists", f"The resource '{path}' already exists")


def not_ready(path: str) -> ApiError:
    return ApiError(400, "resourceNotReady", f"The resource '{path}' is not ready")


def in_use(path: str, by: str) -> ApiError:
    return ApiError(400, "resourceInUseByAnotherResource", f"The resource '{path}' is already being used by '{by}'")


def forbidden(permission: str, path: str) -> ApiError:
    return ApiError(403, "forbidden", f"Required '{permission}' permission for '{path}'")


def quota_exceeded(metric: str, limit: float, region: str) -> ApiError:
    return ApiError(403, "quotaExceeded", f"Quota '{metric}' exceeded.  Limit: {limit} in region {region}.")
