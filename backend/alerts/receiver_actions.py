"""Making, changing and trying receivers of alerts."""

import json
import secrets
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from backend.accounts.models import Organisation
from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission
from backend.alerts import deliveries
from backend.alerts.addresses import checked_url
from backend.alerts.models import AlertDelivery, AlertReceiver
from backend.alerts.receiver_queries import against_changing, find_delivery, find_receiver, get_receiver, shape_of
from backend.alerts.schemas import AlertReceiverOrder, AlertReceiverUpdate
from backend.alerts.states import (
    MOST_RECEIVERS,
    MOST_REPLAYS_PER_MINUTE,
    MOST_TESTS_PER_MINUTE,
    DeliveryKind,
    DeliveryState,
    ReceiverKind,
    Topic,
)
from backend.audit import actions as audit
from backend.clusters import vault
from backend.clusters.queries import cluster_not_found, clusters
from backend.clusters.states import SecretPurpose
from backend.core.errors import Conflict, Forbidden, Invalid, TooManyRequests

PAGERDUTY_URL = "https://events.pagerduty.com/v2/enqueue"
SIGNING_PREFIX = "rmw_"

_NEEDS = {
    ReceiverKind.EMAIL: ("addresses",),
    ReceiverKind.SLACK: ("url",),
    ReceiverKind.PAGERDUTY: ("routing_key",),
    ReceiverKind.WEBHOOK: ("url",),
}
_TAKES = _NEEDS | {ReceiverKind.PAGERDUTY: ("routing_key", "url")}


@transaction.atomic
def create(who: Identity, order: AlertReceiverOrder) -> dict[str, Any]:
    """Raises Forbidden, NotFound, Invalid, Conflict."""
    require(who, Permission.ALERTS_WRITE)
    _check(order)
    _check_topics(who, order.kind, list(order.topics))
    _check_clusters(who, order.cluster_ids)
    # The row keeps two at once from both being the last that there is room for.
    Organisation.objects.select_for_update(no_key=True).get(id=who.organisation_id)
    rows = AlertReceiver.objects.filter(organisation_id=who.organisation_id, deleted_at=None)
    if rows.count() >= MOST_RECEIVERS:
        raise Conflict(
            "too_many_receivers", f"An organisation has {MOST_RECEIVERS} receivers at most.", hint="Delete one first."
        )
    secret = _signing_secret() if order.kind is ReceiverKind.WEBHOOK else None
    row = AlertReceiver(
        organisation_id=who.organisation_id,
        name=order.name,
        kind=order.kind,
        target=_target(order),
        topics=[topic.value for topic in order.topics],
        addresses=order.addresses,
        severity=order.severity,
        cluster_ids=order.cluster_ids,
        enabled=order.enabled,
        created_by=who.actor,
    )
    _saved(row)
    kept = {"url": order.url, "routing_key": order.routing_key, "signing_secret": secret}
    _keep(row, {name: value for name, value in kept.items() if value is not None})
    _record(who, row, "alert_receiver.create", after=_facts(row))
    return get_receiver(who, row.id) | {"signing_secret": secret}


@transaction.atomic
def update(who: Identity, receiver_id: str, wanted: AlertReceiverUpdate) -> dict[str, Any]:
    """Raises Forbidden, NotFound, Conflict."""
    require(who, Permission.ALERTS_WRITE)
    row = find_receiver(who, receiver_id)
    given = {name: value for name, value in wanted.model_dump(exclude_unset=True).items() if value is not None}
    _check_topics(who, ReceiverKind(row.kind), [*row.topics, *given.get("topics", [])])
    _check_clusters(who, given.get("cluster_ids", []))
    before = _facts(row)
    for name, value in given.items():
        setattr(row, name, value)
    if _facts(row) != before:
        _saved(row, list(given))
        _record(who, row, "alert_receiver.update", before=before, after=_facts(row))
    return get_receiver(who, row.id)


@transaction.atomic
def delete(who: Identity, receiver_id: str) -> None:
    """What waits for it is not sent any more. Raises Forbidden, NotFound."""
    require(who, Permission.ALERTS_WRITE)
    row = find_receiver(who, receiver_id)
    _check_topics(who, ReceiverKind(row.kind), row.topics)
    AlertReceiver.objects.filter(id=row.id).update(deleted_at=Now())
    deliveries.give_up(row.id, "The receiver was deleted.")
    vault.destroy(row.id, SecretPurpose.ALERT_RECEIVER)
    _record(who, row, "alert_receiver.delete", before=_facts(row))


@transaction.atomic
def rotate_secret(who: Identity, receiver_id: str) -> dict[str, Any]:
    """A new secret that webhooks are signed with; the old one is not used again. Forbidden, NotFound, Conflict."""
    require(who, Permission.ALERTS_WRITE)
    row = find_receiver(who, receiver_id)
    if row.kind != ReceiverKind.WEBHOOK:
        raise Conflict("not_signed", "Only webhooks are signed.", hint="Make another receiver to change its key.")
    _check_topics(who, ReceiverKind(row.kind), row.topics)
    secret = _signing_secret()
    _keep(row, secrets_of(row.id) | {"signing_secret": secret})
    _record(who, row, "alert_receiver.rotate_secret")
    return get_receiver(who, row.id) | {"signing_secret": secret}


@transaction.atomic
def test(who: Identity, receiver_id: str) -> dict[str, Any]:
    """Sends a message that says it is a test; its delivery tells how it went. Forbidden, NotFound, TooManyRequests."""
    require(who, Permission.ALERTS_WRITE)
    row = find_receiver(who, receiver_id)
    _check_topics(who, ReceiverKind(row.kind), row.topics)
    _check_rate(who, "too_many_tests", "tests", MOST_TESTS_PER_MINUTE, kind=DeliveryKind.TEST)
    delivery = deliveries.add(row.id, DeliveryKind.TEST, deliveries.test_content(row, who.actor))
    _record(who, row, "alert_receiver.test")
    return shape_of(delivery)


@transaction.atomic
def replay(who: Identity, receiver_id: str, delivery_id: str) -> dict[str, Any]:
    """Sends what a delivery told once more, under a new id. Forbidden, NotFound, Conflict, TooManyRequests."""
    require(who, Permission.ALERTS_WRITE)
    row = find_receiver(who, receiver_id)
    before = find_delivery(who, receiver_id, delivery_id)
    if before.state == DeliveryState.PENDING:
        raise Conflict("still_on_its_way", "It is still on its way.", hint="Its due_at says when it is tried next.")
    _check_rate(who, "too_many_replays", "replays", MOST_REPLAYS_PER_MINUTE, replay_of__gt="")
    first = before.replay_of or before.id
    delivery = deliveries.add(row.id, DeliveryKind(before.kind), before.content, replay_of=first)
    _record(who, row, "alert_receiver.replay", after={"delivery_id": first, "title": before.content["summary"]})
    return shape_of(delivery)


def _check_rate(who: Identity, code: str, what: str, most: int, **of: Any) -> None:
    """Raises TooManyRequests. The row keeps two at once from both being the last that there is room for."""
    Organisation.objects.select_for_update(no_key=True).get(id=who.organisation_id)
    lately = AlertDelivery.objects.filter(
        receiver__organisation_id=who.organisation_id, created_at__gte=Now() - timedelta(minutes=1), **of
    )
    if lately.count() >= most:
        raise TooManyRequests(
            code,
            f"An organisation may send {most} {what} a minute.",
            hint="Wait a minute.",
            retry_after=60,
        )


def secrets_of(receiver_id: str) -> dict[str, str]:
    """Raises vault.SecretMissing."""
    found: dict[str, str] = json.loads(vault.read(receiver_id, SecretPurpose.ALERT_RECEIVER))
    return found


def _keep(row: AlertReceiver, kept: dict[str, str]) -> None:
    vault.keep(row.id, SecretPurpose.ALERT_RECEIVER, json.dumps(kept).encode())


def _signing_secret() -> str:
    return SIGNING_PREFIX + secrets.token_urlsafe(32)


def _check(order: AlertReceiverOrder) -> None:
    for name in ("addresses", "url", "routing_key"):
        given = bool(getattr(order, name))
        if name in _NEEDS[order.kind] and not given:
            raise Invalid(
                "field_missing", f"A receiver of kind {order.kind} needs {name}.", hint="Give it.", field=name
            )
        if given and name not in _TAKES[order.kind]:
            raise Invalid(
                "field_not_taken", f"A receiver of kind {order.kind} has no {name}.", hint="Leave it out.", field=name
            )
    if order.url is not None:
        try:
            checked_url(order.url, settings.ENV.ringmaster_alert_networks)
        except ValueError as error:
            said = str(error)
            raise Invalid(
                "invalid_field", f"url: {said[:1].upper()}{said[1:]}", hint="Give another address.", field="url"
            ) from error
    if order.kind is ReceiverKind.EMAIL and not settings.ENV.ringmaster_smtp_url:
        raise Conflict(
            "mail_not_configured",
            "This installation has no mail server.",
            hint="Ask whoever runs it to set RINGMASTER_SMTP_URL, or choose another kind.",
        )


def _check_topics(who: Identity, kind: ReceiverKind, topics: list[str]) -> None:
    """The audit log goes to programs only, at the wish of those who may read it. Raises Forbidden, Invalid."""
    if (reason := against_changing(who, topics)) is not None:
        raise Forbidden("audit_not_yours", reason, hint="Ask an administrator of the organisation.")
    if Topic.AUDIT in topics and kind is not ReceiverKind.WEBHOOK:
        raise Invalid(
            "topic_not_taken",
            f"A receiver of kind {kind} is not told of the audit log.",
            hint="Make a receiver of kind webhook.",
            field="topics",
        )


def _check_clusters(who: Identity, cluster_ids: list[str]) -> None:
    if clusters(who).filter(id__in=cluster_ids).count() != len(set(cluster_ids)):
        raise cluster_not_found()


def _target(order: AlertReceiverOrder) -> str:
    """What people see. The path of a webhook's address often is its password, and a routing key is one."""
    match order.kind:
        case ReceiverKind.EMAIL:
            text = ", ".join(order.addresses)
            return text if len(text) <= 300 else f"{text[:299]}…"
        case ReceiverKind.PAGERDUTY:
            return f"{urlsplit(order.url or PAGERDUTY_URL).netloc}, key …{(order.routing_key or '')[-4:]}"[:300]
        case ReceiverKind.SLACK | ReceiverKind.WEBHOOK:
            parts = urlsplit(order.url or "")
            return f"{parts.scheme}://{parts.netloc}/…"[:300]


def _saved(row: AlertReceiver, fields: list[str] | None = None) -> None:
    try:
        with transaction.atomic():
            row.save(update_fields=fields) if fields else row.save(force_insert=True)
    except IntegrityError as error:
        raise Conflict(
            "name_taken", f"There is a receiver {row.name} already.", hint="Choose another name.", field="name"
        ) from error


def _facts(row: AlertReceiver) -> dict[str, Any]:
    names = ("name", "kind", "target", "topics", "severity", "cluster_ids", "enabled")
    return {name: getattr(row, name) for name in names}


def _record(who: Identity, row: AlertReceiver, action: str, **said: dict[str, Any]) -> None:
    audit.record(who, action=action, target_type="alert_receiver", target_id=row.id, target_name=row.name, **said)
