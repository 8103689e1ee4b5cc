"""Receivers on loopback that remember what they were sent: HTTP, and mail."""

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Received:
    url: str = ""
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    status: int = 200
    text: str = "ok"
    location: str = ""

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(body) for _, body in self.requests]


@contextmanager
def http_receiver() -> Iterator[Received]:
    received = Received()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.requests.append(({name.lower(): text for name, text in self.headers.items()}, body))
            self.send_response(received.status)
            if received.location:
                self.send_header("Location", received.location)
            self.end_headers()
            self.wfile.write(received.text.encode())

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    received.url = f"http://127.0.0.1:{server.server_port}/hook?key=1"
    with _running(server):
        yield received


@dataclass
class Mails:
    url: str = ""
    recipients: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    refuses: str = ""


@contextmanager
def mail_receiver() -> Iterator[Mails]:
    mails = Mails()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self._say("220 test")
            for raw in self.rfile:
                line = raw.decode().strip()
                match line.upper().split()[0]:
                    case "DATA":
                        self._say("354 go on")
                        mails.messages.append(self._message())
                        self._say("250 taken")
                    case "QUIT":
                        self._say("221 bye")
                        return
                    case "RCPT" if mails.refuses and mails.refuses in line:
                        self._say("550 nobody here of that name")
                    case "RCPT":
                        mails.recipients.append(line.partition("<")[2].partition(">")[0])
                        self._say("250 ok")
                    case _:
                        self._say("250 ok")

        def _message(self) -> str:
            lines = []
            for raw in self.rfile:
                if raw == b".\r\n":
                    break
                lines.append(raw.decode())
            return "".join(lines)

        def _say(self, text: str) -> None:
            self.wfile.write(f"{text}\r\n".encode())

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    mails.url = f"smtp://127.0.0.1:{server.server_address[1]}"
    with _running(server):
        yield mails


@contextmanager
def _running(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
