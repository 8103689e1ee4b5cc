"""A typed client of Ringmaster's API. `Ringmaster` is it, `models` has what it takes and answers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ringmaster.errors import (
    ApiError,
    Conflict,
    FieldProblem,
    Forbidden,
    Invalid,
    NotFound,
    OperationCancelled,
    OperationError,
    OperationFailed,
    OperationStands,
    PreconditionFailed,
    RingmasterError,
    ServerError,
    TooManyRequests,
    Unauthenticated,
    Unreachable,
    WaitTimeout,
)
from ringmaster.version import __version__

if TYPE_CHECKING:
    from ringmaster import models
    from ringmaster.client import Ringmaster
    from ringmaster.transport import Event

__all__ = [
    "ApiError",
    "Conflict",
    "Event",
    "FieldProblem",
    "Forbidden",
    "Invalid",
    "NotFound",
    "OperationCancelled",
    "OperationError",
    "OperationFailed",
    "OperationStands",
    "PreconditionFailed",
    "Ringmaster",
    "RingmasterError",
    "ServerError",
    "TooManyRequests",
    "Unauthenticated",
    "Unreachable",
    "WaitTimeout",
    "__version__",
    "models",
]
# Hundreds of models take half a second to import, and the command line needs none of them.
_LATER = {"Event": "ringmaster.transport", "Ringmaster": "ringmaster.client"}


def __getattr__(name: str) -> Any:
    if name == "models":
        return import_module("ringmaster.models")
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
