"""What the disks of one node do: drained and stopped, measured with fio, and started again.

Whatever the measurement comes to, the engine is started again: figures are not worth a node that stays down.
"""

from collections.abc import Mapping
from typing import Any

from backend.tuning import actions as tuning
from provisioner.operations import names
from provisioner.operations.base import Done, OperationCode, Outcome, StepCode, StepContext, Wait
from provisioner.operations.inspect_steps import check_ring_but_one
from provisioner.operations.membership import forget_job
from provisioner.operations.node_steps import JobFailed, node_of, run_job
from provisioner.operations.restart_steps import bring_back, drain_node, prove_node, start_engine, stop_engine


def measure_disks(context: StepContext) -> Outcome:
    node = node_of(context)
    rounds = int(context.operation.parameters["rounds"])
    try:
        job = run_job(node, names.job(context.operation, "measure"), "measure-io", {"rounds": rounds})
    except JobFailed as failure:
        return Done(f"not measured: {failure}")
    if isinstance(job, Wait):
        return job
    tuning.measured(node.id, job.result)
    return Done(f"{job.result['verdict']}: {_in_words(job.result)}")


def stop_measuring(context: StepContext) -> Outcome:
    forget_job(node_of(context), names.job(context.operation, "measure"))
    return Done()


def _in_words(result: Mapping[str, Any]) -> str:
    reads, writes = result["read_iops"]["median"], result["write_iops"]["median"]
    return f"{reads:,.0f} reads and {writes:,.0f} writes of 4 KiB per second"


CODE = OperationCode(
    kind="measure_disks",
    steps={
        "check_ring": StepCode(do=check_ring_but_one),
        "drain_node": StepCode(do=drain_node, undo=bring_back),
        "stop_engine": StepCode(do=stop_engine, undo=bring_back),
        "measure_disks": StepCode(do=measure_disks, undo=stop_measuring),
        "start_engine": StepCode(do=start_engine),
        "prove_node": StepCode(do=prove_node),
    },
)
