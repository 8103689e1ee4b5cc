"""Faults of the emulated API, by name, call and moment; drawn from a seed, so that they replay."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

from provisioner.providers.gcp_emulator.errors import AnswerLost, ApiError


class Moment(StrEnum):
    """BEFORE: refused, nothing has changed. AFTER: it took effect, then the answer is this error.

    INSIDE: the call is accepted, and its operation ends with an error of this code and without the effect.
    """

    BEFORE = "before"
    AFTER = "after"
    INSIDE = "inside"


_ANSWERS = {
    "unavailable": ApiError(503, "backendError", "The service is currently unavailable."),
    "internal": ApiError(500, "internalError", "Internal error."),
    "rate-limited": ApiError(403, "rateLimitExceeded", "Rate Limit Exceeded"),
    "too-many": ApiError(429, "rateLimitExceeded", "Quota exceeded for quota metric 'Queries per minute'"),
    "quota-exceeded": ApiError(403, "quotaExceeded", "Quota 'CPUS' exceeded.  Limit: 24.0 in region us-central1."),
}
ANSWER_LOST = "answer-lost"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """`call` and `target` are patterns for what is called (`instances.insert`) and the name of the resource.

    `name`: `answer-lost`, one of the answers above, or (INSIDE) the code of an operation's error. `times` None: until
    it is removed. `probability` is per matching call.
    """

    name: str
    call: str = "*"
    target: str = "*"
    moment: Moment = Moment.BEFORE
    times: int | None = None
    probability: float = 1.0

    def __post_init__(self) -> None:
        if self.moment is not Moment.INSIDE and self.name != ANSWER_LOST and self.name not in _ANSWERS:
            raise ValueError(f"unknown fault {self.name!r}: there are {', '.join([ANSWER_LOST, *_ANSWERS])}")

    def matches(self, call: str, target: str) -> bool:
        return fnmatchcase(call, self.call) and fnmatchcase(target, self.target)

    def strikes(self, *, seed: int, number: int, draw: int) -> bool:
        """Whether the draw-th matching call is hit by the fault with this number."""
        digest = hashlib.sha256(f"{seed}/{number}/{draw}".encode()).digest()
        return int.from_bytes(digest[:8], "big") / 2**64 < self.probability

    def error(self) -> Exception:
        if self.name == ANSWER_LOST:
            return AnswerLost()
        answer = _ANSWERS[self.name]
        return ApiError(answer.status, answer.reason, answer.message)


@dataclass
class Standing:
    """A fault that has been injected, and what it has done."""

    fault: Fault
    number: int
    draws: int = 0
    strikes: int = 0

    def draw(self, *, seed: int, call: str, target: str) -> bool:
        if not self.fault.matches(call, target):
            return False
        if self.fault.times is not None and self.strikes >= self.fault.times:
            return False
        self.draws += 1
        hit = self.fault.strikes(seed=seed, number=self.number, draw=self.draws)
        self.strikes += int(hit)
        return hit
