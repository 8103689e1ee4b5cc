"""How a segment that failed is tried again."""

from collections.abc import Sequence

from backend.repairs.planning.segments import LEAST, Piece, Segment
from backend.repairs.planning.tokens import Range

# After so many failures a segment is split, or given up when it has become too small or was split too often.
TRIES = 2
MOST_SPLITS = 14
_BACK_OFF = 20.0


def pieces_after(
    segment: Segment, *, pull_to: str, now: float, counts: bool, may_split: bool, may_cut: bool = True
) -> list[Piece]:
    """How a segment that failed is tried again: the same, then in halves. Empty: not at all.

    `may_cut`: also a single range.
    """
    failures = segment.failures + (1 if counts else 0)

    def piece(names: tuple[str, ...], ranges: Sequence[Range], tried: int, splits: int) -> Piece:
        return Piece(
            keyspace=segment.keyspace,
            tables=names,
            mode=segment.mode,
            ranges=tuple(ranges),
            failures=tried,
            splits=splits,
            not_before=now + _BACK_OFF * max(tried, 1),
            pull_to=pull_to,
        )

    if failures < TRIES:
        return [piece(segment.tables, segment.ranges, failures, segment.splits)]
    if not may_split or segment.splits >= MOST_SPLITS:
        return []
    half = segment.splits + 1
    if len(segment.tables) > 1:
        middle = len(segment.tables) // 2
        return [piece(own, segment.ranges, 0, half) for own in (segment.tables[:middle], segment.tables[middle:])]
    if len(segment.ranges) > 1:
        middle = len(segment.ranges) // 2
        return [piece(segment.tables, own, 0, half) for own in (segment.ranges[:middle], segment.ranges[middle:])]
    start, end = segment.ranges[0]
    if may_cut and segment.seconds >= 2 * LEAST and end - start > 1:
        middle = start + (end - start) // 2
        return [piece(segment.tables, (own,), 0, half) for own in ((start, middle), (middle, end))]
    return []
