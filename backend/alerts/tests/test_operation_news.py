"""Receivers that want operations are told of each state once, whoever wrote it."""

import pytest
from django.db import connection, transaction

from backend.alerts import operation_news
from backend.alerts.models import AlertDelivery, AlertReceiver, OperationNews
from backend.clusters.models import Cluster
from backend.conftest import Tenant
from backend.operations.models import Operation
from backend.operations.states import OperationState


def receiver(tenant: Tenant, name: str = "programs", **more: object) -> AlertReceiver:
    return AlertReceiver.objects.create(
        organisation=tenant.organisation, name=name, kind="webhook", target="x", **{"topics": ["operations"]} | more
    )


def operation(tenant: Tenant, cluster: Cluster | None = None) -> Operation:
    return Operation.objects.create(
        organisation=tenant.organisation,
        kind="scale_cluster",
        cluster_id=cluster.id if cluster else "",
        cluster_name=cluster.name if cluster else "",
        exclusive=False,
        actor="me@acme.example",
        expected_seconds=60,
    )


def told() -> list[tuple[str, str]]:
    rows = AlertDelivery.objects.order_by("id")
    return [(row.content["status"], row.content["summary"]) for row in rows]


@pytest.mark.django_db
def test_an_operations_life_is_told_in_words_and_facts(tenant: Tenant, active: Cluster):
    receiver(tenant)
    row = operation(tenant, active)
    # Some of those that write are statements, not models: the database itself takes notice.
    with connection.cursor() as cursor:
        for state in ("running", "running", "blocked", "running"):
            cursor.execute(
                "UPDATE operations_operation SET state = %s, reason = %s, reason_hint = %s WHERE id = %s",
                [state, "No disks are left.", "Buy some.", row.id],
            )
        operation_news.pass_on()
        cursor.execute("UPDATE operations_operation SET state = 'succeeded', progress = 0.5 WHERE id = %s", [row.id])
        cursor.execute("UPDATE operations_operation SET progress = 1 WHERE id = %s", [row.id])
    assert operation_news.pass_on() == 1
    assert operation_news.pass_on() == 0
    about = f"{active.name}: change the number of nodes"
    assert told() == [
        ("pending", f"{about} was ordered"),
        ("blocked", f"{about} is stuck. No disks are left."),
        ("running", f"{about} goes on"),
        ("succeeded", f"{about} succeeded"),
    ]
    content = AlertDelivery.objects.order_by("id")[1].content
    assert (content["topic"], content["severity"], content["hint"]) == ("operations", "warning", "Buy some.")
    assert content["cluster"] == {"id": active.id, "name": active.name}
    assert content["url"].endswith(f"/operations/{row.id}")
    assert {name: content["operation"][name] for name in ("id", "kind", "state", "actor")} == {
        "id": row.id,
        "kind": "scale_cluster",
        "state": "blocked",
        "actor": "me@acme.example",
    }


@pytest.mark.django_db
def test_only_those_who_want_it_are_told(tenant: Tenant, stranger: Tenant, active: Cluster):
    receiver(stranger, "theirs")
    receiver(tenant, "of alerts", topics=["alerts"])
    receiver(tenant, "off", enabled=False)
    operation(tenant, active)
    assert not OperationNews.objects.exists()
    mine, loud = receiver(tenant, "of it", cluster_ids=[active.id]), receiver(tenant, "loud", severity="warning")
    receiver(tenant, "elsewhere", cluster_ids=["clu_other"])
    row = operation(tenant, active)
    operation_news.pass_on()
    assert [one.receiver_id for one in AlertDelivery.objects.all()] == [mine.id]
    Operation.objects.filter(id=row.id).update(state=OperationState.FAILED)
    operation_news.pass_on()
    assert {one.receiver_id for one in AlertDelivery.objects.filter(content__status="failed")} == {mine.id, loud.id}


@pytest.mark.django_db
def test_what_was_taken_back_is_not_told(tenant: Tenant, active: Cluster):
    receiver(tenant)
    with transaction.atomic():
        operation(tenant, active)
        transaction.set_rollback(True)
    assert operation_news.pass_on() == 0
