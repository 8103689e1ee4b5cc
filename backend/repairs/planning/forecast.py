"""What a run would come to before it is started: segments, hours, and the moment at which it would be done."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from backend.clusters.windows import Window, next_opening, open_until
from backend.repairs.planning.bundles import Bundle
from backend.repairs.planning.pace import OVERHEAD, Effort
from backend.repairs.planning.queue import Queue
from backend.repairs.planning.segments import Table
from backend.repairs.planning.tokens import WHOLE, width

# Further ahead nothing is foretold.
_HORIZON = timedelta(days=92)


@dataclass(kw_only=True)
class TableForecast:
    segments: int = 0
    bytes: int = 0
    seconds: float = 0.0


@dataclass(kw_only=True)
class Forecast:
    """`seconds`: of open windows that the run takes with this effort; those of tables are of work alone."""

    segments: int = 0
    bytes: int = 0
    seconds: float = 0.0
    tables: dict[Table, TableForecast] = field(default_factory=dict)


def forecast(queue: Queue, effort: Effort, *, parallelism: int = 0) -> Forecast:
    """Of what is left in the queue. The busiest node bounds a run, or the number of segments at once (0: no limit)."""
    found = Forecast()
    busy: dict[str, float] = {}
    work = 0.0
    weights: dict[int, list[tuple[str, int, int]]] = {}
    for bundle in queue.bundles:
        if bundle.is_one_each():
            # As the loop below, without making the segments: there may be millions.
            ring = bundle.ring
            if id(ring) not in weights:
                weights[id(ring)] = [
                    (node, len(own), sum(map(ring.widths.__getitem__, own)))
                    for node, own in zip(ring.nodes, ring.sets_of, strict=True)
                ]
            for node, count, tokens in weights[id(ring)]:
                busy[node] = busy.get(node, 0.0) + count * OVERHEAD + tokens * bundle.seconds_per_token
            number, size = len(ring.sets), bundle.left
        else:
            number = size = 0
            for segment in bundle.segments():
                number += 1
                size += width(segment.ranges)
                for node in segment.nodes:
                    busy[node] = busy.get(node, 0.0) + segment.seconds
        seconds = number * OVERHEAD + size * bundle.seconds_per_token
        work += seconds
        found.segments += number
        _share(found, bundle, number, size)
    by_node = max(busy.values(), default=0.0) / effort.slots
    by_number = work / parallelism if parallelism else 0.0
    found.seconds = max(by_node, by_number) / effort.duty
    return found


def _share(found: Forecast, bundle: Bundle, number: int, size: int) -> None:
    """Bytes and seconds of a bundle's segments, to its tables."""
    part = size / width(WHOLE)
    for work in bundle.works:
        own = found.tables.setdefault(work.table, TableForecast())
        own.segments += number
        own.bytes += round(work.bytes * part)
        own.seconds += work.bytes / work.rate * part + number * OVERHEAD / len(bundle.works)
        found.bytes += round(work.bytes * part)


def done_at(windows: Sequence[Window], begin: datetime, seconds: float) -> datetime | None:
    """When so many seconds of open windows have passed since `begin`; None: not within a quarter of a year."""
    at, left = begin, timedelta(seconds=seconds)
    while at - begin < _HORIZON:
        closes = open_until(windows, at)
        if closes is None or closes - at >= left:
            return at + left if at + left - begin < _HORIZON else None
        left -= closes - at
        opens = next_opening(windows, closes)
        if opens is None:
            return None
        at = opens
    return None
