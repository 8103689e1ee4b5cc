from typing import Any

import pytest

from backend.accounts.states import Role
from backend.alerts import deliveries
from backend.alerts.models import AlertDelivery, AlertReceiver
from backend.alerts.receiver_actions import secrets_of
from backend.alerts.states import RETRY_SECONDS, DeliveryKind
from backend.audit.models import AuditRecord
from backend.clusters.models import Cluster, Secret
from backend.conftest import ApiClient, Tenant

WEBHOOK = {"name": "ops", "kind": "webhook", "url": "https://hooks.example.com/secret-path?key=hush"}


def make(api: ApiClient, **more: Any) -> dict[str, Any]:
    answer = api.post("/alert-receivers", WEBHOOK | more)
    assert answer.status_code == 201, answer.content
    body: dict[str, Any] = answer.json()
    return body


def test_what_is_secret_is_shown_once_or_never(api: ApiClient, tenant: Tenant):
    made = make(api)
    assert made["signing_secret"].startswith("rmw_")
    assert made["target"] == "https://hooks.example.com/…"
    assert secrets_of(made["id"]) == {"url": WEBHOOK["url"], "signing_secret": made["signing_secret"]}
    make(api, name="duty", kind="pagerduty", url=None, routing_key="R0123456789abcdef")
    said = api.get("/alert-receivers").content.decode() + str(list(AuditRecord.objects.values()))
    for secret in (made["signing_secret"], "hush", "secret-path", "R0123456789abcdef"):
        assert secret not in said
    assert [one["target"] for one in api.get("/alert-receivers").json()["items"]] == [
        "events.pagerduty.com, key …cdef",
        "https://hooks.example.com/…",
    ]


def test_a_new_secret_takes_the_place_of_the_old_one(api: ApiClient, tenant: Tenant):
    made = make(api)
    fresh = api.post(f"/alert-receivers/{made['id']}/secret").json()["signing_secret"]
    assert fresh != made["signing_secret"]
    assert secrets_of(made["id"]) == {"url": WEBHOOK["url"], "signing_secret": fresh}


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"url": None}, 422, "field_missing"),
        ({"routing_key": "R0123456789"}, 422, "field_not_taken"),
        ({"url": "ftp://example.com"}, 422, "invalid_field"),
        ({"url": "https://me:pw@example.com/"}, 422, "invalid_field"),
        ({"url": "http://127.0.0.1:8080/"}, 422, "invalid_field"),
        ({"url": "http://[::ffff:169.254.169.254]/latest"}, 422, "invalid_field"),
        ({"url": "http://10.0.0.7/"}, 422, "invalid_field"),
        ({"url": "http://example.com:99999/"}, 422, "invalid_field"),
        ({"url": "http://example.com/\r\nX: y"}, 422, "invalid_field"),
        ({"kind": "email", "url": None, "addresses": ["me@example.com"]}, 409, "mail_not_configured"),
        ({"kind": "email", "url": None, "addresses": ["me@example.com\r\nBcc: x@y"]}, 422, "invalid_field"),
        ({"cluster_ids": ["clu_00000000000000000000000000"]}, 404, "cluster_not_found"),
        ({"name": ""}, 422, "invalid_field"),
    ],
)
def test_bad_receivers_are_refused(api: ApiClient, tenant: Tenant, body: dict[str, Any], status: int, code: str):
    answer = api.post("/alert-receivers", WEBHOOK | body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert not AlertReceiver.objects.exists()
    assert not Secret.objects.filter(purpose="alert-receiver").exists()


def test_networks_that_the_operator_named_may_be_sent_to(api: ApiClient, tenant: Tenant, settings: Any):
    settings.ENV = settings.ENV.model_copy(update={"ringmaster_alert_networks": ["127.0.0.0/8"]})
    make(api, url="http://127.0.0.1:8080/")
    assert api.post("/alert-receivers", WEBHOOK | {"name": "b", "url": "http://10.0.0.7/"}).status_code == 422


def test_two_of_a_name_are_one_too_many_and_a_deleted_one_takes_its_secret_along(api: ApiClient, tenant: Tenant):
    made = make(api)
    assert api.post("/alert-receivers", WEBHOOK | {"name": "OPS"}).status_code == 409
    api.post(f"/alert-receivers/{made['id']}/test")
    assert api.delete(f"/alert-receivers/{made['id']}").status_code == 204
    assert api.get(f"/alert-receivers/{made['id']}").status_code == 404
    assert not Secret.objects.filter(owner=made["id"]).exists()
    assert AlertDelivery.objects.get().state == "failed"
    make(api)


def test_it_can_be_changed_and_switched_off(api: ApiClient, tenant: Tenant, active: Cluster):
    made = make(api)
    answer = api.patch(
        f"/alert-receivers/{made['id']}", {"enabled": False, "severity": "critical", "cluster_ids": [active.id]}
    )
    assert (answer.json()["enabled"], answer.json()["severity"], answer.json()["cluster_ids"]) == (
        False,
        "critical",
        [active.id],
    )
    assert AuditRecord.objects.filter(action="alert_receiver.update").count() == 1


def test_a_test_is_a_message_like_others_ten_a_minute(api: ApiClient, tenant: Tenant, settings: Any):
    made = make(api)
    answer = api.post(f"/alert-receivers/{made['id']}/test")
    assert (answer.status_code, answer.json()["kind"], answer.json()["state"]) == (202, "test", "pending")
    listed = api.get(f"/alert-receivers/{made['id']}/deliveries").json()["items"]
    assert [one["id"] for one in listed] == [answer.json()["id"]]
    page = f"{settings.ENV.ringmaster_public_url}/alerts?receiver={made['id']}"
    assert AlertDelivery.objects.get().content["url"] == page
    for _ in range(9):
        assert api.post(f"/alert-receivers/{made['id']}/test").status_code == 202
    assert api.post(f"/alert-receivers/{made['id']}/test").status_code == 429


def test_a_message_is_taken_by_one_and_tried_again_until_it_is_given_up(api: ApiClient, tenant: Tenant):
    made = make(api)
    deliveries.add(made["id"], DeliveryKind.ALERTS, {"summary": "x"})
    for _ in RETRY_SECONDS:
        row = deliveries.take_next()
        assert row is not None
        assert deliveries.take_next() is None
        deliveries.not_sent(row, "away", final=False)
        row.refresh_from_db()
        assert (row.state, row.result) == ("pending", "away")
        AlertDelivery.objects.update(due_at="2026-01-01T00:00:00Z")
    last = deliveries.take_next()
    assert last is not None
    deliveries.not_sent(last, "away", final=False)
    last.refresh_from_db()
    assert (last.state, last.due_at, last.attempts) == ("failed", None, len(RETRY_SECONDS) + 1)


def test_others_neither_see_nor_use_it(tenant: Tenant, stranger: Tenant):
    made = make(tenant.api())
    other = stranger.api()
    path = f"/alert-receivers/{made['id']}"
    assert other.get("/alert-receivers").json()["items"] == []
    answers = [other.get(path), other.patch(path, {"enabled": False}), other.delete(path), other.post(f"{path}/test")]
    answers += [other.get(f"{path}/deliveries"), other.post(f"{path}/secret")]
    assert {answer.status_code for answer in answers} == {404}
    viewer = tenant.api(tenant.member(Role.VIEWER))
    assert viewer.get("/alert-receivers").status_code == 200
    refused = [
        viewer.post("/alert-receivers", WEBHOOK | {"name": "z"}),
        viewer.post(f"{path}/test"),
        viewer.delete(path),
    ]
    assert {answer.status_code for answer in refused} == {403}


def test_receivers_are_told_of_their_topics(api: ApiClient, tenant: Tenant, active: Cluster):
    usual = make(api)
    assert usual["topics"] == ["alerts", "budgets"]
    other = make(api, name="programs", topics=["operations", "budgets", "operations"])
    assert other["topics"] == ["budgets", "operations"]
    message = deliveries.test_content(AlertReceiver.objects.get(id=usual["id"]), "me") | {"severity": "critical"}
    told = {
        topic: deliveries.tell(tenant.organisation.id, active.id, message | {"topic": topic})
        for topic in ("alerts", "budgets", "operations")
    }
    assert told == {"alerts": 1, "budgets": 2, "operations": 1}
    changed = api.patch(f"/alert-receivers/{other['id']}", {"topics": ["alerts"]}).json()
    assert changed["topics"] == ["alerts"]
    assert AuditRecord.objects.get(action="alert_receiver.update").after["topics"] == ["alerts"]
    assert api.patch(f"/alert-receivers/{other['id']}", {"topics": []}).status_code == 422
    assert api.patch(f"/alert-receivers/{other['id']}", {"topics": ["weather"]}).status_code == 422


def test_what_was_sent_is_shown_and_sent_again(api: ApiClient, tenant: Tenant):
    made = make(api)
    first = api.post(f"/alert-receivers/{made['id']}/test").json()
    at = f"/alert-receivers/{made['id']}/deliveries/{first['id']}"
    shown = api.get(at).json()
    assert (shown["content"]["status"], shown["content"]["topic"], shown["replay_of"]) == ("test", None, None)
    refused = api.post(f"{at}/replay")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "still_on_its_way")
    AlertDelivery.objects.update(state="failed", due_at=None)
    again = api.post(f"{at}/replay")
    assert again.status_code == 202
    assert (again.json()["replay_of"], again.json()["state"]) == (first["id"], "pending")
    AlertDelivery.objects.update(state="sent", due_at=None)
    # A replay of a replay names the first.
    third = api.post(f"/alert-receivers/{made['id']}/deliveries/{again.json()['id']}/replay").json()
    assert third["replay_of"] == first["id"]
    assert AlertDelivery.objects.get(id=third["id"]).content == shown["content"]
    assert AuditRecord.objects.filter(action="alert_receiver.replay").count() == 2


def test_nobody_replays_without_end(api: ApiClient, tenant: Tenant):
    made = make(api)
    first = api.post(f"/alert-receivers/{made['id']}/test").json()
    AlertDelivery.objects.update(state="sent", due_at=None)
    AlertDelivery.objects.bulk_create(
        AlertDelivery(receiver_id=made["id"], content={}, state="sent", replay_of=first["id"]) for _ in range(60)
    )
    answer = api.post(f"/alert-receivers/{made['id']}/deliveries/{first['id']}/replay")
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "too_many_replays")


def test_a_delivery_is_below_its_own_receiver_only(api: ApiClient, tenant: Tenant):
    made, second = make(api), make(api, name="second")
    first = api.post(f"/alert-receivers/{made['id']}/test").json()
    # Not below another receiver of one's own either.
    for path in (f"{made['id']}/deliveries/{'dlv_' + '0' * 26}", f"{second['id']}/deliveries/{first['id']}"):
        assert api.get(f"/alert-receivers/{path}").json()["error"]["code"] == "alert_delivery_not_found"
