"""Faults of the emulated cloud: by AWS's error code, before or after the effect; drawn from a seed, so they replay."""

from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from random import Random

CONNECTION_LOST = "connection-lost"
"""No answer comes. After the effect: it was done and nobody was told."""

_STATUS = {
    "InsufficientInstanceCapacity": 500,
    "InternalError": 500,
    "RequestLimitExceeded": 503,
    "UnauthorizedOperation": 403,
}


class Moment(StrEnum):
    """BEFORE: refused, nothing has changed. AFTER: it took effect and the answer is another."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault to come. `code` is an error code of AWS or CONNECTION_LOST; `action` a pattern such as `Describe*`.

    `times` None: until it is removed. `probability` is per matching call.
    """

    code: str
    action: str = "*"
    moment: Moment = Moment.BEFORE
    times: int | None = None
    probability: float = 1.0

    @property
    def status(self) -> int:
        return _STATUS.get(self.code, 400)


class Faults:
    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._standing: list[tuple[Fault, list[int]]] = []
        self.struck = 0

    def inject(self, fault: Fault) -> None:
        self._standing.append((fault, [0]))

    def end(self) -> None:
        self._standing.clear()

    def draw(self, action: str) -> Fault | None:
        """The fault that this call meets, if any."""
        for fault, strikes in self._standing:
            if not fnmatchcase(action, fault.action) or (fault.times is not None and strikes[0] >= fault.times):
                continue
            if fault.probability >= 1 or self._random.random() < fault.probability:
                strikes[0] += 1
                self.struck += 1
                return fault
        return None
