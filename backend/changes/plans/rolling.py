"""Changes that take nodes down one at a time, or change them while they run.

Every plan that stops engines has the same four or five steps per node, each a group of its own: before a node is
drained its step looks whether all others are up, and the next begins only when this one is proved. So drivers see at
most one node down, and a pause or a cancel falls between two nodes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from backend.changes.plans import Planned, in_one_go
from backend.clusters.models import Datacenter, Node
from backend.clusters.plans import allow_clients
from backend.operations.actions import PlannedStep

# Seconds that a step usually takes on a node, for the expected time until history says better.
_DOWN_AND_UP = 14
_CHECK = 2
_INSTALL = 3
_GATE = 5
_SSTABLES = 5
_LIVE = 2
_CERTIFICATE = 4
_MEASURED_ROUND = 160

Groups = list[list[PlannedStep]]


def rack_by_rack(nodes: Sequence[Node]) -> list[Node]:
    """The order in which nodes are taken down: data centre by data centre, rack by rack."""
    return sorted(nodes, key=lambda node: (node.datacenter.position, node.zone, node.position))


def restart(*, living: Sequence[Node], nodes: Sequence[Node]) -> Planned:
    """`nodes`: those to be restarted, in this order; one of them is the operation restart_node."""
    single = len(nodes) == 1
    groups = [_check_ring(), *(group for node in nodes for group in _down_and_up(node))]
    return Planned(
        kind="restart_node" if single else "rolling_restart",
        groups=groups,
        expected_seconds=_CHECK + _DOWN_AND_UP * len(nodes),
        pausable=not single,
        parameters={"node": nodes[0].id} if single else {},
    )


def stop_node(*, living: Sequence[Node], node: Node) -> Planned:
    """It stays stopped until somebody starts it."""
    return Planned(
        kind="stop_node",
        groups=[
            [_step("check_quorum", "Check that the others can do without it", 60, node)],
            [_step("drain_node", "Drain: flush, take no more requests", 360, node)],
            [_step("stop_engine", "Stop the engine", 120, node)],
        ],
        expected_seconds=8,
        parameters={"node": node.id},
    )


def start_node(*, living: Sequence[Node], node: Node) -> Planned:
    return Planned(
        kind="start_node",
        groups=[
            [_step("start_engine", "Start the engine", 300, node)],
            [_step("prove_node", "Prove: ring, schema, write and read", 180, node)],
        ],
        expected_seconds=10,
        parameters={"node": node.id, "was_stopped": node.stop_wanted},
    )


def measure_disks(*, node: Node, rounds: int) -> Planned:
    """Its disks are measured while its engine is stopped. The limit is that of the slowest disks, and some more."""
    return Planned(
        kind="measure_disks",
        groups=[
            _check_ring(),
            *in_one_go(
                [
                    [_step("drain_node", "Drain: flush, take no more requests", 360, node)],
                    [_step("stop_engine", "Stop the engine", 120, node)],
                    [_step("measure_disks", "Measure what the disks do", 300 * rounds + 300, node)],
                    [_step("start_engine", "Start the engine", 300, node)],
                    [_step("prove_node", "Prove: ring, schema, write and read", 180, node)],
                ]
            ),
        ],
        expected_seconds=_CHECK + _DOWN_AND_UP + _MEASURED_ROUND * rounds,
        parameters={"node": node.id, "rounds": rounds},
    )


def upgrade(*, living: Sequence[Node], version: str) -> Planned:
    """Another version of the engine on every node: first on one, the canary, then on the others rack by rack."""
    canary, *others = rack_by_rack(living)
    groups = [
        [_step("find_image", "Find the machine image", 600)],
        [_step("inspect_cluster", "Check: nodes, schema, repairs, disks, compactions", 120)],
        [_step("install_engine", f"Check the files of {version}", 600, node) for node in living],
        *_onto_version(canary, version, "Canary"),
        *(group for node in others for group in _onto_version(node, version)),
        *([_step("upgrade_sstables", "Rewrite data files of older formats", 6 * 3600, node)] for node in living),
    ]
    return Planned(
        kind="upgrade_cluster",
        groups=groups,
        expected_seconds=_CHECK + _INSTALL + (_DOWN_AND_UP + _GATE + _SSTABLES) * len(living),
        cancellable_until="upgrade_sstables",
        pausable=True,
        parameters={"engine_version": version, "from_version": canary.cluster.engine_version},
    )


def _onto_version(node: Node, version: str, label: str = "") -> Groups:
    return in_one_go(
        [
            [_step("drain_node", f"{label}: drain" if label else "Drain: flush, take no more requests", 360, node)],
            [_step("stop_engine", "Stop the engine", 120, node)],
            [_step("configure_version", f"Change to {version}", 60, node)],
            [_step("start_engine", "Start the engine", 300, node)],
            [_step("prove_node", "Prove: ring, schema, write and read", 180, node)],
            [_step("health_gate", "Health: ring, errors and latency as before", 300, node)],
        ]
    )


def apply_settings(
    *, living: Sequence[Node], restart: bool, settings: Mapping[str, Any], firewalls: Sequence[Datacenter] = ()
) -> Planned:
    """`settings`: all that are to differ from the engine's own values. `restart`: one of the changes needs it.

    With restarts a node gets its configuration while it is stopped, so that each is wholly on the old or the new one
    and a cancel can bring the old one back node by node. Without, all are changed while they run. `firewalls`: data
    centres whose networks have one; it follows the ports, which no running engine changes.
    """
    nodes = rack_by_rack(living)
    if restart:
        groups = [_check_ring(), *(group for node in nodes for group in _reconfigured(node))]
        groups += [[allow_clients(datacenter)] for datacenter in firewalls]
        seconds = _CHECK + _DOWN_AND_UP * len(nodes)
    else:
        groups = [
            [_step("configure_node", "Write the configuration", 60, node) for node in nodes],
            [_step("apply_live", "Take the settings over while running", 120, node) for node in nodes],
        ]
        seconds = _LIVE + len(nodes)
    return Planned(
        kind="apply_settings",
        groups=groups,
        expected_seconds=seconds,
        pausable=restart,
        parameters={"settings": dict(settings), "before": dict(nodes[0].cluster.settings), "restart": restart},
    )


def _reconfigured(node: Node) -> Groups:
    return in_one_go(
        [
            [_step("drain_node", "Drain: flush, take no more requests", 360, node)],
            [_step("stop_engine", "Stop the engine", 120, node)],
            [_step("configure_node", "Write the configuration", 60, node)],
            [_step("start_engine", "Start the engine", 300, node)],
            [_step("prove_node", "Prove: ring, schema, write and read", 180, node)],
        ]
    )


def rotate_certificates(*, living: Sequence[Node]) -> Planned:
    """One node after another, so that a certificate that drivers do not take is seen on one node only."""
    nodes = rack_by_rack(living)
    groups: Groups = []
    for node in nodes:
        groups += in_one_go(
            [
                [_step("renew_certificate", "Sign a certificate for a new key", 60, node)],
                [_step("reload_tls", "Serve with it, without a restart", 60, node)],
                [_step("prove_tls", "Prove: a TLS connection shows it", 60, node)],
            ]
        )
    return Planned(
        kind="rotate_certificates",
        groups=groups,
        expected_seconds=_CERTIFICATE * len(nodes),
        pausable=True,
    )


def _check_ring() -> list[PlannedStep]:
    return [_step("check_ring", "Check that every node sees all others up", 120)]


def _down_and_up(node: Node) -> Groups:
    return in_one_go(
        [
            [_step("drain_node", "Drain: flush, take no more requests", 360, node)],
            [_step("stop_engine", "Stop the engine", 120, node)],
            [_step("start_engine", "Start the engine", 300, node)],
            [_step("prove_node", "Prove: ring, schema, write and read", 180, node)],
        ]
    )


def _step(name: str, title: str, deadline_seconds: int, node: Node | None = None) -> PlannedStep:
    if node is None:
        return PlannedStep(name, title, deadline_seconds=deadline_seconds)
    return PlannedStep(name, title, target=node.id, target_title=node.name, deadline_seconds=deadline_seconds)
