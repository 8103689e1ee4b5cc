"""Test drives over HTTP. They are ordered as any cluster is: create_cluster with `test_drive`."""

from django.http import HttpRequest, HttpResponse
from ninja import Router

from backend.accounts.queries import identity
from backend.clusters.schemas import Cluster
from backend.clusters.trial_schemas import TestDriveExtension
from backend.core.pagination import prepared
from backend.test_drives import actions

router = Router(tags=["clusters"])


@router.post("/clusters/{cluster_id}/test-drive/extend", operation_id="extend_test_drive", response=Cluster)
def extend_test_drive(request: HttpRequest, cluster_id: str, wanted: TestDriveExtension) -> HttpResponse:
    """Lets a test drive go on for so many hours from now, which must be longer than it would have."""
    return prepared(actions.extend(identity(request), cluster_id, wanted.hours))


@router.post("/clusters/{cluster_id}/test-drive/keep", operation_id="keep_test_drive", response=Cluster)
def keep_test_drive(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """Makes an ordinary cluster of it: protected against termination, with its data, and its workload ends."""
    return prepared(actions.keep(identity(request), cluster_id))
