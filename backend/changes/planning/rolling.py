"""Changes that restart nodes one at a time, or change them while they run, and why it may not be."""

import copy
import dataclasses
from collections.abc import Sequence

from backend.changes.planning import checks
from backend.changes.planning.facts import Facts, NothingToDo, Proposal, Refused, count, listed, place_of
from backend.changes.plans import rolling
from backend.changes.schemas import ChangeSettings, MeasureDisks, Mode, RestartNode, StartNode, StopNode, Upgrade
from backend.clusters import quorum
from backend.clusters.models import Node
from backend.clusters.states import NodeState, reason_against_node_action

_ONE_AT_A_TIME = (
    "One node at a time is restarted; drivers with a token-aware policy retry on the others.",
    "Connections to a node end when it is drained and are made anew when it is back.",
)
# The engine's own value, in minutes, of the setting max_hint_window_minutes.
_HINT_WINDOW_MINUTES = 180


def restart_node(facts: Facts, change: RestartNode) -> Proposal:
    node = _find(facts, "restart_node", change.node_id)
    _check_quorum(facts, node, for_good=False)
    return Proposal(
        planned=rolling.restart(living=facts.nodes, nodes=[node]),
        title=f"Restart {node.name}",
        mode=Mode.ROLLING,
        touched=(node.name,),
        impact=("Connections to it end when it is drained and are made anew when it is back.", _without(facts, node)),
        warnings=_interrupted(facts, [node]),
        before={"node": node.name, "state": node.state},
        after=facts,
    )


def stop_node(facts: Facts, change: StopNode) -> Proposal:
    node = _find(facts, "stop_node", change.node_id)
    _check_quorum(facts, node, for_good=True)
    minutes = int(facts.cluster.settings.get("max_hint_window_minutes", _HINT_WINDOW_MINUTES))
    return Proposal(
        planned=rolling.stop_node(living=facts.nodes, node=node),
        title=f"Stop {node.name}",
        mode=Mode.ROLLING,
        touched=(node.name,),
        impact=("Connections to it end when it is drained.", _without(facts, node)),
        warnings=(
            "It stays stopped, and is not healed by itself, until someone starts it.",
            f"Writes that it misses are kept for it for {count(minutes, 'minute')}; if it is started later, it needs a "
            "repair.",
        ),
        before={"node": node.name, "state": node.state},
        after=_with_nodes(facts, node, state=NodeState.STOPPED, stop_wanted=True),
    )


def start_node(facts: Facts, change: StartNode) -> Proposal:
    node = _find(facts, "start_node", change.node_id)
    return Proposal(
        planned=rolling.start_node(living=facts.nodes, node=node),
        title=f"Start {node.name}",
        mode=Mode.ROLLING,
        touched=(node.name,),
        impact=("It takes requests again when it has shown that it serves; drivers find it by themselves.",),
        before={"node": node.name, "state": node.state},
        after=_with_nodes(facts, node, state=NodeState.UP, stop_wanted=False),
    )


def measure_disks(facts: Facts, change: MeasureDisks) -> Proposal:
    node = _find(facts, "measure_disks", change.node_id)
    _check_quorum(facts, node, for_good=False)
    planned = rolling.measure_disks(node=node, rounds=change.rounds)
    minutes = round(planned.expected_seconds / 60)
    return Proposal(
        planned=planned,
        title=f"Measure the disks of {node.name}",
        mode=Mode.ROLLING,
        touched=(node.name,),
        impact=(
            f"It is down for about {count(minutes, 'minute')}: disks are never measured beside a running engine.",
            _without(facts, node),
        ),
        warnings=("The writes that it misses meanwhile are kept for it by the others.",),
        before={"node": node.name, "state": node.state},
        after=facts,
    )


def rolling_restart(facts: Facts) -> Proposal:
    checks.check_one_at_a_time(facts)
    nodes = rolling.rack_by_rack(facts.nodes)
    planned = rolling.restart(living=facts.nodes, nodes=nodes)
    return Proposal(
        planned=planned,
        title=f"Restart {count(len(nodes), 'node')} one by one",
        mode=Mode.ROLLING,
        touched=_names(nodes),
        impact=(*_ONE_AT_A_TIME, _without(facts, nodes[0])),
        warnings=_interrupted(facts, nodes),
        after=facts,
    )


def upgrade(facts: Facts, change: Upgrade) -> Proposal:
    cluster, version = facts.cluster, change.engine_version
    if version == cluster.engine_version:
        raise NothingToDo(f"{cluster.name} runs {version} already.")
    _check_path(facts, version)
    checks.check_one_at_a_time(facts)
    nodes = rolling.rack_by_rack(facts.nodes)
    upgraded = copy.copy(cluster)
    upgraded.engine_version = version
    return Proposal(
        planned=rolling.upgrade(living=facts.nodes, version=version),
        title=f"Upgrade from {cluster.engine_version} to {version}",
        mode=Mode.ROLLING,
        touched=_names(nodes),
        impact=(
            *_ONE_AT_A_TIME,
            _without(facts, nodes[0]),
            f"{nodes[0].name} is the first: the others follow only if it serves as well as before.",
        ),
        warnings=(*_interrupted(facts, nodes), f"There is no way back to {cluster.engine_version} afterwards."),
        before={"engine_version": cluster.engine_version},
        after=dataclasses.replace(facts, cluster=upgraded),
    )


def _check_path(facts: Facts, version: str) -> None:
    now = facts.cluster.engine_version
    if version in facts.upgrade_targets:
        return
    if version not in facts.versions:
        raise checks.unknown_version(facts, version)
    targets = list(facts.upgrade_targets)
    there_are = f"there are paths to {listed(targets)}" if targets else f"there is no path from {now} to any other"
    if _numbers(version) < _numbers(now):
        raise Refused(
            "downgrade",
            f"{version} is older than {now}, and an older version cannot read what a newer one has written; "
            f"{there_are}.",
            hint="Order a new cluster of the older version if you need one.",
            field="engine_version",
        )
    raise Refused(
        "no_upgrade_path",
        f"{version} cannot be reached from {now}; {there_are}.",
        hint="Upgrade step by step.",
        field="engine_version",
    )


def _numbers(version: str) -> list[int]:
    """5.0.10 is newer than 5.0.9. What is no number counts as 0."""
    return [int(part) if part.isdigit() else 0 for part in version.replace("-", ".").split(".")]


def change_settings(facts: Facts, change: ChangeSettings) -> Proposal:
    cluster, wanted = facts.cluster, change.settings
    if problems := facts.check_settings(wanted):
        raise Refused(
            "invalid_setting",
            problems[0].message,
            hint="get_catalog lists the settings with their limits.",
            field=f"settings.{problems[0].name}",
            fields=[(f"settings.{problem.name}", problem.message) for problem in problems],
            wrong_word=True,
        )
    if wanted == cluster.settings:
        raise NothingToDo(f"The settings of {cluster.name} are these already.")
    restarting = facts.needing_restart(cluster.settings, wanted)
    if restarting:
        checks.check_one_at_a_time(facts)
    else:
        checks.check_all_up(facts, "changing them all while they run")
    nodes = rolling.rack_by_rack(facts.nodes)
    changed = sorted(
        name for name in cluster.settings.keys() | wanted.keys() if cluster.settings.get(name) != wanted.get(name)
    )
    impact = (
        (*_ONE_AT_A_TIME, f"{listed(restarting)} {'take' if len(restarting) > 1 else 'takes'} effect with a restart.")
        if restarting
        else ("Nothing is restarted: running engines take them over.",)
    )
    set_ = copy.copy(cluster)
    set_.settings = wanted
    return Proposal(
        planned=rolling.apply_settings(
            living=facts.nodes,
            restart=bool(restarting),
            settings=wanted,
            firewalls=facts.datacenters if facts.firewall else (),
        ),
        title=f"Change {count(len(changed), 'engine setting')}: {listed(changed)}",
        mode=Mode.ROLLING if restarting else Mode.IN_PLACE,
        touched=_names(nodes),
        impact=impact,
        warnings=_interrupted(facts, nodes) if restarting else (),
        before={"settings": dict(cluster.settings)},
        after=dataclasses.replace(facts, cluster=set_),
    )


def rotate_certificates(facts: Facts) -> Proposal:
    checks.check_all_up(facts, "giving each a certificate while it runs")
    nodes = rolling.rack_by_rack(facts.nodes)
    return Proposal(
        planned=rolling.rotate_certificates(living=facts.nodes),
        title=f"Renew the TLS certificates of {count(len(nodes), 'node')}",
        mode=Mode.IN_PLACE,
        touched=_names(nodes),
        impact=(
            "Nothing is restarted and no connection ends; new connections see the new certificates.",
            "The cluster's authority stays the same, so drivers need nothing new.",
        ),
        after=facts,
    )


# Parts


def _find(facts: Facts, action: str, node_id: str) -> Node:
    node = checks.find_node(facts, node_id)
    reason = reason_against_node_action(
        action, name=node.name, state=NodeState(node.state), stop_wanted=node.stop_wanted
    )
    if reason is not None:
        raise Refused("node_state", reason, hint="List the cluster's nodes to see their states.", field="node_id")
    return node


def _check_quorum(facts: Facts, node: Node, *, for_good: bool) -> None:
    if reason := checks.reason_against_taking_down(facts, node, for_good=for_good):
        raise Refused("quorum_at_risk", reason, hint="Start or replace what is not up first.", field="node_id")


def _without(facts: Facts, node: Node) -> str:
    """What stays possible while the node is down."""
    replicas = len(node.datacenter.zones)
    down = [place_of(other) for other in checks.not_up(facts)]
    left, needed = quorum.left_without(place_of(node), replicas=replicas, down=down), quorum.needed(replicas)
    if left >= needed:
        return f"Reads and writes at QUORUM go on: {left} of {replicas} replicas stay up, QUORUM needs {needed}."
    return (
        f"Reads and writes at QUORUM of some rows wait: {left} of {replicas} replicas stay up, QUORUM needs {needed}."
    )


def _interrupted(facts: Facts, nodes: Sequence[Node]) -> tuple[str, ...]:
    """With one or two zones no node can be done without at QUORUM, even for the seconds of a restart."""
    found = next((node.datacenter for node in nodes if len(node.datacenter.zones) < 3), None)
    if found is None:
        return ()
    zones = len(found.zones)
    return (
        f"{found.name} has {count(zones, 'zone')}, so {count(zones, 'replica')} of every row: some rows cannot be read "
        "or written at QUORUM while a node restarts, about 15 seconds each time. Three zones would be enough.",
    )


def _names(nodes: Sequence[Node]) -> tuple[str, ...]:
    return tuple(node.name for node in nodes)


def _with_nodes(facts: Facts, node: Node, *, state: NodeState, stop_wanted: bool) -> Facts:
    changed = copy.copy(node)
    changed.state, changed.stop_wanted = state, stop_wanted
    return dataclasses.replace(facts, nodes=tuple(changed if each.id == node.id else each for each in facts.nodes))
