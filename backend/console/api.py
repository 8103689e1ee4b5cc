"""The CQL console over HTTP."""

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from backend.accounts.queries import identity, require
from backend.accounts.states import Permission
from backend.console import actions, queries, schemas
from backend.core.pagination import PageQuery, prepared

router = Router(tags=["cql"])


@router.get("/clusters/{cluster_id}/cql", operation_id="get_cql_console", response=schemas.CqlConsole)
def get_cql_console(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """The caller's sessions on a cluster, and what they may run."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.get_console(who, cluster_id))


@router.post("/clusters/{cluster_id}/cql/sessions", operation_id="open_cql_session", response={201: schemas.CqlSession})
def open_cql_session(request: HttpRequest, cluster_id: str, order: schemas.CqlSessionOrder) -> HttpResponse:
    """Keeps a role and its password, encrypted, for half an hour after its last use. The database judges the password
    when the first statement is run. A session of the same role ends."""
    return prepared(actions.open_session(identity(request), cluster_id, order), status=201)


@router.delete(
    "/clusters/{cluster_id}/cql/sessions/{session_id}", operation_id="close_cql_session", response={204: None}
)
def close_cql_session(request: HttpRequest, cluster_id: str, session_id: str) -> HttpResponse:
    """Forgets the password at once."""
    actions.close_session(identity(request), cluster_id, session_id)
    return HttpResponse(status=204)


@router.post("/clusters/{cluster_id}/cql/statements", operation_id="run_cql", response={202: schemas.CqlStatement})
def run_cql(request: HttpRequest, cluster_id: str, order: schemas.CqlOrder) -> HttpResponse:
    """Runs one statement as the session's role, once at most. Ask for it until it has ended."""
    return prepared(actions.run(identity(request), cluster_id, order), status=202)


@router.post("/clusters/{cluster_id}/cql/schema", operation_id="read_cql_schema", response={202: schemas.CqlStatement})
def read_cql_schema(request: HttpRequest, cluster_id: str, order: schemas.CqlSchemaOrder) -> HttpResponse:
    """Asks for all keyspaces, tables, columns, indexes, views, types and functions: `tree` of the statement."""
    return prepared(actions.read_schema(identity(request), cluster_id, order), status=202)


@router.get(
    "/clusters/{cluster_id}/cql/statements", operation_id="list_cql_statements", response=schemas.CqlStatementList
)
def list_cql_statements(request: HttpRequest, cluster_id: str, query: Query[PageQuery]) -> HttpResponse:
    """What the caller ran on a cluster during the last 30 days, newest first, without passwords and results."""
    who = identity(request)
    require(who, Permission.CQL_READ)
    return prepared(queries.list_statements(who, cluster_id, query))


@router.get(
    "/clusters/{cluster_id}/cql/statements/{statement_id}",
    operation_id="get_cql_statement",
    response=schemas.CqlStatementDetail,
)
def get_cql_statement(request: HttpRequest, cluster_id: str, statement_id: str) -> HttpResponse:
    """A statement of the caller's and, for 15 minutes, the page of its answer that was asked for last."""
    who = identity(request)
    require(who, Permission.CQL_READ)
    return prepared(queries.get_statement(who, cluster_id, statement_id))


@router.post(
    "/clusters/{cluster_id}/cql/statements/{statement_id}/next-page",
    operation_id="next_cql_page",
    response={202: schemas.CqlStatement},
)
def next_cql_page(
    request: HttpRequest, cluster_id: str, statement_id: str, order: schemas.CqlPageOrder
) -> HttpResponse:
    """Asks for the next page, which takes the place of the one that is there."""
    return prepared(actions.next_page(identity(request), cluster_id, statement_id, order), status=202)


@router.post(
    "/clusters/{cluster_id}/cql/statements/{statement_id}/cancel",
    operation_id="cancel_cql",
    response=schemas.CqlStatement,
)
def cancel_cql(request: HttpRequest, cluster_id: str, statement_id: str) -> HttpResponse:
    """Stops waiting for it, and has the node do so. What a write has done by then stays done."""
    return prepared(actions.cancel(identity(request), cluster_id, statement_id))


@router.delete(
    "/clusters/{cluster_id}/cql/statements/{statement_id}", operation_id="forget_cql_statement", response={204: None}
)
def forget_cql_statement(request: HttpRequest, cluster_id: str, statement_id: str) -> HttpResponse:
    """Takes it out of the history and forgets its answer. The audit log stays."""
    actions.forget(identity(request), cluster_id, statement_id)
    return HttpResponse(status=204)
