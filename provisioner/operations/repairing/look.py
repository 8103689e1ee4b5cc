"""What a run of repairs is planned from: tables and rings as the nodes' engines tell them now."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from backend.clusters.models import Cluster, Node
from backend.clusters.states import NodeState
from backend.repairs.planning.modes import TableFacts
from backend.repairs.planning.ring import Ring
from provisioner.agent.base import AgentClient, AgentError, AgentRefused, AgentUnreachable
from provisioner.agent.repairs import KeyspaceFacts, KeyspaceRing, Schema
from provisioner.engines.base import Capability
from provisioner.operations.surroundings import surroundings

# Nodes that are asked for the sizes of their tables; of larger clusters these stand for all.
MOST_ASKED = 48
_THREADS = 16
_LOCAL = "LocalStrategy"

Answer = TypeVar("Answer")
Item = TypeVar("Item")


def up(nodes: Iterable[Node]) -> list[Node]:
    return [node for node in nodes if node.state == NodeState.UP]


def side_by_side(
    items: Sequence[Item], node_of: Callable[[Item], Node], ask: Callable[[AgentClient, Item], Answer]
) -> list[Answer | AgentError]:
    """Each item's answer of its node's agent, or why there is none. Only this thread uses the database."""
    agents = [surroundings().agent(node_of(item)) for item in items]

    def one(agent: AgentClient, item: Item) -> Answer | AgentError:
        try:
            return ask(agent, item)
        except AgentError as error:
            return error

    if len(items) < 2:
        return [one(agent, item) for agent, item in zip(agents, items, strict=True)]
    with ThreadPoolExecutor(min(_THREADS, len(items))) as threads:
        return list(threads.map(one, agents, items))


def ask_all(nodes: Sequence[Node], ask: Callable[[AgentClient], Answer]) -> dict[str, Answer]:
    """By node id, of those that answered."""
    answers = side_by_side(nodes, lambda node: node, lambda agent, _: ask(agent))
    return {node.id: answer for node, answer in zip(nodes, answers, strict=True) if not isinstance(answer, AgentError)}


def read_tables(cluster: Cluster, nodes: Sequence[Node]) -> list[tuple[str, TableFacts]]:
    """Table ids and facts of what can be repaired. AgentError, the first one, when no node answers."""
    asked = up(nodes)[:MOST_ASKED]
    answers = side_by_side(asked, lambda node: node, lambda agent, _: agent.tables())
    schemas = {
        node.id: answer for node, answer in zip(asked, answers, strict=True) if not isinstance(answer, AgentError)
    }
    if not schemas:
        why = next((answer for answer in answers if isinstance(answer, AgentError)), None)
        raise why or AgentUnreachable("no node of the cluster is up")
    some = next(iter(schemas.values()))
    keyspaces = {own.name: own for own in some.keyspaces if own.placement != _LOCAL}
    return [
        (own.id, _facts(cluster, schemas, keyspaces[own.keyspace], own.table, scale=len(nodes) / len(schemas)))
        for own in some.tables
        if own.keyspace in keyspaces
    ]


def _facts(
    cluster: Cluster, schemas: Mapping[str, Schema], keyspace: KeyspaceFacts, name: str, *, scale: float
) -> TableFacts:
    told = [
        own
        for schema in schemas.values()
        for own in schema.tables
        if (own.keyspace, own.table) == (keyspace.name, name)
    ]
    replicas = sum(keyspace.replication.values())
    one_copy = scale / max(replicas, 1)
    own = told[0]
    can = surroundings().engine(cluster.engine).capabilities
    return TableFacts(
        keyspace=keyspace.name,
        name=name,
        bytes=round(sum(each.bytes for each in told) * one_copy),
        # Of tablets the engine does not tell it: all of it may be.
        unrepaired_bytes=round(
            sum(each.bytes if keyspace.tablets else each.unrepaired_bytes for each in told) * one_copy
        ),
        replicas=replicas,
        gc_grace=float(own.gc_grace_seconds),
        default_ttl=own.default_ttl_seconds,
        compaction=own.compaction,
        # What is written to a table with change data capture is repaired through its log as well.
        has_views=bool(own.views) or own.cdc,
        is_view=bool(own.view_of),
        incremental=keyspace.tablets or Capability.INCREMENTAL_RANGES in can,
        pull=Capability.PULL_REPAIR in can,
        tablets=keyspace.tablets,
        replication=dict(keyspace.replication),
    )


def read_rings(nodes: Sequence[Node], facts: Iterable[TableFacts]) -> dict[str, Ring]:
    """As `ring_of` finds them; keyspaces that are replicated alike share one. Nodes are named by our ids, strangers by
    the engine's.

    AgentUnreachable when no node answers. What is gone meanwhile is left out.
    """
    by_host = {node.host_id: node.id for node in nodes if node.host_id}
    by_address = {node.address: node.id for node in nodes}
    alike: dict[tuple[tuple[str, int], ...], Ring] = {}
    found: dict[str, Ring] = {}

    def read(keyspace: str, table: str = "") -> Ring | None:
        told = _first_answer(nodes, keyspace, table)
        if told is None:
            return None
        names = [by_host.get(one.host_id) or by_address.get(one.address) or one.host_id for one in told.nodes]
        return Ring.of((own.start, own.end, [names[number] for number in own.replicas]) for own in told.ranges)

    for own in facts:
        key = f"{own.keyspace}.{own.name}" if own.tablets else own.keyspace
        if key in found:
            continue
        replication = tuple(sorted(own.replication.items()))
        ring = None if own.tablets else alike.get(replication)
        ring = ring or read(own.keyspace, own.name if own.tablets else "")
        if ring is not None:
            found[key] = ring
            if not own.tablets:
                alike[replication] = ring
    return found


def _first_answer(nodes: Sequence[Node], keyspace: str, table: str) -> KeyspaceRing | None:
    trouble: AgentError = AgentUnreachable("no node of the cluster tells of its ring")
    for node in up(nodes):
        try:
            return surroundings().agent(node).keyspace_ring(keyspace, table)
        except AgentRefused as error:
            if error.code in ("unknown-keyspace", "table-not-found"):
                return None
            trouble = error
        except AgentUnreachable as error:
            trouble = error
    raise trouble


def digest(rings: Mapping[str, Ring]) -> str:
    """Another one means that replicas of some range are others now."""
    told = hashlib.sha256()
    for keyspace in sorted(rings):
        ring = rings[keyspace]
        told.update(repr((keyspace, ring.nodes, ring.sets, ring.ranges)).encode())
    return told.hexdigest()[:32]
