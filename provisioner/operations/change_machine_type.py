"""Every node of a data centre moves to a machine of another type: replaced by a twin, one node after another."""

from backend.clusters import lifecycle
from backend.operations.models import Operation
from provisioner.operations import replace_node
from provisioner.operations.base import OperationCode
from provisioner.operations.join_steps import nodes_not_taken

_STEPS = (
    "check_ring",
    "find_image",
    "ensure_machine",
    "reach_agent",
    "install_engine",
    "lift_stream_limit",
    "join_ring",
    "check_data",
    "prove_node",
    "leave_ring",
    "confirm_left",
    "delete_machine",
    "restore_stream_limit",
    "publish_configuration",
)


def _succeeded(operation: Operation) -> None:
    parameters = operation.parameters
    lifecycle.datacenter_machine_type(parameters["datacenter"], parameters["machine_type"])


CODE = OperationCode(
    kind="change_machine_type",
    steps={name: replace_node.CODE.steps[name] for name in _STEPS},
    on_succeeded=_succeeded,
    on_cancelled=nodes_not_taken,
)
