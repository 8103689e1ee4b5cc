"""Filling a node, and finding out whether it has its data.

A node can become a member without an error and without its data, when it joins before it knows ring and schema. So
nothing that joined is believed: its tables are compared with what the others hold, and rows written before it joined
are read through it. What lacks data is rebuilt from the others before it counts.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from backend.clusters.models import Node
from provisioner.agent.base import AgentUnreachable
from provisioner.operations import names
from provisioner.operations.base import Blocked, Done, Outcome, StepContext, Wait
from provisioner.operations.data_check import placed_by_tokens, sentence, short_canary, short_tables, tables_of
from provisioner.operations.inspect_steps import run_fresh
from provisioner.operations.membership import (
    ask_all,
    forget_job,
    hindrance,
    job_or_none,
    newcomers,
    rest_of,
    with_estimate,
)
from provisioner.operations.node_steps import cluster_of, node_of, revive, ring_of, run_job
from provisioner.operations.surroundings import surroundings

_CANARY_KEYSPACE = "ringmaster"


def rebuild(context: StepContext) -> Outcome:
    """A node of a new data centre gets its data from the first one."""
    node = node_of(context)
    parameters = {"datacenter": context.operation.parameters["source"]}
    job = run_job(node, names.job(context.operation, "rebuild"), "rebuild", parameters)
    if isinstance(job, Wait):
        return with_estimate(context, job)
    return Done(f"{int(job.result.get('bytes_streamed', 0)) / 2**20:.1f} MiB streamed")


def check_data(context: StepContext) -> Outcome:
    """It has its share of every table and every row that was planted; if not, it is rebuilt once and looked at again.

    Blocked when it lacks data even then.
    """
    node = node_of(context)
    again = names.job(context.operation, "rebuild-again")
    try:
        rebuilding = job_or_none(node, again)
    except AgentUnreachable:
        return revive(node)
    if rebuilding is not None and rebuilding.state != "succeeded":
        return _rebuild_again(context, node, again)
    missing = _missing(context, node)
    if isinstance(missing, Wait):
        return missing
    if not missing:
        repaired = " after it was rebuilt, because it had joined without some" if rebuilding is not None else ""
        return Done(f"all tables and rows are there{repaired}")
    if rebuilding is None:
        waiting = _rebuild_again(context, node, again)
        return Wait(waiting.seconds, f"{node.name} lacks data ({missing}) and is rebuilt", waiting.progress)
    # So that a retry rebuilds it anew.
    forget_job(node, again)
    raise Blocked(
        "data-missing",
        f"{node.name} does not have its data, although it was rebuilt: {missing}.",
        "Look at the log of its engine. Retry to rebuild it once more, or cancel.",
    )


def _rebuild_again(context: StepContext, node: Node, name: str) -> Wait:
    job = run_job(node, name, "rebuild", {"datacenter": _source(context, node)})
    if isinstance(job, Wait):
        return with_estimate(context, Wait(job.seconds, f"it to be rebuilt: {job.what_for}", job.progress))
    return Wait(0, f"{node.name} to be looked at after it was rebuilt")


def _source(context: StepContext, node: Node) -> str:
    """Name of the data centre whose nodes have its data: its own, or the first while its own is new."""
    return str(context.operation.parameters.get("source") or node.datacenter.name)


def _missing(context: StepContext, node: Node) -> str | Wait:
    """What it lacks in words, empty when nothing."""
    others = rest_of(context, node)
    sources = _sources(context, node, others)
    if waiting := hindrance([*sources, node]):
        return waiting
    told = run_fresh(context, sources[0], "keyspaces")
    if isinstance(told, Wait):
        return told
    tables = ask_all(context, [*sources, node], "describe-data")
    if isinstance(tables, Wait):
        return tables
    replication = placed_by_tokens(told["keyspaces"])
    before = _holdings(context, _ring_before(context), replication)
    now = _holdings(context, [*others, node], replication)
    share = {keyspace: held[node.id] for keyspace, held in now.items()}
    short = short_tables(
        tables_of(tables[node.id]),
        sources={source.id: tables_of(tables[source.id]) for source in sources},
        held_before=before,
        holds=share,
    )
    canary = _canary(context, node, share.get(_CANARY_KEYSPACE, 0.0))
    if isinstance(canary, Wait):
        return canary
    return sentence(short, canary)


def _sources(context: StepContext, node: Node, others: Sequence[Node]) -> list[Node]:
    """Who has been there since before the operation: of the same data centre if there are such, else all."""
    new = newcomers(context)
    old = [other for other in others if other.id not in new]
    return [other for other in old if other.datacenter_id == node.datacenter_id] or old


def _ring_before(context: StepContext) -> list[Node]:
    """The members when the operation began, those included that have left since."""
    new = newcomers(context)
    taken_out = {step.target for step in context.plan if step.name in ("leave_ring", "fence_machine")}
    nodes = cluster_of(context).nodes.select_related("cluster", "datacenter").order_by("position")
    return [n for n in nodes if n.id not in new and (n.deleted_at is None or n.id in taken_out)]


def _holdings(
    context: StepContext, nodes: Sequence[Node], replication: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, float]]:
    """By keyspace, the share of a copy that each node holds. Many keyspaces are replicated alike: each way once."""
    cluster = cluster_of(context)
    engine, ring = surroundings().engine(cluster.engine), ring_of(cluster, list(nodes))
    known: dict[Any, dict[str, float]] = {}
    found = {}
    for keyspace, copies in replication.items():
        way = tuple(sorted(copies.items()))
        if way not in known:
            known[way] = engine.holdings(ring, copies)
        found[keyspace] = known[way]
    return found


def _canary(context: StepContext, node: Node, share: float) -> str | Wait:
    if any(step.output.get("canary") is False for step in context.plan if step.output):
        return ""
    read = run_fresh(context, node, "read-canary")
    if isinstance(read, Wait):
        return read
    return short_canary(int(read["checked"]), int(read["missing"]), share=share)
