"""The words of repairs, and what may be done with them."""

from datetime import datetime
from enum import StrEnum

from backend.clusters.states import SERVING, ClusterState
from backend.operations.states import title

# Hours between two runs of a schedule that nobody changed.
USUAL_HOURS = 24
AMBER, RED = 0.5, 0.8


class RepairRunState(StrEnum):
    """`partial`: it ended, and some ranges could not be repaired; they are named."""

    RUNNING = "running"
    DONE = "done"
    PARTIAL = "partial"
    STOPPED = "stopped"


class RepairRunReason(StrEnum):
    SCHEDULE = "schedule"
    ORDER = "order"
    CATCH_UP = "catch-up"
    RESTORE = "restore"
    """What was restored is compared: not every node got all that it should have."""
    IMPORT = "import"
    """The same of what was imported."""


class RepairSegmentState(StrEnum):
    """`waiting`: it failed and is tried again. `replaced`: others stand in its place, or its tables are gone."""

    RUNNING = "running"
    DONE = "done"
    WAITING = "waiting"
    REPLACED = "replaced"
    GIVEN_UP = "given-up"


class RepairPriority(StrEnum):
    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


WEIGHTS = {RepairPriority.HIGH: 4.0, RepairPriority.NORMAL: 1.0, RepairPriority.LOW: 0.25}


class RepairProtection(StrEnum):
    """How much of the time in which deleted data stays deleted is used up: under half, half, four fifths, all."""

    GOOD = "good"
    AMBER = "amber"
    RED = "red"
    OVER = "over"
    UNKNOWN = "unknown"
    """Not all of it was repaired yet, so nothing can be promised."""
    NOT_NEEDED = "not-needed"


def protection(repaired_at: datetime | None, *, seconds: float, now: datetime, needed: bool) -> RepairProtection:
    """`repaired_at`: the oldest of its ranges' last repairs; None: not all have one. `seconds`: gc_grace."""
    if not needed:
        return RepairProtection.NOT_NEEDED
    if repaired_at is None:
        return RepairProtection.UNKNOWN
    used = (now - repaired_at).total_seconds() / max(seconds, 1.0)
    if used >= 1:
        return RepairProtection.OVER
    if used >= RED:
        return RepairProtection.RED
    return RepairProtection.AMBER if used >= AMBER else RepairProtection.GOOD


def reason_against_repairing(state: ClusterState, *, may: bool, nodes: int, busy_kind: str | None) -> str | None:
    """Why no run may be started now. `busy_kind`: of the repair that is open; others are waited for."""
    if not may:
        return "Your role or token may not change clusters."
    if state not in SERVING:
        return f"The cluster is {state}; only one that serves can be repaired."
    if nodes < 2:
        return "It has one node, so there is nothing to compare."
    if busy_kind is not None:
        return f"{title(busy_kind)} is running already."
    return None
