"""Another machine takes a node's place.

A dead node's machine is deleted first and the other replicas of its ranges are made equal; then a new node takes over
its tokens and copies its data from them. A living node is replaced by a twin that joins beside it; the old one leaves
when the new one has everything.
"""

from provisioner.operations.base import OperationCode, StepCode
from provisioner.operations.data_steps import check_data
from provisioner.operations.join_steps import (
    check_ring,
    check_ring_without,
    join_ring,
    leave_again,
    lift_stream_limit,
    nodes_not_taken,
    prove_member,
    publish_configuration,
    restore_stream_limit,
    take_over,
)
from provisioner.operations.leave_steps import confirm_left, delete_left_machine, fence_machine, leave_ring
from provisioner.operations.machine_steps import ensure_machine, find_image, install_engine, reach_agent
from provisioner.operations.removal import delete_machine
from provisioner.operations.survivors import compare_survivors

CODE = OperationCode(
    kind="replace_node",
    steps={
        "find_image": StepCode(do=find_image),
        "ensure_machine": StepCode(do=ensure_machine, undo=delete_machine),
        "reach_agent": StepCode(do=reach_agent),
        "install_engine": StepCode(do=install_engine),
        "lift_stream_limit": StepCode(do=lift_stream_limit, undo=restore_stream_limit),
        "check_data": StepCode(do=check_data),
        "prove_node": StepCode(do=prove_member),
        "restore_stream_limit": StepCode(do=restore_stream_limit),
        "publish_configuration": StepCode(do=publish_configuration),
        # A dead one.
        "check_ring_without": StepCode(do=check_ring_without),
        "fence_machine": StepCode(do=fence_machine),
        "compare_survivors": StepCode(do=compare_survivors),
        "take_over": StepCode(do=take_over),
        # A living one.
        "check_ring": StepCode(do=check_ring),
        "join_ring": StepCode(do=join_ring, undo=leave_again),
        "leave_ring": StepCode(do=leave_ring),
        "confirm_left": StepCode(do=confirm_left),
        "delete_machine": StepCode(do=delete_left_machine),
    },
    on_cancelled=nodes_not_taken,
)
