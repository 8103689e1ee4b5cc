"""Ranges of tokens, without wrapping. A range (start, end] holds the tokens above start up to end.

Tokens are those of Murmur3: -2^63 to 2^63-1. The smallest belongs to no row (the engine's partitioner replaces it), so
(-2^63, 2^63-1] is the whole ring.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

FIRST, LAST = -(2**63), 2**63 - 1

Range = tuple[int, int]
WHOLE: tuple[Range, ...] = ((FIRST, LAST),)


def unwrapped(start: int, end: int) -> list[Range]:
    """A range as an engine tells it, which may go over the end of the ring, in pieces that do not.

    start == end: the whole ring.
    """
    if start < end:
        return [(start, end)]
    above = [(start, LAST)] if start < LAST else []
    return above + ([(FIRST, end)] if end > FIRST else [])


def width(ranges: Iterable[Range]) -> int:
    return sum(end - start for start, end in ranges)


def merged(ranges: Iterable[Range]) -> list[Range]:
    """The same tokens in order, in as few ranges as possible."""
    found: list[Range] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def without(ranges: Sequence[Range], taken: Sequence[Range]) -> list[Range]:
    """`ranges` less `taken`. Both sorted and disjoint; so is the answer, and it keeps the borders of `ranges`."""
    left: list[Range] = []
    for start, end in ranges:
        begin = start
        for cut_start, cut_end in _touching(taken, start, end):
            if cut_start > begin:
                left.append((begin, cut_start))
            begin = max(begin, cut_end)
        if begin < end:
            left.append((begin, end))
    return left


def common(ranges: Sequence[Range], others: Sequence[Range]) -> list[Range]:
    """What both hold, cut at the borders of both. Both sorted and disjoint."""
    return [
        (max(start, other_start), min(end, other_end))
        for start, end in ranges
        for other_start, other_end in _touching(others, start, end)
    ]


def _touching(ranges: Sequence[Range], start: int, end: int) -> Iterator[Range]:
    at = bisect_right(ranges, start, key=lambda own: own[1])
    while at < len(ranges) and ranges[at][0] < end:
        yield ranges[at]
        at += 1
