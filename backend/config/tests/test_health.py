from unittest.mock import patch

import pytest
from django.conf import settings
from django.db import OperationalError
from django.test import Client

from backend.conftest import Tenant


def test_it_is_alive_without_asking_the_database(db, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert Client().get("/healthz").json() == {"status": "ok"}


def test_it_is_ready_when_the_database_answers_and_is_migrated(db):
    assert Client().get("/readyz").status_code == 200


def test_it_is_not_ready_without_its_migrations(db):
    with patch("backend.config.views.MigrationExecutor.migration_plan", return_value=["something"]):
        answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "migrations_missing")


def test_it_is_not_ready_without_the_database(db):
    client = Client(raise_request_exception=False)
    with patch("backend.config.views.MigrationExecutor", side_effect=OperationalError("gone")):
        assert client.get("/readyz").status_code == 503


def test_metrics_count_requests_and_states(tenant: Tenant):
    tenant.api().get("/organisation")
    text = Client().get("/metrics").content.decode()
    assert 'ringmaster_http_requests_total{method="GET",route="api/v1/organisation",status="200"}' in text
    assert 'ringmaster_operations{state="running"} 0.0' in text
    assert 'ringmaster_clusters{state="active"} 0.0' in text


def test_metrics_are_not_public(db, monkeypatch: pytest.MonkeyPatch):
    client = Client(REMOTE_ADDR="192.0.2.1")
    assert client.get("/metrics").status_code == 403
    assert Client(headers={"X-Forwarded-For": "192.0.2.1"}).get("/metrics").status_code == 403
    assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 403
    monkeypatch.setattr(settings.ENV, "ringmaster_metrics_token", "let-me-in")
    assert client.get("/metrics", headers={"Authorization": "Bearer let-me-in"}).status_code == 200
