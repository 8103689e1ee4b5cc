"""Clusters with tags, what they cost by the hour, and receivers of alerts."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from backend.alerts.models import AlertDelivery, AlertReceiver
from backend.clusters.models import Cluster
from backend.clusters.tests.conftest import _catalog, active, api, creating, foreign
from backend.conftest import Tenant
from backend.costs.models import UsageRecord
from backend.costs.recording import add_to_days
from backend.costs.sharing import parts_of

__all__ = ["_catalog", "active", "api", "creating", "foreign"]

NOW = datetime(2026, 11, 21, 12, 6, tzinfo=UTC)
"""Hours are closed until 12:00; 228 of the month are left."""


def cluster(tenant: Tenant, name: str, **tags: str) -> Cluster:
    return Cluster.objects.create(
        organisation=tenant.organisation,
        name=name,
        engine="cassandra",
        engine_version="5.0.5",
        provider="local",
        ring_name=name,
        admin_username="admin",
        options={"tags": tags},
        created_by="x",
    )


def spend(organisation_id: str, cluster_id: str, micros: int, *, day: date = date(2026, 11, 21)) -> None:
    """On one day, in its first hour."""
    add_to_days({(organisation_id, cluster_id, day): (parts_of(machines=micros), 0)})
    UsageRecord.objects.create(
        organisation_id=organisation_id,
        cluster_id=cluster_id,
        fact=f"machine/{UsageRecord.objects.count()}",
        item="machine",
        provider="local",
        hour=datetime(day.year, day.month, day.day, tzinfo=UTC),
        unit_seconds=3600,
        sequence=0,
    )


def receiver(tenant: Tenant, name: str = "chat", **columns: Any) -> AlertReceiver:
    return AlertReceiver.objects.create(
        organisation=tenant.organisation, name=name, kind="slack", target="x", created_by="x", **columns
    )


def told(to: AlertReceiver) -> list[str]:
    """Summaries, in their order."""
    rows = AlertDelivery.objects.filter(receiver=to).order_by("id")
    return [content["summary"] for content in rows.values_list("content", flat=True)]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets what budgets and forecasts take for now."""
    from backend.budgets import checking
    from backend.costs import forecasting

    class Clock:
        moment = NOW

        def now(self) -> datetime:
            return self.moment

        def __iadd__(self, more: timedelta) -> "Clock":
            self.moment += more
            return self

    found = Clock()
    monkeypatch.setattr(checking, "timezone", found)
    monkeypatch.setattr(forecasting, "timezone", found)
    return found
