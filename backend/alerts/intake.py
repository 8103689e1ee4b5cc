"""``POST /metrics/alerts``: what Alertmanager tells. It is kept as history, and goes to the organisation's receivers.

Open to holders of the alerts token only, also on this machine: a page in somebody's browser must not raise alerts.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from ninja import Schema
from pydantic import ValidationError

from backend.alerts import deliveries
from backend.alerts.models import AlertEvent
from backend.alerts.queries import described, effective_rules, node_names
from backend.alerts.states import AlertState, Topic
from backend.clusters.models import Cluster
from backend.core.errors import DomainError, Invalid, error_response
from backend.findings.states import Severity
from backend.operations import actions as operations

log = structlog.get_logger(__name__)

MOST_BYTES = 16 * 1024 * 1024
MOST_TOLD = 50
"""Alerts that one message names; of more it says how many."""

NOT_ALERTMANAGER = DomainError(
    "alerts_not_public",
    "Only this installation's Alertmanager may tell of alerts.",
    status=403,
    hint="Send the token in RINGMASTER_ALERTS_TOKEN_FILE as a bearer token.",
)


class Told(Schema):
    """An alert in the body that Alertmanager posts (webhook, version 4)."""

    status: AlertState
    labels: dict[str, str]
    annotations: dict[str, str] = {}
    startsAt: datetime  # noqa: N815  Alertmanager's spelling
    endsAt: datetime  # noqa: N815
    fingerprint: str


class Message(Schema):
    alerts: list[Told]


@csrf_exempt
@require_POST
def alerts_told(request: HttpRequest) -> HttpResponse:
    token = settings.ENV.alerts_token()
    if not token or not constant_time_compare(request.headers.get("Authorization", ""), f"Bearer {token}"):
        return error_response(request, NOT_ALERTMANAGER)
    try:
        message = Message.model_validate_json(request.read(MOST_BYTES))
    except ValidationError:
        return error_response(
            request, Invalid("invalid_body", "This is not what Alertmanager sends.", hint="See docs/alerts.md.")
        )
    told(message.alerts)
    return HttpResponse(status=204)


@transaction.atomic
def told(alerts: Sequence[Told]) -> None:
    """May come twice: then a message may go out twice, and history says it once."""
    clusters = Cluster.objects.in_bulk({each.labels.get("cluster", "") for each in alerts})
    known = [each for each in alerts if _belongs(each, clusters)]
    if len(known) < len(alerts):
        log.warning("alerts of clusters that are not there", count=len(alerts) - len(known))
    names = node_names(each.labels.get("node", "") for each in known)
    limits = effective_rules(list(clusters))
    groups: dict[tuple[str, str], list[tuple[Told, dict[str, Any]]]] = {}
    for each in known:
        cluster = clusters[each.labels["cluster"]]
        said = described(each.labels, each.annotations, names, limits[cluster.id])
        groups.setdefault((cluster.id, said["rule"]), []).append((each, said))
    for (cluster_id, _), several in groups.items():
        _write_down(clusters[cluster_id], several)
        _pass_on(clusters[cluster_id], several)


def _belongs(alert: Told, clusters: Mapping[str, Cluster]) -> bool:
    cluster = clusters.get(alert.labels.get("cluster", ""))
    return cluster is not None and cluster.organisation_id == alert.labels.get("organisation")


def _write_down(cluster: Cluster, several: Sequence[tuple[Told, dict[str, Any]]]) -> None:
    """At most one row of an alert fires; its end closes it."""
    firing = {each.fingerprint: (each, said) for each, said in several if each.status is AlertState.FIRING}
    rows = AlertEvent.objects.filter(state=AlertState.FIRING, cluster=cluster)
    open_now = set(rows.filter(fingerprint__in=firing).values_list("fingerprint", flat=True))
    rows.filter(fingerprint__in=open_now).update(told_at=Now())
    AlertEvent.objects.bulk_create(
        [
            AlertEvent(
                organisation_id=cluster.organisation_id,
                cluster=cluster,
                rule=said["rule"][:40],
                severity=said["severity"],
                fingerprint=fingerprint[:32],
                labels=said["labels"],
                sentence=said["sentence"],
                starts_at=each.startsAt,
                told_at=Now(),
            )
            for fingerprint, (each, said) in firing.items()
            if fingerprint not in open_now
        ],
        ignore_conflicts=True,
    )
    for each, _ in several:
        if each.status is AlertState.RESOLVED:
            rows.filter(fingerprint=each.fingerprint).update(
                state=AlertState.RESOLVED, ends_at=each.endsAt, told_at=Now()
            )
    operations.notify(cluster.organisation_id, "cluster", cluster.id, cluster.id)


def _pass_on(cluster: Cluster, several: Sequence[tuple[Told, dict[str, Any]]]) -> None:
    """A message for each receiver that wants alerts of this severity and cluster."""
    deliveries.tell(cluster.organisation_id, cluster.id, _message(cluster, several))


def _message(cluster: Cluster, several: Sequence[tuple[Told, dict[str, Any]]]) -> dict[str, Any]:
    # Those that fire first, so that a long list does not leave them out.
    ordered = sorted(several, key=lambda pair: pair[0].status is not AlertState.FIRING)
    fire = [said for each, said in ordered if each.status is AlertState.FIRING]
    first, first_said = ordered[0]
    more = f" and {len(fire or ordered) - 1} more" if len(fire or ordered) > 1 else ""
    return deliveries.content(
        topic=Topic.ALERTS,
        status=first.status.value,
        summary=f"{'' if fire else 'Over: '}{cluster.name}: {first_said['sentence']}{more}",
        severity=Severity(first_said["severity"]),
        rule=first_said["rule"],
        title=first_said["title"],
        hint=first_said["hint"],
        organisation_id=cluster.organisation_id,
        cluster={"id": cluster.id, "name": cluster.name},
        url=f"{settings.ENV.ringmaster_public_url}/clusters/{cluster.id}?tab=alerts",
        alerts=[
            {
                "fingerprint": each.fingerprint,
                "status": each.status.value,
                "sentence": said["sentence"],
                "value": said["value"],
                "labels": said["labels"],
                "starts_at": each.startsAt.isoformat(),
                "ends_at": each.endsAt.isoformat() if each.status is AlertState.RESOLVED else None,
            }
            for each, said in ordered[:MOST_TOLD]
        ],
    ) | {"left": max(len(ordered) - MOST_TOLD, 0)}
