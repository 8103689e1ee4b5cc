"""Changes of the ring: which nodes come, with which names and tokens, which go, and why it may not be.

Every zone of a data centre is a rack and holds one replica of every row, so the racks stay even whatever is asked for.
"""

import copy
import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from backend.changes.planning import checks
from backend.changes.planning.facts import Facts, NothingToDo, Proposal, Refused, count, listed, place_of
from backend.changes.plans import Planned, membership, rolling
from backend.changes.schemas import AddDatacenter, ChangeMachineType, Mode, RemoveDatacenter, ReplaceNode, Scale
from backend.clusters import quorum, tokens
from backend.clusters.models import Datacenter, Node
from backend.clusters.schemas import NODES_PER_ZONE_LIMIT
from backend.clusters.states import NodeState

# How fast a joining node takes data over, for the expected time: 487 MB in 14.7 s (docs/engine-start.md).
_STREAMED_BYTES_PER_SECOND = 33_000_000
# Part of its disk that a node may fill. The rest is for compactions, which write anew before they delete.
_MOST_DISK_USED = 0.8

_JOINING = "Reads and writes go on: a new node serves only when it has all its data."
_STREAMING = "The nodes stream data to each other meanwhile, so latency may rise."


def scale(facts: Facts, change: Scale) -> Proposal:
    datacenter = checks.find_datacenter(facts, change.datacenter)
    now, wanted = datacenter.nodes_per_zone, _wanted_per_zone(datacenter, change)
    if wanted == now:
        raise NothingToDo(f"{datacenter.name} has {count(now, 'node')} per zone already.")
    zones = len(datacenter.zones)
    if wanted == 0:
        raise Refused(
            "racks_not_even",
            f"Each of the {zones} zones must keep the same number of nodes; 0 per zone would leave none.",
            hint="Delete the cluster if you do not need it, or remove the data centre.",
            field="nodes_per_zone",
        )
    racks = {zone: len(facts.rack(datacenter, zone)) for zone in datacenter.zones}
    if set(racks.values()) != {now}:
        has = listed([f"{zone} has {number}" for zone, number in racks.items()])
        raise Refused("racks_not_even", f"Each of the {zones} zones should have {count(now, 'node')}, but {has}.")
    return _scale_out(facts, datacenter, wanted) if wanted > now else _scale_in(facts, datacenter, wanted)


def _wanted_per_zone(datacenter: Datacenter, change: Scale) -> int:
    if change.nodes_per_zone is not None:
        return change.nodes_per_zone
    zones, total = len(datacenter.zones), change.nodes_total or 0
    per_zone, rest = divmod(total, zones)
    if rest:
        choice = [str(number * zones) for number in (per_zone, per_zone + 1) if number]
        raise Refused(
            "racks_not_even",
            f"{count(total, 'node')} cannot be spread evenly over {zones} zones; {' or '.join(choice)} can.",
            hint="Each zone holds one replica of every row, so each needs the same number of nodes.",
            field="nodes_total",
        )
    if per_zone > NODES_PER_ZONE_LIMIT:
        raise Refused(
            "too_many_nodes",
            f"{count(total, 'node')} are {per_zone} per zone; at most {NODES_PER_ZONE_LIMIT} are possible.",
            field="nodes_total",
        )
    return per_zone


def _scale_out(facts: Facts, datacenter: Datacenter, wanted: int) -> Proposal:
    checks.check_all_up(facts, "letting nodes join")
    machine_type = checks.find_machine_type(facts, datacenter.machine_type)
    more = wanted - datacenter.nodes_per_zone
    checks.check_room(facts, datacenter.region, machine_type, datacenter.zones, more, field="nodes_per_zone")
    new = _new_nodes(facts, datacenter, more)
    _give_tokens(facts, datacenter, new)
    planned = membership.scale_out(living=facts.nodes, new=new)
    moved = _data(facts.nodes_of(datacenter)) * more // wanted
    return Proposal(
        planned=_with_streaming(planned, moved),
        title=f"Add {count(len(new), 'node')} to {datacenter.name}, {more} per zone",
        mode=Mode.MEMBERSHIP,
        touched=tuple(node.name for node in new),
        impact=(
            _JOINING,
            _STREAMING,
            f"Afterwards each node owns 1/{wanted} of its zone's data instead of 1/{datacenter.nodes_per_zone}.",
        ),
        new_nodes=tuple(new),
        before={"datacenter": datacenter.name, "nodes_per_zone": datacenter.nodes_per_zone},
        after=_after(facts, datacenter, added=new, nodes_per_zone=wanted),
    )


def _scale_in(facts: Facts, datacenter: Datacenter, wanted: int) -> Proposal:
    checks.check_all_up(facts, "letting nodes leave")
    leaving = _leaving(facts, datacenter, wanted)
    _check_data_fits(facts, datacenter, wanted, leaving)
    gone = {node.id for node in leaving}
    living = [node for node in facts.nodes if node.id not in gone]
    planned = membership.scale_in(living=living, leaving=leaving)
    return Proposal(
        planned=_with_streaming(planned, _data(leaving)),
        title=f"Remove {count(len(leaving), 'node')} from {datacenter.name}",
        mode=Mode.MEMBERSHIP,
        touched=tuple(node.name for node in leaving),
        impact=(
            "Reads and writes go on: a node leaves only when the others have all its data.",
            _STREAMING,
            f"Afterwards each node owns 1/{wanted} of its zone's data instead of 1/{datacenter.nodes_per_zone}.",
        ),
        before={"datacenter": datacenter.name, "nodes_per_zone": datacenter.nodes_per_zone},
        after=_after(facts, datacenter, removed=leaving, nodes_per_zone=wanted),
    )


def _leaving(facts: Facts, datacenter: Datacenter, wanted: int) -> list[Node]:
    """From each zone those without which the rest is balanced best; zone by zone in turn, the youngest first."""
    chosen: list[list[Node]] = []
    for zone in datacenter.zones:
        rack = facts.rack(datacenter, zone)
        seeds = [node.id for node in rack if node.is_seed]
        ids = tokens.choose_leaving({node.id: node.tokens for node in rack}, len(rack) - wanted, keep=seeds)
        chosen.append([node for node in reversed(rack) if node.id in ids])
    return [node for turn in zip(*chosen, strict=True) for node in turn]


def _check_data_fits(facts: Facts, datacenter: Datacenter, wanted: int, leaving: Sequence[Node]) -> None:
    """As far as it is known now; the operation asks the nodes themselves before the first one leaves."""
    for zone in datacenter.zones:
        rack = facts.rack(datacenter, zone)
        disks = [node.disk_total_bytes for node in rack if node not in leaving and node.disk_total_bytes]
        held = _data(rack) // wanted
        if disks and held > min(disks) * _MOST_DISK_USED:
            who = "the only node that stays" if wanted == 1 else f"each of the {wanted} nodes that stay"
            raise Refused(
                "data_does_not_fit",
                f"In {zone} {who} would hold {_gb(held)}; its disk has {_gb(min(disks))}, of "
                f"which at most {_MOST_DISK_USED:.0%} may be filled.",
                hint="Keep more nodes, or change to a machine type with larger disks first.",
                field="nodes_per_zone",
            )


def replace_node(facts: Facts, change: ReplaceNode) -> Proposal:
    old = checks.find_node(facts, change.node_id)
    if old.state in (NodeState.PENDING, NodeState.JOINING, NodeState.LEAVING):
        raise Refused("node_not_in_ring", f"{old.name} is {old.state}; it is not a full member of the ring.")
    machine_type = checks.find_machine_type(facts, old.machine_type)
    return _replace_living(facts, old) if _is_alive(old) else _replace_dead(facts, old, machine_type.name)


def _is_alive(node: Node) -> bool:
    return node.state in (NodeState.UP, NodeState.STARTING)


def _replace_living(facts: Facts, old: Node) -> Proposal:
    checks.check_all_up(facts, "replacing a living node", but=old)
    datacenter = old.datacenter
    machine_type = checks.find_machine_type(facts, old.machine_type)
    fit = checks.room_for(facts, datacenter.region, machine_type)
    if fit == 0:
        raise Refused(
            "not_enough_memory",
            f"{old.name} is up, so it serves until the new one has its data; {datacenter.region} has room for no more "
            f"nodes of type {machine_type.name}, and this change needs 1.",
            hint="Delete a cluster you do not need, or stop the node first: a stopped one gives its room to the new "
            "one, which then copies from the other replicas.",
            field="node_id",
        )
    (new,) = _successors(facts, [old], old.machine_type)
    planned = membership.replace_living(living=facts.nodes, old=old, new=new)
    return Proposal(
        planned=_with_streaming(planned, _data([old])),
        title=f"Replace {old.name} while it serves",
        mode=Mode.MEMBERSHIP,
        touched=(old.name, new.name),
        impact=(
            f"{old.name} is up, so it serves until {new.name} has all its data: no replica is missing at any time.",
            _STREAMING,
        ),
        new_nodes=(new,),
        before={"node": old.name, "state": old.state},
        after=_after(facts, datacenter, added=[new], removed=[old]),
    )


def _replace_dead(facts: Facts, old: Node, machine_type: str) -> Proposal:
    others = [place_of(node) for node in checks.not_up(facts) if node.id != old.id]
    replicas = len(old.datacenter.zones)
    left = quorum.left_without(place_of(old), replicas=replicas, down=others)
    if left == 0:
        raise Refused(
            "no_replica_left",
            f"{checks.why_not_up(old)}, and 0 of {replicas} replicas of some of its rows are up: there is nothing to "
            "copy them from.",
            hint="Start this node, or one of the others that are not up, first.",
            field="node_id",
        )
    new = _copy_of(facts, old, machine_type)
    planned = membership.replace_dead(living=facts.nodes, dead=old, new=new)
    return Proposal(
        planned=_with_streaming(planned, _data([old])),
        title=f"Replace {old.name}",
        mode=Mode.MEMBERSHIP,
        touched=(old.name, new.name),
        impact=(
            f"{checks.why_not_up(old)}, so its machine is deleted and {new.name} copies its data from other replicas.",
            _goes_on(left, replicas),
            _STREAMING,
        ),
        warnings=tuple(_about_dead(old, left, replicas)),
        new_nodes=(new,),
        before={"node": old.name, "state": old.state},
        after=_after(facts, old.datacenter, added=[new], removed=[old]),
    )


def _about_dead(old: Node, left: int, replicas: int) -> Iterable[str]:
    if old.state == NodeState.STOPPED or old.stop_wanted:
        yield f"{old.name} was stopped by someone. Started first, it would serve until the new one has its data."
    elif old.state == NodeState.UNOBSERVED:
        yield (
            f"Nobody knows whether {old.name} still serves. The other nodes are asked first; if they see it up, "
            "nothing is deleted."
        )
    if left < quorum.needed(replicas):
        yield (
            f"Only {left} of {replicas} replicas of some rows are up: what was written to the others only is missing "
            "on the new node until they are back and a repair has run."
        )


def _goes_on(left: int, replicas: int) -> str:
    needed = quorum.needed(replicas)
    if left >= needed:
        return f"Reads and writes at QUORUM go on: {left} of {replicas} replicas are up, QUORUM needs {needed}."
    return (
        f"Reads and writes at QUORUM fail for some rows: {left} of {replicas} replicas are up, QUORUM needs {needed}."
    )


def change_machine_type(facts: Facts, change: ChangeMachineType) -> Proposal:
    datacenter = checks.find_datacenter(facts, change.datacenter)
    machine_type = checks.find_machine_type(facts, change.machine_type)
    old = [node for node in rolling.rack_by_rack(facts.nodes_of(datacenter)) if node.machine_type != machine_type.name]
    if not old:
        raise NothingToDo(f"All nodes of {datacenter.name} are of type {machine_type.name} already.")
    checks.check_all_up(facts, "moving nodes to other machines")
    _check_room_to_move(facts, datacenter, old, machine_type.name, machine_type.memory_mib)
    new = _successors(facts, old, machine_type.name)
    planned = membership.change_machine_type(living=facts.nodes, pairs=list(zip(old, new, strict=True)))
    before, after = facts.memory_mib.get(datacenter.machine_type, 0), machine_type.memory_mib
    smaller = f"Each node will have {after:,} MiB of memory instead of {before:,} MiB."
    return Proposal(
        planned=_with_streaming(planned, _data(old)),
        title=f"Change {count(len(old), 'node')} of {datacenter.name} from {datacenter.machine_type} to "
        f"{machine_type.name}",
        mode=Mode.MEMBERSHIP,
        touched=tuple(node.name for pair in zip(old, new, strict=True) for node in pair),
        impact=(
            "One node at a time: a new one takes over all data of an old one, which then leaves. No replica is "
            "missing at any time.",
            "Drivers see other addresses afterwards; they find them by themselves.",
            _STREAMING,
        ),
        warnings=(smaller,) if after < before else (),
        new_nodes=tuple(new),
        before={"datacenter": datacenter.name, "machine_type": datacenter.machine_type},
        after=_after(facts, datacenter, added=new, removed=old, machine_type=machine_type.name),
    )


def _check_room_to_move(
    facts: Facts, datacenter: Datacenter, old: Sequence[Node], machine_type: str, memory_mib: int
) -> None:
    """The most that is used at once: all old nodes but those gone, and one new one beside."""
    if room := facts.rooms.get(datacenter.region):
        checks.refuse_shortage(room.shortage(machine_type, dict.fromkeys(datacenter.zones, 0)))
        checks.refuse_shortage(room.shortage_of_moving([node.machine_type for node in old], machine_type))
    region = facts.regions.get(datacenter.region)
    if region is None or region.memory_budget_mib is None:
        return
    peak, grown = 0, 0
    for node in old:
        peak = max(peak, grown + memory_mib)
        grown += memory_mib - facts.memory_mib.get(node.machine_type, 0)
    left = max(0, region.memory_budget_mib - facts.used_mib.get(region.name, 0))
    if peak > left:
        raise Refused(
            "not_enough_memory",
            f"{region.name} has {left:,} MiB left; moving {count(len(old), 'node')} to {machine_type} one by one needs "
            f"{peak:,} MiB beside what is used now.",
            hint="Choose a smaller type, fewer nodes, or delete a cluster you do not need.",
            field="machine_type",
        )


def add_datacenter(facts: Facts, change: AddDatacenter) -> Proposal:
    checks.check_zones(facts, change.region, change.zones)
    used = next((datacenter for datacenter in facts.datacenters if datacenter.region == change.region), None)
    if used is not None:
        raise Refused(
            "region_in_use",
            f"{facts.cluster.name} has the data centre {used.name} in {change.region} already; it can have one per "
            "region.",
            hint="Scale that one, or choose another region.",
            field="region",
        )
    machine_type = checks.find_machine_type(facts, change.machine_type)
    checks.check_all_up(facts, "adding a data centre")
    checks.check_room(facts, change.region, machine_type, change.zones, change.nodes_per_zone, field="nodes_per_zone")
    datacenter = Datacenter(
        cluster=facts.cluster,
        name=f"{facts.cluster.provider}-{change.region}",
        region=change.region,
        zones=list(change.zones),
        machine_type=machine_type.name,
        nodes_per_zone=change.nodes_per_zone,
        position=facts.next_datacenter_position,
    )
    new = _new_nodes(facts, datacenter, change.nodes_per_zone)
    allocated = tokens.allocate_beside(
        facts.tokens(), racks=len(datacenter.zones), nodes_per_rack=change.nodes_per_zone
    )
    for number, node in enumerate(new):
        turn, rack = divmod(number, len(datacenter.zones))
        node.tokens, node.is_seed = allocated[rack][turn], turn == 0
    first = facts.datacenters[0]
    planned = membership.add_datacenter(
        living=facts.nodes,
        new_datacenter=datacenter,
        new=new,
        keyspaces=change.keyspaces,
        firewall=facts.firewall,
    )
    copied = _data(facts.nodes_of(first)) * len(datacenter.zones) // len(first.zones)
    what = "All of the users' keyspaces" if change.keyspaces is None else listed(list(change.keyspaces))
    return Proposal(
        planned=_with_streaming(planned, copied),
        title=f"Add the data centre {datacenter.name} with {count(len(new), 'node')}",
        mode=Mode.MEMBERSHIP,
        touched=tuple(node.name for node in new),
        impact=(
            f"{what or 'No keyspaces'} will have {count(len(datacenter.zones), 'more replica')}, in {datacenter.name}.",
            f"Drivers that name {first.name} as their local data centre, and use LOCAL_QUORUM, notice nothing but the "
            "load of the copying.",
        ),
        warnings=(
            "QUORUM counts the replicas of all data centres: requests that use it wait for the other region from then "
            "on. Let applications use LOCAL_QUORUM first.",
        ),
        new_datacenter=datacenter,
        new_nodes=tuple(new),
        before={"datacenters": [each.name for each in facts.datacenters]},
        after=dataclasses.replace(
            facts,
            datacenters=(*facts.datacenters, datacenter),
            nodes=(*facts.nodes, *map(_serving, new)),
            next_datacenter_position=facts.next_datacenter_position + 1,
            **_counted(facts, new),
        ),
    )


def remove_datacenter(facts: Facts, change: RemoveDatacenter) -> Proposal:
    datacenter = checks.find_datacenter(facts, change.datacenter)
    if len(facts.datacenters) == 1:
        raise Refused(
            "last_datacenter",
            f"{datacenter.name} is the only data centre of {facts.cluster.name}; 0 would be left.",
            hint="Delete the cluster if you do not need it, or add another data centre first.",
            field="datacenter",
        )
    checks.check_all_up(facts, "letting nodes leave")
    leaving = list(reversed(facts.nodes_of(datacenter)))
    living = [node for node in facts.nodes if node.datacenter_id != datacenter.id]
    return Proposal(
        planned=membership.remove_datacenter(
            living=living, datacenter=datacenter, leaving=leaving, connections=facts.connections
        ),
        title=f"Remove the data centre {datacenter.name} with {count(len(leaving), 'node')}",
        mode=Mode.MEMBERSHIP,
        touched=tuple(node.name for node in leaving),
        impact=(
            f"Nothing is replicated to {datacenter.name} any more, then its nodes leave one by one.",
            "Drivers near the other data centres notice nothing.",
        ),
        warnings=(f"Drivers that name {datacenter.name} as their local data centre lose every node they use.",),
        before={"datacenters": [each.name for each in facts.datacenters]},
        after=dataclasses.replace(
            facts,
            datacenters=tuple(each for each in facts.datacenters if each.id != datacenter.id),
            nodes=tuple(living),
        ),
    )


# New rows


def _new_nodes(facts: Facts, datacenter: Datacenter, per_zone: int) -> list[Node]:
    """Without tokens. One node of every zone, then the second of every zone: the order in which they join."""
    return [
        _new_node(
            facts,
            datacenter,
            zone,
            number=turn + 1,
            position=facts.next_position + turn * len(datacenter.zones) + rack,
            machine_type=datacenter.machine_type,
        )
        for turn in range(per_zone)
        for rack, zone in enumerate(datacenter.zones)
    ]


def _new_node(
    facts: Facts, datacenter: Datacenter, zone: str, *, number: int, position: int, machine_type: str
) -> Node:
    """`number`: counted from the last that the zone's nodes have used."""
    return Node(
        cluster=facts.cluster,
        datacenter=datacenter,
        name=f"{facts.cluster.name}-{zone}-{facts.numbers.get(zone, 0) + number}",
        machine_type=machine_type,
        zone=zone,
        position=position,
    )


def _give_tokens(facts: Facts, datacenter: Datacenter, new: Sequence[Node]) -> None:
    """Pieces of what the nodes of the same rack own."""
    taken = set(facts.tokens())
    for zone in datacenter.zones:
        rack = {node.id: node.tokens for node in facts.rack(datacenter, zone)}
        given = tokens.allocate_more(rack, [node.id for node in new if node.zone == zone], taken=taken)
        for node in new:
            if node.zone == zone:
                node.tokens = given[node.id]
                taken.update(node.tokens)


def _successors(facts: Facts, old: Sequence[Node], machine_type: str) -> list[Node]:
    """New nodes that join beside the old ones and then have their places alone."""
    taken, numbers = set(facts.tokens()), defaultdict[str, int](int)
    successors = []
    for turn, node in enumerate(old):
        numbers[node.zone] += 1
        new = _new_node(
            facts,
            node.datacenter,
            node.zone,
            number=numbers[node.zone],
            position=facts.next_position + turn,
            machine_type=machine_type,
        )
        new.replaces_id = node.id
        new.tokens = tokens.twin(node.tokens, taken)
        taken.update(new.tokens)
        successors.append(new)
    return successors


def _copy_of(facts: Facts, old: Node, machine_type: str) -> Node:
    """A new node with the very tokens of one that is gone."""
    new = _new_node(facts, old.datacenter, old.zone, number=1, position=facts.next_position, machine_type=machine_type)
    new.replaces_id = old.id
    new.tokens = list(old.tokens)
    return new


# What comes after


def _after(
    facts: Facts,
    datacenter: Datacenter,
    *,
    added: Sequence[Node] = (),
    removed: Sequence[Node] = (),
    nodes_per_zone: int | None = None,
    machine_type: str | None = None,
) -> Facts:
    changed = copy.copy(datacenter)
    changed.nodes_per_zone = nodes_per_zone or datacenter.nodes_per_zone
    changed.machine_type = machine_type or datacenter.machine_type
    gone = {node.id for node in removed}
    seeds = {node.id for node in removed if node.is_seed}
    nodes = [node for node in facts.nodes if node.id not in gone]
    for node in map(_serving, added):
        node.is_seed = node.is_seed or node.replaces_id in seeds
        nodes.append(node)
    nodes = [_in(node, changed) if node.datacenter_id == changed.id else node for node in nodes]
    grown = sum(facts.memory_mib.get(node.machine_type, 0) for node in added)
    shrunk = sum(facts.memory_mib.get(node.machine_type, 0) for node in removed)
    used = {**facts.used_mib, datacenter.region: facts.used_mib.get(datacenter.region, 0) + grown - shrunk}
    return dataclasses.replace(
        facts,
        datacenters=tuple(changed if each.id == changed.id else each for each in facts.datacenters),
        nodes=tuple(nodes),
        used_mib=used,
        **_counted(facts, added),
    )


def _counted(facts: Facts, added: Sequence[Node]) -> dict[str, Any]:
    numbers = dict(facts.numbers)
    for node in added:
        numbers[node.zone] = numbers.get(node.zone, 0) + 1
    return {"numbers": numbers, "next_position": facts.next_position + len(added)}


def _serving(node: Node) -> Node:
    served = copy.copy(node)
    served.state = NodeState.UP
    return served


def _in(node: Node, datacenter: Datacenter) -> Node:
    moved = copy.copy(node)
    moved.datacenter = datacenter
    return moved


# Sizes and times


def _data(nodes: Iterable[Node]) -> int:
    """Bytes that they hold together, as far as they have told."""
    return sum(node.data_bytes or 0 for node in nodes)


def _with_streaming(planned: Planned, moved_bytes: int) -> Planned:
    """One node at a time receives or sends, so the bytes go one after another."""
    seconds = planned.expected_seconds + moved_bytes // _STREAMED_BYTES_PER_SECOND
    return dataclasses.replace(planned, expected_seconds=seconds)


def _gb(size: int) -> str:
    return f"{size / 1e9:,.1f} GB"
