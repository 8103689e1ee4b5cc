"""Plans of the changes of a ring: nodes that join, leave, or take another's place.

Nodes join and leave one after another, and each step that changes the ring ends only when all living nodes agree about
it. What is prepared for them (machines, agents, engines) is prepared side by side. Everything that can be taken back
comes before what cannot. `living` may hold the nodes that are to go; they are left out where they must be.
"""

from collections.abc import Iterable, Sequence

from backend.changes.plans import Planned, in_one_go
from backend.clusters.models import Datacenter, Node
from backend.clusters.plans import allow_clients, delete_connections
from backend.operations.actions import PlannedStep

# Seconds that things usually take with little data, until history says better.
_MACHINES_SECONDS = 10
_JOIN_SECONDS = 20
_LEAVE_SECONDS = 12
_CLEAN_UP_SECONDS = 2
_REBUILD_SECONDS = 5
_PUBLISH_SECONDS = 2

# Deadlines of steps that move data: the step only counts as overdue, and goes on.
_STREAMING_DEADLINE = 6 * 3600
_COMPARING_DEADLINE = 900

Groups = list[list[PlannedStep]]


def scale_out(*, living: Sequence[Node], new: Sequence[Node]) -> Planned:
    """More nodes in one data centre, the one of `new`."""
    datacenter = new[0].datacenter
    old = [node for node in living if node.datacenter_id == datacenter.id]
    groups = [
        [_check_ring()],
        [_find_image(datacenter)],
        *_machines(new),
        _lift(living),
        *_joins(new),
        _restore([*living, *new]),
        *_one_by_one(old, "clean_up", "Remove what other nodes have taken over", _STREAMING_DEADLINE),
        _publish([*living, *new]),
    ]
    seconds = _MACHINES_SECONDS + _JOIN_SECONDS * len(new) + _CLEAN_UP_SECONDS * len(old) + _PUBLISH_SECONDS
    return Planned(
        kind="scale_cluster",
        groups=groups,
        expected_seconds=seconds,
        cancellable_until="clean_up",
        parameters=_scale_parameters(datacenter, before=len(old), after=len(old) + len(new)),
    )


def scale_in(*, living: Sequence[Node], leaving: Sequence[Node]) -> Planned:
    """Fewer nodes in one data centre, the one of `leaving`."""
    datacenter = leaving[0].datacenter
    before = len({node.id for node in [*living, *leaving] if node.datacenter_id == datacenter.id})
    rest = _without(living, leaving)
    return Planned(
        kind="scale_cluster",
        groups=[
            [_about(datacenter, "check_removal", "Check that the rest can hold the data", 120)],
            [_about(datacenter, "fit_replication", "Fit the system's replicas to the nodes that stay", 120)],
            _lift(leaving),
            *(group for node in leaving for group in _leave(node)),
            _publish(rest),
        ],
        expected_seconds=_LEAVE_SECONDS * len(leaving) + _PUBLISH_SECONDS,
        cancellable_until="leave_ring",
        parameters=_scale_parameters(datacenter, before=before, after=before - len(leaving)),
    )


def replace_dead(*, living: Sequence[Node], dead: Node, new: Node) -> Planned:
    """A new machine takes over the tokens of a node that is down, and streams its data from the other replicas."""
    rest = _without(living, [dead])
    return Planned(
        kind="replace_node",
        groups=[
            [_of(dead, "check_ring_without", "Check that the others agree that it is down", 120)],
            [_find_image(new.datacenter)],
            [_of(dead, "fence_machine", "Make sure that the old machine is gone", 300)],
            *_machines([new]),
            _lift(rest),
            [_of(dead, "compare_survivors", "Compare the replicas that are left", _COMPARING_DEADLINE)],
            [_of(new, "take_over", "Take over the data of the old node", _STREAMING_DEADLINE)],
            *_checked(new),
            _restore(rest),
            _publish([*rest, new]),
        ],
        expected_seconds=_MACHINES_SECONDS + 2 * _JOIN_SECONDS + _PUBLISH_SECONDS,
        cancellable_until="fence_machine",
        parameters={"old": dead.id, "new": new.id},
    )


def replace_living(*, living: Sequence[Node], old: Node, new: Node) -> Planned:
    """The new node joins beside the old one, which leaves when the new one has all its data: no copy is missing."""
    rest = _without(living, [old])
    return Planned(
        kind="replace_node",
        groups=[
            [_check_ring()],
            [_find_image(new.datacenter)],
            *_machines([new]),
            _lift([*rest, old]),
            *_joins([new]),
            *_leave(old),
            _restore(rest),
            _publish([*rest, new]),
        ],
        expected_seconds=_MACHINES_SECONDS + _JOIN_SECONDS + _LEAVE_SECONDS + _PUBLISH_SECONDS,
        cancellable_until="leave_ring",
        parameters={"old": old.id, "new": new.id},
    )


def change_machine_type(*, living: Sequence[Node], pairs: Sequence[tuple[Node, Node]]) -> Planned:
    """Every old node of the pairs is replaced by its new one, a pair after another."""
    datacenter = pairs[0][1].datacenter
    news = [new for _, new in pairs]
    rest = _without(living, [old for old, _ in pairs])
    groups: Groups = [[_check_ring()], [_find_image(datacenter)], _lift(living)]
    for number, (old, new) in enumerate(pairs):
        last = number == len(pairs) - 1
        groups += [*_machines([new]), *_join(new, lift=not last), *_leave(old)]
    groups += [_restore([*rest, *news]), _publish([*rest, *news])]
    return Planned(
        kind="change_machine_type",
        groups=groups,
        expected_seconds=(_MACHINES_SECONDS + _JOIN_SECONDS + _LEAVE_SECONDS) * len(pairs) + _PUBLISH_SECONDS,
        cancellable_until="leave_ring",
        pausable=True,
        parameters={
            "datacenter": datacenter.id,
            "machine_type": news[0].machine_type,
            "pairs": [[old.id, new.id] for old, new in pairs],
        },
    )


def add_datacenter(
    *,
    living: Sequence[Node],
    new_datacenter: Datacenter,
    new: Sequence[Node],
    keyspaces: Sequence[str] | None = None,
    firewall: bool = False,
) -> Planned:
    """The new nodes join without data; then keyspaces are replicated there and each node is filled from the first.

    `keyspaces`: of the users', to be replicated there; None: all of them. `firewall`: its network has one.
    """
    return Planned(
        kind="add_datacenter",
        groups=[
            [_check_ring()],
            [_about(new_datacenter, "check_keyspaces", "Check how keyspaces are replicated", 120)],
            [
                _find_image(new_datacenter),
                _about(new_datacenter, "ensure_network", "Prepare the network", 60),
            ],
            *_machines(new),
            *_one_by_one(new, "join_ring", "Join the ring without data", 600),
            [_about(new_datacenter, "replicate", "Replicate the keyspaces to the new data centre", 120)],
            _lift(living),
            *_one_by_one(new, "rebuild", "Copy the data from the first data centre", _STREAMING_DEADLINE),
            *(group for node in new for group in _checked(node)),
            # Late, so that a list that is changed meanwhile is the one that counts.
            *([[allow_clients(new_datacenter)]] if firewall else []),
            _restore(living),
            _publish([*living, *new]),
        ],
        expected_seconds=_MACHINES_SECONDS + (_JOIN_SECONDS + _REBUILD_SECONDS) * len(new) + _PUBLISH_SECONDS,
        cancellable_until="publish_configuration",
        parameters={
            "datacenter": new_datacenter.id,
            "source": living[0].datacenter.name,
            "keyspaces": None if keyspaces is None else list(keyspaces),
        },
    )


def remove_datacenter(
    *, living: Sequence[Node], datacenter: Datacenter, leaving: Sequence[Node], connections: bool = False
) -> Planned:
    """Nothing is replicated there any more, then its nodes leave and its machines go."""
    return Planned(
        kind="remove_datacenter",
        groups=[
            [_about(datacenter, "check_removal", "Check that no data is only there", 120)],
            [_about(datacenter, "unreplicate", "Stop replicating to this data centre", 120)],
            *(group for node in leaving for group in _leave(node)),
            *([[delete_connections(datacenter)]] if connections else []),
            [_about(datacenter, "delete_network", "Delete the network", 120)],
            _publish(_without(living, leaving)),
        ],
        expected_seconds=_LEAVE_SECONDS * len(leaving) + 2 * _PUBLISH_SECONDS,
        cancellable_until="unreplicate",
        parameters={"datacenter": datacenter.id},
    )


# Parts of plans


def _check_ring() -> PlannedStep:
    return PlannedStep("check_ring", "Check that all nodes agree about the ring", deadline_seconds=120)


def _find_image(datacenter: Datacenter) -> PlannedStep:
    return _about(datacenter, "find_image", "Find the machine image", 600)


def _machines(nodes: Sequence[Node]) -> Groups:
    return [
        _side_by_side(nodes, "ensure_machine", "Start the machine", 120),
        _side_by_side(nodes, "reach_agent", "Reach the agent", 120),
        _side_by_side(nodes, "install_engine", "Check the engine's files", 120),
    ]


def _joins(nodes: Sequence[Node]) -> Groups:
    return [group for node in nodes for group in _join(node, lift=node is not nodes[-1])]


def _join(node: Node, *, lift: bool) -> Groups:
    """`lift`: others join afterwards and stream from this one too, so its limit is lifted as well."""
    joined, checked, proved = [_of(node, "join_ring", "Join the ring", _STREAMING_DEADLINE)], *_checked(node)
    return in_one_go([joined, checked, proved + _lift([node] if lift else [])])


def _checked(node: Node) -> Groups:
    return [
        [_of(node, "check_data", "Check that it has all its data", _STREAMING_DEADLINE)],
        [_of(node, "prove_node", "Prove: ring, schema, write and read", 120)],
    ]


def _leave(node: Node) -> Groups:
    return in_one_go(
        [
            [_of(node, "leave_ring", "Hand its data over and leave the ring", _STREAMING_DEADLINE)],
            [_of(node, "confirm_left", "Check that the others agree that it has left", 120)],
            [_of(node, "delete_machine", "Delete the machine and its disks", 300)],
        ]
    )


def _lift(nodes: Sequence[Node]) -> list[PlannedStep]:
    return _side_by_side(nodes, "lift_stream_limit", "Lift the limit on streaming", 60)


def _restore(nodes: Sequence[Node]) -> list[PlannedStep]:
    return _side_by_side(nodes, "restore_stream_limit", "Put the limit on streaming back", 60)


def _publish(nodes: Sequence[Node]) -> list[PlannedStep]:
    return _side_by_side(nodes, "publish_configuration", "Tell it who is in the ring now", 60)


def _side_by_side(nodes: Sequence[Node], name: str, title: str, deadline_seconds: int) -> list[PlannedStep]:
    return [_of(node, name, title, deadline_seconds) for node in nodes]


def _one_by_one(nodes: Sequence[Node], name: str, title: str, deadline_seconds: int) -> Groups:
    return [[_of(node, name, title, deadline_seconds)] for node in nodes]


def _of(node: Node, name: str, title: str, deadline_seconds: int) -> PlannedStep:
    return PlannedStep(name, title, target=node.id, target_title=node.name, deadline_seconds=deadline_seconds)


def _about(datacenter: Datacenter, name: str, title: str, deadline_seconds: int) -> PlannedStep:
    return PlannedStep(
        name, title, target=datacenter.id, target_title=datacenter.name, deadline_seconds=deadline_seconds
    )


def _without(nodes: Iterable[Node], gone: Sequence[Node]) -> list[Node]:
    ids = {node.id for node in gone}
    return [node for node in nodes if node.id not in ids]


def _scale_parameters(datacenter: Datacenter, *, before: int, after: int) -> dict[str, object]:
    zones = len(datacenter.zones)
    return {"datacenter": datacenter.id, "nodes_per_zone": after // zones, "before": before // zones}
