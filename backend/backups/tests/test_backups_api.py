from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from backend.accounts.states import Role
from backend.audit.models import AuditRecord
from backend.backups import vault_keys
from backend.backups.models import Backup, BackupLocation, BackupNode, BackupSchedule, TableReading
from backend.backups.states import BackupState
from backend.clusters.models import Cluster, Secret
from backend.conftest import ApiClient, Tenant
from backend.operations.models import Operation

S3: dict[str, Any] = {
    "kind": "s3",
    "name": "Our bucket",
    "bucket": "acme-backups",
    "prefix": "ringmaster",
    "region": "eu-central-1",
    "access_key_id": "AKIA123",
    "secret_access_key": "very-secret",
}
NIGHTLY: dict[str, Any] = {"name": "nightly", "cron": "30 2 * * *", "time_zone": "Europe/Vienna", "keep_days": 7}


def path(cluster: Cluster, rest: str) -> str:
    return f"/clusters/{cluster.id}/{rest}"


def allowed(thing: dict[str, Any]) -> dict[str, str | None]:
    return {one["action"]: one["reason"] for one in thing["allowed_actions"]}


def test_a_bucket_is_brought_and_tried_and_its_secret_is_never_told(api: ApiClient):
    answer = api.post("/backup-locations", S3)
    assert answer.status_code == 202, answer.content
    location = answer.json()["location"]
    assert (location["address"], location["problem"], location["checked_at"]) == (
        "s3://acme-backups/ringmaster",
        None,
        None,
    )
    assert answer.json()["operation"]["kind"] == "check_backup_location"
    told = answer.content.decode() + str(list(AuditRecord.objects.values()))
    assert "very-secret" not in told
    row = BackupLocation.objects.get()
    assert vault_keys.store_of(row, row.organisation_id or "")["secret_access_key"] == "very-secret"
    assert api.post("/backup-locations", S3).json()["error"]["code"] == "name_taken"


def test_nobody_else_sees_or_uses_a_location(api: ApiClient, foreign: ApiClient, active: Cluster):
    location = api.post("/backup-locations", S3).json()["location"]["id"]
    assert foreign.get("/backup-locations").json()["items"] == []
    assert foreign.get(f"/backup-locations/{location}").status_code == 404
    assert foreign.delete(f"/backup-locations/{location}").status_code == 404
    assert foreign.post(f"/backup-locations/{location}/purge").status_code == 404
    row = BackupLocation.objects.get()
    with pytest.raises(LookupError):
        vault_keys.store_of(row, "org_other")


@pytest.mark.parametrize(
    "change",
    [
        {"bucket": "a"},
        {"prefix": "../x"},
        {"endpoint": "http://169.254.169.254"},
        {"endpoint": "ftp://example.com"},
        {"kind": "folder"},
        {"secret_access_key": ""},
        {"name": " "},
    ],
)
def test_a_location_that_cannot_be_is_refused(api: ApiClient, change: dict[str, Any]):
    assert api.post("/backup-locations", S3 | change).status_code == 422
    assert not BackupLocation.objects.exists()


def test_the_operators_location_is_everybodys_with_a_place_for_each(
    api: ApiClient, foreign: ApiClient, tenant: Tenant, operators: BackupLocation
):
    for client in (api, foreign):
        shown = client.get("/backup-locations").json()["items"]
        assert [(one["operators"], one["address"]) for one in shown] == [(True, "A folder of this installation")]
        assert client.patch(f"/backup-locations/{operators.id}", {"name": "mine"}).status_code == 409
        assert client.delete(f"/backup-locations/{operators.id}").status_code == 409
    assert vault_keys.store_of(operators, tenant.organisation.id) == {
        "kind": "folder",
        "folder": "/nowhere",
        "prefix": tenant.organisation.id,
    }


def test_new_credentials_are_tried(api: ApiClient):
    location = api.post("/backup-locations", S3).json()["location"]["id"]
    bad = api.patch(f"/backup-locations/{location}", {"access_key_id": "AKIA456"})
    assert (bad.status_code, bad.json()["error"]["field"]) == (422, "secret_access_key")
    good = api.patch(f"/backup-locations/{location}", {"access_key_id": "b", "secret_access_key": "c", "name": "New"})
    assert good.json()["name"] == "New"
    row = BackupLocation.objects.get()
    assert vault_keys.store_of(row, row.organisation_id or "")["access_key_id"] == "b"


def test_a_location_in_use_stays(api: ApiClient, active: Cluster):
    location = api.post("/backup-locations", S3).json()["location"]["id"]
    schedule = api.post(path(active, "backup-schedules"), NIGHTLY | {"location_id": location}).json()["id"]
    refused = api.delete(f"/backup-locations/{location}")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "backup_location_in_use")
    assert api.delete(path(active, f"backup-schedules/{schedule}")).status_code == 204
    assert api.delete(f"/backup-locations/{location}").status_code == 204
    assert not Secret.objects.filter(owner=location).exists()


def test_a_schedule_says_when_it_is_due_next(api: ApiClient, active: Cluster, operators: BackupLocation):
    made = api.post(path(active, "backup-schedules"), NIGHTLY)
    assert made.status_code == 201, made.content
    schedule = made.json()
    assert (schedule["location_id"], schedule["keep_after_deletion_days"]) == (operators.id, 30)
    assert len(schedule["next"]) == 3
    first = datetime.fromisoformat(schedule["due_at"])
    assert datetime.now(UTC) < first < datetime.now(UTC) + timedelta(days=1, hours=1)
    one = path(active, f"backup-schedules/{schedule['id']}")
    changed = api.put(one, NIGHTLY | {"cron": None, "interval_minutes": 60, "enabled": False, "keep_count": 3})
    assert (changed.json()["due_at"], changed.json()["next"], changed.json()["keep_count"]) == (None, [], 3)
    assert api.post(path(active, "backup-schedules"), NIGHTLY).json()["error"]["code"] == "name_taken"
    listed = api.get(path(active, "backup-schedules")).json()
    assert [item["name"] for item in listed["items"]] == ["nightly"]
    assert AuditRecord.objects.filter(action__startswith="backup_schedule.").count() == 2


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"keep_days": None}, 422, "invalid_field"),
        ({"keep_days": 0}, 422, "invalid_field"),
        ({"keep_count": 0}, 422, "invalid_field"),
        ({"cron": "0 0 31 2 *"}, 422, "cron_never_fires"),
        ({"cron": "99 * * * *"}, 422, "cron_never_fires"),
        ({"interval_minutes": 60}, 422, "invalid_field"),
        ({"time_zone": "Europe/Atlantis"}, 422, "invalid_field"),
        ({"location_id": "loc_unknown"}, 404, "backup_location_not_found"),
        ({"selection": [{"keyspace": "a; DROP"}]}, 422, "invalid_field"),
    ],
)
def test_a_schedule_that_cannot_be_is_refused(
    api: ApiClient, active: Cluster, operators: BackupLocation, change: dict[str, Any], status: int, code: str
):
    answer = api.post(path(active, "backup-schedules"), NIGHTLY | change)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), answer.content
    assert not BackupSchedule.objects.exists()


def test_a_backup_is_ordered_with_a_part_for_every_node(api: ApiClient, active: Cluster, operators: BackupLocation):
    order = {"selection": [{"keyspace": "shop"}], "keep_days": 3, "rate_mib_per_second": 50}
    answer = api.post(path(active, "backups"), order)
    assert answer.status_code == 202, answer.content
    backup, operation = answer.json()["backup"], answer.json()["operation"]
    assert (backup["state"], backup["operation_id"], operation["kind"]) == ("running", operation["id"], "backup")
    assert BackupNode.objects.count() == 3
    detail = api.get(f"/backups/{backup['id']}").json()
    assert [node["state"] for node in detail["nodes"]] == ["pending"] * 3
    assert [one["id"] for one in api.get(path(active, "backups")).json()["items"]] == [backup["id"]]
    assert [one["id"] for one in api.get("/backups").json()["items"]] == [backup["id"]]
    assert allowed(backup)["restore_backup"] == "It is still being made."
    assert api.delete(f"/backups/{backup['id']}").status_code == 409
    # Each organisation has a key of its own, made once.
    assert Secret.objects.filter(purpose="backup-key").count() == 1
    assert "key" not in Operation.objects.get(id=operation["id"]).parameters


def test_nothing_is_ordered_where_nothing_can_be_written(api: ApiClient, active: Cluster, operators: BackupLocation):
    BackupLocation.objects.update(problem="There is no bucket.")
    answer = api.post(path(active, "backups"), {})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "cannot_back_up")
    assert "There is no bucket." in answer.json()["error"]["message"]
    assert api.get(path(active, "backups/estimate")).json()["problems"] != []


def test_without_a_place_the_answer_says_what_to_bring(api: ApiClient, active: Cluster):
    answer = api.post(path(active, "backups"), {})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "no_backup_location")


def test_a_cluster_that_is_gone_is_not_backed_up(api: ApiClient, deleted: Cluster, operators: BackupLocation):
    assert api.post(path(deleted, "backups"), {}).status_code == 409
    assert api.post(path(deleted, "backup-schedules"), NIGHTLY).status_code == 409


def finished(cluster: Cluster, location: BackupLocation, **columns: Any) -> Backup:
    values: dict[str, Any] = {"state": BackupState.COMPLETE, "taken_at": datetime.now(UTC), "key_id": "k"}
    return Backup.objects.create(
        organisation_id=cluster.organisation_id,
        cluster=cluster,
        cluster_name=cluster.name,
        location=location,
        engine="cassandra",
        engine_version="5.0.5",
        created_by="test",
        **values | columns,
    )


def test_a_backup_outlives_its_cluster_and_is_deleted_by_hand(
    api: ApiClient, deleted: Cluster, operators: BackupLocation, foreign: ApiClient
):
    row = finished(deleted, operators)
    shown = api.get("/backups").json()["items"][0]
    assert (shown["cluster_deleted"], allowed(shown)["restore_backup"]) == (True, None)
    assert foreign.get(f"/backups/{row.id}").status_code == 404
    assert foreign.delete(f"/backups/{row.id}").status_code == 404
    assert foreign.get("/backups").json()["items"] == []
    gone = api.delete(f"/backups/{row.id}")
    assert (gone.status_code, gone.json()["operation"]["kind"]) == (202, "purge_backups")
    assert api.get(f"/backup-locations/{operators.id}/purge").json()["backups"] == [row.id]


def test_a_locked_backup_stays(api: ApiClient, active: Cluster, operators: BackupLocation):
    row = finished(active, operators, locked_until=datetime.now(UTC) + timedelta(days=1))
    answer = api.delete(f"/backups/{row.id}")
    assert (answer.status_code, "locked until" in answer.json()["error"]["message"]) == (409, True)


def test_one_purge_at_a_time(api: ApiClient, active: Cluster, operators: BackupLocation):
    first = api.post(f"/backup-locations/{operators.id}/purge").json()["operation"]["id"]
    assert api.post(f"/backup-locations/{operators.id}/purge").json()["operation"]["id"] == first


def test_viewers_look_and_do_not_touch(tenant: Tenant, active: Cluster, operators: BackupLocation):
    viewer = tenant.api(tenant.member(Role.VIEWER))
    assert viewer.get(path(active, "backups/overview")).status_code == 200
    assert viewer.post(path(active, "backups"), {}).status_code == 403
    assert viewer.post(path(active, "backup-schedules"), NIGHTLY).status_code == 403
    assert viewer.post("/backup-locations", S3).status_code == 403
    assert viewer.post(f"/backup-locations/{operators.id}/purge").status_code == 403


@pytest.mark.parametrize("wanted", [{"keyspace": "shop", "table": "none"}, {"keyspace": "none"}])
def test_a_table_that_the_cluster_does_not_have_is_refused_before_anything_starts(
    api: ApiClient, active: Cluster, operators: BackupLocation, wanted: dict[str, Any]
):
    TableReading.objects.create(
        cluster=active, tables=[{"keyspace": "shop", "table": "orders"}], read_at=datetime.now(UTC)
    )
    refused = api.post(path(active, "backups"), {"selection": [wanted]})
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "unknown_table")
    assert api.post(path(active, "backup-schedules"), NIGHTLY | {"selection": [wanted]}).status_code == 422
    assert not Backup.objects.exists()
    assert not BackupSchedule.objects.exists()
    # What was read long ago is no ground: the operation looks itself.
    TableReading.objects.update(read_at=datetime.now(UTC) - timedelta(hours=1))
    assert api.post(path(active, "backups"), {"selection": [wanted]}).status_code == 202


def test_tables_and_whole_keyspaces_that_are_there_are_backed_up(
    api: ApiClient, active: Cluster, operators: BackupLocation
):
    TableReading.objects.create(
        cluster=active, tables=[{"keyspace": "shop", "table": "orders"}], read_at=datetime.now(UTC)
    )
    selection = [{"keyspace": "shop", "table": "orders"}, {"keyspace": "shop"}]
    assert api.post(path(active, "backups"), {"selection": selection}).status_code == 202


@pytest.mark.parametrize("machine_type", ["¸", " ", "x" * 100, "a\0b"])
def test_a_drill_on_a_machine_type_that_is_no_word_is_refused(
    api: ApiClient, active: Cluster, operators: BackupLocation, machine_type: str
):
    finished(active, operators)
    for address in ("drills/plan", "drills"):
        answer = api.post(path(active, address), {"machine_type": machine_type})
        assert answer.status_code == 422, answer.content
        assert answer.json()["error"]["field"] == "machine_type"
    assert not Operation.objects.filter(kind="restore_drill").exists()


def test_a_drill_on_a_machine_type_that_is_none_cannot_be_ordered(
    api: ApiClient, active: Cluster, operators: BackupLocation
):
    finished(active, operators)
    plan = api.post(path(active, "drills/plan"), {"machine_type": "mars.large"}).json()
    assert any("no machine type of" in one and "mars.large" in one for one in plan["problems"])
    answer = api.post(path(active, "drills"), {"machine_type": "mars.large"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "cannot_drill")
    assert not Operation.objects.filter(kind="restore_drill").exists()
