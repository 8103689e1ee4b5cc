"""The plans of the operations on clusters: which steps, in which order, side by side or not.

A plan is stored when the operation is created, so that the customer sees all of it at once and a later release runs the
plan that was promised. The code behind each step name is in provisioner/operations/, one file per kind; a test there
checks that every name used here is known.
"""

from collections.abc import Sequence

from backend.clusters.models import Datacenter, Node
from backend.operations.actions import PlannedStep

# Seconds the kinds usually take, shown as the expected time until history says better.
CREATE_SECONDS = 20
LOADED_PER_SECOND = 500  # rows of a test drive; 380 to 1,000 were seen on two busy cores
DELETE_SECONDS = 5
ROTATE_SECONDS = 3


def _per_node(nodes: Sequence[Node], name: str, title: str, deadline_seconds: int) -> list[PlannedStep]:
    return [
        PlannedStep(name, title, target=node.id, target_title=node.name, deadline_seconds=deadline_seconds)
        for node in nodes
    ]


def allow_clients(datacenter: Datacenter) -> PlannedStep:
    """For providers whose networks have a firewall."""
    title = "Let in whom the allowlist names, and nobody else"
    return PlannedStep("allow_clients", title, datacenter.id, datacenter.name, deadline_seconds=120)


def create_cluster(nodes: Sequence[Node], *, firewall: bool, test_drive: bool = False) -> list[list[PlannedStep]]:
    """Machines first, because every node's configuration names all addresses; then all engines side by side."""
    return [
        [
            PlannedStep("find_image", "Find the machine image", deadline_seconds=600),
            PlannedStep("ensure_network", "Prepare the network", deadline_seconds=60),
        ],
        *([[allow_clients(nodes[0].datacenter)]] if firewall else []),
        _per_node(nodes, "ensure_machine", "Start the machine", 120),
        _per_node(nodes, "reach_agent", "Reach the agent", 120),
        _per_node(nodes, "install_engine", "Check the engine's files", 120),
        _per_node(nodes, "configure_engine", "Configure the engine", 30),
        _per_node(nodes, "start_engine", "Start the engine", 180),
        [PlannedStep("secure_cluster", "Set up roles, drop the default superuser", deadline_seconds=60)],
        _per_node(nodes, "prove_node", "Prove: ring, schema, write and read", 60),
        *(_test_drive(nodes) if test_drive else []),
    ]


def create_seconds(*, rows: int) -> int:
    """`rows` of the data set of a test drive, 0: it is none."""
    return CREATE_SECONDS + rows // LOADED_PER_SECOND


def _test_drive(nodes: Sequence[Node]) -> list[list[PlannedStep]]:
    return [
        [PlannedStep("load_data_set", "Load the data set of the test drive", deadline_seconds=600)],
        _per_node(nodes, "start_workload", "Start the workload of the test drive", 60),
    ]


def delete_connections(datacenter: Datacenter | None = None) -> PlannedStep:
    """For providers whose networks have connections. Of one data centre, or of the whole cluster."""
    target, name = (datacenter.id, datacenter.name) if datacenter is not None else ("", "")
    return PlannedStep("delete_connections", "Delete peerings and endpoints", target, name, deadline_seconds=300)


def delete_cluster(nodes: Sequence[Node], *, connections: bool) -> list[list[PlannedStep]]:
    """`connections`: the provider's networks can have such."""
    return [
        *([[delete_connections()]] if connections else []),
        _per_node(nodes, "delete_machine", "Delete the machine and its disks", 300),
        _delete_networks(nodes),
        [PlannedStep("check_nothing_left", "Check that nothing is left", deadline_seconds=120)],
    ]


def _delete_networks(nodes: Sequence[Node]) -> list[PlannedStep]:
    """One in each data centre. A step without a target is about the only one."""
    datacenters = list({node.datacenter_id: node.datacenter for node in nodes}.values())
    title = "Delete the network"
    if len(datacenters) < 2:
        return [PlannedStep("delete_network", title, deadline_seconds=120)]
    return [PlannedStep("delete_network", title, one.id, one.name, deadline_seconds=120) for one in datacenters]


def rotate_credentials() -> list[list[PlannedStep]]:
    return [[PlannedStep("set_password", "Set the new password", deadline_seconds=60)]]
