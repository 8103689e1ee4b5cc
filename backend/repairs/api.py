"""Repairs over HTTP."""

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from backend.accounts.queries import identity, require
from backend.accounts.states import Permission
from backend.core.pagination import PageQuery, prepared
from backend.repairs import actions, queries, schemas

router = Router(tags=["repairs"])


@router.get("/clusters/{cluster_id}/repairs", operation_id="get_repairs", response=schemas.Repairs)
def get_repairs(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """When the cluster is repaired, what runs now, and how well its tables are protected."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.get_repairs(who, cluster_id))


@router.patch(
    "/clusters/{cluster_id}/repairs/schedule", operation_id="set_repair_schedule", response=schemas.RepairSchedule
)
def set_repair_schedule(request: HttpRequest, cluster_id: str, wanted: schemas.RepairScheduleWish) -> HttpResponse:
    """Changes when and how hard the cluster is repaired. Holds at once, for a run that is going on, too."""
    return prepared(actions.set_schedule(identity(request), cluster_id, wanted))


@router.get(
    "/clusters/{cluster_id}/repairs/tables", operation_id="list_repair_tables", response=schemas.RepairTablePage
)
def list_repair_tables(request: HttpRequest, cluster_id: str, wanted: Query[schemas.RepairTablesQuery]) -> HttpResponse:
    """The cluster's tables with how they are repaired and until when deleted data stays deleted, by name."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    found = queries.list_tables(who, cluster_id, keyspace=wanted.keyspace, limit=wanted.limit, after=wanted.cursor)
    return prepared(found)


@router.patch(
    "/clusters/{cluster_id}/repairs/tables/{keyspace}/{table}",
    operation_id="set_repair_policy",
    response=schemas.RepairTable,
)
def set_repair_policy(
    request: HttpRequest, cluster_id: str, keyspace: str, table: str, wanted: schemas.RepairPolicyWish
) -> HttpResponse:
    """Changes how a table is repaired, from the next run on."""
    return prepared(actions.set_policy(identity(request), cluster_id, keyspace, table, wanted))


@router.get("/clusters/{cluster_id}/repairs/runs", operation_id="list_repair_runs", response=schemas.RepairRunPage)
def list_repair_runs(request: HttpRequest, cluster_id: str, page: Query[PageQuery]) -> HttpResponse:
    """Runs, newest first."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.list_runs(who, cluster_id, page))


@router.post("/clusters/{cluster_id}/repairs/runs", operation_id=queries.RUN, response={202: schemas.RepairStarted})
def run_repair(request: HttpRequest, cluster_id: str, order: schemas.RepairOrder) -> HttpResponse:
    """Starts a run now. Its operation can be paused, resumed and cancelled: what is repaired by then counts."""
    return prepared(actions.run_now(identity(request), cluster_id, order), status=202)


@router.post("/clusters/{cluster_id}/repairs/plan", operation_id="plan_repair", response=schemas.RepairPlan)
def plan_repair(request: HttpRequest, cluster_id: str, order: schemas.RepairOrder) -> HttpResponse:
    """Says what a run would repair, in how many segments, and how long it would take. Changes nothing."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.get_plan(who, cluster_id, actions.asked_of(order), any_time=order.any_time))


@router.get(
    "/clusters/{cluster_id}/repairs/runs/{run_id}", operation_id="get_repair_run", response=schemas.RepairRunDetail
)
def get_repair_run(request: HttpRequest, cluster_id: str, run_id: str) -> HttpResponse:
    """One run with its plan."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.get_run(who, cluster_id, run_id))


@router.get(
    "/clusters/{cluster_id}/repairs/runs/{run_id}/segments",
    operation_id="list_repair_segments",
    response=schemas.RepairSegmentPage,
)
def list_repair_segments(
    request: HttpRequest, cluster_id: str, run_id: str, wanted: Query[schemas.RepairSegmentsQuery]
) -> HttpResponse:
    """The segments that a run has started so far, newest first. Of old runs only those that were given up are kept."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    after = None if wanted.cursor is None else int(wanted.cursor)
    found = queries.list_segments(who, cluster_id, run_id, state=wanted.state, limit=wanted.limit, after=after)
    return prepared(found)


@router.get(
    "/clusters/{cluster_id}/repairs/runs/{run_id}/map", operation_id="get_repair_map", response=schemas.RepairMap
)
def get_repair_map(request: HttpRequest, cluster_id: str, run_id: str) -> HttpResponse:
    """Which parts of the ring a run has repaired, table by table, and what each node does for it now."""
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.get_map(who, cluster_id, run_id))
