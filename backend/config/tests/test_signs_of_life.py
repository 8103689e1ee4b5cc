"""Who was heard lately is told by `/metrics`, and nothing breaks while Redis is away."""

import re
import time
from collections.abc import Iterator
from datetime import timedelta
from unittest.mock import patch

import pytest
import redis
from django.conf import settings
from django.db import transaction
from django.test import Client
from django.utils import timezone

from backend.audit import actions as audit
from backend.audit.models import AuditRecord
from backend.config import signs_of_life
from backend.conftest import Tenant
from backend.operations import actions
from backend.operations.models import Operation
from backend.operations.tests.conftest import PLAN
from infra.local.layout import CHECKOUT


@pytest.fixture(autouse=True)
def _forgotten(db: None) -> Iterator[None]:
    with redis.from_url(settings.ENV.redis_url) as store:
        store.delete(signs_of_life._key("workers"), signs_of_life._key("beat"))
        yield
        store.delete(signs_of_life._key("workers"), signs_of_life._key("beat"))


def shown() -> dict[str, float]:
    text = Client().get("/metrics").content.decode()
    return {name: float(value) for name, value in re.findall(r"^(ringmaster_\S+) (\S+)$", text, re.MULTILINE)}


def test_it_shows_who_was_heard_and_who_went_in_order_is_not_missed():
    signs_of_life.worker_heard("worker@a")
    signs_of_life.worker_heard("worker@b")
    signs_of_life.beat_rang()
    signs_of_life.worker_left("worker@b")
    found = shown()
    assert abs(found['ringmaster_worker_heard_timestamp_seconds{worker="worker@a"}'] - time.time()) < 30
    assert abs(found["ringmaster_beat_rang_timestamp_seconds"] - time.time()) < 30
    assert not [name for name in found if "worker@b" in name]
    assert found["ringmaster_broker_up"] == 1
    assert found['ringmaster_queue_messages{queue="ringmaster"}'] >= 0


def test_a_worker_that_was_lost_long_ago_is_no_news(monkeypatch: pytest.MonkeyPatch):
    signs_of_life.worker_heard("worker@gone")
    monkeypatch.setattr(signs_of_life, "KEPT", -1)
    assert not [name for name in shown() if "worker@gone" in name]


def test_without_redis_the_rest_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(settings.ENV, "redis_url", "redis://127.0.0.1:1/0")
    signs_of_life.worker_heard("worker@a")
    signs_of_life.beat_rang()
    found = shown()
    assert found["ringmaster_broker_up"] == 0
    assert "ringmaster_beat_rang_timestamp_seconds" not in found
    assert found['ringmaster_operations{state="running"}'] == 0


def test_it_shows_how_long_the_oldest_due_operation_has_waited(tenant: Tenant):
    assert shown()["ringmaster_operations_late_seconds"] == 0
    with transaction.atomic():
        operation = actions.start(
            organisation_id=tenant.organisation.id,
            kind="create_cluster",
            cluster_id="clu_1",
            cluster_name="demo",
            actor="owner@acme.example",
            parameters={},
            groups=PLAN,
            expected_seconds=20,
        )
    now = timezone.now()
    Operation.objects.filter(id=operation.id).update(due_at=now - timedelta(seconds=90), lease_until=None)
    assert 90 <= shown()["ringmaster_operations_late_seconds"] < 150
    Operation.objects.filter(id=operation.id).update(lease_until=now + timedelta(seconds=60))
    assert shown()["ringmaster_operations_late_seconds"] == 0


def test_it_shows_how_old_the_oldest_audit_record_is_that_is_not_tied(tenant: Tenant):
    while audit.link():
        pass
    assert shown()["ringmaster_audit_untied_seconds"] == 0
    for seconds in (90, 10):
        with patch("django.utils.timezone.now", return_value=timezone.now() - timedelta(seconds=seconds)):
            AuditRecord.objects.create(
                organisation=tenant.organisation, action="x", target_type="y", target_id="z", actor="owner@acme.example"
            )
    assert 90 <= shown()["ringmaster_audit_untied_seconds"] < 150
    while audit.link():
        pass
    assert shown()["ringmaster_audit_untied_seconds"] == 0


def test_every_series_that_an_alert_or_the_dashboard_asks_for_is_served():
    signs_of_life.worker_heard("worker@a")
    signs_of_life.beat_rang()
    Client().get("/healthz")
    served = {re.sub(r"\{.*", "", name) for name in shown()}
    deploy = CHECKOUT / "infra" / "deploy"
    asked: set[str] = set()
    for file in (deploy / "prometheus" / "rules" / "control-plane.yml", deploy / "grafana" / "control-plane.json"):
        asked |= set(re.findall(r"ringmaster_\w+", file.read_text()))
    assert len(asked) >= 8
    assert asked <= served
