"""Which tokens each node of a ring owns, so that every rack is balanced, also when nodes come and go.

With one replica per rack (replication factor = number of racks), a rack holds each row once, on the node of that rack
that owns the next token. So each rack is a ring of its own and is balanced when its nodes own equal shares of it. A new
ring uses evenly spaced tokens, dealt to the racks in turn. A node that comes later cuts a piece off ranges of the
others: no data moves but that which it takes over.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

TOKENS_PER_NODE = 16

# Murmur3Partitioner hashes to signed 64-bit integers; the lowest is no token but the start of the ring.
_LOWEST = -(2**63)
_RING = 2**64

# So many choices of leaving nodes are all looked at. Where there are more, one node is chosen after another.
_MOST_CHOICES = 500


def allocate(*, racks: int, nodes_per_rack: int, tokens_per_node: int = TOKENS_PER_NODE) -> list[list[list[int]]]:
    """Sorted tokens as `[rack][node]`. Every node of a rack owns the same share of the ring, to one token of 2⁶⁴."""
    total = racks * nodes_per_rack * tokens_per_node
    allocated: list[list[list[int]]] = [[[] for _ in range(nodes_per_rack)] for _ in range(racks)]
    for number in range(total):
        token = _LOWEST + (2 * number + 1) * _RING // (2 * total)
        place, rack = divmod(number, racks)
        round_, turn = divmod(place, nodes_per_rack)
        # Each round begins with another node, at another pace per rack: a node's neighbours (who help it when it is
        # rebuilt) then differ from token to token instead of being the same few all around the ring.
        node = (turn + round_ * (rack + 1)) % nodes_per_rack
        allocated[rack][node].append(token)
    return allocated


def allocate_beside(taken: Iterable[int], *, racks: int, nodes_per_rack: int) -> list[list[list[int]]]:
    """Tokens of another data centre, as `[rack][node]`: as `allocate` has them, but off those that are taken.

    A token belongs to one node of the whole cluster, whatever its data centre; ranges are those of each data centre.
    """
    used = set(taken)
    return [
        [sorted(_take(token + 1, used) for token in node) for node in rack]
        for rack in allocate(racks=racks, nodes_per_rack=nodes_per_rack)
    ]


def twin(tokens: Iterable[int], taken: Collection[int] = ()) -> list[int]:
    """Sorted tokens for a node that joins beside another and takes its place: each is the other's minus 1.

    So it takes over all of the other's ranges but one hash value of each, and those when the other leaves. `taken`:
    all tokens of the cluster; where minus 1 is one of them, the next lower free one is meant, around the ring's end.
    """
    old = list(tokens)
    used = {*taken, *old}
    return sorted(_take(token - 1, used, step=-1) for token in old)


def _take(token: int, used: set[int], *, step: int = 1) -> int:
    """The token, or the next one that is free; it is then used."""
    found = _wrapped(token)
    while found in used or found == _LOWEST:
        found = _wrapped(found + step)
    used.add(found)
    return found


def _wrapped(token: int) -> int:
    return (token - _LOWEST) % _RING + _LOWEST


def ownership(rack: Mapping[str, Iterable[int]]) -> dict[str, int]:
    """How much of the ring each node of a rack owns, in hash values of 2⁶⁴: from the token before to each of its own.

    A rack with one token at least.
    """
    owned = dict.fromkeys(rack, 0)
    for piece in _ranges(rack):
        owned[piece.owner] += piece.length
    return owned


@dataclass
class _Range:
    """Hash values that follow `start`, of which there are `length`: the last of them is a token of `owner`."""

    start: int
    length: int
    owner: str


def _ranges(rack: Mapping[str, Iterable[int]]) -> list[_Range]:
    placed = sorted((token, node) for node, tokens in rack.items() for token in tokens)
    before = placed[-1][0] - _RING
    ranges = []
    for token, node in placed:
        ranges.append(_Range(start=before, length=token - before, owner=node))
        before = token
    return ranges


def allocate_more(
    rack: Mapping[str, Sequence[int]],
    new: Sequence[str],
    *,
    taken: Collection[int] = (),
    tokens_per_node: int = TOKENS_PER_NODE,
) -> dict[str, list[int]]:
    """Sorted tokens for new nodes of a rack that has nodes already, by the names of the new ones.

    Each old node gives up what it has above the new equal share, in pieces cut off its largest ranges, and each new
    node gets pieces of every old one that has something to give. In a rack that was balanced all nodes then own the
    same share, but for some of the 2⁶⁴ hash values; doubling halves every range. `taken`: the other racks' tokens.
    """
    used = {*taken, *(token for tokens in rack.values() for token in tokens)}
    ranges = _ranges(rack)
    found: dict[str, list[int]] = {node: [] for node in new}
    owed = dict.fromkeys(new, 0)
    rounds = zip(*_pieces(rack, new, tokens_per_node), strict=True)
    for turn, pieces in enumerate(rounds):
        for number in range(len(new)):
            # Another one begins each round. So what a node has is next to pieces of different others, and if it leaves
            # one day they share what it leaves behind.
            place = (number + turn) % len(new)
            node, (donor, wanted) = new[place], pieces[place]
            largest = max((each for each in ranges if each.owner == donor), key=lambda each: each.length)
            wanted += owed[node] // (tokens_per_node - turn)
            # Something stays with the donor, so that its token remains one. What is missing the later pieces make up.
            size = max(1, min(wanted, largest.length - largest.length // 16))
            owed[node] += pieces[place][1] - size
            found[node].append(_take(largest.start + size, used))
            ranges.append(_Range(start=largest.start, length=size, owner=node))
            largest.start, largest.length = largest.start + size, largest.length - size
    return {node: sorted(tokens) for node, tokens in found.items()}


def _pieces(rack: Mapping[str, Sequence[int]], new: Sequence[str], count: int) -> list[list[tuple[str, int]]]:
    """For each new node `count` pieces to be cut off, the largest first: from which old node, and how large."""
    share = _RING // (len(rack) + len(new))
    surplus = {node: max(0, owned - share) for node, owned in ownership(rack).items()}
    planned = []
    for _ in new:
        # A token is a piece of one node, so at most so many can give something.
        donors = sorted(surplus, key=lambda donor: -surplus[donor])[:count]
        total = sum(surplus[donor] for donor in donors)
        amounts = {donor: share * surplus[donor] // total for donor in donors if surplus[donor] > 0}
        shares = _apportion(amounts, count)
        pieces = [(donor, amounts[donor] // shares[donor]) for donor in amounts for _ in range(shares[donor])]
        planned.append(sorted(pieces, key=lambda piece: -piece[1]))
        for donor, amount in amounts.items():
            surplus[donor] = max(0, surplus[donor] - amount)
    return planned


def _apportion(amounts: Mapping[str, int], count: int) -> dict[str, int]:
    """Shares out `count` in proportion, at least one to each (largest remainders)."""
    total = sum(amounts.values())
    spare = count - len(amounts)
    shares = {name: 1 + spare * amount // total for name, amount in amounts.items()}
    by_remainder = sorted(amounts, key=lambda name: -(spare * amounts[name] % total))
    for name in by_remainder[: count - sum(shares.values())]:
        shares[name] += 1
    return shares


def choose_leaving(rack: Mapping[str, Sequence[int]], count: int, *, keep: Collection[str] = ()) -> list[str]:
    """The `count` nodes of a rack without which the rest is balanced best, in the order of `rack`: oldest first.

    Of choices that are equally good to a thousandth, the one with the youngest. `keep`: seeds, that only leave if there
    are not enough others. Less than all nodes of the rack.
    """
    free = [node for node in rack if node not in keep]
    if len(free) < count:
        free += [node for node in rack if node in keep][len(free) - count :]
    youngest = tuple(free[len(free) - count :])
    if comb(len(free), count) <= _MOST_CHOICES:
        choices = list(combinations(free, count))
    else:
        choices = [youngest, _one_after_another(rack, free, count)]
    best = min(choices, key=lambda leaving: (_imbalance(rack, leaving), leaving != youngest))
    return [node for node in rack if node in best]


def _one_after_another(rack: Mapping[str, Sequence[int]], free: Sequence[str], count: int) -> tuple[str, ...]:
    chosen: list[str] = []
    while len(chosen) < count:
        rest = [node for node in reversed(free) if node not in chosen]
        chosen.append(min(rest, key=lambda node: _imbalance(rack, [*chosen, node])))
    return tuple(chosen)


def _imbalance(rack: Mapping[str, Sequence[int]], without: Sequence[str]) -> int:
    """How much more than an equal share the fullest of the rest owns, in thousandths."""
    rest = {node: tokens for node, tokens in rack.items() if node not in without}
    return (max(ownership(rest).values()) * len(rest) - _RING) * 1000 // _RING
