from datetime import UTC, datetime
from typing import Any

from backend.audit.models import AuditRecord
from backend.backups.models import Backup, BackupLocation, LogArchive
from backend.backups.schemas import RestoreOrder
from backend.backups.states import BackupState
from backend.clusters.models import Cluster
from backend.conftest import ApiClient

ON: dict[str, Any] = {"enabled": True, "keep_days": 3}


def path(cluster: Cluster) -> str:
    return f"/clusters/{cluster.id}/log-archive"


def test_an_archive_is_turned_on_changed_and_turned_off(api: ApiClient, active: Cluster, operators: BackupLocation):
    assert api.get(path(active)).json()["enabled"] is False
    told = api.put(path(active), ON)
    assert told.status_code == 200, told.content
    said = told.json()
    assert (said["enabled"], said["keep_days"], said["interval_seconds"]) == (True, 3, 60)
    assert (said["location_id"], said["restorable"], said["lag_seconds"]) == (operators.id, [], None)
    assert api.put(path(active), ON | {"enabled": False}).json()["enabled"] is False
    assert LogArchive.objects.get().revision == 2
    assert AuditRecord.objects.filter(action="log_archive.set").count() == 2


def test_what_makes_no_sense_is_refused(api: ApiClient, active: Cluster, operators: BackupLocation):
    for wrong in ({"keep_days": 0}, {"interval_seconds": 1}, {"interval_seconds": 9_999}):
        assert api.put(path(active), ON | wrong).status_code == 422
    assert api.put(path(active), ON | {"location_id": "loc_never"}).status_code == 404
    Cluster.objects.filter(id=active.id).update(engine="scylla")
    refused = api.put(path(active), ON)
    assert refused.status_code == 409
    assert "nothing but the engine itself reads it" in refused.json()["error"]["message"]
    assert not LogArchive.objects.exists()


def test_its_location_is_not_taken_from_it(api: ApiClient, active: Cluster):
    bucket = {"kind": "s3", "name": "b", "bucket": "acme", "access_key_id": "A", "secret_access_key": "s"}
    location = api.post("/backup-locations", bucket).json()["location"]["id"]
    api.put(path(active), ON | {"location_id": location})
    refused = api.delete(f"/backup-locations/{location}")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "backup_location_in_use")
    api.put(path(active), ON | {"enabled": False})
    assert api.delete(f"/backup-locations/{location}").status_code == 204


def test_it_is_nobody_elses(foreign: ApiClient, active: Cluster, operators: BackupLocation):
    assert foreign.get(path(active)).status_code == 404
    assert foreign.put(path(active), ON).status_code == 404


def test_a_moment_is_given_as_text_with_its_zone(api: ApiClient, active: Cluster, operators: BackupLocation):
    backup = Backup.objects.create(
        organisation_id=active.organisation_id,
        cluster=active,
        cluster_name=active.name,
        location=operators,
        state=BackupState.COMPLETE,
        engine="cassandra",
        engine_version="5.0.5",
        key_id="k",
        settled_at=datetime(2026, 1, 1, tzinfo=UTC),
        created_by="test",
    )
    order = {"mode": "add", "point_in_time": "2026-01-02T03:04:05.678+01:00"}
    told = api.post(f"/backups/{backup.id}/restore/plan", order)
    assert told.status_code == 200, told.content
    assert "were not archived" in told.json()["problems"][-1]
    assert datetime.fromisoformat(told.json()["point_in_time"]) == RestoreOrder.model_validate(order).point_in_time
    without_zone = api.post(f"/backups/{backup.id}/restore/plan", order | {"point_in_time": "2026-01-02T03:04:05"})
    assert without_zone.status_code == 422
