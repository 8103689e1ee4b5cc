"""Something done to the files of a table, on so many nodes at once as its plan says.

The job on the node goes on whatever becomes of this process or of the agent. Cancelled, it is stopped there; what was
done stays done: files that were compacted are the same data.
"""

from provisioner.operations import names
from provisioner.operations.base import Done, OperationCode, Outcome, StepCode, StepContext, Wait
from provisioner.operations.membership import forget_job
from provisioner.operations.node_steps import node_of, run_job

_FOR_A_PERSON = ("invalid-parameters", "no-space", "not-supported", "sstable-not-found", "table-not-found")


def run_command(context: StepContext) -> Outcome:
    node, given = node_of(context), context.operation.parameters
    if node.deleted_at is not None:
        return Done("the node has left the cluster")
    wanted = {name: given[name] for name in ("command", "keyspace", "table", "sstables") if given.get(name)}
    job = run_job(node, names.job(context.operation, "command"), "run-command", wanted, final=_FOR_A_PERSON)
    if isinstance(job, Wait):
        return job
    told = job.result
    return Done(
        f"{told['sstables_before']} SSTables of {_mib(told['bytes_before'])} before, "
        f"{told['sstables_after']} of {_mib(told['bytes_after'])} now"
    )


def stop_command(context: StepContext) -> Outcome:
    forget_job(node_of(context), names.job(context.operation, "command"))
    return Done()


def _mib(count: int) -> str:
    return f"{count / 2**20:,.1f} MiB"


CODE = OperationCode(kind="run_command", steps={"run_command": StepCode(do=run_command, undo=stop_command)})
