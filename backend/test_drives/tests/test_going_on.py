"""Extending a test drive, and keeping its cluster."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from backend.accounts.states import Permission, Role
from backend.audit.models import AuditRecord
from backend.clusters.models import Cluster
from backend.clusters.tests.conftest import active, creating
from backend.conftest import ApiClient, Tenant
from backend.test_drives.tests.conftest import ends_in

__all__ = ["active", "creating"]

BOTH = [("extend", {"hours": 24}), ("keep", None)]


def test_it_is_extended_from_now(api: ApiClient, drive: Cluster):
    answer = api.post(f"/clusters/{drive.id}/test-drive/extend", {"hours": 48})
    assert answer.status_code == 200, answer.content
    left = datetime.fromisoformat(answer.json()["expires_at"]) - timezone.now()
    assert timedelta(hours=47, minutes=59) < left <= timedelta(hours=48)
    record = AuditRecord.objects.get(action="cluster.extend_test_drive")
    assert record.after["expires_at"] > record.before["expires_at"]


@pytest.mark.parametrize("hours", [0, 169, None, "8"])
def test_no_further_than_a_week(api: ApiClient, drive: Cluster, hours: Any):
    answer = api.post(f"/clusters/{drive.id}/test-drive/extend", {"hours": hours})
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "hours")
    drive.refresh_from_db()
    assert drive.expires_at - timezone.now() < timedelta(hours=8)


def test_it_is_not_made_shorter(api: ApiClient, drive: Cluster):
    answer = api.post(f"/clusters/{drive.id}/test-drive/extend", {"hours": 7})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "not_longer")
    assert not AuditRecord.objects.filter(action="cluster.extend_test_drive").exists()


def test_one_that_is_over_and_still_there_can_be_saved(api: ApiClient, drive: Cluster):
    ends_in(drive, -timedelta(minutes=5))
    assert api.post(f"/clusters/{drive.id}/test-drive/extend", {"hours": 1}).status_code == 200


def test_what_is_kept_is_an_ordinary_cluster(api: ApiClient, drive: Cluster):
    kept = api.post(f"/clusters/{drive.id}/test-drive/keep").json()
    assert (kept["expires_at"], kept["test_drive"], kept["termination_protection"]) == (None, None, True)
    assert AuditRecord.objects.get(action="cluster.keep_test_drive").after == {
        "expires_at": None,
        "termination_protection": True,
    }
    # Its workload is still to be ended.
    drive.refresh_from_db()
    assert drive.test_drive is not None
    again = api.post(f"/clusters/{drive.id}/test-drive/keep")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "no_test_drive")


@pytest.mark.parametrize(("what", "body"), BOTH)
def test_an_ordinary_cluster_says_what_it_is(api: ApiClient, active: Cluster, what: str, body: Any):
    answer = api.post(f"/clusters/{active.id}/test-drive/{what}", body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "no_test_drive")


@pytest.mark.parametrize(("what", "body"), BOTH)
def test_what_is_being_deleted_cannot_be_saved(api: ApiClient, drive: Cluster, what: str, body: Any):
    api.delete(f"/clusters/{drive.id}")
    answer = api.post(f"/clusters/{drive.id}/test-drive/{what}", body)
    assert (answer.status_code, answer.json()["error"]["message"]) == (409, "The cluster is being deleted.")
    rules = {rule["action"]: rule for rule in api.get(f"/clusters/{drive.id}").json()["allowed_actions"]}
    assert rules[f"{what}_test_drive"]["reason"] == "The cluster is being deleted."


@pytest.mark.parametrize(("what", "body"), BOTH)
def test_another_organisation_cannot(foreign: ApiClient, drive: Cluster, what: str, body: Any):
    answer = foreign.post(f"/clusters/{drive.id}/test-drive/{what}", body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "cluster_not_found")
    before = drive.expires_at
    drive.refresh_from_db()
    assert (drive.expires_at, drive.termination_protection) == (before, False)


@pytest.mark.parametrize(("what", "body"), BOTH)
def test_who_only_reads_cannot(tenant: Tenant, drive: Cluster, what: str, body: Any):
    viewer = tenant.api(tenant.member(Role.VIEWER))
    assert viewer.post(f"/clusters/{drive.id}/test-drive/{what}", body).status_code == 403
    reader = tenant.api(scopes=[Permission.CLUSTERS_READ])
    assert reader.post(f"/clusters/{drive.id}/test-drive/{what}", body).status_code == 403
    rules = {rule["action"]: rule["allowed"] for rule in viewer.get(f"/clusters/{drive.id}").json()["allowed_actions"]}
    assert rules[f"{what}_test_drive"] is False


def test_a_request_that_is_sent_twice_is_done_once(api: ApiClient, drive: Cluster):
    key = {"Idempotency-Key": "extend-once"}
    first, second = (api.post(f"/clusters/{drive.id}/test-drive/extend", {"hours": 9}, **key) for _ in range(2))
    assert (first.status_code, first.json()) == (second.status_code, second.json())
    assert AuditRecord.objects.filter(action="cluster.extend_test_drive").count() == 1
