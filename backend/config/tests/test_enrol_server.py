"""The enrolment server over ASGI. What it decides is tested in clusters/tests/test_enrolment.py."""

import json
from typing import Any

import httpx
import pytest
from asgiref.sync import async_to_sync

from backend.catalog import actions as catalog
from backend.clusters import authorities, enrolment, lifecycle, pki
from backend.clusters.models import Node
from backend.clusters.tests.conftest import ORDER
from backend.config import enrol_asgi
from backend.conftest import Tenant

pytestmark = pytest.mark.django_db(transaction=True)


@async_to_sync
async def post(body: Any, *, path: str = "/enrol/v1", method: str = "POST") -> httpx.Response:
    transport = httpx.ASGITransport(enrol_asgi.application)
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with httpx.AsyncClient(transport=transport, base_url="https://enrol") as client:
        return await client.request(method, path, content=content)


@pytest.fixture
def body(tenant: Tenant) -> dict[str, str]:
    """What the agent of a node that is ready would send."""
    catalog.load(with_tests=True)
    authorities.ensure_control_plane_pki()
    assert tenant.api().post("/clusters", ORDER).status_code == 202
    node = Node.objects.all()[0]
    lifecycle.node_machine_ready(node.id, machine_id="m", address="127.1.2.3", agent_address="127.1.2.3:7443")
    return {
        "node_id": node.id,
        "token": enrolment.issue(node),
        "agent_csr": pki.new_request(pki.new_key(), "agent"),
        "engine_csr": pki.new_request(pki.new_key(), "engine"),
    }


def test_it_answers_with_four_certificates(body: dict[str, str]):
    answer = post(body)
    assert answer.status_code == 200
    given = answer.json()
    assert set(given) == {"agent_certificate", "agent_ca", "engine_certificate", "cluster_ca"}
    assert all(pem.startswith("-----BEGIN CERTIFICATE-----") for pem in given.values())
    assert post(body).json() == given


def test_a_wrong_token_learns_nothing(body: dict[str, str]):
    wrong = post(body | {"token": "x"})
    unknown = post(body | {"node_id": "nod_unknown"})
    assert wrong.status_code == unknown.status_code == 403
    assert wrong.json() == unknown.json()


def test_it_waits_a_little_for_the_address_and_then_asks_to_come_back(
    body: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    Node.objects.update(address=None)
    monkeypatch.setattr(enrol_asgi, "ADDRESS_WAIT", 0.1)
    answer = post(body)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"{", 422),
        (b"[]", 422),
        (b'{"node_id": 1}', 422),
        (b'{"node_id": "nod_1", "token": "t", "agent_csr": "x", "engine_csr": "y", "more": 1}', 422),
        (b'{"node_id": "nod_\\u0000", "token": "t", "agent_csr": "x", "engine_csr": "y"}', 422),
        (b"x" * 40_000, 413),
    ],
)
def test_it_refuses_what_is_not_a_request(content: bytes, status: int):
    assert post(content).status_code == status


def test_there_is_nothing_else_on_this_server():
    assert post({}, path="/api/v1/clusters").status_code == 404
    assert post({}, path="/enrol/v1/").status_code == 404
    assert post({}, method="GET").status_code == 405


def test_who_keeps_knocking_does_not_fill_the_log(body: dict[str, str], monkeypatch: pytest.MonkeyPatch):
    lines: list[str] = []
    monkeypatch.setattr(enrol_asgi.log, "warning", lambda event, **_: lines.append(event))
    monkeypatch.setattr(enrol_asgi, "_refusals", enrol_asgi._RefusalLog())
    for _ in range(enrol_asgi.REFUSALS_LOGGED_PER_MINUTE + 15):
        post(body | {"token": "x"})
    assert len(lines) == enrol_asgi.REFUSALS_LOGGED_PER_MINUTE
