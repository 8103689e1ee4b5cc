from typing import Any

import pytest

from backend.accounts.states import Role
from backend.audit.models import AuditRecord
from backend.clusters import queries
from backend.clusters.models import Cluster, MaintenanceWindow
from backend.clusters.windows import Window
from backend.conftest import ApiClient, Tenant

NIGHTLY: dict[str, Any] = {
    "weekdays": ["monday", "tuesday"],
    "starts_at": "02:30",
    "minutes": 60,
    "time_zone": "Europe/Vienna",
    "excluded_dates": ["2026-12-24"],
}
EVERY_DAY = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
ALWAYS = NIGHTLY | {"weekdays": EVERY_DAY, "minutes": 1440, "excluded_dates": []}


WITHOUT = {"open_now": True, "next_opening": None, "windows": [], "openings": []}


def put(api: ApiClient, cluster: Cluster, *windows: dict[str, Any]) -> Any:
    return api.put(f"/clusters/{cluster.id}/maintenance-windows", {"windows": list(windows)})


def test_a_cluster_without_windows_is_always_open(api: ApiClient, active: Cluster):
    answer = api.get(f"/clusters/{active.id}/maintenance-windows")
    assert answer.json() == WITHOUT
    assert api.get(f"/clusters/{active.id}").json()["maintenance"] == {"open_now": True, "next_opening": None}


def test_windows_are_put_in_the_place_of_those_before(api: ApiClient, active: Cluster):
    assert put(api, active, NIGHTLY, ALWAYS).json()["windows"] == [NIGHTLY, ALWAYS]
    answer = put(api, active, NIGHTLY)
    assert answer.status_code == 200
    assert answer.json()["windows"] == [NIGHTLY]
    assert MaintenanceWindow.objects.count() == 1
    assert answer.json()["next_opening"] is not None
    (opening, *_) = answer.json()["openings"]
    assert opening["starts_at"] < opening["ends_at"]
    assert put(api, active).json() == WITHOUT


def test_the_cluster_shows_whether_one_is_open(api: ApiClient, active: Cluster):
    put(api, active, ALWAYS)
    shown = api.get(f"/clusters/{active.id}").json()["maintenance"]
    assert shown["open_now"] is True
    assert shown["next_opening"] is not None
    assert api.get("/clusters").json()["items"][0]["maintenance"] == shown


def test_the_provisioner_reads_the_same(api: ApiClient, active: Cluster):
    put(api, active, NIGHTLY)
    (window,) = queries.maintenance_windows(active.id)
    assert isinstance(window, Window)
    assert (sorted(window.weekdays), window.minutes) == ([0, 1], 60)


def test_who_changed_them_is_in_the_audit_log(api: ApiClient, active: Cluster):
    put(api, active, NIGHTLY)
    put(api, active, NIGHTLY)
    record = AuditRecord.objects.get(action="cluster.set_maintenance_windows")
    assert record.before == {"windows": []}
    assert record.after == {"windows": [NIGHTLY]}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"weekdays": []}, "weekdays"),
        ({"weekdays": ["caturday"]}, "weekdays.0"),
        ({"starts_at": "24:00"}, "starts_at"),
        ({"starts_at": "2:30"}, "starts_at"),
        ({"minutes": 14}, "minutes"),
        ({"minutes": 10_081}, "minutes"),
        ({"time_zone": "Mars/Olympus"}, "time_zone"),
        ({"time_zone": "../../etc/passwd"}, "time_zone"),
        ({"time_zone": "Europe"}, "time_zone"),
        ({"excluded_dates": ["2026-02-30"]}, "excluded_dates.0"),
        ({"excluded_dates": ["tomorrow"]}, "excluded_dates.0"),
    ],
)
def test_wrong_fields_are_named(api: ApiClient, active: Cluster, change: dict[str, Any], field: str):
    answer = put(api, active, NIGHTLY | change)
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == f"windows.0.{field}"


def test_a_deleted_cluster_has_no_maintenance(api: ApiClient, deleted: Cluster):
    assert put(api, deleted, NIGHTLY).status_code == 409


def test_a_viewer_sees_and_does_not_set(tenant: Tenant, active: Cluster):
    viewer = tenant.api(tenant.member(Role.VIEWER))
    assert viewer.get(f"/clusters/{active.id}/maintenance-windows").status_code == 200
    assert put(viewer, active, NIGHTLY).status_code == 403


def test_others_do_not_find_it(foreign: ApiClient, active: Cluster):
    assert foreign.get(f"/clusters/{active.id}/maintenance-windows").status_code == 404
    assert put(foreign, active, NIGHTLY).status_code == 404
