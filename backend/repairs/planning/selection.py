"""Which tables a run repairs, in which mode, and why not the others."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from backend.repairs.planning.modes import Choice, RepairMode, RepairWish, TableFacts, Wanted, choose, deadline_of
from backend.repairs.planning.pace import FIRST_RATE
from backend.repairs.planning.ring import Member, Ring, placed
from backend.repairs.planning.segments import Table, Work

# A table that is repaired in full is due again when this share of its deadline has passed.
_DUE = 0.5


@dataclass(frozen=True, kw_only=True)
class Known:
    """A table. Times are seconds since 1970; None: never, of all its ranges."""

    facts: TableFacts
    wanted: Wanted
    weight: float = 1.0
    rate: float | None = None
    repaired_at: float | None = None
    checked_at: float | None = None

    @property
    def table(self) -> Table:
        return Table(self.facts.keyspace, self.facts.name)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a run was ordered for. No tables: all. `pull_to`: the node that was away; then its ranges are pulled."""

    tables: Sequence[Table] = ()
    wish: RepairWish | None = None
    pull_to: str = ""
    only_due: bool = False
    """As schedules do: leaves out what is repaired in full and was, not long ago."""


@dataclass(frozen=True)
class Skipped:
    table: Table
    why: str


def select(known: Iterable[Known], asked: Asked, *, now: float) -> tuple[list[Work], list[Skipped]]:
    works: list[Work] = []
    skipped: list[Skipped] = []
    for own in known:
        if asked.tables and own.table not in asked.tables:
            continue
        choice = _choice(own, asked, now)
        if choice.mode is RepairMode.SKIP:
            skipped.append(Skipped(own.table, choice.why))
            continue
        deadline = deadline_of(own.facts, own.wanted)
        never = own.checked_at is None
        size = own.facts.bytes if choice.mode is not RepairMode.INCREMENTAL or never else own.facts.unrepaired_bytes
        works.append(
            Work(
                table=own.table,
                mode=choice.mode,
                bytes=size,
                deadline=now if own.repaired_at is None else own.repaired_at + deadline,
                weight=own.weight,
                rate=own.rate or FIRST_RATE,
                pull_to=asked.pull_to if own.facts.pull else "",
                tablets=own.facts.tablets,
            )
        )
    return works, skipped


def _choice(own: Known, asked: Asked, now: float) -> Choice:
    wanted = own.wanted
    if asked.wish is not None:
        wanted = Wanted(wish=asked.wish, deadline=wanted.deadline)
    pulls = bool(asked.pull_to) and own.facts.pull
    choice = choose(own.facts, wanted, checked_ago=None if own.checked_at is None else now - own.checked_at)
    if choice.mode is RepairMode.SKIP:
        return choice
    if pulls:
        return Choice(RepairMode.PULL, "The node was away longer than others keep what it missed.")
    if asked.only_due and choice.mode is RepairMode.FULL and own.repaired_at is not None:
        checked = own.repaired_at if own.checked_at is None else min(own.repaired_at, own.checked_at)
        if now - checked < deadline_of(own.facts, own.wanted) * _DUE:
            return Choice(RepairMode.SKIP, "All of it was compared not long ago; it is not due yet.")
    return choice


def rings_of(known: Iterable[Known], members: Sequence[Member]) -> dict[str, Ring]:
    """By keyspace, as far as the control plane knows where tokens are; keyspaces that no node has are left out."""
    datacenters = {member.datacenter for member in members}
    made: dict[tuple[tuple[str, int], ...], Ring] = {}
    found: dict[str, Ring] = {}
    for own in known:
        if own.facts.keyspace in found:
            continue
        replication = _replication(own.facts, datacenters)
        if not replication:
            continue
        key = tuple(sorted(replication.items()))
        if key not in made:
            made[key] = placed(members, replication)
        found[own.facts.keyspace] = made[key]
    return found


def _replication(facts: TableFacts, datacenters: set[str]) -> Mapping[str, int]:
    named = {name: factor for name, factor in facts.replication.items() if name in datacenters and factor}
    if named or not datacenters:
        return named
    # SimpleStrategy knows no data centres.
    return {min(datacenters): facts.replicas} if facts.replicas else {}
