"""More or fewer nodes in a data centre, as many in each zone: one joins or leaves after another."""

from backend.clusters import lifecycle
from backend.operations.models import Operation
from provisioner.operations.base import OperationCode, StepCode
from provisioner.operations.data_steps import check_data
from provisioner.operations.join_steps import (
    check_ring,
    clean_up,
    join_ring,
    leave_again,
    lift_stream_limit,
    nodes_not_taken,
    prove_member,
    publish_configuration,
    restore_stream_limit,
)
from provisioner.operations.leave_steps import check_removal, confirm_left, delete_left_machine, leave_ring
from provisioner.operations.machine_steps import ensure_machine, find_image, install_engine, reach_agent
from provisioner.operations.removal import delete_machine
from provisioner.operations.replication_steps import fit_replication, unfit_replication


def _succeeded(operation: Operation) -> None:
    parameters = operation.parameters
    lifecycle.datacenter_scaled(parameters["datacenter"], nodes_per_zone=parameters["nodes_per_zone"])


def _cancelled(operation: Operation) -> None:
    nodes_not_taken(operation)


CODE = OperationCode(
    kind="scale_cluster",
    steps={
        # Out.
        "check_ring": StepCode(do=check_ring),
        "find_image": StepCode(do=find_image),
        "ensure_machine": StepCode(do=ensure_machine, undo=delete_machine),
        "reach_agent": StepCode(do=reach_agent),
        "install_engine": StepCode(do=install_engine),
        "lift_stream_limit": StepCode(do=lift_stream_limit, undo=restore_stream_limit),
        "join_ring": StepCode(do=join_ring, undo=leave_again),
        "check_data": StepCode(do=check_data),
        "prove_node": StepCode(do=prove_member),
        "restore_stream_limit": StepCode(do=restore_stream_limit),
        "clean_up": StepCode(do=clean_up),
        "publish_configuration": StepCode(do=publish_configuration),
        # In.
        "check_removal": StepCode(do=check_removal),
        "fit_replication": StepCode(do=fit_replication, undo=unfit_replication),
        "leave_ring": StepCode(do=leave_ring),
        "confirm_left": StepCode(do=confirm_left),
        "delete_machine": StepCode(do=delete_left_machine),
    },
    on_succeeded=_succeeded,
    on_cancelled=_cancelled,
)
