"""A test drive ends by itself: people hear of it once, before, and it is deleted as they would delete it."""

from datetime import timedelta

from backend.alerts.models import AlertReceiver
from backend.audit.models import AuditRecord
from backend.clusters import lifecycle
from backend.clusters.models import Cluster
from backend.clusters.tests.conftest import active, creating, finish_operations
from backend.conftest import ApiClient, Tenant
from backend.operations.models import Operation
from backend.test_drives.ending import end_due, tell_due, workload_ended, workloads
from backend.test_drives.tests.conftest import ORDER, ends_in, told

__all__ = ["active", "creating"]

SOON, OVER = timedelta(minutes=40), -timedelta(seconds=1)


def test_it_is_deleted_when_its_time_is_over_and_no_moment_before(drive: Cluster):
    ends_in(drive, timedelta(seconds=30))
    assert end_due() == 0
    ends_in(drive, OVER)
    assert [end_due() for _ in range(2)] == [1, 0]
    operation = Operation.objects.get(kind="delete_cluster")
    assert (operation.cluster_id, operation.actor) == (drive.id, "ringmaster")
    assert AuditRecord.objects.get(action="cluster.delete").actor == "ringmaster"


def test_an_ordinary_cluster_stays(active: Cluster):
    assert (end_due(), tell_due()) == (0, 0)


def test_what_is_kept_stays(api: ApiClient, drive: Cluster):
    ends_in(drive, OVER)
    api.post(f"/clusters/{drive.id}/test-drive/keep")
    assert end_due() == 0


def test_what_is_under_way_has_its_turn(drive: Cluster):
    ends_in(drive, OVER)
    change = Operation.objects.create(
        organisation=drive.organisation,
        kind="rolling_restart",
        cluster_id=drive.id,
        state="running",
        expected_seconds=1,
    )
    assert end_due() == 0
    change.refresh_from_db()
    assert change.cancel_requested_at is None
    finish_operations()
    assert end_due() == 1


def test_what_waits_for_a_person_is_cancelled_first(drive: Cluster):
    ends_in(drive, OVER)
    change = Operation.objects.create(
        organisation=drive.organisation, kind="scale_cluster", cluster_id=drive.id, state="blocked", expected_seconds=1
    )
    assert [end_due() for _ in range(2)] == [1, 0]
    change.refresh_from_db()
    assert change.cancel_requested_at is not None
    assert not Operation.objects.filter(kind="delete_cluster").exists()


def test_nor_is_a_change_of_access_waited_for_that_nobody_lets_go_on(drive: Cluster):
    ends_in(drive, OVER)
    Operation.objects.create(
        organisation=drive.organisation,
        kind="change_access",
        cluster_id=drive.id,
        state="blocked",
        expected_seconds=1,
        exclusive=False,
    )
    assert end_due() == 1
    assert Operation.objects.get(kind="change_access").cancel_requested_at is not None
    finish_operations()
    assert end_due() == 1
    assert Operation.objects.filter(kind="delete_cluster").exists()


def test_an_order_that_is_not_done_by_then_is_cancelled(api: ApiClient):
    api.post("/clusters", ORDER | {"test_drive": {"hours": 1}})
    drive = Cluster.objects.get()
    ends_in(drive, OVER)
    assert [end_due() for _ in range(2)] == [1, 0]
    assert Operation.objects.get().cancel_requested_at is not None


def test_receivers_are_told_once_an_hour_before(drive: Cluster, receiver: AlertReceiver):
    ends_in(drive, timedelta(minutes=61))
    assert tell_due() == 0
    ends_in(drive, SOON)
    assert [tell_due() for _ in range(3)] == [1, 0, 0]
    ((state, summary),) = told()
    assert state == "firing"
    assert summary.startswith("The test drive orders is deleted with all its data at ")


def test_a_short_one_is_told_of_in_its_last_quarter(api: ApiClient, receiver: AlertReceiver):
    api.post("/clusters", ORDER | {"test_drive": {"hours": 1}})
    drive = Cluster.objects.get()
    ends_in(drive, timedelta(minutes=16))
    assert tell_due() == 0
    ends_in(drive, timedelta(minutes=14))
    assert tell_due() == 1


def test_it_is_over_when_it_is_extended_and_then_told_anew(api: ApiClient, drive: Cluster, receiver: AlertReceiver):
    ends_in(drive, SOON)
    tell_due()
    api.post(f"/clusters/{drive.id}/test-drive/extend", {"hours": 30})
    assert [tell_due() for _ in range(2)] == [1, 0]
    assert told()[1][0] == "resolved"
    assert "goes on until" in told()[1][1]
    drive.refresh_from_db()
    ends_in(drive, SOON)
    assert tell_due() == 1
    assert [state for state, _ in told()] == ["firing", "resolved", "firing"]


def test_it_is_over_when_it_is_kept_or_deleted(api: ApiClient, drive: Cluster, receiver: AlertReceiver):
    ends_in(drive, SOON)
    tell_due()
    lifecycle.cluster_deleted(drive.id)
    assert tell_due() == 1
    assert told()[1] == ("resolved", "Over: The test drive orders is deleted.")
    api.post("/clusters", ORDER | {"test_drive": {"hours": 8}})
    kept = Cluster.objects.get(state="creating")
    ends_in(kept, SOON)
    tell_due()
    api.post(f"/clusters/{kept.id}/test-drive/keep")
    assert [tell_due() for _ in range(2)] == [1, 0]
    assert told()[3] == ("resolved", "Over: orders is kept and is no test drive any more.")


def test_nobody_else_hears_of_it(drive: Cluster, receiver: AlertReceiver, stranger: Tenant):
    AlertReceiver.objects.create(
        organisation=stranger.organisation, name="chat", kind="slack", target="x", created_by="x"
    )
    ends_in(drive, SOON)
    tell_due()
    assert len(told()) == 1


def test_a_workload_is_seen_to_until_it_is_ended(api: ApiClient, drive: Cluster):
    assert [cluster.id for cluster in workloads()] == [drive.id]
    workload_ended(drive.id)
    assert len(workloads()) == 1
    api.post(f"/clusters/{drive.id}/test-drive/keep")
    assert len(workloads()) == 1
    workload_ended(drive.id)
    assert workloads() == []
