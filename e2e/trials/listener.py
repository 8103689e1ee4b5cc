"""Whom alerts are told: a receiver of signed webhooks on loopback, which checks them as docs/alerts.md says."""

import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_OLDEST_SECONDS = 300
_LOOK_SECONDS = 0.1


@dataclass(frozen=True)
class Heard:
    """`at`: by the monotonic clock. `valid`: signed with the secret, less than five minutes ago."""

    at: float
    valid: bool
    body: dict[str, Any]

    def says(self, status: str, rule: str | None) -> bool:
        return (self.body["status"], self.body["rule"]) == (status, rule)


class Listener:
    """All that has come, in order. `secret` is known only after the receiver has been made at `url`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.secret = ""
        self.heard: list[Heard] = []

    def take(self, timestamp: str, signature: str, body: bytes) -> bool:
        expected = hmac.new(self.secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
        fresh = timestamp.isdigit() and abs(time.time() - int(timestamp)) < _OLDEST_SECONDS
        valid = fresh and hmac.compare_digest(signature, f"v1={expected}")
        self.heard.append(Heard(time.monotonic(), valid, json.loads(body)))
        return valid

    def wait(self, what: str, fits: Callable[[Heard], bool], *, seconds: float) -> Heard:
        """The first message that fits, also one that has come already. TimeoutError."""
        give_up_at = time.monotonic() + seconds
        while True:
            if found := next((one for one in list(self.heard) if fits(one)), None):
                return found
            if time.monotonic() > give_up_at:
                said = [(one.body["status"], one.body["rule"]) for one in self.heard]
                raise TimeoutError(f"{what} was not told within {seconds:.0f} s; told were {said}")
            time.sleep(_LOOK_SECONDS)


@contextmanager
def listening() -> Iterator[Listener]:
    """A listener on any free port of loopback, until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            timestamp, signature = (self.headers.get(f"Ringmaster-{name}", "") for name in ("Timestamp", "Signature"))
            self.send_response(204 if listener.take(timestamp, signature, body) else 403)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener = Listener(f"http://127.0.0.1:{server.server_port}/told")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield listener
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
