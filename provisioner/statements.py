"""Statements of people: given to a node, looked at until they have ended. Decision 37.

A statement is run once at most, which is why it is no operation: those are tried again until they succeed. What a
message or a worker is lost with is told as lost when its time is over.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import structlog

from backend.clusters.models import Node
from backend.clusters.states import NodeState
from backend.console import outcomes, queries
from backend.console.models import CqlStatement
from provisioner.agent.base import AgentClient, AgentError, AgentRefused, AgentUnreachable, StatementState
from provisioner.operations.surroundings import surroundings

log = structlog.get_logger(__name__)

_LOOK_SECONDS = 2.0
# Reads are given to another node when one does not answer.
_MOST_NODES = 3


def run(statement_id: str) -> bool:
    """Gives it to a node. True: it still runs, and is to be looked at again."""
    work = outcomes.take(statement_id)
    if work is None:
        return False
    nodes = _nodes(work.cluster_id)
    if not nodes:
        outcomes.failed(statement_id, code="no-node", message="The cluster has no node that could be asked.")
        return False
    for node in nodes if work.reads else nodes[:1]:
        outcomes.given_to(statement_id, node.id)
        try:
            agent = surroundings().agent(node)
            told = agent.run_statement(_name(work.statement_id, work.page), _request(work), wait_seconds=_LOOK_SECONDS)
        except AgentUnreachable as error:
            reason = f"{node.name} does not answer: {error}"
            log.info("statement not taken", statement_id=statement_id, node_id=node.id, reason=str(error))
            continue
        except AgentRefused as error:
            outcomes.failed(statement_id, code=error.code, message=f"{node.name}: {error.message}")
            return False
        return _seen(agent, statement_id, work.page, told)
    unsure = "" if work.reads else " Whether it was run is not known."
    outcomes.failed(statement_id, code="node-unreachable", message=reason + unsure)
    return False


def follow(statement_id: str) -> bool:
    """Looks at one that runs. True: it still does."""
    row = CqlStatement.objects.filter(id=statement_id).first()
    node = None if row is None else Node.objects.select_related("cluster").filter(id=row.node_id).first()
    if row is None or node is None:
        return False
    agent, name = surroundings().agent(node), _name(row.id, row.page)
    if outcomes.running(statement_id) is None:
        # Cancelled, or its time is over.
        _forget(agent, name)
        return False
    try:
        told = agent.statement(name, wait_seconds=_LOOK_SECONDS)
    except AgentUnreachable:
        return True
    except AgentRefused as error:
        message = f"{node.name} knows nothing of it any more: {error.message}. What a write has done stays done."
        outcomes.failed(statement_id, code="lost", message=message)
        return False
    return _seen(agent, statement_id, row.page, told)


def _seen(agent: AgentClient, statement_id: str, page: int, told: StatementState) -> bool:
    match told.state:
        case "running":
            return True
        case "failed":
            outcomes.failed(statement_id, code=told.code, message=told.message, line=told.line, column=told.column)
        case "succeeded":
            outcomes.answered(statement_id, result=told.result, tree=told.tree)
    # Answers hold data: the node does not keep them, not even for its minute.
    _forget(agent, _name(statement_id, page))
    return False


def _forget(agent: AgentClient, name: str) -> None:
    try:
        agent.forget_statement(name)
    except AgentError as error:
        log.info("statement not forgotten", statement=name, reason=str(error))


def _nodes(cluster_id: str) -> Sequence[Node]:
    """Some nodes in any order, those that are up first."""
    nodes = list(queries.nodes_to_ask(cluster_id).select_related("cluster"))
    random.shuffle(nodes)
    nodes.sort(key=lambda node: node.state != NodeState.UP)
    return nodes[:_MOST_NODES]


def _name(statement_id: str, page: int) -> str:
    return f"{statement_id}-{page}"


def _request(work: outcomes.Work) -> Mapping[str, Any]:
    request: dict[str, Any] = {
        "role": work.role,
        "password": work.password,
        "keyspace": work.keyspace,
        "timeout_seconds": work.timeout_seconds,
    }
    if work.schema:
        return request | {"schema": True}
    return (
        request
        | {
            "statement": work.statement,
            "consistency": work.consistency,
            "page_size": work.page_size,
            "tracing": work.tracing,
            "may_run_again": work.reads,
        }
        | ({"page_state": work.page_state} if work.page_state else {})
    )
