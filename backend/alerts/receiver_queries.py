"""Reading receivers of alerts and what was sent to them."""

from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery

from backend.accounts.queries import Identity
from backend.accounts.states import Permission
from backend.alerts.models import AlertDelivery, AlertReceiver
from backend.alerts.queries import against_writing
from backend.alerts.states import MAY_NOT_READ_AUDIT, DeliveryKind, ReceiverKind, Topic
from backend.core.errors import NotFound
from backend.core.pagination import PageQuery, page
from backend.core.schemas import allowed

_FACTS = ("id", "name", "kind", "target", "topics", "severity", "cluster_ids", "enabled", "created_by", "created_at")
_COLUMNS = (*_FACTS, "last")
_ENDS = ("result", "created_at", "ended_at", "due_at", "replay_of")
_DELIVERY_COLUMNS = ("id", "kind", "content", "state", "attempts", *_ENDS)


def find_receiver(who: Identity, receiver_id: str) -> AlertReceiver:
    """Raises NotFound."""
    rows = AlertReceiver.objects.filter(organisation_id=who.organisation_id, deleted_at=None)
    found = rows.filter(id=receiver_id).first()
    if found is None:
        raise NotFound(
            "alert_receiver_not_found", "There is no such receiver.", hint="list_alert_receivers has all there are."
        )
    return found


def list_receivers(who: Identity, query: PageQuery) -> dict[str, Any]:
    """Newest first."""
    newest = _seen_by(who).filter(receiver=OuterRef("pk")).order_by("-id")
    rows = AlertReceiver.objects.filter(organisation_id=who.organisation_id, deleted_at=None).annotate(
        last=Subquery(newest.values("id")[:1])
    )
    found = page(rows.values(*_COLUMNS), query, lambda row: row)
    last = AlertDelivery.objects.filter(id__in=[row["last"] for row in found["items"]]).values(*_DELIVERY_COLUMNS)
    deliveries = {row["id"]: delivery_shape(row) for row in last}
    found["items"] = [_shape(who, row, deliveries.get(row["last"])) for row in found["items"]]
    return found


def get_receiver(who: Identity, receiver_id: str) -> dict[str, Any]:
    """Raises NotFound."""
    row = find_receiver(who, receiver_id)
    last = _seen_by(who).filter(receiver=row).order_by("-id").values(*_DELIVERY_COLUMNS).first()
    columns = {name: getattr(row, name) for name in _FACTS}
    return _shape(who, columns, None if last is None else delivery_shape(last))


def against_changing(who: Identity, topics: list[str]) -> str | None:
    """Why a receiver with these topics, or that is to get them, is not theirs to make or change."""
    if Topic.AUDIT in topics and Permission.AUDIT_READ not in who.permissions:
        return against_writing(who) or MAY_NOT_READ_AUDIT
    return against_writing(who)


def _seen_by(who: Identity) -> QuerySet[AlertDelivery]:
    """Messages about audit records are for those who may read the audit log."""
    rows = AlertDelivery.objects.all()
    return rows if Permission.AUDIT_READ in who.permissions else rows.exclude(kind=DeliveryKind.AUDIT)


def _shape(who: Identity, row: dict[str, Any], last: dict[str, Any] | None) -> dict[str, Any]:
    row.pop("last", None)
    reason = against_changing(who, row["topics"])
    unsigned = None if row["kind"] == ReceiverKind.WEBHOOK else "Only webhooks are signed."
    return row | {
        "last_delivery": last,
        "allowed_actions": [
            allowed("test_alert_receiver", reason),
            allowed("update_alert_receiver", reason),
            allowed("delete_alert_receiver", reason),
            allowed("rotate_alert_receiver_secret", reason or unsigned),
        ],
    }


def list_deliveries(who: Identity, receiver_id: str, query: PageQuery) -> dict[str, Any]:
    """Newest first. Raises NotFound."""
    rows = _seen_by(who).filter(receiver=find_receiver(who, receiver_id))
    return page(rows.values(*_DELIVERY_COLUMNS), query, delivery_shape)


def delivery_shape(row: dict[str, Any]) -> dict[str, Any]:
    content = row.pop("content")
    return row | {"title": content["summary"], "replay_of": row["replay_of"] or None}


def find_delivery(who: Identity, receiver_id: str, delivery_id: str) -> AlertDelivery:
    """Raises NotFound."""
    found = _seen_by(who).filter(receiver=find_receiver(who, receiver_id), id=delivery_id).first()
    if found is None:
        raise NotFound(
            "alert_delivery_not_found",
            "There is no such delivery.",
            hint="list_alert_deliveries has those of the last thirty days.",
        )
    return found


def get_delivery(who: Identity, receiver_id: str, delivery_id: str) -> dict[str, Any]:
    """With what is told. Raises NotFound."""
    row = find_delivery(who, receiver_id, delivery_id)
    return shape_of(row) | {"content": row.content}


def shape_of(row: AlertDelivery) -> dict[str, Any]:
    return delivery_shape({name: getattr(row, name) for name in _DELIVERY_COLUMNS})
