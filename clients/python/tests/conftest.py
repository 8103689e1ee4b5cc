"""The real API in this process: the client's requests go to Django as a web server would hand them over."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from django.test import Client
from ringmaster import Ringmaster

from backend.clusters.tests.conftest import ORDER, _catalog, active, api, creating  # noqa: F401
from backend.conftest import Tenant, make_tenant, stranger, tenant  # noqa: F401

URL = "http://testserver"


class InThisProcess(httpx.BaseTransport):
    """Instead of a network: all of Django's stack, within the test's transaction."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        headers = {name: value for name, value in request.headers.items() if name not in ("host", "content-type")}
        answer = Client(enforce_csrf_checks=True, raise_request_exception=False).generic(
            request.method,
            request.url.raw_path.decode(),
            request.read(),
            content_type=request.headers.get("content-type", "application/octet-stream"),
            headers=headers,
        )
        return httpx.Response(answer.status_code, headers=list(answer.items()), content=answer.content)


@pytest.fixture
def server(db: None) -> httpx.BaseTransport:
    return InThisProcess()


@pytest.fixture
def naps() -> list[float]:
    """How long the client slept, in seconds; it did not really."""
    return []


@pytest.fixture
def client_of(server: httpx.BaseTransport, naps: list[float]) -> Callable[..., Ringmaster]:
    def make(token: str, **settings: Any) -> Ringmaster:
        return Ringmaster(URL, token, **{"http": server, "sleep": naps.append, **settings})

    return make


@pytest.fixture
def client(client_of: Callable[..., Ringmaster], tenant: Tenant, _catalog: None) -> Ringmaster:  # noqa: F811
    """Speaks as the owner of `tenant`."""
    return client_of(tenant.token())
