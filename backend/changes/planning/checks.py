"""What several changes are refused for: nodes that are down, room, words that nobody knows."""

import dataclasses
from collections.abc import Sequence

from backend.catalog.queries import MachineTypeFacts, nodes_that_fit
from backend.changes.planning.facts import Facts, Proposal, Refused, count, listed, place_of
from backend.cloud_accounts.room import Shortage
from backend.clusters import quorum
from backend.clusters.ceilings import machines_of
from backend.clusters.models import Datacenter, Node
from backend.clusters.states import NodeState


def find_datacenter(facts: Facts, name: str | None) -> Datacenter:
    """The one that is named; the only one if none is. Raises Refused."""
    names = [datacenter.name for datacenter in facts.datacenters]
    if name is None:
        if len(facts.datacenters) == 1:
            return facts.datacenters[0]
        raise Refused(
            "datacenter_not_named",
            f"{facts.cluster.name} has {len(names)} data centres: {listed(names)}. Name one of them.",
            field="datacenter",
            wrong_word=True,
        )
    found = next((datacenter for datacenter in facts.datacenters if datacenter.name == name), None)
    if found is None:
        raise Refused(
            "unknown_datacenter",
            f"{facts.cluster.name} has no data centre {name}; it has {listed(names)}.",
            field="datacenter",
            wrong_word=True,
        )
    return found


def find_node(facts: Facts, node_id: str) -> Node:
    """Raises Refused when it is not a living node of the cluster."""
    found = next((node for node in facts.nodes if node.id == node_id), None)
    if found is not None:
        return found
    if node_id in facts.gone:
        raise Refused("node_deleted", f"{facts.gone[node_id]} is deleted already.", field="node_id")
    raise Refused(
        "unknown_node",
        f"{facts.cluster.name} has no node {node_id}.",
        hint="List the cluster's nodes to see their ids.",
        field="node_id",
        wrong_word=True,
    )


def find_machine_type(facts: Facts, name: str) -> MachineTypeFacts:
    """One that can be ordered. Raises Refused."""
    found = facts.machine_types.get(name)
    if found is None:
        raise _unknown(
            "unknown_machine_type", f"machine type of {facts.cluster.provider}", name, list(facts.machine_types)
        )
    return found


def check_zones(facts: Facts, region: str, zones: Sequence[str]) -> None:
    """Raises Refused when the region is not one, or a zone is not of it or is named twice."""
    found = facts.regions.get(region)
    if found is None:
        raise _unknown("unknown_region", f"region of {facts.cluster.provider}", region, list(facts.regions))
    for number, zone in enumerate(zones):
        if zone not in found.zones:
            raise _unknown("unknown_zone", f"zone in {region}", zone, found.zones, where=f"zones.{number}")
        if zone in zones[:number]:
            sentence = f"The zone {zone} is named more than once."
            raise Refused("duplicate_zone", sentence, field=f"zones.{number}", wrong_word=True)


def unknown_version(facts: Facts, version: str) -> Refused:
    return _unknown("unknown_engine_version", f"version of {facts.cluster.engine}", version, facts.versions)


def _unknown(code: str, what: str, name: str, known: Sequence[str], *, where: str = "") -> Refused:
    choice = f"Known: {', '.join(known)}." if known else "None can be ordered at the moment."
    return Refused(
        code,
        f"There is no {what} {name}. {choice}",
        hint="Choose from what get_catalog lists.",
        field=where or code.removeprefix("unknown_"),
        wrong_word=True,
    )


def why_not_up(node: Node) -> str:
    words = {
        NodeState.DOWN: "is down",
        NodeState.STOPPED: "is stopped",
        NodeState.UNOBSERVED: "cannot be seen",
        NodeState.DATA_LOST: "has lost its data",
    }
    return f"{node.name} {words.get(NodeState(node.state), f'is {node.state}')}"


def not_up(facts: Facts) -> list[Node]:
    return [node for node in facts.nodes if node.state != NodeState.UP]


def check_all_up(facts: Facts, doing: str, *, but: Node | None = None) -> None:
    """Nodes can only join and leave a ring in which everybody answers. `doing`: what is wanted. Raises Refused."""
    missing = [node for node in not_up(facts) if but is None or node.id != but.id]
    if missing:
        up, total = len(facts.nodes) - len(missing), len(facts.nodes)
        others = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise Refused(
            "node_not_up",
            f"{why_not_up(missing[0])}{others}: {up} of {total} nodes are up, and {doing} needs all of them.",
            hint="Start or replace what is not up first.",
        )


def check_one_at_a_time(facts: Facts) -> None:
    """Whether every node can be taken down in its turn. Raises Refused with the first that cannot."""
    missing = not_up(facts)
    if not missing:
        return
    for node in facts.nodes:
        if reason := reason_against_taking_down(facts, node, for_good=False):
            raise Refused(
                "quorum_at_risk", f"{why_not_up(missing[0])}. {reason}", hint="Start or replace what is not up first."
            )
    check_all_up(facts, "going from node to node")


def reason_against_taking_down(facts: Facts, node: Node, *, for_good: bool) -> str | None:
    return quorum.reason_against_taking_down(
        place_of(node),
        node.name,
        replicas=len(node.datacenter.zones),
        down=[place_of(other) for other in not_up(facts)],
        for_good=for_good,
    )


def check_room(
    facts: Facts, region: str, machine_type: MachineTypeFacts, zones: Sequence[str], per_zone: int, *, field: str
) -> None:
    """Whether so many more nodes of the type fit into the region beside what is there. Raises Refused."""
    nodes = len(zones) * per_zone
    fit = room_for(facts, region, machine_type)
    if fit is not None and fit < nodes:
        words = "no more nodes" if fit == 0 else count(fit, "more node")
        raise Refused(
            "not_enough_memory",
            f"{region} has room for {words} of type {machine_type.name}; this change needs {nodes}.",
            hint="Take fewer or smaller nodes, or delete a cluster you do not need.",
            field=field,
        )
    if room := facts.rooms.get(region):
        refuse_shortage(room.shortage(machine_type.name, dict.fromkeys(zones, per_zone)))


def refuse_shortage(short: Shortage | None) -> None:
    """Raises Refused when there is one."""
    if short is not None:
        raise Refused(short.code, short.sentence, hint=short.hint, field=short.field)


def room_for(facts: Facts, region: str, machine_type: MachineTypeFacts) -> int | None:
    """How many more nodes of the type fit; None where only the provider knows."""
    found = facts.regions.get(region)
    if found is None:
        # Nothing can be ordered there any more, but what is there may be replaced.
        return None
    return nodes_that_fit(
        machine_type.memory_mib, budget_mib=found.memory_budget_mib, used_mib=facts.used_mib.get(region, 0)
    )


def below_ceilings(facts: Facts, proposal: Proposal) -> Proposal:
    """The same, with a warning for each ceiling that is exceeded as it is. Raises Refused when it would be by this."""
    if not proposal.new_nodes:
        return proposal
    found = facts.against_ceilings(machines_of(facts.nodes), machines_of(proposal.after.nodes))
    for each in found:
        if each.refuses:
            raise Refused(each.code, each.sentence, hint=each.hint)
    over = tuple(each.sentence for each in found)
    return dataclasses.replace(proposal, warnings=(*proposal.warnings, *over), over_ceilings=over)
