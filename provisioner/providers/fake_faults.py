"""Faults of the fake provider: injected by name, count, probability and moment; drawn from a seed, so they replay."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

from provisioner.providers.base import (
    AccessDenied,
    InvalidRequest,
    NotFound,
    OutOfCapacity,
    ProviderError,
    QuotaExceeded,
    RateLimited,
)


class Moment(StrEnum):
    """BEFORE: refused, nothing has changed. AFTER: it took effect and the reply is lost. DELAYED: it takes a while."""

    BEFORE = "before"
    AFTER = "after"
    DELAYED = "delayed"


ERRORS: dict[str, type[ProviderError]] = {
    "connection-lost": ProviderError,
    "rate-limited": RateLimited,
    "out-of-capacity": OutOfCapacity,
    "quota-exceeded": QuotaExceeded,
    "access-denied": AccessDenied,
    "not-found": NotFound,
    "invalid-request": InvalidRequest,
}

SLOW = "slow"
"""What was asked for is ready (or gone) only `seconds` later."""

UNSEEN = "unseen"
"""What was made is not shown by find and list until `seconds` later, as clouds do just after a creation."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault to come. `call` and `target` are patterns (`*`, `ensure_*`) for method and resource name.

    `times` None: until it is removed. `probability` is per matching call. `seconds` belongs to the DELAYED ones.
    """

    name: str
    call: str = "*"
    target: str = "*"
    moment: Moment = Moment.BEFORE
    times: int | None = None
    probability: float = 1.0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        delayed = self.name in (SLOW, UNSEEN)
        if not delayed and self.name not in ERRORS:
            raise ValueError(f"unknown fault {self.name!r}: there are {', '.join([*ERRORS, SLOW, UNSEEN])}")
        if delayed != (self.moment is Moment.DELAYED):
            raise ValueError(f"{SLOW} and {UNSEEN} are delayed, and nothing else is")

    def matches(self, call: str, target: str) -> bool:
        return fnmatchcase(call, self.call) and fnmatchcase(target, self.target)

    def strikes(self, *, seed: int, fault_id: int, draw: int) -> bool:
        """Whether the draw-th matching call is hit: the same seed gives the same answers in the same order."""
        digest = hashlib.sha256(f"{seed}/{fault_id}/{draw}".encode()).digest()
        return int.from_bytes(digest[:8], "big") / 2**64 < self.probability

    def error(self, call: str, target: str) -> ProviderError:
        return ERRORS[self.name](f"{call} {target}: injected {self.name} ({self.moment} the effect)")
