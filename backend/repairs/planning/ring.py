"""A ring as repairs see it: for every set of replicas the ranges that exactly these nodes hold."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from backend.repairs.planning import tokens
from backend.repairs.planning.tokens import Range


@dataclass(frozen=True)
class Ring:
    """Of one way of replication. Nodes are numbers into `nodes`; sets of replicas are numbers into `sets`."""

    nodes: tuple[str, ...]
    sets: list[tuple[int, ...]]
    ranges: list[list[Range]]
    """By set: vnode ranges in order. No segment goes over their borders."""
    widths: list[int]
    """By set: tokens in its ranges."""
    sets_of: list[list[int]] = field(repr=False)
    """By node."""

    @classmethod
    def of(cls, ranges: Iterable[tuple[int, int, Sequence[str]]]) -> "Ring":
        """From (start, end, ids of the replicas) as an engine tells them; a range may go over the end of the ring.

        ValueError when ranges overlap or do not cover the ring.
        """
        numbers: dict[str, int] = {}
        known: dict[tuple[int, ...], int] = {}
        sets: list[tuple[int, ...]] = []
        grouped: list[list[Range]] = []
        for start, end, replicas in ranges:
            key = tuple(sorted(numbers.setdefault(node, len(numbers)) for node in replicas))
            number = known.get(key)
            if number is None:
                number = known[key] = len(sets)
                sets.append(key)
                grouped.append([])
            grouped[number].extend(tokens.unwrapped(start, end))
        sets_of: list[list[int]] = [[] for _ in numbers]
        for number, members in enumerate(sets):
            grouped[number].sort()
            for node in members:
                sets_of[node].append(number)
        ring = cls(
            nodes=tuple(numbers),
            sets=sets,
            ranges=grouped,
            widths=[tokens.width(own) for own in grouped],
            sets_of=sets_of,
        )
        _check(ring)
        return ring

    @cached_property
    def in_order(self) -> list[tuple[int, int, int]]:
        """All ranges as (start, end, number of the set)."""
        return sorted((start, end, number) for number, own in enumerate(self.ranges) for start, end in own)

    def holders(self, ranges: Iterable[Range]) -> Iterator[tuple[int, Range]]:
        """These ranges cut at the borders of vnodes, each with the number of the set that holds it."""
        for start, end in ranges:
            at = bisect_right(self.in_order, start, key=lambda own: own[1])
            while at < len(self.in_order) and self.in_order[at][0] < end:
                own_start, own_end, number = self.in_order[at]
                yield number, (max(start, own_start), min(end, own_end))
                at += 1

    @property
    def most_replicas(self) -> int:
        return max(map(len, self.sets), default=0)

    @property
    def same(self) -> int:
        """What two equal rings have in common; cheap to compare."""
        return hash((self.nodes, tuple(self.sets), tuple(map(tuple, self.ranges))))


def _check(ring: Ring) -> None:
    at = tokens.FIRST
    for start, end, _ in ring.in_order:
        if start != at:
            raise ValueError(f"the ring's ranges do not fit together at token {at}")
        at = end
    if at != tokens.LAST:
        raise ValueError("the ring's ranges do not cover all tokens")


@dataclass(frozen=True, kw_only=True)
class Member:
    """A node as far as it decides where replicas are."""

    id: str
    datacenter: str
    rack: str
    tokens: Sequence[int]


def placed(members: Sequence[Member], replication: Mapping[str, int]) -> Ring:
    """The ring that NetworkTopologyStrategy makes of these nodes: `replication` by data centre.

    What an engine tells is the truth; this is for plans that are made without asking one. Going round from a range's
    end, each rack gets a replica before any gets a second one. ValueError when a data centre has no nodes.
    """
    every: list[tuple[int, Sequence[str]]] = []
    by_datacenter: list[tuple[list[int], list[tuple[str, ...]]]] = []
    for datacenter, factor in sorted(replication.items()):
        own = [member for member in members if member.datacenter == datacenter]
        if factor and not own:
            raise ValueError(f"no node is in {datacenter}")
        if factor:
            by_datacenter.append(_replicas_in(own, factor))
    ends = sorted(token for member in members for token in member.tokens)
    for end in ends:
        replicas: list[str] = []
        for own_ends, chosen in by_datacenter:
            replicas += chosen[bisect_left(own_ends, end) % len(own_ends)]
        every.append((end, replicas))
    return Ring.of((ends[at - 1], end, replicas) for at, (end, replicas) in enumerate(every))


def _replicas_in(members: Sequence[Member], factor: int) -> tuple[list[int], list[tuple[str, ...]]]:
    """Of one data centre: its tokens in order, and for each the replicas of the range that ends there."""
    around = sorted((token, member.id, member.rack) for member in members for token in member.tokens)
    racks = len({member.rack for member in members})
    most = min(factor, len(members))
    chosen: list[tuple[str, ...]] = []
    for at in range(len(around)):
        taken: list[str] = []
        seen: set[str] = set()
        later: list[str] = []
        for step in range(len(around)):
            _, node, rack = around[(at + step) % len(around)]
            if node in taken or node in later:
                continue
            if rack in seen and len(seen) < racks:
                later.append(node)
                continue
            taken.append(node)
            seen.add(rack)
            if len(seen) == racks:
                taken += later[: most - len(taken)]
                later = []
            if len(taken) >= most:
                break
        chosen.append(tuple(taken[:most]))
    return [token for token, _, _ in around], chosen
