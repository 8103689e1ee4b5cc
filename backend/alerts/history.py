"""Closing alerts of whose end nobody was told."""

from collections.abc import Collection
from datetime import timedelta

from django.db.models.functions import Now

from backend.alerts.models import AlertEvent
from backend.alerts.states import AlertState

_SETTLED = timedelta(minutes=2)
"""Alertmanager was told of it longer ago than this."""


def any_open() -> bool:
    return AlertEvent.objects.filter(state=AlertState.FIRING).exists()


def close_all_but(fingerprints: Collection[str]) -> int:
    """Close those that Alertmanager does not have. How many."""
    rows = AlertEvent.objects.filter(state=AlertState.FIRING, told_at__lt=Now() - _SETTLED)
    gone = [row.id for row in rows if row.fingerprint not in fingerprints]
    rows.filter(id__in=gone).update(state=AlertState.RESOLVED, ends_at=Now())
    return len(gone)
