"""What is repaired, what a piece of that is, and which nodes are busy with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from backend.repairs.planning.modes import RepairMode
from backend.repairs.planning.pace import FIRST_RATE
from backend.repairs.planning.ring import Ring
from backend.repairs.planning.tokens import Range

AIM, LEAST, MOST = 60.0, 5.0, 120.0
"""Seconds that a segment shall take."""


class Table(NamedTuple):
    keyspace: str
    name: str


def ring_of(rings: Mapping[str, Ring], table: Table) -> Ring | None:
    """Rings are known by the names of their keyspaces, those of tablets by KEYSPACE.TABLE. None: it is gone."""
    return rings.get(f"{table.keyspace}.{table.name}") or rings.get(table.keyspace)


@dataclass(frozen=True, kw_only=True)
class Work:
    """A table that shall be repaired. `bytes` of one copy that will be compared; `deadline` by the caller's clock."""

    table: Table
    mode: RepairMode
    bytes: int
    deadline: float
    weight: float = 1.0
    """Of two tables with the same slack the heavier is first."""
    rate: float = FIRST_RATE
    pull_to: str = ""
    """In mode pull: the node that fetches what it missed. Only its ranges are left then."""
    tablets: bool = False
    """It has ranges of its own, none of which is ever cut, and is repaired alone."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    keyspace: str
    tables: tuple[str, ...]
    mode: RepairMode
    ranges: tuple[Range, ...]
    nodes: tuple[str, ...]
    """All that take part."""
    coordinator: str
    bytes: int
    seconds: float
    """How long it will probably take."""
    failures: int = 0
    splits: int = 0
    key: int = 0
    """The caller's name for what waited and was taken again."""


@dataclass(frozen=True, kw_only=True)
class Piece:
    """What failed and waits to be tried again."""

    keyspace: str
    tables: tuple[str, ...]
    mode: RepairMode
    ranges: tuple[Range, ...]
    failures: int
    splits: int
    not_before: float
    pull_to: str = ""
    key: int = 0


@dataclass(kw_only=True)
class Slots:
    """Who is busy with what. `slots` may change at any time; what runs is not stopped for that."""

    slots: int = 1
    running: dict[str, list[Segment]] = field(default_factory=dict)
    coordinating: dict[str, int] = field(default_factory=dict)
    rests_until: dict[str, float] = field(default_factory=dict)

    def is_free(self, node: str, now: float) -> bool:
        return len(self.running.get(node, ())) < self.slots and self.rests_until.get(node, 0.0) <= now

    def works_on(self, node: str, keyspace: str, names: Sequence[str]) -> bool:
        """Two repairs of a table on one node get into each other's way: the engine refuses the second."""
        return any(
            other.keyspace == keyspace and not set(other.tables).isdisjoint(names)
            for other in self.running.get(node, ())
        )

    def start(self, segment: Segment) -> None:
        for node in segment.nodes:
            self.running.setdefault(node, []).append(segment)
        self.coordinating[segment.coordinator] = self.coordinating.get(segment.coordinator, 0) + 1

    def end(self, segment: Segment) -> None:
        for node in segment.nodes:
            self.running[node].remove(segment)
        self.coordinating[segment.coordinator] -= 1

    @property
    def going(self) -> int:
        """Segments that run."""
        return sum(self.coordinating.values())
