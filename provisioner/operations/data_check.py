"""Whether a node has the data that it should have, from what the others say. Pure arithmetic.

Of each table, the nodes that were members before the operation hold so many bytes, and by the ring as it was then they
hold so many copies together: that is what a copy has. A new node should hold its share of a copy by the ring as it is
now. Compared with the old nodes' ring and not with the present one, because they keep what they have handed over until
they are cleaned up.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LEAST_SHARE = 0.6
"""Of what is expected. Less is missing data: two replicas differ by what is compacted and what still is in memory, but
both bytes and partitions of a table do not differ by as much (partitions are estimated to a few per cent)."""

SMALL_BYTES = 64 * 1024
FEW_PARTITIONS = 16
"""A table of which both are expected to be less is not judged: how so few fall to the nodes is chance."""


@dataclass(frozen=True, kw_only=True)
class Amount:
    """What a node, or a copy, has of a table."""

    bytes: float
    partitions: float

    def __str__(self) -> str:
        return f"{_size(self.bytes)} in {self.partitions:.0f} partitions"


@dataclass(frozen=True, kw_only=True)
class Short:
    """A table of which a node has too little."""

    table: str
    expected: Amount
    found: Amount

    def __str__(self) -> str:
        return f"{self.table}: {self.found} instead of {self.expected}"


Tables = Mapping[tuple[str, str], Amount]


def tables_of(result: Mapping[str, Any]) -> dict[tuple[str, str], Amount]:
    """By keyspace and table, from the result of the job describe-data."""
    return {
        (table["keyspace"], table["table"]): Amount(bytes=table["bytes"], partitions=table["partitions"])
        for table in result["tables"]
    }


def placed_by_tokens(keyspaces: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, int]]:
    """Replicas by keyspace, from the result of the job keyspaces: of those of which a node must have its share at once.

    Tablets come to a node after it has joined, at the engine's own pace: what it lacks of them says nothing.
    """
    return {
        keyspace["name"]: keyspace["replication"]
        for keyspace in keyspaces
        if keyspace["replication"] and not keyspace.get("tablets", False)
    }


def short_tables(
    found: Tables,
    *,
    sources: Mapping[str, Tables],
    held_before: Mapping[str, Mapping[str, float]],
    holds: Mapping[str, float],
) -> list[Short]:
    """Tables of which a node has less than it should, by name.

    `sources`: what the nodes to compare with have, by node id. `held_before`: by keyspace, the share of a copy that
    each node held by the ring before the operation. `holds`: by keyspace, the share that the node should hold now.
    """
    short = []
    for keyspace, table in sorted({key for tables in sources.values() for key in tables}):
        share = holds.get(keyspace, 0.0)
        copies = sum(held_before.get(keyspace, {}).get(node_id, 0.0) for node_id in sources)
        if share <= 0.0 or copies <= 0.0:
            continue
        all_of_it = _sum(tables.get((keyspace, table)) for tables in sources.values())
        expected = Amount(bytes=all_of_it.bytes * share / copies, partitions=all_of_it.partitions * share / copies)
        has = found.get((keyspace, table), Amount(bytes=0, partitions=0))
        if _judged(expected) and not _enough(has, expected):
            short.append(Short(table=f"{keyspace}.{table}", expected=expected, found=has))
    return short


def _sum(amounts: Iterable[Amount | None]) -> Amount:
    known = [amount for amount in amounts if amount is not None]
    return Amount(bytes=sum(amount.bytes for amount in known), partitions=sum(amount.partitions for amount in known))


def _judged(expected: Amount) -> bool:
    return expected.bytes >= SMALL_BYTES or expected.partitions >= FEW_PARTITIONS


def _enough(found: Amount, expected: Amount) -> bool:
    """By bytes or by partitions: rows that were overwritten often are many bytes on one replica and few on another."""
    by_partitions = expected.partitions >= FEW_PARTITIONS and found.partitions >= LEAST_SHARE * expected.partitions
    by_bytes = expected.bytes >= SMALL_BYTES and found.bytes >= LEAST_SHARE * expected.bytes
    return by_partitions or by_bytes


def short_canary(checked: int, missing: int, *, share: float, rows: int = 256) -> str:
    """What is wrong with the rows that were written to be looked for; empty when nothing is.

    `share`: of all rows that the node should hold a replica of.
    """
    if missing:
        return f"{missing} of {checked} rows written for this check cannot be read from it"
    # Half of what is to be expected, because ranges differ in length; under eight rows chance rules.
    if share * rows >= 8 and checked < share * rows / 2:
        return f"it holds itself responsible for {checked} of {rows} rows only, {share * rows:.0f} are its share"
    return ""


def sentence(short: Sequence[Short], canary: str, *, most: int = 3) -> str:
    """All that is missing in one sentence; at most so many tables by name."""
    words = [str(table) for table in short[:most]]
    if len(short) > most:
        words.append(f"and {len(short) - most} more tables")
    return "; ".join([*words, *([canary] if canary else [])])


def _size(count: float) -> str:
    """1.5 MiB"""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
