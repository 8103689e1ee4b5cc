"""What goes for good goes when two people want it; what ends by itself goes on."""

from datetime import timedelta

import pytest
from django.utils import timezone

from backend.accounts.models import DeletionRequest
from backend.accounts.states import DeletionTarget
from backend.audit.models import AuditRecord
from backend.backups import progress
from backend.backups.models import Backup
from backend.clusters import lifecycle
from backend.clusters.models import Cluster
from backend.conftest import ApiClient, Tenant
from backend.deletions.tests.conftest import asked, code, decided
from backend.operations.models import Operation
from backend.test_drives.ending import end_due


@pytest.mark.usefixtures("two")
def test_a_cluster_is_deleted_when_somebody_else_has_confirmed_it(api: ApiClient, second: ApiClient, active: Cluster):
    refused = api.delete(f"/clusters/{active.id}")
    assert code(refused) == (409, "second_person_needed")
    assert f"target_type cluster, target_id {active.id}" in refused.json()["error"]["hint"]
    request = asked(api, "cluster", active.id)
    waiting = api.delete(f"/clusters/{active.id}")
    assert code(waiting) == (409, "second_person_needed")
    assert request["id"] in waiting.json()["error"]["message"]
    active.refresh_from_db()
    assert active.state == "active"
    assert decided(second, request).json()["state"] == "confirmed"
    assert api.delete(f"/clusters/{active.id}").status_code == 202
    assert api.get(f"/deletion-requests/{request['id']}").json()["state"] == "done"
    record = AuditRecord.objects.get(action="cluster.delete")
    assert record.after["confirmed_by"].startswith("second@acme.example")
    actions = AuditRecord.objects.filter(target_id=active.id).order_by("id").values_list("action", flat=True)
    assert list(actions)[-3:] == ["deletion_request.create", "deletion_request.confirm", "cluster.delete"]


@pytest.mark.usefixtures("two")
def test_a_dry_run_is_refused_alike_and_uses_nothing_up(api: ApiClient, second: ApiClient, active: Cluster):
    assert code(api.delete(f"/clusters/{active.id}?dry_run=true")) == (409, "second_person_needed")
    decided(second, asked(api, "cluster", active.id))
    assert api.delete(f"/clusters/{active.id}?dry_run=true").status_code == 204
    assert api.delete(f"/clusters/{active.id}").status_code == 202


@pytest.mark.usefixtures("two")
def test_a_confirmed_request_is_for_one_delete(api: ApiClient, second: ApiClient, active: Cluster):
    decided(second, asked(api, "cluster", active.id))
    api.delete(f"/clusters/{active.id}")
    Operation.objects.filter(kind="delete_cluster").update(state="cancelled", finished_at=timezone.now(), due_at=None)
    lifecycle.cluster_kept(active.id)
    assert code(api.delete(f"/clusters/{active.id}")) == (409, "second_person_needed")


@pytest.mark.usefixtures("two")
def test_what_stands_in_the_way_of_a_delete_does_not_use_the_request_up(
    api: ApiClient, second: ApiClient, active: Cluster
):
    decided(second, asked(api, "cluster", active.id))
    api.patch(f"/clusters/{active.id}", {"termination_protection": True})
    assert code(api.delete(f"/clusters/{active.id}")) == (409, "termination_protected")
    api.patch(f"/clusters/{active.id}", {"termination_protection": False})
    assert api.delete(f"/clusters/{active.id}").status_code == 202


@pytest.mark.usefixtures("two")
def test_a_day_later_a_confirmed_request_counts_no_more(api: ApiClient, second: ApiClient, active: Cluster):
    request = asked(api, "cluster", active.id)
    decided(second, request)
    DeletionRequest.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert code(api.delete(f"/clusters/{active.id}")) == (409, "second_person_needed")
    assert api.get(f"/deletion-requests/{request['id']}").json()["state"] == "expired"
    assert asked(api, "cluster", active.id)["state"] == "pending"


@pytest.mark.usefixtures("two")
def test_a_request_about_one_cluster_deletes_no_other_thing(
    api: ApiClient, second: ApiClient, active: Cluster, backup: Backup
):
    decided(second, asked(api, "cluster", active.id))
    assert code(api.delete(f"/backups/{backup.id}")) == (409, "second_person_needed")


@pytest.mark.usefixtures("two")
def test_a_backup_takes_two_as_well(api: ApiClient, second: ApiClient, backup: Backup):
    assert code(api.delete(f"/backups/{backup.id}")) == (409, "second_person_needed")
    decided(second, asked(api, "backup", backup.id))
    assert api.delete(f"/backups/{backup.id}").status_code == 202
    assert AuditRecord.objects.get(action="backup.delete").after["confirmed_by"].startswith("second@acme.example")


@pytest.mark.usefixtures("two")
def test_a_backup_that_is_kept_no_longer_goes_by_itself_and_closes_its_request(api: ApiClient, backup: Backup):
    request = asked(api, "backup", backup.id)
    progress.expire([backup.id])
    assert Backup.objects.get().state == "deleting"
    assert api.get(f"/deletion-requests/{request['id']}").json()["state"] == "done"


def test_one_person_is_enough_where_nobody_turned_it_on(api: ApiClient, active: Cluster):
    assert api.delete(f"/clusters/{active.id}").status_code == 202
    assert AuditRecord.objects.get(action="cluster.delete").after is None


@pytest.mark.usefixtures("two")
def test_a_test_drive_ends_by_itself_and_closes_its_request(api: ApiClient, active: Cluster):
    Cluster.objects.filter(id=active.id).update(
        expires_at=timezone.now(), expiry_warning_at=timezone.now(), test_drive={}
    )
    request = asked(api, "cluster", active.id)
    assert code(api.delete(f"/clusters/{active.id}")) == (409, "second_person_needed")
    assert end_due() == 1
    assert Cluster.objects.get().state == "deleting"
    assert api.get(f"/deletion-requests/{request['id']}").json()["state"] == "done"


@pytest.mark.usefixtures("two")
def test_a_cluster_that_has_gone_closes_its_request(api: ApiClient, active: Cluster):
    request = asked(api, "cluster", active.id)
    lifecycle.cluster_deleted(active.id)
    assert api.get(f"/deletion-requests/{request['id']}").json()["state"] == "done"


@pytest.mark.usefixtures("two")
def test_what_somebody_confirmed_elsewhere_counts_there(tenant: Tenant, stranger: Tenant, active: Cluster):
    DeletionRequest.objects.create(
        organisation=stranger.organisation,
        target_type=DeletionTarget.CLUSTER,
        target_id=active.id,
        state="confirmed",
        requested_by_user_id="usr_1",
        confirmed_by_user_id="usr_2",
        expires_at=timezone.now() + timedelta(hours=1),
    )
    assert code(tenant.api().delete(f"/clusters/{active.id}")) == (409, "second_person_needed")
