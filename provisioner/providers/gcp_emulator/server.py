"""The emulated API over HTTP, on loopback."""

import datetime
import json
import logging
import re
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from google.protobuf.json_format import ParseError  # type: ignore[import-untyped]

from provisioner.providers.gcp_emulator import price_list, reads
from provisioner.providers.gcp_emulator.call import Call
from provisioner.providers.gcp_emulator.errors import AnswerLost, ApiError, invalid, not_found
from provisioner.providers.gcp_emulator.faults import Fault, Moment
from provisioner.providers.gcp_emulator.routes import ROUTES, Route
from provisioner.providers.gcp_emulator.world import World, document

_LOG = logging.getLogger(__name__)
_TOKENS = re.compile(r"/v1/projects/-/serviceAccounts/([^/:]+):generateAccessToken")
_COMPILED = tuple((route, route.pattern, route.parameters) for route in ROUTES)


class ComputeEmulator:
    """Serves a world while it is entered: `with ComputeEmulator(World()) as emulator: emulator.url`."""

    def __init__(self, world: World, *, port: int = 0) -> None:
        self.world = world
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.world = world
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def serve(self) -> None:
        """Until the process ends."""
        self._server.serve_forever()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        with self.world.lock:
            for path in list(self.world.handles):
                self.world.stop_program(path, orderly=False)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    world: World


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PATCH(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def do_DELETE(self) -> None:
        self._answer()

    def log_message(self, format: str, *arguments: Any) -> None:
        pass

    def _answer(self) -> None:
        text = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        try:
            status, body = 200, _dispatch(self.server.world, self.command, self.path, text)
        except AnswerLost:
            self.close_connection = True
            return
        except ApiError as error:
            status, body = error.status, error.body()
        except Exception as error:
            _LOG.exception("%s %s", self.command, self.path)
            status, body = 500, ApiError(500, "internalError", repr(error)).body()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())


def _dispatch(world: World, method: str, target: str, text: str) -> str:
    url = urlsplit(target)
    if url.path.startswith("/emulator/"):
        return _control(world, method, url.path, text)
    if url.path == f"/v1/projects/{world.project}:testIamPermissions":
        with world.lock:
            return json.dumps(reads.test_iam_permissions(Call(world=world, parts={}, query={}, sent=json.loads(text))))
    if url.path == price_list.PATH:
        with world.lock:
            return json.dumps(price_list.page(dict(parse_qsl(url.query))))
    if found := _TOKENS.fullmatch(url.path):
        return _token(world, found[1])
    route, parts, parameters = _route(world, method, url.path)
    query = dict(parse_qsl(url.query, keep_blank_values=True))
    if unknown := [name for name in query if name not in parameters and not name.startswith("$")]:
        raise invalid(f"Invalid JSON payload received. Unknown name {unknown[0]!r}: cannot bind query parameter.")
    body = _body(route, text)
    with world.lock:
        world.calls.append(route.name)
        world.settle()
        faults = world.draw(route.name, parts.get("instance") or getattr(body, "name", "") or parts.get("network", ""))
        _strike(faults, Moment.BEFORE)
        call = Call(
            world=world,
            parts=parts,
            query=query,
            body=body,
            sent=json.loads(text) if body is not None else {},
            faults=faults,
        )
        call.check_place()
        if call.request_id in world.requests:
            answer = world.operations[world.requests[call.request_id]]
        else:
            answer = route.handler(call)
        written = json.dumps(document(answer))
        world.settle()
        _strike(faults, Moment.AFTER)
    return written


def _token(world: World, email: str) -> str:
    """An access token of the IAM Credentials API."""
    with world.lock:
        if email not in world.impersonable:
            raise ApiError(403, "forbidden", f"Permission 'iam.serviceAccounts.getAccessToken' denied on {email}.")
    expires = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)
    return json.dumps({"accessToken": f"emulated {email}", "expireTime": f"{expires:%Y-%m-%dT%H:%M:%SZ}"})


def _route(world: World, method: str, path: str) -> tuple[Route, dict[str, str], set[str]]:
    for route, pattern, parameters in _COMPILED:
        if route.method == method and (match := pattern.fullmatch(path)):
            parts = match.groupdict()
            if parts.pop("project") not in (world.project, "images-project"):
                raise not_found(path)
            return route, parts, parameters
    raise ApiError(404, "notFound", f"{method} {path} is not emulated.")


def _body(route: Route, text: str) -> Any:
    if route.body is None:
        if text:
            raise invalid("This call takes no body.")
        return None
    try:
        return route.body.from_json(text, ignore_unknown_fields=False)
    except ParseError as error:
        raise invalid(f"Invalid JSON payload received. {error}") from error


def _strike(faults: list[Fault], moment: Moment) -> None:
    for fault in faults:
        if fault.moment is moment:
            raise fault.error()


def _control(world: World, method: str, path: str, text: str) -> str:
    """For those who have the server in another process: `POST /emulator/faults`, `GET /emulator/world` ..."""
    match method, path:
        case "POST", "/emulator/faults":
            sent: Mapping[str, Any] = json.loads(text)
            world.inject(Fault(**{**sent, "moment": Moment(sent.get("moment", "before"))}))
            return "{}"
        case "DELETE", "/emulator/faults":
            return json.dumps({"strikes": world.end_faults()})
        case "POST", "/emulator/images":
            return json.dumps({"name": world.add_image(**json.loads(text))})
        case "PUT", "/emulator/access":
            sent = json.loads(text)
            with world.lock:
                world.impersonable, world.denied = set(sent["impersonable"]), set(sent["denied"])
            return "{}"
        case "GET", "/emulator/world":
            inventory = world.inventory()
            with world.lock:
                history = [[effect.effect, effect.path] for effect in world.history]
                return json.dumps({"inventory": inventory, "history": history, "calls": world.calls})
        case _:
            raise ApiError(404, "notFound", f"{method} {path} is not emulated.")
