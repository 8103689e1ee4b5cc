"""Another version of the engine: checked first, tried on one node, then done rack by rack, with a way back.

Every node is drained, stopped, given the new version, started and proved, and then passes the health gate before the
next one is touched. Until data files are rewritten in the new version's format, a cancel brings the old version back on
every node that has the new one, one at a time and with the same care.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from backend.clusters import lifecycle
from backend.operations.models import Operation
from provisioner.operations import names
from provisioner.operations.base import Blocked, Done, OperationCode, Outcome, StepCode, StepContext, Wait
from provisioner.operations.health_gate import ENOUGH_REQUESTS, Figures, Gate, judge
from provisioner.operations.inspect_steps import (
    has_lasted,
    inspect_all,
    look_at_all,
    ring_trouble,
    view_trouble,
    wait_or_block,
)
from provisioner.operations.machine_steps import find_image, install_engine
from provisioner.operations.node_steps import cluster_of, done_or_wait, live_nodes, node_of, run_job
from provisioner.operations.reconfigure_steps import Wanted, configure, revision_of
from provisioner.operations.restart_steps import (
    bring_back,
    drain_node,
    prove_node,
    start_engine,
    stop_engine,
    take_down_again,
)

# Free disk that an upgrade asks for on every node: data files are rewritten one by one, so the largest must fit twice.
HEADROOM_OF_DATA = 0.5
HEADROOM_BYTES = 2**30
# More compactions than this waiting on a node, and rewriting its data files would only add to the pile.
MOST_COMPACTIONS = 100
# How long the gate waits for requests when clients were at work before.
GATHER = timedelta(seconds=5)


def inspect_cluster(context: StepContext) -> Outcome:
    """All up with one schema, nothing moving, no repair, disks with room, compactions not behind.

    What clients see before the canary goes into the output, so that the gate can compare.
    """
    nodes = live_nodes(cluster_of(context))
    trouble = ring_trouble(context, nodes)
    if isinstance(trouble, Wait):
        return trouble
    if trouble:
        return wait_or_block(context, trouble, hint="An upgrade begins with all nodes up. Mend that, then retry.")
    inspected = inspect_all(context, nodes)
    if isinstance(inspected, Wait):
        return inspected
    for node in nodes:
        _check_work(node.name, inspected[node.id])
    for look in look_at_all(nodes):
        if look.status is not None and (disk := look.status.disk) is not None:
            _check_disk(look.node.name, free=disk.free_bytes, data=disk.data_bytes)
    clients = {node.id: inspected[node.id]["client"] for node in nodes}
    return Done(
        "all up, one schema, no repair, disks have room. Warning: no backup is known; take one of your own first",
        output={"client": clients},
    )


def _check_work(name: str, told: Mapping[str, Any]) -> None:
    if told["repairs_running"]:
        raise Blocked(
            "repair-running",
            f"{told['repairs_running']} repairs run on {name}; versions must not change under a repair.",
            "Wait until the repairs have ended, then retry.",
        )
    if told["pending_compactions"] > MOST_COMPACTIONS:
        raise Blocked(
            "compaction-behind",
            f"{told['pending_compactions']} compactions wait on {name}; at most {MOST_COMPACTIONS} may.",
            "Wait until it has caught up, or raise compaction_throughput_mib; then retry.",
        )


def _check_disk(name: str, *, free: int, data: int) -> None:
    needed = HEADROOM_BYTES + round(data * HEADROOM_OF_DATA)
    if free < needed:
        raise Blocked(
            "disk-too-full",
            f"{name} has {_gib(free)} GiB free; rewriting its {_gib(data)} GiB of data needs {_gib(needed)} GiB.",
            "Scale out or delete snapshots, then retry.",
        )


def _gib(number: int) -> str:
    return f"{number / 2**30:.1f}"


def _version(context: StepContext) -> str:
    return str(context.operation.parameters["engine_version"])


def _before(context: StepContext) -> Wanted:
    return Wanted(version=context.operation.parameters["from_version"])


def configure_version(context: StepContext) -> Outcome:
    return configure(node_of(context), Wanted(version=_version(context))) or Done()


def configure_back(context: StepContext) -> Outcome:
    return configure(node_of(context), _before(context)) or Done(f"back to {_before(context).version}")


def stop_again(context: StepContext) -> Outcome:
    return take_down_again(context, revision_before=revision_of(node_of(context), _before(context)))


def health_gate(context: StepContext) -> Outcome:
    """The ring is agreed by every node, and clients fare no worse than before the canary, beyond a tolerance."""
    node = node_of(context)
    nodes = live_nodes(node.cluster)
    if trouble := view_trouble(nodes):
        return wait_or_block(context, trouble, hint=_STOP_HERE, code="health-gate")
    inspected = inspect_all(context, nodes)
    if isinstance(inspected, Wait):
        return inspected
    before = context.output("inspect_cluster").get("client", {})
    gate = Gate(
        before={node_id: Figures.read(told) for node_id, told in before.items()},
        now={other.id: Figures.read(inspected[other.id]["client"]) for other in nodes},
        changed=node.id,
    )
    verdict = judge(gate)
    if not verdict.passed:
        return wait_or_block(context, verdict.words, hint=_STOP_HERE, code="health-gate")
    if verdict.early and not has_lasted(context, GATHER):
        return Wait(0.5, f"{node.name}: {ENOUGH_REQUESTS} requests to judge by")
    return Done(verdict.words)


_STOP_HERE = "Retry when it has passed, or cancel: the nodes that have the new version get the old one back."


def upgrade_sstables(context: StepContext) -> Outcome:
    job = run_job(node_of(context), names.job(context.operation, "upgrade-sstables"), "upgrade-sstables", {})
    return done_or_wait(job, "all data files have the new format")


def _succeeded(operation: Operation) -> None:
    lifecycle.cluster_upgraded(operation.cluster_id, engine_version=operation.parameters["engine_version"])


CODE = OperationCode(
    kind="upgrade_cluster",
    steps={
        "find_image": StepCode(do=find_image),
        "inspect_cluster": StepCode(do=inspect_cluster),
        "install_engine": StepCode(do=install_engine),
        "drain_node": StepCode(do=drain_node, undo=bring_back),
        "stop_engine": StepCode(do=stop_engine, undo=bring_back),
        "configure_version": StepCode(do=configure_version, undo=configure_back),
        "start_engine": StepCode(do=start_engine, undo=stop_again),
        "prove_node": StepCode(do=prove_node),
        "health_gate": StepCode(do=health_gate),
        "upgrade_sstables": StepCode(do=upgrade_sstables),
    },
    on_succeeded=_succeeded,
)
