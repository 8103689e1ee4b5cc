from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from backend.accounts.states import Role
from backend.alerts.tests.conftest import KnownAlertmanager
from backend.audit.models import AuditRecord
from backend.clusters.models import Cluster
from backend.conftest import ApiClient, Tenant


def firing(cluster: Cluster, rule: str, **status: Any) -> dict[str, Any]:
    return {
        "labels": {"rule": rule, "cluster": cluster.id, "organisation": cluster.organisation_id, "kind": "read"},
        "annotations": {"value": "0.02"},
        "startsAt": "2026-01-02T03:04:05.678Z",
        "fingerprint": rule,
        "status": {"state": "active", "silencedBy": [], "inhibitedBy": []} | status,
    }


def order(**more: Any) -> dict[str, Any]:
    return {"ends_at": (datetime.now(UTC) + timedelta(hours=2)).isoformat(), "comment": "works on the rack"} | more


def test_what_fires_is_told_in_words_the_worst_first(api: ApiClient, active: Cluster, known: KnownAlertmanager):
    known.alerts = [firing(active, "latency-mean", silencedBy=["s1"]), firing(active, "node-down")]
    answer = api.get(f"/clusters/{active.id}/alerts/firing").json()
    assert [(one["rule"], one["severity"]) for one in answer["items"]] == [
        ("node-down", "critical"),
        ("latency-mean", "warning"),
    ]
    assert answer["items"][1]["sentence"] == "Average latency: 20 ms (limit 10 ms): kind read"
    assert answer["items"][1]["silenced_by"] == ["s1"]
    assert api.get("/alerts/firing").json()["total"] == 2


def test_what_people_are_told_of_is_counted_by_cluster(
    api: ApiClient, active: Cluster, foreign: Cluster, known: KnownAlertmanager
):
    known.alerts = [
        firing(active, "node-down"),
        firing(active, "latency-mean"),
        firing(active, "latency-p95"),
        firing(active, "disk-90", silencedBy=["s1"]),
        firing(active, "disk-70", inhibitedBy=["x"]),
        firing(foreign, "node-down"),
    ]
    counts = [{"cluster_id": active.id, "critical": 1, "warning": 2, "info": 0}]
    assert api.get("/alerts/firing").json()["counts"] == counts
    known.alerts = known.alerts[3:]
    assert api.get("/alerts/firing").json()["counts"] == []


def test_alerts_of_others_are_not_shown_whatever_alertmanager_answers(
    api: ApiClient, active: Cluster, foreign: Cluster, known: KnownAlertmanager
):
    forged = firing(foreign, "node-down")
    forged["labels"]["organisation"] = active.organisation_id
    known.alerts = [firing(foreign, "node-down"), forged]
    assert api.get("/alerts/firing").json()["items"] == []


def test_a_silence_reaches_the_cluster_only_and_ends_when_told(
    api: ApiClient, active: Cluster, known: KnownAlertmanager
):
    made = api.post(f"/clusters/{active.id}/alert-silences", order(rule="node-down"))
    assert made.status_code == 201, made.content
    assert made.json()["matchers"] == {"rule": "node-down"}
    (sent,) = known.silences.values()
    assert {one["name"]: one["value"] for one in sent["matchers"]} == {
        "organisation": active.organisation_id,
        "cluster": active.id,
        "rule": "node-down",
    }
    assert not any(one["isRegex"] for one in sent["matchers"])
    path = f"/clusters/{active.id}/alert-silences/{made.json()['id']}"
    assert [one["comment"] for one in api.get(f"/clusters/{active.id}/alert-silences").json()["items"]] == [
        "works on the rack"
    ]
    assert api.delete(path).status_code == 204
    assert api.get(f"/clusters/{active.id}/alert-silences").json()["items"][0]["state"] == "expired"
    actions = list(AuditRecord.objects.order_by("id").values_list("action", flat=True))
    assert actions[-2:] == ["alerts.create_silence", "alerts.expire_silence"]


def test_a_dry_run_tells_alertmanager_nothing(api: ApiClient, active: Cluster, known: KnownAlertmanager):
    path = f"/clusters/{active.id}/alert-silences"
    assert api.post(f"{path}?dry_run=true", order()).status_code == 204
    assert known.silences == {}
    made = api.post(path, order()).json()["id"]
    assert api.delete(f"{path}/{made}?dry_run=true").status_code == 204
    assert known.silences[made]["status"]["state"] == "active"
    assert AuditRecord.objects.filter(action__startswith="alerts.").count() == 1
    assert api.delete(f"{path}/none?dry_run=true").status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (order(ends_at="2020-01-01T00:00:00Z"), 422),
        (order(ends_at="2099-01-01T00:00:00Z"), 422),
        (order(ends_at="tomorrow"), 422),
        (order(comment=""), 422),
        (order(table="people"), 422),
        (order(rule="no-such"), 422),
        (order(node_id="nod_00000000000000000000000000"), 404),
        (order(keyspace='a"} or up'), 422),
    ],
)
def test_bad_silences_are_refused(
    api: ApiClient, active: Cluster, known: KnownAlertmanager, body: dict[str, Any], status: int
):
    assert api.post(f"/clusters/{active.id}/alert-silences", body).status_code == status
    assert known.silences == {}


def test_nobody_ends_a_silence_of_others(
    tenant: Tenant, stranger: Tenant, active: Cluster, foreign: Cluster, known: KnownAlertmanager
):
    made = tenant.api().post(f"/clusters/{active.id}/alert-silences", order()).json()
    assert stranger.api().delete(f"/clusters/{active.id}/alert-silences/{made['id']}").status_code == 404
    assert stranger.api().post(f"/clusters/{active.id}/alert-silences", order()).status_code == 404
    viewer = tenant.api(tenant.member(Role.VIEWER))
    assert viewer.delete(f"/clusters/{active.id}/alert-silences/{made['id']}").status_code == 403
    assert known.silences[made["id"]]["status"]["state"] == "active"


def test_an_installation_without_alertmanager_says_so(api: ApiClient, active: Cluster):
    answer = api.get(f"/clusters/{active.id}/alerts/firing")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "alerts_not_configured")
    assert api.post(f"/clusters/{active.id}/alert-silences?dry_run=true", order()).status_code == 503
    assert api.get(f"/clusters/{active.id}/alert-rules").status_code == 200
