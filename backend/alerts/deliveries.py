"""Messages on their way: written with what they are about, then sent by a worker (provisioner/reconcile/alerts.py)."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import structlog
from celery import current_app
from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Now
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from backend.alerts.models import AlertDelivery, AlertReceiver
from backend.alerts.states import RETRY_SECONDS, DeliveryKind, DeliveryState, Topic, at_least
from backend.findings.states import Severity

log = structlog.get_logger(__name__)

DELIVER = "provisioner.deliver_alerts"
KEPT = timedelta(days=30)
LEASE_SECONDS = 60
"""How long whoever took a message has it for itself."""


def add(receiver_id: str, kind: DeliveryKind, content: dict[str, Any], *, replay_of: str = "") -> AlertDelivery:
    """Due at once. A worker is rung for when the transaction commits; without a broker it comes a little later."""
    row = AlertDelivery.objects.create(
        receiver_id=receiver_id, kind=kind, content=content, due_at=Now(), replay_of=replay_of
    )
    transaction.on_commit(_ring)
    row.refresh_from_db()
    return row


def tell(organisation_id: str, cluster_id: str | None, message: dict[str, Any]) -> int:
    """To each receiver that wants its topic, so severe, of this cluster (None: of none in particular). How many."""
    topic, severity = Topic(message["topic"]), Severity(message["severity"])
    receivers = AlertReceiver.objects.filter(
        organisation_id=organisation_id, deleted_at=None, enabled=True, topics__contains=[topic]
    )
    wanting = [
        receiver
        for receiver in receivers.order_by("id")
        if (not receiver.cluster_ids or cluster_id in receiver.cluster_ids)
        and at_least(severity, Severity(receiver.severity))
    ]
    for receiver in wanting:
        add(receiver.id, DeliveryKind(topic.value), message)
    return len(wanting)


def _ring() -> None:
    try:
        current_app.send_task(DELIVER, ignore_result=True, retry=False)
    except (OperationalError, RedisError, OSError) as error:
        log.warning("nobody rung for deliveries", error=str(error))


def test_content(receiver: AlertReceiver, actor: str) -> dict[str, Any]:
    return content(
        topic=None,
        status="test",
        summary=f"Test of the receiver {receiver.name}",
        severity=Severity.INFO,
        rule=None,
        title="Test",
        hint=f"Nothing is wrong: {actor} asked for it.",
        organisation_id=receiver.organisation_id,
        cluster=None,
        url=f"{settings.ENV.ringmaster_public_url}/alerts?receiver={receiver.id}",
        alerts=[],
    )


def content(
    *,
    topic: Topic | None,
    status: str,
    summary: str,
    severity: Severity,
    rule: str | None,
    title: str,
    hint: str,
    organisation_id: str,
    cluster: dict[str, str] | None,
    url: str,
    alerts: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """What is told, the same for every kind of receiver; signed webhooks get just this (docs/alerts.md).

    Without a topic it is a test.
    """
    return {
        "version": 1,
        "topic": topic and topic.value,
        "status": status,
        "summary": summary,
        "severity": severity.value,
        "rule": rule,
        "title": title,
        "hint": hint,
        "organisation_id": organisation_id,
        "cluster": cluster,
        "url": url,
        "alerts": list(alerts),
    }


_TAKE = """
UPDATE alerts_alertdelivery SET due_at = statement_timestamp() + make_interval(secs => %s), attempts = attempts + 1
 WHERE id = (SELECT id FROM alerts_alertdelivery WHERE state = 'pending' AND due_at <= statement_timestamp()
              ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id
"""


def take_next() -> AlertDelivery | None:
    """The message that is due for longest, for this worker only, for a minute. None: there is none."""
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, [LEASE_SECONDS])
        found = cursor.fetchone()
    return None if found is None else AlertDelivery.objects.select_related("receiver").get(id=found[0])


def sent(row: AlertDelivery, result: str) -> None:
    _end(row, DeliveryState.SENT, result)


def not_sent(row: AlertDelivery, result: str, *, final: bool) -> None:
    """`final`: another try would not help. A test is tried once: whoever asked for it looks at the answer."""
    tries = row.attempts - 1
    if final or row.kind == DeliveryKind.TEST or tries >= len(RETRY_SECONDS):
        _end(row, DeliveryState.FAILED, result)
        return
    _mine(row).update(due_at=Now() + timedelta(seconds=RETRY_SECONDS[tries]), result=result[:1000])


def give_up(receiver_id: str, result: str) -> None:
    rows = AlertDelivery.objects.filter(receiver=receiver_id, state=DeliveryState.PENDING)
    rows.update(state=DeliveryState.FAILED, result=result, ended_at=Now(), due_at=None)


def forget_old() -> None:
    AlertDelivery.objects.filter(created_at__lt=Now() - KEPT).delete()


def _end(row: AlertDelivery, state: DeliveryState, result: str) -> None:
    _mine(row).update(state=state, result=result[:1000], ended_at=Now(), due_at=None)


def _mine(row: AlertDelivery) -> Any:
    """Unless somebody else has taken it since, or it was given up."""
    return AlertDelivery.objects.filter(id=row.id, state=DeliveryState.PENDING, attempts=row.attempts)
