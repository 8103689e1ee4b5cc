"""The kind repair: a look and a plan, one long step that repairs range by range, and a record."""

from datetime import UTC, datetime

from backend.operations.models import Operation
from backend.repairs import progress
from backend.repairs.models import RepairRun, RepairTable
from backend.repairs.planning.forecast import forecast
from backend.repairs.planning.modes import RepairWish
from backend.repairs.planning.pace import effort
from backend.repairs.planning.queue import Queue
from backend.repairs.planning.segments import Table, ring_of
from backend.repairs.planning.selection import Asked, select
from backend.repairs.queries import known_of
from backend.repairs.states import RepairRunState, RepairSegmentState
from provisioner.operations.base import Done, OperationCode, Outcome, Standing, StepCode, StepContext
from provisioner.operations.node_steps import live_nodes
from provisioner.operations.repairing.live import forget
from provisioner.operations.repairing.look import ask_all, read_rings, read_tables, up
from provisioner.operations.repairing.run import go_on, stop

_BY_ITSELF = "The engine repairs by itself, so nothing is done beside it."


def _run_of(operation: Operation) -> RepairRun:
    return RepairRun.objects.select_related("cluster").get(id=operation.parameters["run"])


def _plan(context: StepContext) -> Outcome:
    run = _run_of(context.operation)
    if run.started_at is not None:
        return Done(_words(run))
    cluster = run.cluster
    nodes = live_nodes(cluster)
    told = read_tables(cluster, nodes)
    progress.tables_seen(cluster.id, told)
    known = [known_of(row) for row in RepairTable.objects.filter(cluster=cluster).order_by("keyspace", "name")]
    works, skipped = select(known, _asked(run), now=datetime.now(UTC).timestamp())
    left_out = [{"keyspace": own.table.keyspace, "table": own.table.name, "why": own.why} for own in skipped]
    if any(activity.automatic for activity in ask_all(up(nodes)[:1], lambda agent: agent.repairs()).values()):
        left_out += [{"keyspace": w.table.keyspace, "table": w.table.name, "why": _BY_ITSELF} for w in works]
        works = []
    chosen = {work.table for work in works}
    rings = read_rings(nodes, [own.facts for own in known if own.table in chosen])
    works = [work for work in works if ring_of(rings, work.table) is not None]
    expected = forecast(Queue(rings, works), effort(50)).segments
    progress.planned(run.id, works, left_out, segments=expected)
    run.refresh_from_db()
    return Done(_words(run))


def _asked(run: RepairRun) -> Asked:
    wish = run.asked.get("mode")
    return Asked(
        tables=tuple(Table(*name.split(".", 1)) for name in run.asked.get("tables", ())),
        wish=None if wish is None else RepairWish(wish),
        pull_to=run.asked.get("node", ""),
        only_due=run.asked.get("only_due", False),
    )


def _words(run: RepairRun) -> str:
    return f"{len(run.works)} tables in about {run.segments_expected} segments; {len(run.skipped)} need none"


def _repair(context: StepContext) -> Outcome:
    run = _run_of(context.operation)
    if run.state != RepairRunState.RUNNING:
        return Done()
    outcome = go_on(run, pause_wanted=context.pause_wanted)
    if isinstance(outcome, Standing):
        forget(run.id)
    return outcome


def _stop(context: StepContext) -> Outcome:
    return stop(_run_of(context.operation), patient=context.step.attempt < 5)


def _record(context: StepContext) -> Outcome:
    run = _run_of(context.operation)
    lost = run.segments.filter(state=RepairSegmentState.GIVEN_UP).count()
    if lost:
        note = f"{lost} segments could not be repaired: look at why below, and run them again."
        progress.ended(run.id, RepairRunState.PARTIAL, note)
    else:
        progress.ended(run.id, RepairRunState.DONE, "")
    forget(run.id)
    return Done(f"{run.segments_done} segments repaired, {lost} given up")


CODE = OperationCode(
    kind="repair",
    steps={
        "plan_repair": StepCode(do=_plan),
        "repair_ranges": StepCode(do=_repair, undo=_stop),
        "record_repair": StepCode(do=_record),
    },
    on_cancelled=progress.stopped,
)
