from typing import Any

import pytest

from backend.audit.models import AuditRecord
from backend.backups.models import BackupLocation
from backend.clusters.models import Cluster
from backend.conftest import ApiClient
from backend.imports.models import Import
from backend.operations.models import Operation

pytestmark = pytest.mark.usefixtures("operators")
ORDER: dict[str, Any] = {"path": "old/cluster"}


def test_an_import_is_ordered_with_its_whole_plan(api: ApiClient, active: Cluster):
    answer = api.post(f"/clusters/{active.id}/imports", ORDER | {"schema_cql": "CREATE TABLE a.b (id int PRIMARY KEY)"})
    assert answer.status_code == 202, answer.content
    imported, operation = answer.json()["imported"], answer.json()["operation"]
    assert (imported["state"], imported["layout"], imported["dry_run"]) == ("running", "files", False)
    assert operation["kind"] == "import_tables"
    steps = list(Operation.objects.get(id=operation["id"]).steps.values_list("name", flat=True))
    assert steps[:2] == ["read_source", "compare_tables"]
    assert steps.index("fetch_files") < steps.index("create_tables") < steps.index("import_files")
    assert api.get(f"/imports/{imported['id']}").json() == imported
    listed = api.get(f"/clusters/{active.id}/imports").json()
    assert [one["id"] for one in listed["items"]] == [imported["id"]]
    assert all(one["allowed"] for one in listed["allowed_actions"])
    assert AuditRecord.objects.get(action="import.create").after["import"] == imported["id"]


def test_a_look_is_an_operation_that_changes_nothing_and_holds_nobody_up(api: ApiClient, active: Cluster):
    for _ in range(2):
        answer = api.post(f"/clusters/{active.id}/imports/plan", ORDER)
        assert answer.status_code == 202, answer.content
        assert answer.json()["operation"]["kind"] == "check_import"
    assert api.post(f"/clusters/{active.id}/imports", ORDER).status_code == 202
    assert api.post(f"/clusters/{active.id}/imports", ORDER).json()["error"]["code"] == "operation_in_progress"


def test_nobody_else_sees_or_orders_one(api: ApiClient, foreign: ApiClient, active: Cluster):
    made = api.post(f"/clusters/{active.id}/imports/plan", ORDER).json()["imported"]["id"]
    assert foreign.get(f"/imports/{made}").status_code == 404
    assert foreign.get(f"/clusters/{active.id}/imports").status_code == 404
    assert foreign.post(f"/clusters/{active.id}/imports", ORDER).status_code == 404


def test_a_location_of_another_organisation_does_not_exist(
    api: ApiClient, foreign: ApiClient, active: Cluster, operators: BackupLocation
):
    s3 = {"kind": "s3", "name": "theirs", "bucket": "theirs", "access_key_id": "a", "secret_access_key": "b"}
    theirs = foreign.post("/backup-locations", s3).json()["location"]["id"]
    assert api.post(f"/clusters/{active.id}/imports", ORDER | {"location_id": theirs}).status_code == 404


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ({"path": "../other"}, "invalid_field"),
        ({"path": "/etc"}, "invalid_field"),
        ({"layout": "medusa"}, "invalid_field"),
        ({"backup_name": "nightly"}, "invalid_field"),
        ({"layout": "medusa", "backup_name": "../x"}, "invalid_field"),
        ({"replication": {"nowhere": 3}}, "unknown_datacenter"),
        ({"schema_cql": "DROP TABLE a.b"}, "schema_not_understood"),
        ({"schema_cql": "CREATE TABLE b (id int PRIMARY KEY)"}, "schema_not_understood"),
    ],
)
def test_an_order_that_cannot_be_is_refused(api: ApiClient, active: Cluster, wanted: dict[str, Any], code: str):
    answer = api.post(f"/clusters/{active.id}/imports", ORDER | wanted)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, code), answer.content
    assert not Import.objects.exists()


def test_a_cluster_that_does_not_serve_is_left_alone(api: ApiClient, creating: Cluster):
    answer = api.post(f"/clusters/{creating.id}/imports", ORDER)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "cannot_import")
