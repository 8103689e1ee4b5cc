from datetime import UTC, datetime
from typing import Any

import pytest

from backend.backups.drill_checks import GOOD, DrillVerdict, judge

TAKEN = datetime(2026, 5, 1, tzinfo=UTC)
MICROSECONDS = int(TAKEN.timestamp() * 1e6)


def part(rows: int, sha256: str, *, newest: int = MICROSECONDS - 1) -> dict[str, Any]:
    return {"rows": rows, "sha256": sha256, "newest_write": newest}


@pytest.mark.parametrize(
    ("live", "verdict"),
    [
        ([part(2, "a"), part(1, "b")], DrillVerdict.EQUAL),
        ([part(2, "a"), part(5, "c", newest=MICROSECONDS + 1)], DrillVerdict.CHANGED),
        ([part(2, "a"), part(0, "")], DrillVerdict.CHANGED),
        ([part(2, "a"), part(2, "c")], DrillVerdict.LACKS),
        ([part(2, "a"), part(1, "c")], DrillVerdict.DIFFERS),
        ([part(3, "x"), part(9, "c", newest=MICROSECONDS + 1)], DrillVerdict.LACKS),
        (None, DrillVerdict.READ),
    ],
)
def test_a_table_is_judged_slice_by_slice(live: list[dict[str, Any]] | None, verdict: DrillVerdict):
    result = judge("shop", "orders", [part(2, "a"), part(1, "b")], live, taken_at=TAKEN)
    assert (result.verdict, result.rows) == (verdict, 3)
    assert bool(result.note) is (verdict is not DrillVerdict.EQUAL)
    assert (verdict in GOOD) is (verdict not in (DrillVerdict.LACKS, DrillVerdict.DIFFERS))
