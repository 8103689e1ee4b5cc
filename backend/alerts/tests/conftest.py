"""Fixtures: clusters as elsewhere, and an Alertmanager that is a dictionary, for tests that are about rows."""

import itertools
from typing import Any

import httpx
import pytest

from backend.accounts.models import Organisation
from backend.alerts import alertmanager
from backend.clusters.models import Cluster
from backend.clusters.tests.conftest import _catalog, active, api, creating
from backend.conftest import Tenant
from backend.core.ids import new_cluster_id

__all__ = ["_catalog", "active", "api", "creating"]


def _another(cluster: Cluster, organisation: Organisation) -> Cluster:
    row = Cluster.objects.get(id=cluster.id)
    row.pk = new_cluster_id()
    row.organisation, row.name = organisation, "another"
    row.save(force_insert=True)
    return row


@pytest.fixture
def another(active: Cluster) -> Cluster:
    """A second cluster of the same organisation, without nodes."""
    return _another(active, active.organisation)


@pytest.fixture
def foreign(active: Cluster, stranger: Tenant) -> Cluster:
    """A cluster of another organisation, without nodes."""
    return _another(active, stranger.organisation)


class KnownAlertmanager:
    """Answers as Alertmanager's API v2 does, from what it was given."""

    def __init__(self) -> None:
        self.alerts: list[dict[str, Any]] = []
        self.silences: dict[str, dict[str, Any]] = {}
        self._numbers = itertools.count(1)

    def answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/api/v2/")
        match request.method, path:
            case "GET", "alerts":
                return httpx.Response(200, json=self.alerts)
            case "GET", "silences":
                return httpx.Response(200, json=list(self.silences.values()))
            case "GET", "status":
                return httpx.Response(200, json={"uptime": "2026-01-01T00:00:00.000Z"})
            case "POST", "silences":
                silence_id = f"00000000-0000-0000-0000-{next(self._numbers):012}"
                body = httpx.Response(200, content=request.content).json()
                self.silences[silence_id] = body | {"id": silence_id, "status": {"state": "active"}}
                return httpx.Response(200, json={"silenceID": silence_id})
            case method, _:
                silence_id = path.removeprefix("silence/")
                if silence_id not in self.silences:
                    return httpx.Response(404)
                if method == "DELETE":
                    self.silences[silence_id]["status"] = {"state": "expired"}
                return httpx.Response(200, json=self.silences[silence_id])


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch, settings: Any) -> KnownAlertmanager:
    settings.ENV = settings.ENV.model_copy(update={"ringmaster_alertmanager_url": "http://alertmanager"})
    known = KnownAlertmanager()
    client = httpx.Client(base_url="http://alertmanager", transport=httpx.MockTransport(known.answer))
    monkeypatch.setattr(alertmanager, "_client", lambda process, url: client)
    return known
