"""At which moments a cluster can be restored from a backup and the commit logs that were archived after it. Pure.

A node covers the time from its snapshot on, as long as its archive has no gap. From its first gap on it covers nothing
until the next backup. A moment can be restored to when so few nodes do not cover it that every quorum of every range
has one that does: of n copies ⌊n/2⌋ may be missing, in each data centre. Which nodes hold which range is not asked:
nodes that hold no range together count as if they did.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class Interval:
    """Both ends belong to it."""

    begins_at: datetime
    ends_at: datetime


@dataclass(frozen=True, kw_only=True)
class Stream:
    """What a node archived without a break of the agent's; gaps in any order."""

    covered: Interval
    gaps: Sequence[Interval] = ()


@dataclass(frozen=True, kw_only=True)
class Part:
    """A node in a backup. `taken_at`: when its snapshot began; None: it is not in the backup."""

    datacenter: str
    taken_at: datetime | None
    streams: Sequence[Stream]


def covered_until(streams: Iterable[Stream], *, since: datetime) -> datetime | None:
    """Until when a node's archive has everything from `since` on; None: it does not have it from then."""
    ends = [end for stream in streams if (end := _until(stream, since)) is not None]
    return max(ends, default=None)


def _until(stream: Stream, since: datetime) -> datetime | None:
    if not stream.covered.begins_at <= since <= stream.covered.ends_at:
        return None
    # A gap that ended before the snapshot does not matter: what was written then is in the snapshot.
    broken = [gap.begins_at for gap in stream.gaps if gap.ends_at > since and gap.begins_at < stream.covered.ends_at]
    return max(since, min(broken, default=stream.covered.ends_at))


def may_be_missing(copies: Iterable[int]) -> int:
    """How many nodes of a data centre need not cover a moment; `copies` of each chosen keyspace there."""
    return min((n // 2 for n in copies if n > 0), default=0)


def restorable_from(
    parts: Sequence[Part],
    *,
    settled_at: datetime,
    replication: Sequence[Mapping[str, int]],
    until: datetime | None = None,
) -> Interval | None:
    """The moments that a backup and the logs after it can be restored to; None: none but its own.

    `replication`: of each chosen keyspace, copies by data centre; not known (empty): no node may be missing.
    `until`: nodes changed then, which ends it.
    """
    ends: list[datetime] = [] if until is None else [until]
    for datacenter in {part.datacenter for part in parts}:
        here = [part for part in parts if part.datacenter == datacenter]
        known = [
            end
            for part in here
            if part.taken_at is not None and (end := covered_until(part.streams, since=part.taken_at)) is not None
        ]
        missing = may_be_missing(by_datacenter.get(datacenter, 0) for by_datacenter in replication)
        spare = missing - (len(here) - len(known))
        if spare < 0 or not known:
            return None
        # With `spare` nodes fewer it still covers: their ends, the earliest, do not count.
        ends.append(sorted(known)[min(spare, len(known) - 1)])
    if not ends or min(ends) <= settled_at:
        return None
    return Interval(begins_at=settled_at, ends_at=min(ends))


@dataclass(frozen=True, kw_only=True)
class Start:
    """A complete backup that is kept: pieces after `since` can be used with it for moments from `settled_at` on."""

    since: datetime
    settled_at: datetime


def needed_since(starts: Sequence[Start], *, keep_since: datetime) -> datetime | None:
    """Pieces that ended before this are needed for no moment after `keep_since`; None: no piece is of any use."""
    before = [start for start in starts if start.settled_at <= keep_since]
    if before:
        return max(before, key=lambda start: start.settled_at).since
    return min((start.since for start in starts), default=None)
