"""A second region: its nodes join without data, keyspaces are replicated there, and each node is filled from the first.

In this order, because a node that joins while rows belong to it already would have to answer for data it has not got.
"""

from backend.clusters import lifecycle
from backend.operations.models import Operation
from provisioner.operations.base import OperationCode, StepCode
from provisioner.operations.client_access import allow_clients
from provisioner.operations.data_steps import check_data, rebuild
from provisioner.operations.join_steps import (
    check_ring,
    join_empty,
    leave_again,
    lift_stream_limit,
    nodes_not_taken,
    prove_member,
    publish_configuration,
    restore_stream_limit,
)
from provisioner.operations.machine_steps import (
    ensure_machine,
    ensure_network,
    find_image,
    install_engine,
    reach_agent,
)
from provisioner.operations.removal import delete_machine, delete_network
from provisioner.operations.replication_steps import check_keyspaces, replicate, unreplicate


def _cancelled(operation: Operation) -> None:
    nodes_not_taken(operation)
    lifecycle.datacenter_gone(operation.parameters["datacenter"])


CODE = OperationCode(
    kind="add_datacenter",
    steps={
        "check_ring": StepCode(do=check_ring),
        "check_keyspaces": StepCode(do=check_keyspaces),
        "find_image": StepCode(do=find_image),
        "ensure_network": StepCode(do=ensure_network, undo=delete_network),
        "allow_clients": StepCode(do=allow_clients),
        "ensure_machine": StepCode(do=ensure_machine, undo=delete_machine),
        "reach_agent": StepCode(do=reach_agent),
        "install_engine": StepCode(do=install_engine),
        "join_ring": StepCode(do=join_empty, undo=leave_again),
        "replicate": StepCode(do=replicate, undo=unreplicate),
        "lift_stream_limit": StepCode(do=lift_stream_limit, undo=restore_stream_limit),
        "rebuild": StepCode(do=rebuild),
        "check_data": StepCode(do=check_data),
        "prove_node": StepCode(do=prove_member),
        "restore_stream_limit": StepCode(do=restore_stream_limit),
        "publish_configuration": StepCode(do=publish_configuration),
    },
    on_cancelled=_cancelled,
)
