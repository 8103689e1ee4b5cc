"""Backups over HTTP."""

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Body, Query, Router, Status

from backend.accounts.queries import Identity, identity, require
from backend.accounts.states import Permission
from backend.backups import (
    actions,
    archive_actions,
    archive_queries,
    clone_schemas,
    cloning,
    downloads,
    location_actions,
    location_queries,
    queries,
    restores,
    restoring,
    schedule_actions,
    schedule_queries,
    schemas,
    taking_over,
)
from backend.core.pagination import PageQuery, prepared

router = Router(tags=["backups"])
LOCATION_STARTED = {202: schemas.BackupLocationStarted}
STARTED = {202: schemas.BackupStarted}


def _reader(request: HttpRequest) -> Identity:
    who = identity(request)
    require(who, Permission.CLUSTERS_READ)
    return who


@router.get("/backup-locations", operation_id="list_backup_locations", response=schemas.BackupLocationPage)
def list_backup_locations(request: HttpRequest, page: Query[PageQuery]) -> HttpResponse:
    """Where backups can be kept: the organisation's places, and the installation's. Newest first."""
    return prepared(location_queries.list_locations(_reader(request), page))


@router.post("/backup-locations", operation_id="create_backup_location", response=LOCATION_STARTED)
def create_backup_location(request: HttpRequest, order: Body[schemas.LocationOrder]) -> HttpResponse:
    """Brings a bucket and tries to write there."""
    return prepared(location_actions.create_location(identity(request), order), status=202)


@router.get("/backup-locations/{location_id}", operation_id="get_backup_location", response=schemas.BackupLocation)
def get_backup_location(request: HttpRequest, location_id: str) -> HttpResponse:
    """One place for backups."""
    return prepared(location_queries.get_location(_reader(request), location_id))


@router.patch("/backup-locations/{location_id}", operation_id="update_backup_location", response=schemas.BackupLocation)
def update_backup_location(request: HttpRequest, location_id: str, wanted: schemas.LocationUpdate) -> HttpResponse:
    """Gives it another name or other credentials."""
    return prepared(location_actions.update_location(identity(request), location_id, wanted))


@router.delete("/backup-locations/{location_id}", operation_id="delete_backup_location", response={204: None})
def delete_backup_location(request: HttpRequest, location_id: str) -> Status[None]:
    """Forgets a place in which there are no backups. Nothing is changed there."""
    location_actions.delete_location(identity(request), location_id)
    return Status(204, None)


@router.post("/backup-locations/{location_id}/check", operation_id="check_backup_location", response=LOCATION_STARTED)
def check_backup_location(request: HttpRequest, location_id: str) -> HttpResponse:
    """Writes, reads and deletes a small object there."""
    return prepared(location_actions.check_location(identity(request), location_id), status=202)


@router.get(
    "/backup-locations/{location_id}/purge", operation_id="plan_backup_location_purge", response=schemas.PurgePlan
)
def plan_backup_location_purge(request: HttpRequest, location_id: str) -> HttpResponse:
    """What a purge would delete, and how many bytes that would free. Changes nothing."""
    return prepared(location_queries.purge_plan(_reader(request), location_id))


@router.post("/backup-locations/{location_id}/purge", operation_id="purge_backup_location", response=LOCATION_STARTED)
def purge_backup_location(request: HttpRequest, location_id: str) -> HttpResponse:
    """Deletes backups that are kept no longer, and objects that no backup needs."""
    return prepared(location_actions.purge_location(identity(request), location_id), status=202)


@router.get(
    "/clusters/{cluster_id}/backup-schedules",
    operation_id="list_backup_schedules",
    response=schemas.BackupScheduleList,
)
def list_backup_schedules(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """When a cluster is backed up, by name."""
    return prepared(schedule_queries.list_schedules(_reader(request), cluster_id))


@router.post(
    "/clusters/{cluster_id}/backup-schedules",
    operation_id="create_backup_schedule",
    response={201: schemas.BackupSchedule},
)
def create_backup_schedule(request: HttpRequest, cluster_id: str, order: schemas.BackupScheduleOrder) -> HttpResponse:
    """Has a cluster backed up from now on."""
    return prepared(schedule_actions.create_schedule(identity(request), cluster_id, order), status=201)


@router.put(
    "/clusters/{cluster_id}/backup-schedules/{schedule_id}",
    operation_id="replace_backup_schedule",
    response=schemas.BackupSchedule,
)
def replace_backup_schedule(
    request: HttpRequest, cluster_id: str, schedule_id: str, order: schemas.BackupScheduleOrder
) -> HttpResponse:
    """Puts another schedule in its place. Backups that it made are kept as the new one says."""
    return prepared(schedule_actions.replace_schedule(identity(request), cluster_id, schedule_id, order))


@router.delete(
    "/clusters/{cluster_id}/backup-schedules/{schedule_id}",
    operation_id="delete_backup_schedule",
    response={204: None},
)
def delete_backup_schedule(request: HttpRequest, cluster_id: str, schedule_id: str) -> Status[None]:
    """Makes no more backups by it. Those that it made are kept as it said."""
    schedule_actions.delete_schedule(identity(request), cluster_id, schedule_id)
    return Status(204, None)


@router.get("/clusters/{cluster_id}/backups", operation_id="list_cluster_backups", response=schemas.BackupPage)
def list_cluster_backups(request: HttpRequest, cluster_id: str, page: Query[PageQuery]) -> HttpResponse:
    """The backups of a cluster, newest first."""
    return prepared(queries.list_backups(_reader(request), page, cluster_id=cluster_id))


@router.post("/clusters/{cluster_id}/backups", operation_id="create_backup", response=STARTED)
def create_backup(request: HttpRequest, cluster_id: str, order: schemas.BackupOrder) -> HttpResponse:
    """Backs a cluster up now."""
    return prepared(actions.create_backup(identity(request), cluster_id, order), status=202)


@router.post("/clusters/{cluster_id}/clone/plan", operation_id="plan_clone", response=clone_schemas.ClonePlan)
def plan_clone(request: HttpRequest, cluster_id: str, order: clone_schemas.CloneOrder) -> HttpResponse:
    """What cloning a cluster would do, and everything that is against it. Changes nothing."""
    return prepared(cloning.plan_clone(_reader(request), cluster_id, order))


@router.post("/clusters/{cluster_id}/clone", operation_id="clone_cluster", response=STARTED)
def clone_cluster(request: HttpRequest, cluster_id: str, order: clone_schemas.CloneOrder) -> HttpResponse:
    """Makes a new cluster with what the tables of this one hold now: a backup, and a restore of it."""
    return prepared(cloning.start(identity(request), cluster_id, order), status=202)


@router.get("/clusters/{cluster_id}/backups/estimate", operation_id="estimate_backup", response=schemas.BackupEstimate)
def estimate_backup(
    request: HttpRequest,
    cluster_id: str,
    location_id: Annotated[
        str | None, Query(description="Where it would go; null: the installation's; where it has none, your oldest")
    ] = None,
) -> HttpResponse:
    """What a backup would come to, by what is known now. Changes nothing."""
    return prepared(queries.estimate(_reader(request), cluster_id, location_id))


@router.get(
    "/clusters/{cluster_id}/backups/overview", operation_id="get_cluster_backups", response=schemas.ClusterBackups
)
def get_cluster_backups(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """Its tables to choose from, its last complete backup, and what can be done."""
    return prepared(queries.cluster_backups(_reader(request), cluster_id))


@router.get("/backups", operation_id="list_backups", response=schemas.BackupPage)
def list_backups(request: HttpRequest, page: Query[PageQuery]) -> HttpResponse:
    """The backups of the organisation, also those of clusters that are gone. Newest first."""
    return prepared(queries.list_backups(_reader(request), page))


@router.get("/backups/{backup_id}", operation_id="get_backup", response=schemas.BackupDetail)
def get_backup(request: HttpRequest, backup_id: str) -> HttpResponse:
    """One backup with its nodes and tables. Those that were deleted can still be read."""
    return prepared(queries.get_backup(_reader(request), backup_id))


@router.delete("/backups/{backup_id}", operation_id="delete_backup", response=STARTED)
def delete_backup(request: HttpRequest, backup_id: str) -> HttpResponse:
    """Takes a backup away: its manifests at once, what only it needs a day later.

    Where deletes take two people (get_access_settings), a second person has confirmed a deletion request for it first.
    """
    return prepared(actions.delete_backup(identity(request), backup_id), status=202)


@router.post("/backups/{backup_id}/verify", operation_id="verify_backup", response={202: schemas.VerifyStarted})
def verify_backup(request: HttpRequest, backup_id: str) -> HttpResponse:
    """Looks at the size of every object and reads a sample of them."""
    return prepared(actions.verify_backup(identity(request), backup_id), status=202)


@router.post("/backups/{backup_id}/download", operation_id="download_backup", response=schemas.Download)
def download_backup(request: HttpRequest, backup_id: str, order: schemas.DownloadOrder) -> HttpResponse:
    """Signed addresses to fetch a backup from, object by object, for a copy of one's own."""
    return prepared(downloads.addresses(identity(request), backup_id, order))


@router.post("/backup-key/reveal", operation_id="reveal_backup_key", response=schemas.BackupKey)
def reveal_backup_key(request: HttpRequest) -> HttpResponse:
    """Shows the key that opens the organisation's backups; that it was shown is in the audit log."""
    return prepared(downloads.reveal_key(identity(request)))


@router.post("/backups/{backup_id}/restore/plan", operation_id="plan_restore", response=schemas.RestorePlan)
def plan_restore(request: HttpRequest, backup_id: str, order: schemas.RestoreOrder) -> HttpResponse:
    """What a restore would do, and everything that is against it. Changes nothing."""
    return prepared(restoring.plan(_reader(request), backup_id, order))


@router.post("/backups/{backup_id}/restore", operation_id="restore_backup", response={202: schemas.RestoreStarted})
def restore_backup(request: HttpRequest, backup_id: str, order: schemas.RestoreOrder) -> HttpResponse:
    """Brings data back: fetched and verified first, changed afterwards."""
    return prepared(restoring.start(identity(request), backup_id, order), status=202)


@router.get("/clusters/{cluster_id}/restores", operation_id="list_restores", response=schemas.RestorePage)
def list_restores(request: HttpRequest, cluster_id: str, page: Query[PageQuery]) -> HttpResponse:
    """What was restored into a cluster, newest first."""
    return prepared(restores.list_restores(_reader(request), page, cluster_id=cluster_id))


@router.get("/clusters/{cluster_id}/log-archive", operation_id="get_log_archive", response=schemas.LogArchive)
def get_log_archive(request: HttpRequest, cluster_id: str) -> HttpResponse:
    """Whether commit logs are archived, how far each node is, and the moments that can be restored to."""
    return prepared(archive_queries.get_archive(_reader(request), cluster_id))


@router.put("/clusters/{cluster_id}/log-archive", operation_id="set_log_archive", response=schemas.LogArchive)
def set_log_archive(request: HttpRequest, cluster_id: str, order: schemas.LogArchiveOrder) -> HttpResponse:
    """Turns the archive of commit logs on or off. What was archived stays as long as it can be used."""
    return prepared(archive_actions.set_archive(identity(request), cluster_id, order))


@router.get("/restores/{restore_id}", operation_id="get_restore", response=schemas.RestoreDetail)
def get_restore(request: HttpRequest, restore_id: str) -> HttpResponse:
    """How far a restore is, node by node."""
    return prepared(restores.get_restore_progress(_reader(request), restore_id))


@router.get("/restores/{restore_id}/take-over", operation_id="plan_take_over", response=schemas.RestorePlan)
def plan_take_over(request: HttpRequest, restore_id: str) -> HttpResponse:
    """What taking over a copy would do, and everything that is against it. Changes nothing."""
    return prepared(taking_over.plan_take_over(_reader(request), restore_id))


@router.post("/restores/{restore_id}/take-over", operation_id="take_over", response={202: schemas.RestoreStarted})
def take_over(request: HttpRequest, restore_id: str, order: schemas.TakeOverOrder) -> HttpResponse:
    """Gives the live tables the rows that a finished copy shows. What they hold is backed up first."""
    return prepared(taking_over.take_over(identity(request), restore_id, order), status=202)
