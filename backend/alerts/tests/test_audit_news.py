"""Webhooks that want the audit log get each record once it is in the chain; nobody else sees it."""

import pytest

from backend.accounts.queries import Identity
from backend.accounts.states import Role
from backend.alerts import audit_news
from backend.alerts.models import AlertDelivery, AlertReceiver
from backend.alerts.tests.test_operation_news import receiver
from backend.audit.actions import record
from backend.audit.models import AuditRecord
from backend.conftest import Tenant

WEBHOOK = {"name": "siem", "kind": "webhook", "url": "https://siem.example/in", "topics": ["audit"]}


def note(tenant: Tenant, target_type: str = "cluster", target_id: str = "clu_1") -> None:
    who = Identity(
        organisation_id=tenant.organisation.id,
        user_id=tenant.owner.id,
        user_email=tenant.owner.email,
        role=Role.OWNER,
        permissions=frozenset(),
    )
    record(who, action=f"{target_type}.create", target_type=target_type, target_id=target_id, target_name="orders")


def test_a_record_is_told_once_with_its_hash(tenant: Tenant, stranger: Tenant):
    receiver(tenant, topics=["audit"])
    receiver(tenant, "of others", topics=["alerts", "operations"])
    note(tenant)
    note(stranger)
    assert audit_news.link_and_tell() == 2
    assert audit_news.link_and_tell() == 0
    content = AlertDelivery.objects.get().content
    row = AuditRecord.objects.get(organisation=tenant.organisation)
    assert (content["topic"], content["status"], content["severity"]) == ("audit", "recorded", "info")
    assert content["summary"] == "owner@acme.example: cluster.create orders"
    assert content["cluster"] == {"id": "clu_1", "name": "orders"}
    assert (content["record"]["id"], content["record"]["sequence"], content["record"]["hash"]) == (row.id, 1, row.hash)


def test_a_receiver_of_some_clusters_gets_the_records_of_those(tenant: Tenant):
    receiver(tenant, topics=["audit"], cluster_ids=["clu_2"])
    for target in (("cluster", "clu_1"), ("cluster", "clu_2"), ("token", "tok_1")):
        note(tenant, *target)
    audit_news.link_and_tell()
    assert [row.content["record"]["target_id"] for row in AlertDelivery.objects.all()] == ["clu_2"]


def test_who_may_not_read_the_audit_log_gets_nothing_of_it_by_a_receiver(tenant: Tenant):
    owner, operator = tenant.api(), tenant.api(tenant.member(Role.OPERATOR))
    refused = operator.post("/alert-receivers", WEBHOOK)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "audit_not_yours")
    made = owner.post("/alert-receivers", WEBHOOK)
    assert made.status_code == 201, made.content
    path = f"/alert-receivers/{made.json()['id']}"
    other = operator.post("/alert-receivers", WEBHOOK | {"name": "other", "topics": ["alerts"]}).json()
    for answer in (
        operator.patch(path, {"enabled": False}),
        operator.patch(path, {"topics": ["alerts"]}),
        operator.patch(f"/alert-receivers/{other['id']}", {"topics": ["audit"]}),
        operator.post(f"{path}/secret"),
        operator.post(f"{path}/test"),
        operator.delete(path),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "audit_not_yours"), answer.content
    assert AlertReceiver.objects.get(id=made.json()["id"]).topics == ["audit"]
    audit_news.link_and_tell()
    delivery = AlertDelivery.objects.first()
    assert delivery is not None
    assert operator.get(f"{path}/deliveries").json()["items"] == []
    assert operator.get(path).json()["last_delivery"] is None
    assert operator.get(f"{path}/deliveries/{delivery.id}").status_code == 404
    assert operator.post(f"{path}/deliveries/{delivery.id}/replay").status_code == 404
    assert operator.get("/alert-receivers").json()["items"][1]["allowed_actions"][0]["allowed"] is False
    assert owner.get(f"{path}/deliveries/{delivery.id}").json()["content"]["record"]["id"]


@pytest.mark.parametrize("other", [{"kind": "slack"}, {"kind": "email", "url": None, "addresses": ["me@acme.example"]}])
def test_only_programs_are_told(tenant: Tenant, settings, other: dict[str, object]):
    settings.ENV = settings.ENV.model_copy(update={"ringmaster_smtp_url": "smtp://localhost"})
    error = tenant.api().post("/alert-receivers", WEBHOOK | other).json()["error"]
    assert (error["code"], error["field"]) == ("topic_not_taken", "topics")
