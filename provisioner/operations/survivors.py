"""Before a dead node's place is taken: the other replicas of its ranges are made equal.

A write is acknowledged when two of three replicas have it. If one of these two dies, or had coordinated the write and
died before it had sent it to the third, one copy is left. The new node streams each range from one replica only; from
the wrong one, and then two of three lack the write: it cannot be read at QUORUM although it was acknowledged. While the
node is dead every QUORUM is made of all others, so what is compared now stays equal until the new node has streamed.

Where that would take too long, redundancy comes first: the new node joins, and pulls from all replicas afterwards.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from backend.clusters.models import Node
from backend.repairs.models import RepairTable
from backend.repairs.planning.modes import RepairMode, RepairWish, TableFacts, Wanted, choose
from backend.repairs.planning.pace import FIRST_RATE, OVERHEAD
from backend.repairs.planning.queue import Queue
from backend.repairs.planning.ring import Ring
from backend.repairs.planning.segments import Segment, Table, Work
from backend.repairs.planning.tokens import FIRST, LAST
from provisioner.agent.base import AgentError, AgentUnreachable, Job
from provisioner.engines.base import Capability
from provisioner.operations import names
from provisioner.operations.base import Done, Outcome, StepContext, Wait
from provisioner.operations.membership import members
from provisioner.operations.node_steps import cluster_of, node_of
from provisioner.operations.repairing.look import read_rings, read_tables, side_by_side, up
from provisioner.operations.surroundings import surroundings

MOST_SECONDS = 300.0
"""That comparing may be expected to take, and half of what it may take: the cluster lacks a replica meanwhile."""

COMPARED = "compared"
"""In the step's output; False: the new node has to pull (provisioner/reconcile/repairs.py)."""

_LOOK_SECONDS = 0.5
# What ends a comparison and not the wish for it: an engine or agent that is started anew, a table that is dropped.
_PASSES = frozenset(
    {
        "repair-lost",
        "engine-not-running",
        "management-unreachable",
        "interrupted",
        "table-not-found",
        "unknown-keyspace",
    }
)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One repair of ranges between the replicas that are left. `name`: of its job, the same at every look."""

    segment: Segment
    name: str


def compare_survivors(context: StepContext) -> Outcome:
    """Never fails and never takes long: what could not be compared is left to the new node."""
    cluster = cluster_of(context)
    if Capability.REPLACEMENT_READS_ONE_REPLICA not in surroundings().engine(cluster.engine).capabilities:
        return Done("the engine reads from all replicas when a node is replaced")
    dead, rest = node_of(context), members(context)
    facts = _compared_tables(context, rest)
    rings = {name: _without(ring, dead, rest) for name, ring in read_rings([*rest, dead], facts.values()).items()}
    works = [
        # Of no size, so that nothing is cut: cuts would move with the sizes, and with them the names of the jobs.
        Work(table=table, mode=RepairMode.FULL, bytes=0, deadline=0.0)
        for table in facts
        if table.keyspace in rings
    ]
    wanted = [_comparison(context, segment) for segment in Queue(rings, works).segments()]
    if not wanted:
        return Done("no range of it has two replicas left to compare")
    seconds = _expected_seconds(wanted, facts)
    if seconds > MOST_SECONDS:
        return _left("comparing the replicas that are left would take about", seconds)
    spent = (datetime.now(UTC) - context.step.started_at).total_seconds() if context.step.started_at else 0.0
    return _go_on(wanted, {node.id: node for node in rest}, late=spent > 2 * MOST_SECONDS)


def _left(why: str, seconds: float) -> Done:
    words = f"{why} {seconds / 60:.0f} minutes: the new node pulls from all replicas when it has joined"
    return Done(words, {COMPARED: False})


def _compared_tables(context: StepContext, nodes: Sequence[Node]) -> dict[Table, TableFacts]:
    """Those that repairs do not skip. Tablets are none of this engine's."""
    cluster = cluster_of(context)
    wishes = {
        Table(row.keyspace, row.name): RepairWish(row.wish) for row in RepairTable.objects.filter(cluster=cluster)
    }
    found = {}
    for _, facts in read_tables(cluster, nodes):
        table = Table(facts.keyspace, facts.name)
        choice = choose(facts, Wanted(wish=wishes.get(table, RepairWish.AUTO)), checked_ago=None)
        if choice.mode is not RepairMode.SKIP and not facts.tablets:
            found[table] = facts
    return found


def _without(ring: Ring, dead: Node, rest: Sequence[Node]) -> Ring:
    """Of the ranges that the dead node holds, with the replicas that are left and up; other ranges have none."""
    there = {node.id for node in up(rest)}
    ranges = []
    for start, end, number in ring.in_order:
        replicas = [ring.nodes[member] for member in ring.sets[number]]
        ranges.append((start, end, [node for node in replicas if node in there] if dead.id in replicas else []))
    return Ring.of(ranges)


def _comparison(context: StepContext, segment: Segment) -> Comparison:
    told = repr((segment.keyspace, segment.tables, segment.ranges, segment.nodes))
    digest = hashlib.sha256(told.encode()).hexdigest()[:16]
    return Comparison(segment=segment, name=names.job(context.operation, f"compare-{digest}"))


def _expected_seconds(wanted: Sequence[Comparison], facts: Mapping[Table, TableFacts]) -> float:
    """One after another. `FIRST_RATE` is that of a repair that streams much; little differs here."""
    seconds = 0.0
    for one in wanted:
        share = sum(end - start for start, end in one.segment.ranges) / (LAST - FIRST)
        size = sum(facts[Table(one.segment.keyspace, name)].bytes for name in one.segment.tables)
        seconds += OVERHEAD + size * share / FIRST_RATE
    return seconds


def _go_on(wanted: Sequence[Comparison], nodes: Mapping[str, Node], *, late: bool) -> Outcome:
    """A node takes part in one at a time."""
    busy: set[str] = set()
    done = 0
    for one in wanted:
        if not busy.isdisjoint(one.segment.nodes):
            continue
        answer = _asked(one, nodes)
        if isinstance(answer, Job) and answer.state == "succeeded":
            done += 1
        elif reason := _refusal(answer):
            _end(wanted, nodes)
            words = f"the replicas that are left could not be compared ({reason[:300]})"
            return Done(f"{words}: the new node pulls from all of them when it has joined", {COMPARED: False})
        else:
            busy |= set(one.segment.nodes)
    if done == len(wanted):
        _end(wanted, nodes)
        return Done(f"the replicas that are left are equal, compared in {done} parts", {COMPARED: True})
    if late:
        _end(wanted, nodes)
        return _left("comparing the replicas that are left has taken more than", 2 * MOST_SECONDS)
    return Wait(_LOOK_SECONDS, "the replicas that are left to be compared", done / len(wanted))


def _refusal(answer: Job | AgentError) -> str:
    """Why asking again does not help; empty: it may."""
    if isinstance(answer, AgentUnreachable):
        return ""
    if isinstance(answer, AgentError):
        return str(answer)
    return answer.error_message if answer.state == "failed" and answer.error_code not in _PASSES else ""


def _asked(one: Comparison, nodes: Mapping[str, Node]) -> Job | AgentError:
    segment = one.segment
    parameters = {
        "keyspace": segment.keyspace,
        "tables": list(segment.tables),
        "mode": segment.mode.value,
        "ranges": [{"start": str(start), "end": str(end)} for start, end in segment.ranges],
        "hosts": [str(nodes[node].address) for node in segment.nodes],
    }
    answers = side_by_side(
        [one],
        lambda _: nodes[segment.coordinator],
        lambda agent, _: agent.ensure_job(one.name, "repair", parameters, wait_seconds=_LOOK_SECONDS),
    )
    return answers[0]


def _end(wanted: Sequence[Comparison], nodes: Mapping[str, Node]) -> None:
    """Nothing of it runs any more, or is kept. A node that does not answer now forgets it by itself."""
    side_by_side(
        wanted,
        lambda one: nodes[one.segment.coordinator],
        lambda agent, one: agent.delete_job(one.name),
    )
