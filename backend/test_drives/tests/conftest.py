"""A test drive that was proved, and whoever hears of its end."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now

from backend.alerts.models import AlertDelivery, AlertReceiver
from backend.clusters import lifecycle
from backend.clusters.models import Cluster
from backend.clusters.tests.conftest import ORDER, _catalog, api, finish_operations, foreign
from backend.conftest import ApiClient, Tenant

__all__ = ["ORDER", "_catalog", "api", "foreign"]


@pytest.fixture
def drive(api: ApiClient) -> Cluster:
    answer = api.post("/clusters", ORDER | {"test_drive": {"hours": 8}})
    assert answer.status_code == 202, answer.content
    finish_operations()
    cluster = Cluster.objects.get()
    assert lifecycle.cluster_active(cluster.id)
    cluster.refresh_from_db()
    return cluster


@pytest.fixture
def receiver(tenant: Tenant) -> AlertReceiver:
    columns: dict[str, Any] = {"name": "chat", "kind": "slack", "target": "x", "created_by": "x"}
    return AlertReceiver.objects.create(organisation=tenant.organisation, **columns)


def told() -> list[tuple[str, str]]:
    """State and summary of each message, in their order."""
    contents = AlertDelivery.objects.order_by("id").values_list("content", flat=True)
    return [(content["status"], content["summary"]) for content in contents]


def ends_in(cluster: Cluster, left: timedelta) -> None:
    """As if it had been ordered earlier."""
    assert cluster.expires_at is not None
    assert cluster.expiry_warning_at is not None
    warned_before = cluster.expires_at - cluster.expiry_warning_at
    Cluster.objects.filter(id=cluster.id).update(
        expires_at=Now() + left, expiry_warning_at=Now() + left - warned_before
    )
    cluster.refresh_from_db()
