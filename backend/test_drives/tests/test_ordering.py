"""What an order of a test drive is answered with, and what is refused."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError
from django.utils import timezone

from backend.backups.models import BackupSchedule
from backend.clusters.models import Cluster
from backend.conftest import ApiClient
from backend.operations.models import Operation, OperationStep
from backend.prices import actions as prices
from backend.test_drives.tests.conftest import ORDER


def test_it_has_an_end_and_a_workload_and_no_protection(api: ApiClient):
    wish = {"hours": 8, "workload": "orders", "rows": 500, "operations_per_second": 20}
    cluster = api.post("/clusters", ORDER | {"test_drive": wish}).json()["cluster"]
    left = datetime.fromisoformat(cluster["expires_at"]) - timezone.now()
    assert timedelta(hours=7, minutes=59) < left <= timedelta(hours=8)
    assert cluster["test_drive"] == {"workload": "orders", "rows": 500, "operations_per_second": 20}
    assert cluster["termination_protection"] is False
    steps = [step.name for step in OperationStep.objects.order_by("position")]
    assert steps[-4:] == ["load_data_set", *["start_workload"] * 3]
    assert not BackupSchedule.objects.exists()


def test_what_is_left_out_has_a_default(api: ApiClient):
    cluster = api.post("/clusters", ORDER | {"test_drive": {}}).json()["cluster"]
    assert cluster["test_drive"] == {"workload": "key-value", "rows": 10_000, "operations_per_second": 50}
    left = datetime.fromisoformat(cluster["expires_at"]) - timezone.now()
    assert timedelta(hours=23) < left <= timedelta(hours=24)


def test_an_ordinary_cluster_has_neither(api: ApiClient):
    api.post("/clusters", ORDER)
    (cluster,) = api.get("/clusters").json()["items"]
    assert (cluster["test_drive"], cluster["expires_at"]) == (None, None)
    assert not OperationStep.objects.filter(name__in=["load_data_set", "start_workload"]).exists()
    reasons = {rule["action"]: rule["reason"] for rule in cluster["allowed_actions"]}
    assert "no test drive" in reasons["extend_test_drive"]
    assert "no test drive" in reasons["keep_test_drive"]


@pytest.mark.parametrize(
    ("change", "code", "field"),
    [
        ({"test_drive": {"hours": 0}}, "invalid_field", "test_drive.hours"),
        ({"test_drive": {"hours": 169}}, "invalid_field", "test_drive.hours"),
        ({"test_drive": {"hours": "24"}}, "invalid_field", "test_drive.hours"),
        ({"test_drive": {"workload": "chess"}}, "invalid_field", "test_drive.workload"),
        ({"test_drive": {"rows": 200_001}}, "invalid_field", "test_drive.rows"),
        ({"test_drive": {"operations_per_second": 501}}, "invalid_field", "test_drive.operations_per_second"),
        ({"test_drive": {"expires_at": "2026-01-01"}}, "invalid_field", "test_drive.expires_at"),
        ({"test_drive": {}, "termination_protection": True}, "test_drive_protected", "termination_protection"),
    ],
)
@pytest.mark.parametrize("path", ["/clusters", "/clusters/check"])
def test_it_refuses_what_cannot_be_and_changes_nothing(
    api: ApiClient, path: str, change: dict[str, Any], code: str, field: str
):
    answer = api.post(path, ORDER | change)
    assert (answer.status_code, answer.json()["error"]["code"], answer.json()["error"]["field"]) == (422, code, field)
    assert not Cluster.objects.exists()
    assert not Operation.objects.exists()


def test_the_check_tells_when_it_ends_and_what_it_costs_until_then(api: ApiClient):
    order = ORDER | {"test_drive": {"hours": 10}}
    assert api.post("/clusters/check", order).json()["test_drive"]["micros"] is None
    prices.load()
    checked = api.post("/clusters/check", order).json()
    said = checked["test_drive"]
    # Loading takes its time.
    assert checked["expected_seconds"] == api.post("/clusters/check", ORDER).json()["expected_seconds"] + 20
    # 3 nodes × 0.02 dollars an hour × 10 hours
    assert said["micros"] == 600_000
    assert datetime.fromisoformat(said["expires_at"]) - timezone.now() > timedelta(hours=9, minutes=59)
    assert api.post("/clusters/check", ORDER).json()["test_drive"] is None


def test_a_ceiling_holds_for_it_too(api: ApiClient):
    assert api.put("/ceilings", {"nodes": 2}).status_code == 200
    answer = api.post("/clusters", ORDER | {"test_drive": {}})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "node_ceiling_reached")
    assert not Cluster.objects.exists()


def test_it_cannot_be_protected(api: ApiClient, drive: Cluster):
    answer = api.patch(f"/clusters/{drive.id}", {"termination_protection": True})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "test_drive_protected")
    assert "keep_test_drive" in answer.json()["error"]["hint"]
    with pytest.raises(IntegrityError, match="test_drive_can_end"):
        Cluster.objects.filter(id=drive.id).update(termination_protection=True)
