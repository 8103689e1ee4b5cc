"""How a table is repaired, and until when it must be."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

DAY = 86_400.0
USUAL_DEADLINE = 5 * DAY
_TIME_WINDOW = "TimeWindowCompactionStrategy"


class RepairMode(StrEnum):
    INCREMENTAL = "incremental"
    FULL = "full"
    PULL = "pull"
    SKIP = "skip"


class RepairWish(StrEnum):
    """What people may ask for; what comes of it is a mode."""

    AUTO = "auto"
    INCREMENTAL = "incremental"
    FULL = "full"
    SKIP = "skip"


@dataclass(frozen=True, kw_only=True)
class TableFacts:
    """As the engine tells. Bytes are of one copy; times are seconds."""

    keyspace: str
    name: str
    bytes: int
    unrepaired_bytes: int
    replicas: int
    gc_grace: float
    default_ttl: int = 0
    compaction: str = ""
    has_views: bool = False
    """Or change data capture: what is written is written elsewhere, too."""
    is_view: bool = False
    incremental: bool = True
    """Whether its engine can repair incrementally at all."""
    pull: bool = True
    """Whether its engine has repairs that send to one side only."""
    tablets: bool = False
    """Its ranges are its own, moved by the engine, and repaired as a whole each."""
    replication: Mapping[str, int] = field(default_factory=dict)
    """Replicas by data centre."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    wish: RepairWish = RepairWish.AUTO
    deadline: float = USUAL_DEADLINE
    """Seconds in which every range shall be repaired."""


@dataclass(frozen=True)
class Choice:
    mode: RepairMode
    why: str


def deadline_of(facts: TableFacts, wanted: Wanted) -> float:
    """Seconds: half of gc_grace leaves time for one run that fails. A gc_grace of 0 says nothing about repairs."""
    return min(wanted.deadline, facts.gc_grace / 2) if facts.gc_grace > 0 else wanted.deadline


def choose(facts: TableFacts, wanted: Wanted, *, checked_ago: float | None) -> Choice:
    """`checked_ago`: seconds since all of it, also what counts as repaired, was compared; None: never."""
    if facts.replicas <= 1:
        return Choice(RepairMode.SKIP, "Its rows have one replica, so there is nothing to compare.")
    if wanted.wish is RepairWish.SKIP:
        return Choice(RepairMode.SKIP, "Its policy says so.")
    if wanted.wish is RepairWish.AUTO and facts.compaction.endswith(_TIME_WINDOW) and facts.default_ttl > 0:
        return Choice(RepairMode.SKIP, "Its rows expire by themselves, and a repair would mix its time windows.")
    if wanted.wish is RepairWish.FULL:
        return Choice(RepairMode.FULL, "Its policy says so.")
    if not facts.incremental:
        return Choice(RepairMode.FULL, "Its engine has no incremental repair by ranges.")
    if facts.has_views or facts.is_view:
        return Choice(
            RepairMode.FULL, "Tables with materialized views or change data capture are not repaired incrementally."
        )
    if wanted.wish is RepairWish.INCREMENTAL:
        return Choice(RepairMode.INCREMENTAL, "Its policy says so.")
    if checked_ago is not None and checked_ago >= deadline_of(facts, wanted):
        return Choice(
            RepairMode.FULL, "Incremental repair never compares again what it has repaired, so all of it is now."
        )
    return Choice(RepairMode.INCREMENTAL, "What was written since the last repair is compared.")
