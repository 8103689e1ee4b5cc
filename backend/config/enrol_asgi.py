"""The enrolment server: one route, POST /enrol/v1, for agents of new machines. Served over TLS on a port of its own.

Not part of the API: machines have no account, and what they can reach is as small as can be.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import asdict
from time import monotonic
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")

import django

django.setup(set_prefix=False)

import structlog  # noqa: E402
from asgiref.sync import sync_to_async  # noqa: E402
from django.db import DatabaseError, InterfaceError, connections  # noqa: E402
from pydantic import BaseModel, ConfigDict, Field, ValidationError  # noqa: E402

from backend.clusters import enrolment  # noqa: E402
from backend.clusters.enrolment import Certificates, EnrolmentRequest, NotReadyYet, Refused  # noqa: E402

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

log = structlog.get_logger(__name__)

PATH = "/enrol/v1"
BODY_LIMIT = 32 * 1024  # bytes
# A machine can be quicker than the worker that notes its address: seconds to wait for that before it is told to retry.
ADDRESS_WAIT, ADDRESS_LOOK_EVERY = 3.0, 0.05
REFUSALS_LOGGED_PER_MINUTE = 20
_BUSY_LIMIT = 32


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    node_id: str = Field(max_length=40, pattern=r"^[a-z0-9_]+$")
    token: str = Field(min_length=1, max_length=200)
    agent_csr: str = Field(min_length=1, max_length=8192)
    engine_csr: str = Field(min_length=1, max_length=8192)


class _RefusalLog:
    """Says what was refused, but not more often than a person can read: whoever knocks must not fill the disk."""

    def __init__(self) -> None:
        self._since, self._count = monotonic(), 0

    def note(self, why: str, *, peer: str, node_id: str = "") -> None:
        if monotonic() - self._since >= 60:
            if self._count > REFUSALS_LOGGED_PER_MINUTE:
                log.warning("enrolments refused, not logged", count=self._count - REFUSALS_LOGGED_PER_MINUTE)
            self._since, self._count = monotonic(), 0
        self._count += 1
        if self._count <= REFUSALS_LOGGED_PER_MINUTE:
            log.warning("enrolment refused", why=why, peer=peer, node=node_id)


_refusals = _RefusalLog()
_busy = 0


async def application(scope: Message, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await _live(receive, send)
    elif scope["type"] == "http":
        status, body, headers = await _respond(scope, receive)
        content = json.dumps(body).encode()
        fields = {"content-type": "application/json", "content-length": str(len(content)), **headers}
        await send(
            {
                "type": "http.response.start",
                "status": status,
                "headers": [(name.encode(), value.encode()) for name, value in fields.items()],
            }
        )
        await send({"type": "http.response.body", "body": content})


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


Answer = tuple[int, dict[str, Any], dict[str, str]]


async def _respond(scope: Message, receive: Receive) -> Answer:
    global _busy
    if scope["path"] != PATH:
        return _error(404, "unknown_url", "There is nothing at this address.")
    if scope["method"] != "POST":
        return _error(405, "method_not_allowed", "Use POST.", {"allow": "POST"})
    peer = str((scope.get("client") or ("",))[0])
    content = await _read(receive)
    if content is None:
        return _error(413, "body_too_large", f"The request is larger than {BODY_LIMIT} bytes.")
    try:
        body = _Body.model_validate_json(content)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        return _error(422, "invalid_field", f"{where}: {error.errors()[0]['msg']}")
    if _busy >= _BUSY_LIMIT:
        return _error(503, "busy", "Too many machines at once.", {"retry-after": "1"})
    _busy += 1
    try:
        return await _enrol(EnrolmentRequest(**body.model_dump()), peer)
    finally:
        _busy -= 1


async def _enrol(request: EnrolmentRequest, peer: str) -> Answer:
    give_up = monotonic() + ADDRESS_WAIT
    while True:
        try:
            return 200, asdict(await _accept(request)), {}
        except NotReadyYet:
            if monotonic() >= give_up:
                return _error(503, "not_ready_yet", "Your address is not known yet.", {"retry-after": "1"})
        except Refused as refused:
            _refusals.note(refused.why, peer=peer, node_id=request.node_id)
            return _error(403, "enrolment_refused", "This token does not open anything.")
        except (DatabaseError, InterfaceError) as error:
            log.warning("enrolment has no database", error=str(error).strip())
            return _error(503, "temporarily_unavailable", "Try again in a moment.", {"retry-after": "1"})
        await asyncio.sleep(ADDRESS_LOOK_EVERY)


@sync_to_async(thread_sensitive=False)
def _accept(request: EnrolmentRequest) -> Certificates:
    """In a thread, with a connection that lives as long as the request: there are few, and none may be stale."""
    try:
        return enrolment.accept(request)
    finally:
        connections.close_all()


async def _read(receive: Receive) -> bytes | None:
    """The request's body; None when it is too large."""
    content = b""
    while True:
        message = await receive()
        content += bytes(message.get("body", b""))
        if len(content) > BODY_LIMIT:
            return None
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            return content


def _error(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> Answer:
    return status, {"error": {"code": code, "message": message}}, headers or {}
