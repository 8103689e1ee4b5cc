"""One node, or all of them one after another, drained and started anew.

Cancelled, the node in work is brought back; those that were restarted stay so, and the others are left alone.
"""

from provisioner.operations.base import OperationCode, StepCode
from provisioner.operations.inspect_steps import check_ring, check_ring_but_one
from provisioner.operations.restart_steps import bring_back, drain_node, prove_node, start_engine, stop_engine

_NODE_STEPS = {
    "drain_node": StepCode(do=drain_node, undo=bring_back),
    "stop_engine": StepCode(do=stop_engine, undo=bring_back),
    "start_engine": StepCode(do=start_engine),
    "prove_node": StepCode(do=prove_node),
}

RESTART_NODE = OperationCode(kind="restart_node", steps={"check_ring": StepCode(do=check_ring_but_one), **_NODE_STEPS})
ROLLING_RESTART = OperationCode(kind="rolling_restart", steps={"check_ring": StepCode(do=check_ring), **_NODE_STEPS})
