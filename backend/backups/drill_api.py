"""Restore drills over HTTP."""

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Status

from backend.accounts.queries import Identity, identity, require
from backend.accounts.states import Permission
from backend.backups import drill_queries, drills
from backend.backups import drill_schemas as schemas
from backend.core.pagination import PageQuery, prepared

router = Router(tags=["backups"])


def _reader(request: HttpRequest) -> Identity:
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return who


@router.get("/clusters/{cluster_id}/drills/overview", operation_id="get_cluster_drills", response=schemas.ClusterDrills)
def get_cluster_drills(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """When its backups are restored for a trial, what the last one has proved, and what can be done."""
    return prepared(drill_queries.cluster_drills(_reader(request), cluster_id))


@router.get("/clusters/{cluster_id}/drills", operation_id="list_drills", response=schemas.DrillPage)
def list_drills(request: HttpRequest, cluster_id: str, page: Query[PageQuery]) -> HttpResponse:
    """The restore drills of a cluster, newest first."""
    return prepared(drill_queries.list_drills(_reader(request), page, cluster_id=cluster_id))


@router.post("/clusters/{cluster_id}/drills", operation_id="start_drill", response={202: schemas.DrillStarted})
def start_drill(request: HttpRequest, cluster_id: str, order: schemas.DrillOrder) -> HttpResponse:
    """Restores a backup into a cluster that is made for it, compares the rows, and removes it."""
    return prepared(drills.start(identity(request), cluster_id, order), status=202)


@router.post("/clusters/{cluster_id}/drills/plan", operation_id="plan_drill", response=schemas.DrillPlan)
def plan_drill(request: HttpRequest, cluster_id: str, order: schemas.DrillOrder) -> HttpResponse:
    """What a drill would do and compare, and everything that is against it. Changes nothing."""
    return prepared(drills.plan_drill(_reader(request), cluster_id, order))


@router.put("/clusters/{cluster_id}/drill-schedule", operation_id="set_drill_schedule", response=schemas.ClusterDrills)
def set_drill_schedule(request: HttpRequest, cluster_id: str, order: schemas.DrillScheduleOrder) -> HttpResponse:
    """Has the newest complete backup restored for a trial from now on."""
    drills.set_schedule(identity(request), cluster_id, order)
    return prepared(drill_queries.cluster_drills(identity(request), cluster_id))


@router.delete("/clusters/{cluster_id}/drill-schedule", operation_id="delete_drill_schedule", response={204: None})
def delete_drill_schedule(request: HttpRequest, cluster_id: str) -> Status[None]:
    """Makes no more drills by itself."""
    drills.delete_schedule(identity(request), cluster_id)
    return Status(204, None)


@router.get("/drills/{drill_id}", operation_id="get_drill", response=schemas.Drill)
def get_drill(request: HttpRequest, drill_id: str) -> HttpResponse:
    """What one drill has shown."""
    return prepared(drill_queries.get_drill(_reader(request), drill_id))
