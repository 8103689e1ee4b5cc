"""Audit records, told to webhooks that want them, as soon as they are in the chain."""

from typing import Any

from django.conf import settings
from django.db import transaction

from backend.alerts import deliveries
from backend.alerts.models import AlertReceiver
from backend.alerts.states import Topic
from backend.audit.actions import link
from backend.audit.chain import document
from backend.findings.states import Severity


@transaction.atomic
def link_and_tell() -> int:
    """How many records were linked. What is in the chain is told once: both happen, or neither. By one at a time."""
    records = link()
    wanting = _wanting({record["organisation_id"] for record in records})
    for record in records:
        if record["organisation_id"] in wanting:
            cluster_id = record["target_id"] if record["target_type"] == "cluster" else None
            deliveries.tell(record["organisation_id"], cluster_id, _message(record))
    return len(records)


def _wanting(organisation_ids: set[str]) -> set[str]:
    rows = AlertReceiver.objects.filter(
        organisation_id__in=organisation_ids, deleted_at=None, enabled=True, topics__contains=[Topic.AUDIT]
    )
    return set(rows.values_list("organisation_id", flat=True))


def _message(record: dict[str, Any]) -> dict[str, Any]:
    about = record["target_name"] or record["target_id"]
    return deliveries.content(
        topic=Topic.AUDIT,
        status="recorded",
        summary=f"{record['actor']}: {record['action']} {about}",
        severity=Severity.INFO,
        rule=None,
        title="Audit record",
        hint="",
        organisation_id=record["organisation_id"],
        cluster={"id": record["target_id"], "name": about} if record["target_type"] == "cluster" else None,
        url=f"{settings.ENV.ringmaster_public_url}/audit?target_id={record['target_id']}",
        alerts=[],
    ) | {"record": document(record) | {"hash": record["hash"]}}
