"""What people do in the console: sign in as a role, run a statement, ask for its next page, cancel it."""

from datetime import datetime, timedelta
from typing import Any

import structlog
from celery import current_app
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from backend.accounts.models import Organisation
from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission
from backend.audit import actions as audit
from backend.clusters.models import Cluster
from backend.clusters.states import ClusterState
from backend.console import cql, queries, schemas, sealed
from backend.console.models import CqlAsking, CqlSession, CqlStatement
from backend.console.states import (
    ANSWER_KEPT,
    IN_PROGRESS,
    LONGEST_SESSION,
    MOST_AT_ONCE,
    MOST_AT_ONCE_OF_USER,
    MOST_PER_MINUTE,
    MOST_SESSIONS,
    PATIENCE,
    QUEUE,
    SESSION_IDLE,
    Consistency,
    SecretPurpose,
    StatementKind,
    StatementState,
    reason_against_running,
)
from backend.core.errors import Conflict, Invalid, NotFound, TooManyRequests

log = structlog.get_logger(__name__)

RUN_STATEMENT = "provisioner.run_statement"
_LONGEST_AUDITED = 2000
# Reading a schema is many reads.
_SCHEMA_SECONDS = 30


@transaction.atomic
def open_session(who: Identity, cluster_id: str, order: schemas.CqlSessionOrder) -> dict[str, Any]:
    """Keeps the password for a while; the database judges it when the first statement is run.

    A session of the same role ends. Raises NotFound, Forbidden, Conflict.
    """
    cluster = _cluster_to_run_on(who, cluster_id)
    now = timezone.now()
    for old in CqlSession.objects.select_for_update().filter(cluster=cluster, user_id=who.user_id, role=order.role):
        _end_session(old)
    if queries.sessions_of(who, cluster).count() >= MOST_SESSIONS:
        raise Conflict(
            "too_many_sessions", f"You have {MOST_SESSIONS} sessions on this cluster.", hint="End one of them first."
        )
    row = CqlSession.objects.create(
        organisation_id=who.organisation_id,
        cluster=cluster,
        user_id=who.user_id,
        role=order.role,
        expires_at=now + SESSION_IDLE,
    )
    sealed.keep(row.id, SecretPurpose.PASSWORD, order.password.get_secret_value(), until=row.expires_at)
    audit.record(
        who,
        action="cql.open_session",
        target_type="cluster",
        target_id=cluster.id,
        target_name=cluster.name,
        after={"session": row.id, "role": row.role},
    )
    return queries.shown_session(row)


@transaction.atomic
def close_session(who: Identity, cluster_id: str, session_id: str) -> None:
    """Forgets the password. One that has ended already is fine. Raises NotFound of the cluster, Forbidden."""
    require(who, Permission.CQL_READ)
    cluster = queries.cluster_of(who, cluster_id)
    mine = CqlSession.objects.filter(organisation_id=who.organisation_id, cluster=cluster, user_id=who.user_id)
    for row in mine.filter(id=session_id):
        _end_session(row)


def _end_session(row: CqlSession) -> None:
    sealed.forget(row.id)
    row.delete()


@transaction.atomic
def run(who: Identity, cluster_id: str, order: schemas.CqlOrder) -> dict[str, Any]:
    """Raises NotFound, Forbidden, Invalid, Conflict, TooManyRequests."""
    cluster = _cluster_to_run_on(who, cluster_id)
    try:
        statement = cql.statement_of(order.statement)
    except cql.NotOneStatement as problem:
        raise Invalid(problem.code, problem.message, hint=problem.hint, field="statement") from problem
    if not statement.reads:
        if not order.allow_writes:
            raise Conflict(
                "read_only",
                f"{statement.verb} may change something, and only SELECT, DESCRIBE and LIST are allowed here.",
                hint="Allow writes if that is what you want.",
            )
        require(who, Permission.CQL_WRITE)
    session = _session(who, cluster, order.session_id)
    row = CqlStatement(
        organisation_id=who.organisation_id,
        cluster=cluster,
        user_id=who.user_id,
        session_id=session.id,
        role=session.role,
        verb=statement.verb[:64],
        reads=statement.reads,
        text=statement.without_passwords(),
        keyspace=order.keyspace or "",
        consistency=order.consistency,
        page_size=order.page_size,
        timeout_seconds=order.timeout_seconds,
        tracing=order.tracing,
    )
    _begin(who, row, session, statement.bare)
    audit.record(
        who,
        action="cql.run",
        target_type="cluster",
        target_id=cluster.id,
        target_name=cluster.name,
        after={
            "role": row.role,
            "verb": row.verb,
            "statement": statement.without_literals()[:_LONGEST_AUDITED],
            "keyspace": row.keyspace or None,
            "consistency": row.consistency,
            "statement_id": row.id,
        },
    )
    return queries.shown(row)


@transaction.atomic
def read_schema(who: Identity, cluster_id: str, order: schemas.CqlSchemaOrder) -> dict[str, Any]:
    """Asks for all keyspaces and tables, as a statement of its own kind. Raises as `run`."""
    cluster = _cluster_to_run_on(who, cluster_id)
    session = _session(who, cluster, order.session_id)
    row = CqlStatement(
        organisation_id=who.organisation_id,
        cluster=cluster,
        user_id=who.user_id,
        session_id=session.id,
        role=session.role,
        kind=StatementKind.SCHEMA,
        consistency=Consistency.ONE,
        page_size=1,
        timeout_seconds=_SCHEMA_SECONDS,
    )
    _begin(who, row, session, "")
    return queries.shown(row)


@transaction.atomic
def next_page(who: Identity, cluster_id: str, statement_id: str, order: schemas.CqlPageOrder) -> dict[str, Any]:
    """Raises NotFound, Forbidden, Conflict, TooManyRequests."""
    cluster = _cluster_to_run_on(who, cluster_id)
    row = queries.statement_of(who, cluster_id, statement_id)
    session = _session(who, cluster, row.session_id)
    if not queries.shown(row)["more"] or sealed.find(row.id, SecretPurpose.STATEMENT) is None:
        raise Conflict(
            "no_next_page", "There is no next page, or it was asked for too late.", hint="Run the statement again."
        )
    _limit(who, cluster)
    now = timezone.now()
    deadline = now + timedelta(seconds=row.timeout_seconds) + PATIENCE
    taken = CqlStatement.objects.filter(id=row.id, state=StatementState.ANSWERED, page=row.page).update(
        state=StatementState.WAITING,
        page=row.page + 1,
        page_size=order.page_size or row.page_size,
        more=False,
        deadline=deadline,
        ended_at=None,
    )
    if not taken:
        raise Conflict("page_asked_for", "Its next page is being asked for already.", hint="Wait for it.")
    sealed.put_off(row.id, SecretPurpose.STATEMENT, until=deadline + ANSWER_KEPT)
    _keep_alive(session, now)
    transaction.on_commit(lambda: _ring(row.id))
    row.refresh_from_db()
    return queries.shown(row)


@transaction.atomic
def cancel(who: Identity, cluster_id: str, statement_id: str) -> dict[str, Any]:
    """The worker sees it at its next look and has the node stop. Raises NotFound, Forbidden, Conflict."""
    require(who, Permission.CQL_READ)
    row = queries.statement_of(who, cluster_id, statement_id)
    changed = CqlStatement.objects.filter(id=row.id, state__in=IN_PROGRESS).update(
        state=StatementState.CANCELLED, ended_at=Now(), more=False
    )
    if not changed:
        raise Conflict("statement_ended", "It has ended already.", hint="Nothing is left to be cancelled.")
    sealed.forget(row.id)
    row.refresh_from_db()
    return queries.shown(row)


@transaction.atomic
def forget(who: Identity, cluster_id: str, statement_id: str) -> None:
    """Takes an entry out of the history; the audit log stays. Raises NotFound, Forbidden, Conflict."""
    require(who, Permission.CQL_READ)
    row = queries.statement_of(who, cluster_id, statement_id)
    if row.state in IN_PROGRESS and row.deadline > timezone.now():
        raise Conflict("statement_in_progress", "It still runs.", hint="Cancel it first.")
    sealed.forget(row.id)
    row.delete()


def _cluster_to_run_on(who: Identity, cluster_id: str) -> Cluster:
    require(who, Permission.CQL_READ)
    cluster = queries.cluster_of(who, cluster_id)
    reason = reason_against_running(
        may=True, cluster=ClusterState(cluster.state), has_nodes=queries.nodes_to_ask(cluster.id).exists()
    )
    if reason is not None:
        raise Conflict("cannot_run_cql", reason, hint="Choose a cluster that is there.")
    return cluster


def _session(who: Identity, cluster: Cluster, session_id: str) -> CqlSession:
    found = queries.sessions_of(who, cluster).filter(id=session_id).first()
    if found is None:
        raise NotFound(
            "session_not_found", "There is no such session, or it has ended.", hint="Sign in to the database again."
        )
    return found


def _begin(who: Identity, row: CqlStatement, session: CqlSession, statement: str) -> None:
    _limit(who, row.cluster)
    now = timezone.now()
    row.deadline = now + timedelta(seconds=row.timeout_seconds) + PATIENCE
    row.save(force_insert=True)
    kept = {"statement": statement, "page_state": None}
    sealed.keep(row.id, SecretPurpose.STATEMENT, kept, until=row.deadline + ANSWER_KEPT)
    _keep_alive(session, now)
    transaction.on_commit(lambda: _ring(row.id))


def _keep_alive(session: CqlSession, now: datetime) -> None:
    session.expires_at = min(now + SESSION_IDLE, session.opened_at + LONGEST_SESSION)
    session.save(update_fields=["expires_at"])
    sealed.put_off(session.id, SecretPurpose.PASSWORD, until=session.expires_at)


def _limit(who: Identity, cluster: Cluster) -> None:
    """Counts one more statement or page, or raises TooManyRequests. The organisation's row keeps two at once from both
    being the last that may."""
    Organisation.objects.select_for_update(no_key=True).get(id=who.organisation_id)
    now = timezone.now()
    askings = CqlAsking.objects.filter(organisation_id=who.organisation_id)
    lately = askings.filter(asked_at__gte=now - timedelta(minutes=1)).count()
    if lately >= MOST_PER_MINUTE:
        raise TooManyRequests(
            "too_many_statements",
            f"Your organisation has asked for {lately} statements and pages within a minute.",
            hint="Run more in a minute; programs should use a driver.",
            retry_after=60,
        )
    running = CqlStatement.objects.filter(cluster=cluster, state__in=IN_PROGRESS, deadline__gt=now)
    if running.count() >= MOST_AT_ONCE or running.filter(Q(user_id=who.user_id)).count() >= MOST_AT_ONCE_OF_USER:
        raise TooManyRequests(
            "too_many_at_once",
            f"Too many statements run on this cluster: {MOST_AT_ONCE_OF_USER} of a user and {MOST_AT_ONCE} in all may.",
            hint="Wait until one has ended, or cancel one.",
            retry_after=5,
        )
    askings.filter(asked_at__lt=now - timedelta(minutes=1)).delete()
    CqlAsking.objects.create(organisation_id=who.organisation_id)


def _ring(statement_id: str) -> None:
    try:
        current_app.send_task(RUN_STATEMENT, [statement_id], queue=QUEUE, ignore_result=True, retry=False)
    except (OperationalError, RedisError, OSError) as error:
        log.warning("statement not sent", statement_id=statement_id, error=str(error))
        CqlStatement.objects.filter(id=statement_id, state=StatementState.WAITING).update(
            state=StatementState.FAILED,
            ended_at=Now(),
            code="no-worker",
            message="No worker can be reached right now; the statement was not run. Try again.",
        )
