"""Advice over HTTP, and how tables are made and set."""

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from backend.accounts.queries import identity, require
from backend.accounts.states import Permission
from backend.advisor import actions, queries, savings, schemas
from backend.core.pagination import PageQuery, prepared

router = Router(tags=["advice"])
_ADVICE = "/clusters/{cluster_id}/advice"
_CHANGES = "/clusters/{cluster_id}/table-changes"


@router.get(_ADVICE, operation_id="list_advice", response=schemas.AdvicePage)
def list_advice(
    request: HttpRequest, cluster_id: str, wanted: Query[schemas.AdviceFilter], page: Query[PageQuery]
) -> HttpResponse:
    """What could be better about a cluster and its tables, newest first. Worked out every 15 minutes."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.list_advice(who, cluster_id, page, **wanted.dict()))


@router.post(f"{_ADVICE}/review", operation_id="review_cluster", response={202: schemas.ReviewFacts})
def review_cluster(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """Has the schema read and the advice worked out now; it takes some seconds. `waiting` is false when it is done."""
    return prepared(actions.ask_for_review(identity(request), cluster_id), status=202)


@router.get(f"{_ADVICE}/{{advice_id}}", operation_id="get_advice", response=schemas.Advice)
def get_advice(request: HttpRequest, cluster_id: str, advice_id: str) -> HttpResponse:
    """One piece of advice, also when it is not true any more."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.get_advice(who, cluster_id, advice_id))


@router.put(f"{_ADVICE}/{{advice_id}}/dismissal", operation_id="dismiss_advice", response=schemas.Advice)
def dismiss_advice(
    request: HttpRequest, cluster_id: str, advice_id: str, order: schemas.DismissalOrder
) -> HttpResponse:
    """Takes it off the list, with a reason, for good or until a time."""
    return prepared(actions.dismiss(identity(request), cluster_id, advice_id, order))


@router.delete(f"{_ADVICE}/{{advice_id}}/dismissal", operation_id="restore_advice", response=schemas.Advice)
def restore_advice(request: HttpRequest, cluster_id: str, advice_id: str) -> HttpResponse:
    """Puts it back on the list."""
    return prepared(actions.restore(identity(request), cluster_id, advice_id))


@router.post(f"{_ADVICE}/{{advice_id}}/plan", operation_id="plan_advice", response=schemas.TablePlan)
def plan_advice(request: HttpRequest, cluster_id: str, advice_id: str, order: schemas.ApplyOrder) -> HttpResponse:
    """Says what applying it would do: the CQL, the way back, the steps, or why it cannot be. Changes nothing."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(actions.plan(who, cluster_id, advice_id, order))


@router.post(f"{_ADVICE}/{{advice_id}}/apply", operation_id="apply_advice", response={202: schemas.TableChangeStarted})
def apply_advice(request: HttpRequest, cluster_id: str, advice_id: str, order: schemas.ApplyOrder) -> HttpResponse:
    """Sets the table's options. Refused, with nothing changed, when somebody else changed them meanwhile."""
    return prepared(actions.apply(identity(request), cluster_id, advice_id, order), status=202)


@router.get("/costs/savings", operation_id="list_savings", response=schemas.Savings)
def list_savings(request: HttpRequest, page: Query[schemas.SavingsPage]) -> HttpResponse:
    """What clusters could cost less, the largest sum first: advice with money in it, worked out every 15 minutes."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(savings.list_savings(who, limit=page.limit, cursor=page.cursor))


@router.get(_CHANGES, operation_id="list_table_changes", response=schemas.TableChangePage)
def list_table_changes(
    request: HttpRequest, cluster_id: str, wanted: Query[schemas.TableFilter], page: Query[PageQuery]
) -> HttpResponse:
    """Options of tables that were set by advice, newest first, with what they were."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.list_table_changes(who, cluster_id, page, **wanted.dict()))


@router.post(f"{_CHANGES}/{{change_id}}/undo/plan", operation_id="plan_table_change_undo", response=schemas.TablePlan)
def plan_table_change_undo(
    request: HttpRequest, cluster_id: str, change_id: str, order: schemas.UndoOrder
) -> HttpResponse:
    """Says what taking a change back would do. Changes nothing."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(actions.plan_undo(who, cluster_id, change_id, order))


@router.post(
    f"{_CHANGES}/{{change_id}}/undo",
    operation_id="undo_table_change",
    response={202: schemas.TableChangeStarted},
)
def undo_table_change(request: HttpRequest, cluster_id: str, change_id: str, order: schemas.UndoOrder) -> HttpResponse:
    """Sets the options as they were before the change."""
    return prepared(actions.undo(identity(request), cluster_id, change_id, order), status=202)


@router.get(
    "/clusters/{cluster_id}/tables/{keyspace}/{table}/schema",
    operation_id="get_table_schema",
    response=schemas.TableSchema,
)
def get_table_schema(request: HttpRequest, cluster_id: str, keyspace: str, table: str) -> HttpResponse:
    """The statement that makes a table, its columns and indexes, and its options beside the usual ones."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.get_table_schema(who, cluster_id, keyspace, table))
