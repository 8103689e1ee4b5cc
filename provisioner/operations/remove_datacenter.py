"""A data centre goes: nothing is replicated there any more, its nodes leave one after another, its machines end."""

from backend.clusters import lifecycle
from backend.operations.models import Operation
from provisioner.operations.base import OperationCode, StepCode
from provisioner.operations.join_steps import publish_configuration
from provisioner.operations.leave_steps import confirm_left, delete_left_machine, leave_ring
from provisioner.operations.network_connections import delete_connections
from provisioner.operations.removal import delete_network
from provisioner.operations.replication_steps import check_datacenter_removal, unreplicate


def _succeeded(operation: Operation) -> None:
    lifecycle.datacenter_gone(operation.parameters["datacenter"])


CODE = OperationCode(
    kind="remove_datacenter",
    steps={
        "check_removal": StepCode(do=check_datacenter_removal),
        "unreplicate": StepCode(do=unreplicate),
        "leave_ring": StepCode(do=leave_ring),
        "confirm_left": StepCode(do=confirm_left),
        "delete_machine": StepCode(do=delete_left_machine),
        "delete_connections": StepCode(do=delete_connections),
        "delete_network": StepCode(do=delete_network),
        "publish_configuration": StepCode(do=publish_configuration),
    },
    on_succeeded=_succeeded,
)
