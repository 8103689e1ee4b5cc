"""Reading sessions and statements. Everybody sees their own only."""

from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from backend.accounts.queries import Identity
from backend.accounts.states import Permission
from backend.clusters.models import Cluster, Node
from backend.clusters.queries import cluster_not_found, clusters
from backend.clusters.states import ClusterState
from backend.console import sealed
from backend.console.models import CqlSession, CqlStatement
from backend.console.states import (
    ANSWER_KEPT,
    IN_PROGRESS,
    SecretPurpose,
    StatementKind,
    StatementState,
    reason_against_running,
    reason_against_writing,
)
from backend.core.errors import NotFound
from backend.core.pagination import PageQuery, page
from backend.core.schemas import allowed

LOST = "Nothing was heard of it in time. What a write has done by then stays done."


def get_console(who: Identity, cluster_id: str) -> dict[str, Any]:
    """Raises NotFound."""
    cluster = cluster_of(who, cluster_id)
    running = reason_against_running(
        may=Permission.CQL_READ in who.permissions,
        cluster=ClusterState(cluster.state),
        has_nodes=nodes_to_ask(cluster.id).exists(),
    )
    writing = reason_against_writing(may=Permission.CQL_WRITE in who.permissions, running=running)
    sessions = sessions_of(who, cluster).order_by("role")
    return {
        "sessions": [shown_session(row) for row in sessions],
        "allowed_actions": [allowed("run_cql", running), allowed("write_cql", writing)],
    }


def list_statements(who: Identity, cluster_id: str, query: PageQuery) -> dict[str, Any]:
    """The caller's history, newest first. Raises NotFound."""
    rows = statements_of(who, cluster_of(who, cluster_id)).filter(kind=StatementKind.STATEMENT)
    return page(rows.values(), query, lambda row: shown(CqlStatement(**row)))


def get_statement(who: Identity, cluster_id: str, statement_id: str) -> dict[str, Any]:
    """Raises NotFound."""
    row = statement_of(who, cluster_id, statement_id)
    kept = sealed.find(row.id, SecretPurpose.ANSWER) if row.state == StatementState.ANSWERED else None
    return shown(row) | {"answer": (kept or {}).get("answer"), "tree": (kept or {}).get("tree")}


def cluster_of(who: Identity, cluster_id: str) -> Cluster:
    found = clusters(who).filter(id=cluster_id).first()
    if found is None:
        raise cluster_not_found()
    return found


def sessions_of(who: Identity, cluster: Cluster) -> QuerySet[CqlSession]:
    """The caller's, as long as they last."""
    mine = CqlSession.objects.filter(organisation_id=who.organisation_id, cluster=cluster, user_id=who.user_id)
    return mine.filter(expires_at__gt=Now())


def statements_of(who: Identity, cluster: Cluster) -> QuerySet[CqlStatement]:
    return CqlStatement.objects.filter(organisation_id=who.organisation_id, cluster=cluster, user_id=who.user_id)


def statement_of(who: Identity, cluster_id: str, statement_id: str) -> CqlStatement:
    row = statements_of(who, cluster_of(who, cluster_id)).filter(id=statement_id).first()
    if row is None:
        raise NotFound("statement_not_found", "There is no such statement.", hint="Histories are kept for 30 days.")
    return row


def nodes_to_ask(cluster_id: str) -> QuerySet[Node]:
    """Those that have a machine, whatever is thought of their state."""
    return Node.objects.filter(cluster_id=cluster_id, deleted_at=None).exclude(agent_address="")


def shown_session(row: CqlSession) -> dict[str, Any]:
    return {"id": row.id, "role": row.role, "opened_at": row.opened_at, "expires_at": row.expires_at}


def shown(row: CqlStatement) -> dict[str, Any]:
    now = timezone.now()
    lost = row.state in IN_PROGRESS and row.deadline < now
    failed = row.state == StatementState.FAILED
    return {
        "id": row.id,
        "kind": row.kind,
        "session_id": row.session_id,
        "role": row.role,
        "verb": row.verb,
        "reads": row.reads,
        "statement": row.text,
        "keyspace": row.keyspace or None,
        "consistency": row.consistency,
        "page_size": row.page_size,
        "timeout_seconds": row.timeout_seconds,
        "tracing": row.tracing,
        "state": StatementState.FAILED if lost else row.state,
        "page": row.page,
        "more": row.more and row.ended_at is not None and row.ended_at > now - ANSWER_KEPT,
        "node_id": row.node_id or None,
        "asked_at": row.asked_at,
        "ended_at": row.ended_at,
        "microseconds": row.microseconds,
        "rows": row.rows,
        "problem": {
            "code": "lost" if lost else row.code,
            "message": LOST if lost else row.message,
            "line": row.line,
            "column": row.column,
        }
        if failed or lost
        else None,
    }
