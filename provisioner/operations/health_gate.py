"""Whether clients fare worse than before a change of version. Pure arithmetic on what engines count.

Engines count requests and errors since their start, and keep latencies of the last minutes. What a restarted engine
counts, it counts from zero; of the others the difference counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

# How much worse it may be. Errors: as a part of all requests. Latency: both, because a JVM that has just started is
# slow for a while, and because three times nearly nothing is still nothing.
ERROR_TOLERANCE = 0.01
LATENCY_FACTOR = 3.0
LATENCY_MS = 50.0
# With fewer requests a percentile or a rate says nothing.
ENOUGH_REQUESTS = 100


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Of one node: counts since its start, and the 99th percentile of latencies in milliseconds."""

    reads: int = 0
    writes: int = 0
    timeouts: int = 0
    unavailables: int = 0
    failures: int = 0
    read_p99_ms: float = 0.0
    write_p99_ms: float = 0.0

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> "Figures":
        return cls(**{field.name: told.get(field.name) or 0 for field in fields(cls)})

    @property
    def requests(self) -> int:
        return self.reads + self.writes

    @property
    def errors(self) -> int:
        return self.timeouts + self.unavailables + self.failures


@dataclass(frozen=True, kw_only=True)
class Gate:
    """Figures by node id: before the first node was changed, and now. `changed`: the node that was changed last."""

    before: Mapping[str, Figures]
    now: Mapping[str, Figures]
    changed: str


@dataclass(frozen=True)
class Verdict:
    passed: bool
    words: str
    # There was traffic before, but too little since to judge by: worth a few seconds more.
    early: bool = False


def judge(gate: Gate) -> Verdict:
    requests, errors = _since(gate)
    rate_before = _rate(
        sum(figures.errors for figures in gate.before.values()),
        sum(figures.requests for figures in gate.before.values()),
    )
    rate = _rate(errors, requests)
    if requests >= ENOUGH_REQUESTS and rate > rate_before + ERROR_TOLERANCE:
        return Verdict(
            False,
            f"{rate:.2%} of {requests} requests failed since the upgrade began, {rate_before:.2%} before; "
            f"{ERROR_TOLERANCE:.0%} more are tolerated",
        )
    mine = gate.now.get(gate.changed, Figures())
    for title, count, name in (("reads", mine.reads, "read_p99_ms"), ("writes", mine.writes, "write_p99_ms")):
        worst = max((getattr(figures, name) for figures in gate.before.values()), default=0.0)
        limit = max(worst * LATENCY_FACTOR, worst + LATENCY_MS)
        if count >= ENOUGH_REQUESTS and getattr(mine, name) > limit:
            return Verdict(
                False,
                f"The slowest 1 % of {title} take {getattr(mine, name):.0f} ms, before at most {worst:.0f} ms; "
                f"{limit:.0f} ms are tolerated",
            )
    if mine.requests < ENOUGH_REQUESTS:
        busy = sum(figures.requests for figures in gate.before.values()) >= ENOUGH_REQUESTS
        words = f"ring agreed by every node; only {mine.requests} requests so far, too few to judge by"
        return Verdict(True, words, early=busy)
    return Verdict(
        True,
        f"ring agreed by every node; {rate:.2%} of {requests} requests failed ({rate_before:.2%} before); slowest 1 %: "
        f"reads {mine.read_p99_ms:.0f} ms, writes {mine.write_p99_ms:.0f} ms",
    )


def _since(gate: Gate) -> tuple[int, int]:
    """Requests and errors of all nodes since `before`."""
    requests = errors = 0
    for node_id, now in gate.now.items():
        before = gate.before.get(node_id, Figures())
        restarted = now.requests < before.requests or now.errors < before.errors
        base = Figures() if restarted else before
        requests += now.requests - base.requests
        errors += now.errors - base.errors
    return requests, errors


def _rate(errors: int, requests: int) -> float:
    """Errors as a part of requests: engines count a request that failed as a request, too."""
    return errors / requests if requests else 0.0
