"""The kind restore_drill: a cluster is ordered, the backup is restored into it, rows are compared, the cluster goes.

It orders what anybody could order, and waits for these operations. Nothing that goes wrong in them stops it: it notes
why it proves nothing, and goes on to the removal. Cancelled, it removes too.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from backend.backups import drill_progress as progress
from backend.backups.drill_checks import GOOD, SLICES, judge
from backend.backups.models import Drill
from backend.backups.states import BackupState
from backend.clusters.models import Cluster, Node
from backend.clusters.states import SERVING
from backend.core.errors import DomainError
from backend.operations.models import Operation
from backend.operations.states import OperationState, title
from provisioner.agent.base import AgentRefused, Job
from provisioner.operations import names
from provisioner.operations.backup_nodes import ask_any
from provisioner.operations.base import Done, OperationCode, Outcome, StepCode, StepContext, Wait
from provisioner.operations.membership import forget_job
from provisioner.operations.node_steps import JobFailed, live_nodes, look_at

_LOOK_EVERY = 1.0
_NOT_DONE = "passed over"
# What takes longer has failed: a cluster that serves nobody is not kept for it.
_WITHIN = timedelta(days=1)
# The live tables are read beside the cluster's work, and it may have better to do.
_LIVE_WITHIN = timedelta(hours=2)


def _drill(context: StepContext) -> Drill:
    return Drill.objects.select_related("backup", "cluster", "scratch").get(id=context.operation.parameters["drill"])


def check_drill(context: StepContext) -> Outcome:
    row = _drill(context)
    if row.backup.state != BackupState.COMPLETE:
        progress.gave_up(row.id, f"The backup is {row.backup.state}.")
    return Done()


def order_cluster(context: StepContext) -> Outcome:
    return _ordered(context, lambda row: progress.order_scratch(row.id), "served")


def restore_backup(context: StepContext) -> Outcome:
    return _ordered(context, lambda row: progress.restore_into_scratch(row.id), "restored")


def _ordered(context: StepContext, order: Callable[[Drill], str], stage: str) -> Outcome:
    """Another operation, ordered once and waited for. What stops it is the drill's reason."""
    row = _drill(context)
    if row.reason:
        return Done(_NOT_DONE)
    if late := _out_of_time(row):
        return late
    try:
        operation = Operation.objects.get(id=order(row))
    except DomainError as refused:
        progress.gave_up(row.id, f"{refused.message} {refused.hint}".strip())
        return Done(refused.message)
    words = f"{title(operation.kind).lower()} ({operation.id})"
    match operation.state:
        case OperationState.SUCCEEDED:
            progress.stage_ended(row.id, stage)
            return Done(words)
        case OperationState.BLOCKED | OperationState.CANCELLED | OperationState.FAILED:
            why = operation.reason or f"it was {operation.state}"
            progress.gave_up(row.id, f"{title(operation.kind)}: {why}")
            return Done(why)
        case _:
            return Wait(_LOOK_EVERY, words)


def _out_of_time(row: Drill) -> Done | None:
    if datetime.now(UTC) - row.created_at < _WITHIN:
        return None
    progress.gave_up(row.id, "It took longer than a day.")
    return Done("out of time")


def read_restored(context: StepContext) -> Outcome:
    row = _drill(context)
    if row.reason or row.scratch is None:
        return Done(_NOT_DONE)
    outcome = _read(context, row, "restored", row.scratch)
    if isinstance(outcome, Done):
        progress.stage_ended(row.id, "read")
    return outcome


def read_live(context: StepContext) -> Outcome:
    row = _drill(context)
    if row.reason or not row.compare_live:
        return Done(_NOT_DONE)
    if row.cluster.state not in SERVING:
        return Done("The live cluster does not serve, so its tables are not compared.")
    return _read(context, row, "live", row.cluster)


def _read(context: StepContext, row: Drill, side: str, cluster: Cluster) -> Outcome:
    nodes = live_nodes(cluster)
    done = row.readings.get(side, {})
    for position, one in enumerate(row.tables):
        table = f"{one['keyspace']}.{one['table']}"
        if table in done:
            continue
        if late := _late(context, row, side):
            return late
        name = names.job(context.operation, f"digest-{side}-{position}")
        parameters = {"keyspace": one["keyspace"], "table": one["table"], "slices": SLICES}
        try:
            job = _job(nodes, name, parameters)
        except (JobFailed, AgentRefused) as failure:
            if side == "restored":
                progress.gave_up(row.id, f"{table} was restored and cannot be read: {failure}")
                return Done(str(failure))
            progress.was_read(row.id, side, table, None)
            return Wait(0, table)
        if isinstance(job, Wait):
            share = (position + (job.progress or 0.0)) / len(row.tables)
            return Wait(job.seconds, f"{table}: {job.what_for}", share)
        progress.was_read(row.id, side, table, job.result["slices"])
        for node in nodes:
            forget_job(node, name)
        return Wait(0, table, (position + 1) / len(row.tables))
    return Done(f"{len(row.tables)} tables")


def _late(context: StepContext, row: Drill, side: str) -> Done | None:
    if side == "restored":
        return _out_of_time(row)
    began = context.step.started_at or datetime.now(UTC)
    late = datetime.now(UTC) - began > _LIVE_WITHIN
    return Done("Not all live tables could be read in time; those are not compared.") if late else None


def _job(nodes: Sequence[Node], name: str, parameters: dict[str, object]) -> Job | Wait:
    """On the first node that answers. Raises JobFailed, AgentRefused: an agent that does not know it yet, say."""
    job = ask_any(nodes, lambda agent: agent.ensure_job(name, "digest-table", parameters, wait_seconds=1))
    return job if isinstance(job, Wait) else look_at(nodes[0], job)


def compare_rows(context: StepContext) -> Outcome:
    row = _drill(context)
    if row.reason:
        return Done(_NOT_DONE)
    if row.results:
        return Done(f"{len(row.results)} tables")
    taken_at = row.backup.taken_at or row.backup.created_at
    live = row.readings.get("live", {})
    found = [
        judge(
            one["keyspace"],
            one["table"],
            row.readings["restored"][f"{one['keyspace']}.{one['table']}"],
            live.get(f"{one['keyspace']}.{one['table']}"),
            taken_at=taken_at,
        )
        for one in row.tables
    ]
    progress.judged(row.id, [one.document() for one in found])
    progress.stage_ended(row.id, "compared")
    bad = [one for one in found if one.verdict not in GOOD]
    if bad:
        progress.gave_up(row.id, f"{bad[0].keyspace}.{bad[0].table}: {bad[0].note}")
    return Done(f"{sum(one.rows for one in found):,} rows in {len(found)} tables were read")


def remove_cluster(context: StepContext) -> Outcome:
    """Also taking the order back: whatever is under way on it is cancelled first."""
    row = _drill(context)
    try:
        waiting = progress.remove_scratch(row)
    except DomainError as refused:
        waiting = refused.message
    if waiting:
        return Wait(_LOOK_EVERY, waiting)
    if row.scratch_id is not None:
        progress.stage_ended(row.id, "removed")
    return Done()


def _succeeded(operation: Operation) -> None:
    progress.ended(operation.parameters["drill"])


def _cancelled(operation: Operation) -> None:
    progress.cancelled(operation.parameters["drill"])


CODE = OperationCode(
    kind="restore_drill",
    steps={
        "check_drill": StepCode(do=check_drill),
        "order_cluster": StepCode(do=order_cluster, undo=remove_cluster),
        "restore_backup": StepCode(do=restore_backup),
        "read_restored": StepCode(do=read_restored),
        "read_live": StepCode(do=read_live),
        "compare_rows": StepCode(do=compare_rows),
        "remove_cluster": StepCode(do=remove_cluster),
    },
    on_succeeded=_succeeded,
    on_cancelled=_cancelled,
)
