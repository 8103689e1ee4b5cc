import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from infra.local import demo
from infra.local.api import Api, ApiError
from infra.local.demo import DemoError
from infra.local.layout import Layout

CLUSTER = {"id": "clu_1", "name": "demo", "state": "creating", "current_operation": {"id": "op_1"}}


class FakeApi(ThreadingHTTPServer):
    """As much of the API as the launcher uses. `clusters` and `operation` are what it tells."""

    def __init__(self, cql_port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.clusters: list[dict[str, Any]] = []
        self.operation: dict[str, Any] = {"state": "succeeded", "title": "Create cluster demo", "steps": []}
        self.operation |= {"steps_done": 0, "steps_total": 0, "elapsed_seconds": 1.0, "reason": None}
        self.connection = {"ready": True, "contact_points": ["127.0.0.1"], "port": cql_port}
        self.revealed = False
        self.orders: list[dict[str, Any]] = []


class _Handler(BaseHTTPRequestHandler):
    server: FakeApi

    def do_GET(self) -> None:
        path = self.path.partition("?")[0].removeprefix("/api/v1")
        match path:
            case "/clusters":
                self._answer(200, {"items": self.server.clusters})
            case "/clusters/clu_1/connection":
                self._answer(200, self.server.connection)
            case "/clusters/clu_1":
                self._answer(200, self.server.clusters[0])
            case "/operations/op_1":
                if self.server.operation["state"] == "succeeded":
                    self.server.clusters[0] |= {"state": "active", "current_operation": None}
                self._answer(200, self.server.operation)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or "null")
        if self.path.endswith("/clusters"):
            self.server.orders.append(body)
            self.server.clusters = [dict(CLUSTER)]
            self._answer(202, {"cluster": CLUSTER, "operation": {"id": "op_1"}})
        elif self.server.revealed:
            error = {"code": "already_revealed", "message": "It was shown.", "hint": "Rotate it."}
            self._answer(409, {"error": error})
        else:
            self.server.revealed = True
            self._answer(200, {"username": "admin", "password": "secret"})

    def _answer(self, status: int, body: Any) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: object) -> None:
        """Tests are quiet."""


@pytest.fixture
def server() -> Iterator[FakeApi]:
    with socket.create_server(("127.0.0.1", 0)) as node:
        fake = FakeApi(node.getsockname()[1])
        threading.Thread(target=fake.serve_forever, daemon=True).start()
        yield fake
        fake.shutdown()
        fake.server_close()


@pytest.fixture
def api(server: FakeApi) -> Iterator[Api]:
    with Api(f"http://127.0.0.1:{server.server_address[1]}", "rmt_test") as api:
        yield api


@pytest.fixture
def place(tmp_path: Path) -> Layout:
    place = Layout(checkout=tmp_path, run=tmp_path, cache=tmp_path, engines=tmp_path)
    place.secrets.mkdir()
    return place


def test_it_orders_three_zones_once_and_keeps_the_password_for_its_owner_only(
    api: Api, server: FakeApi, place: Layout
) -> None:
    first = demo.provide(api, place)
    second = demo.provide(api, place)
    assert len(server.orders) == 1
    assert server.orders[0]["zones"] == ["local-1a", "local-1b", "local-1c"]
    assert first.cluster == second.cluster == CLUSTER | {"state": "active", "current_operation": None}
    assert json.loads(place.demo_file.read_text())["password"] == "secret"
    assert place.demo_file.stat().st_mode & 0o777 == 0o600


def test_a_creation_that_was_left_half_way_is_followed_to_its_end(api: Api, server: FakeApi, place: Layout) -> None:
    server.clusters = [dict(CLUSTER)]
    found = demo.provide(api, place)
    assert server.orders == []
    assert found.cluster is not None
    assert found.cluster["state"] == "active"


def test_a_cluster_that_its_owner_deleted_is_not_ordered_again_unless_asked(
    api: Api, server: FakeApi, place: Layout
) -> None:
    demo.provide(api, place)
    server.clusters = []
    assert demo.provide(api, place).cluster is None
    assert len(server.orders) == 1
    assert demo.provide(api, place, order_again=True).cluster is not None
    assert len(server.orders) == 2


def test_a_blocked_creation_tells_what_a_person_must_decide(api: Api, server: FakeApi, place: Layout) -> None:
    server.operation |= {"state": "blocked", "reason": {"message": "No memory.", "hint": "Free some."}}
    with pytest.raises(DemoError, match=r"Create cluster demo: blocked\. No memory\. Free some\."):
        demo.provide(api, place)


def test_a_password_that_was_shown_elsewhere_is_no_failure(
    api: Api, server: FakeApi, place: Layout, capsys: pytest.CaptureFixture[str]
) -> None:
    server.revealed = True
    demo.provide(api, place)
    assert "rotate it" in capsys.readouterr().out


def test_the_apis_refusal_is_told_in_its_own_words(api: Api, server: FakeApi) -> None:
    server.revealed = True
    with pytest.raises(ApiError, match=r"It was shown\. Rotate it\.") as caught:
        api.post("/clusters/clu_1/credentials/reveal")
    assert caught.value.code == "already_revealed"
