"""Whether all nodes of a ring tell the same story. Right after a parallel start they do not, for a second or two."""

from collections.abc import Iterator

from provisioner.engines.base import NodeView, PeerView, Ring, RingMember, tokens_digest


def ring_disagreement(ring: Ring, views: list[NodeView]) -> str:
    """Empty when every member is seen by every other, up, with its own host id, rack, tokens and the same schema."""
    return next(_differences(ring, views), "")


def _differences(ring: Ring, views: list[NodeView]) -> Iterator[str]:
    view_of = {view.node_id: view for view in views}
    if len(view_of) != len(views):
        yield "a node reported twice"
    for member in ring.members:
        if member.node_id not in view_of:
            yield f"{member.name} has not reported"
            return
    if strangers := sorted(view_of.keys() - {member.node_id for member in ring.members}):
        yield f"{strangers[0]} reported, but is no member"
    yield from _own_differences(ring, view_of)
    for member in ring.members:
        yield from _peer_differences(ring, member, view_of)


def _own_differences(ring: Ring, view_of: dict[str, NodeView]) -> Iterator[str]:
    """What the nodes say of themselves."""
    first = ring.members[0]
    owner_of: dict[str, str] = {}
    for member in ring.members:
        view = view_of[member.node_id]
        if not view.host_id:
            yield f"{member.name} has no host id yet"
        other = owner_of.setdefault(view.host_id, member.name)
        if other != member.name:
            yield f"{member.name} and {other} have the same host id"
        if view.tokens != frozenset(member.tokens):
            yield f"{member.name} owns {len(view.tokens)} tokens that are not the {len(member.tokens)} it was given"
        if view.schema_version != view_of[first.node_id].schema_version:
            yield f"{member.name} and {first.name} have different schemas"


def _peer_differences(ring: Ring, member: RingMember, view_of: dict[str, NodeView]) -> Iterator[str]:
    """What a node says of the others."""
    seen = {peer.address: peer for peer in view_of[member.node_id].peers}
    for other in ring.members:
        if other.node_id == member.node_id:
            continue
        peer = seen.pop(other.address, None)
        if difference := _peer_difference(peer, other, view_of[other.node_id]):
            yield f"{member.name} sees {other.name} {difference}"
    if seen:
        yield f"{member.name} sees a node at {min(seen)} that is no member"


def _peer_difference(peer: PeerView | None, other: RingMember, view: NodeView) -> str:
    if peer is None:
        return "not at all"
    if not peer.up:
        return "down"
    if peer.host_id != view.host_id:
        return "with another host id"
    if peer.rack != other.rack:
        return f"in rack {peer.rack} instead of {other.rack}"
    if peer.schema_version != view.schema_version:
        return "with another schema"
    if peer.tokens_digest and peer.tokens_digest != tokens_digest(view.tokens):
        return "with other tokens than it has"
    return ""
