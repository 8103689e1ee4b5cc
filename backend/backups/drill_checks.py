"""What a drill proves of a table, from what was read on the restored cluster and on the live one. Pure.

The ring is cut into slices; of each, both clusters tell the number of rows, a hash of them all with the times at which
they were written, and the newest of these times. Equal hashes prove a slice. The live cluster goes on, so a slice may
differ for good reasons: something was written there since the backup, or rows were deleted or have expired. Rows that
the restored cluster lacks although nothing was written since have no good reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

SLICES = 64


class DrillVerdict(StrEnum):
    """EQUAL: row for row as live. CHANGED: so where nothing was written since. READ: there was nothing to compare with.

    LACKS, DIFFERS: less, or something else, than the live one had when it was backed up.
    """

    EQUAL = "equal"
    CHANGED = "changed"
    READ = "read"
    LACKS = "lacks"
    DIFFERS = "differs"


GOOD = frozenset({DrillVerdict.EQUAL, DrillVerdict.CHANGED, DrillVerdict.READ})


@dataclass(frozen=True, kw_only=True)
class TableResult:
    """`live_rows` None: not compared. Slices of the ring, of SLICES."""

    keyspace: str
    table: str
    verdict: DrillVerdict
    rows: int
    live_rows: int | None
    equal_slices: int
    changed_slices: int
    note: str

    def document(self) -> dict[str, Any]:
        return asdict(self)


def judge(
    keyspace: str,
    table: str,
    restored: Sequence[Mapping[str, Any]],
    live: Sequence[Mapping[str, Any]] | None,
    *,
    taken_at: datetime,
) -> TableResult:
    """`restored`, `live`: of each slice rows, sha256, newest_write (microseconds since 1970). `live` None: not read."""
    rows = sum(one["rows"] for one in restored)
    moment = taken_at.timestamp() * 1e6
    equal = changed = lacking = other = 0
    for here, there in zip(restored, live or (), strict=False):
        if here["sha256"] == there["sha256"]:
            equal += 1
        elif there["newest_write"] > moment or here["rows"] > there["rows"]:
            changed += 1
        elif here["rows"] < there["rows"]:
            lacking += 1
        else:
            other += 1
    verdict, note = DrillVerdict.EQUAL, ""
    if live is None:
        verdict, note = DrillVerdict.READ, "Every row was read; the live table was not."
    elif lacking:
        verdict = DrillVerdict.LACKS
        note = f"In {lacking} of {len(restored)} slices the live table has more rows, and none was written since."
    elif other:
        verdict = DrillVerdict.DIFFERS
        note = f"In {other} of {len(restored)} slices rows differ, and none was written since."
    elif changed:
        verdict, note = (
            DrillVerdict.CHANGED,
            f"In {changed} of {len(restored)} slices the live table was changed since.",
        )
    return TableResult(
        keyspace=keyspace,
        table=table,
        verdict=verdict,
        rows=rows,
        live_rows=None if live is None else sum(one["rows"] for one in live),
        equal_slices=equal,
        changed_slices=changed,
        note=note,
    )
