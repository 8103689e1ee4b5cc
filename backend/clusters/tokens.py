"""Which tokens each node of a new ring owns, so that every rack is balanced exactly.

With one replica per rack (replication factor = number of racks), a rack holds each row once, on the node of that rack
that owns the next token. So each rack is a ring of its own and is balanced when its tokens are evenly spaced and evenly
dealt. All racks together use evenly spaced tokens, dealt to the racks in turn.
"""

TOKENS_PER_NODE = 16

# Murmur3Partitioner hashes to signed 64-bit integers; the lowest is no token but the start of the ring.
_LOWEST = -(2**63)
_RING = 2**64


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
