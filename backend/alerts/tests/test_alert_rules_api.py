from typing import Any

import pytest

from backend.accounts.states import Role
from backend.alerts.catalogue import RULES
from backend.alerts.models import AlertOverride
from backend.audit.models import AuditRecord
from backend.clusters.models import Cluster
from backend.conftest import ApiClient, Tenant


def rules(api: ApiClient, cluster: Cluster) -> dict[str, dict[str, Any]]:
    answer = api.get(f"/clusters/{cluster.id}/alert-rules")
    assert answer.status_code == 200, answer.content
    return {each["rule"]: each for each in answer.json()["items"]}


def change(api: ApiClient, cluster: Cluster, rule: str, body: dict[str, Any]) -> Any:
    return api.patch(f"/clusters/{cluster.id}/alert-rules/{rule}", body)


def test_a_cluster_has_all_rules_as_usual(api: ApiClient, active: Cluster):
    found = rules(api, active)
    assert len(found) == len(RULES)
    assert (found["latency-mean"]["threshold"], found["latency-p95"]["threshold"]) == (0.010, 0.100)
    assert found["node-down"]["threshold"] is None
    assert all(each["enabled"] and not each["changed"] for each in found.values())


def test_a_change_counts_for_this_cluster_is_audited_and_null_takes_it_back(
    api: ApiClient, active: Cluster, another: Cluster
):
    answer = change(api, active, "disk-70", {"threshold": 0.5, "for_seconds": 60})
    assert (answer.status_code, answer.json()["threshold"], answer.json()["changed"]) == (200, 0.5, True)
    assert rules(api, active)["disk-70"]["for_seconds"] == 60
    assert rules(api, another)["disk-70"]["threshold"] == 0.7
    record = AuditRecord.objects.get(action="alerts.update_rule")
    assert (record.before["threshold"], record.after["threshold"]) == (0.7, 0.5)  # type: ignore[index]
    assert change(api, active, "disk-70", {"threshold": None}).json()["for_seconds"] == 60
    assert change(api, active, "disk-70", {"for_seconds": None}).json()["changed"] is False
    assert not AlertOverride.objects.exists()


@pytest.mark.parametrize(
    ("rule", "body", "status", "code"),
    [
        ("disk-70", {"threshold": 1.5}, 422, "threshold_out_of_range"),
        ("disk-70", {"threshold": "0.5"}, 422, "invalid_field"),
        ("disk-70", {"for_seconds": -1}, 422, "invalid_field"),
        ("disk-70", {"for_seconds": 10**9}, 422, "invalid_field"),
        ("disk-70", {"severity": "info"}, 422, "invalid_field"),
        ("node-down", {"threshold": 1}, 422, "threshold_not_taken"),
        ("no-such", {"enabled": False}, 404, "alert_rule_not_found"),
    ],
)
def test_bad_changes_change_nothing(
    api: ApiClient, active: Cluster, rule: str, body: dict[str, Any], status: int, code: str
):
    answer = change(api, active, rule, body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert not AlertOverride.objects.exists()


def test_others_neither_see_nor_change_them(tenant: Tenant, stranger: Tenant, active: Cluster):
    assert stranger.api().get(f"/clusters/{active.id}/alert-rules").status_code == 404
    assert change(stranger.api(), active, "disk-70", {"enabled": False}).status_code == 404
    viewer = tenant.api(tenant.member(Role.VIEWER))
    assert rules(viewer, active)
    assert change(viewer, active, "disk-70", {"enabled": False}).status_code == 403
    assert not AlertOverride.objects.exists()
