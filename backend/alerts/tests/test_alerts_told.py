"""What Alertmanager tells becomes history, and messages for receivers of that organisation only."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from backend.alerts import history
from backend.alerts.models import AlertDelivery, AlertEvent, AlertReceiver
from backend.alerts.states import AlertState
from backend.clusters.models import Cluster
from backend.conftest import ApiClient, Tenant

PATH = "/metrics/alerts"


@pytest.fixture
def token(tmp_path: Path, settings: Any) -> str:
    file = tmp_path / "alerts.token"
    file.write_text("let-me-in\n")
    settings.ENV = settings.ENV.model_copy(update={"ringmaster_alerts_token_file": file})
    return "let-me-in"


def alert(
    cluster: Cluster, *, rule: str = "disk-80", status: str = "firing", node: str = "", **more: Any
) -> dict[str, Any]:
    labels = {"alertname": rule, "rule": rule, "cluster": cluster.id, "organisation": cluster.organisation_id}
    if node:
        labels["node"] = node
    return {
        "status": status,
        "labels": labels | more.pop("labels", {}),
        "annotations": {"value": "0.83"},
        "startsAt": "2026-01-02T03:04:05.678Z",
        "endsAt": "2026-01-02T04:04:05Z" if status == "resolved" else "0001-01-01T00:00:00Z",
        "fingerprint": f"{abs(hash((rule, node))):016x}"[:16],
    } | more


def tell(*alerts: dict[str, Any], authorization: str = "Bearer let-me-in", **more: Any) -> Any:
    body = json.dumps({"version": "4", "alerts": alerts})
    return Client().post(PATH, body, content_type="application/json", headers={"Authorization": authorization}, **more)


def receiver(organisation_id: str, name: str = "chat", **columns: Any) -> AlertReceiver:
    return AlertReceiver.objects.create(
        organisation_id=organisation_id, name=name, kind="slack", target="x", created_by="x", **columns
    )


def test_an_alert_is_kept_from_its_beginning_to_its_end(api: ApiClient, active: Cluster, token: str):
    node = active.nodes.first()
    assert node is not None
    assert tell(alert(active, node=node.id)).status_code == 204
    assert tell(alert(active, node=node.id)).status_code == 204
    listed = api.get(f"/clusters/{active.id}/alerts").json()["items"]
    assert [(one["state"], one["sentence"]) for one in listed] == [
        ("firing", f"Disk 80 % full: 83.0 % (limit 80.0 %): {node.name}")
    ]
    tell(alert(active, node=node.id, status="resolved"))
    row = AlertEvent.objects.get()
    assert (row.state, row.ends_at) == ("resolved", datetime(2026, 1, 2, 4, 4, 5, tzinfo=UTC))
    tell(alert(active, node=node.id))
    assert [one["state"] for one in api.get("/alerts").json()["items"]] == ["firing", "resolved"]
    assert [one["state"] for one in api.get("/alerts?state=firing").json()["items"]] == ["firing"]


@pytest.mark.parametrize(
    ("query", "rules"),
    [
        ("from=2026-01-02T04:04:05Z", ["disk-80", "hints"]),
        ("from=2026-01-02T04:04:06Z", ["hints"]),
        ("to=2026-01-02T03:04:05Z", []),
        ("from=2026-01-01T00:00:00Z&to=2026-01-02T03:04:06Z", ["disk-80", "hints"]),
    ],
)
def test_history_is_asked_for_by_when_it_fired(
    api: ApiClient, active: Cluster, token: str, query: str, rules: list[str]
):
    tell(alert(active), alert(active, rule="hints"))
    tell(alert(active, status="resolved"))
    listed = api.get(f"/clusters/{active.id}/alerts?{query}").json()["items"]
    assert sorted(one["rule"] for one in listed) == rules


def test_a_range_without_a_time_zone_or_that_ends_before_it_begins_is_refused(api: ApiClient, active: Cluster):
    assert api.get("/alerts?from=2026-01-02T00:00:00").status_code == 422
    # A zone that Postgres would refuse, and a moment that is none in UTC.
    assert api.get("/alerts?from=0028-10-16T14:50:13%2B19:52").status_code == 200
    assert api.get("/alerts?from=0001-01-01T00:00:00%2B01:00").status_code == 422
    assert api.get("/alerts?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z").status_code == 422


def test_each_receiver_that_wants_it_gets_one_message_of_a_group(
    active: Cluster, foreign: Cluster, token: str, settings: Any
):
    mine = active.organisation_id
    wants = receiver(mine, severity="warning", cluster_ids=[active.id])
    receiver(mine, "only critical", severity="critical")
    receiver(mine, "off", enabled=False)
    receiver(mine, "of others", cluster_ids=["clu_0"])
    receiver(foreign.organisation_id, "of a stranger")
    one, two, _ = active.nodes.all()
    tell(alert(active, node=one.id), alert(active, node=two.id, status="resolved"))
    row = AlertDelivery.objects.get()
    assert (row.receiver_id, row.state, row.content["status"]) == (wants.id, "pending", "firing")
    assert [each["status"] for each in row.content["alerts"]] == ["firing", "resolved"]
    assert row.content["summary"] == f"{active.name}: Disk 80 % full: 83.0 % (limit 80.0 %): {one.name}"
    assert row.content["cluster"] == {"id": active.id, "name": active.name}
    assert row.content["url"] == f"{settings.ENV.ringmaster_public_url}/clusters/{active.id}?tab=alerts"


def test_labels_that_name_a_cluster_of_others_or_none_are_dropped(active: Cluster, foreign: Cluster, token: str):
    receiver(active.organisation_id)
    receiver(foreign.organisation_id)
    forged = alert(foreign, labels={"organisation": active.organisation_id})
    assert tell(forged, alert(active, labels={"cluster": "clu_none"})).status_code == 204
    assert not AlertEvent.objects.exists()
    assert not AlertDelivery.objects.exists()


@pytest.mark.parametrize("authorization", ["", "Bearer ", "Bearer wrong"])
def test_nobody_else_raises_alerts_not_even_on_this_machine(active: Cluster, token: str, authorization: str):
    answer = tell(alert(active), authorization=authorization)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "alerts_not_public")
    assert not AlertEvent.objects.exists()


def test_without_a_token_the_door_is_shut(active: Cluster):
    assert tell(alert(active), authorization="Bearer ").status_code == 403


def test_what_is_not_alertmanagers_is_refused(token: str, db: None):
    for body in (b"{", b"[]", b'{"alerts": [{"status": "odd"}]}'):
        answer = Client().post(
            PATH, body, content_type="application/json", headers={"Authorization": "Bearer let-me-in"}
        )
        assert answer.status_code == 422


def test_an_alert_whose_end_nobody_told_is_closed_when_alertmanager_does_not_have_it(active: Cluster, token: str):
    tell(alert(active, rule="hints"), alert(active))
    AlertEvent.objects.update(told_at=datetime(2026, 1, 1, tzinfo=UTC))
    kept = AlertEvent.objects.get(rule="hints")
    assert history.close_all_but({kept.fingerprint}) == 1
    assert AlertEvent.objects.get(rule="disk-80").state == AlertState.RESOLVED
    assert AlertEvent.objects.get(rule="hints").state == AlertState.FIRING


def test_others_do_not_see_history(stranger: Tenant, active: Cluster, token: str):
    tell(alert(active))
    assert stranger.api().get(f"/clusters/{active.id}/alerts").status_code == 404
    assert stranger.api().get("/alerts").json()["items"] == []
