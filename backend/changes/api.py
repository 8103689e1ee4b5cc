"""Plans and changes of clusters over HTTP."""

from django.http import HttpRequest, HttpResponse
from ninja import Body, Router

from backend.accounts.queries import identity, require
from backend.accounts.states import Permission
from backend.changes import actions, queries, schemas
from backend.core.pagination import prepared

router = Router(tags=["clusters"])


@router.post("/clusters/{cluster_id}/plan", operation_id="plan_change", response=schemas.Plan)
def plan_change(request: HttpRequest, cluster_id: str, wanted: Body[schemas.Wanted]) -> HttpResponse:
    """Says what a change, or a desired state, would come to: steps, nodes, time, and why not if it cannot be.

    Changes nothing. What it says holds for this moment: change_cluster looks again.
    """
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return prepared(queries.plan_of(who, cluster_id, wanted))


@router.post("/clusters/{cluster_id}/changes", operation_id="change_cluster", response={202: schemas.ChangeStarted})
def change_cluster(request: HttpRequest, cluster_id: str, change: Body[schemas.Change]) -> HttpResponse:
    """Begins a change of a cluster, in place. What cannot be is refused with the sentence its plan says."""
    return prepared(actions.change(identity(request), cluster_id, change), status=202)
