"""Something between Terraform and the product that holds one kind of answer back, as a slow network does."""

import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_OF_THE_CONNECTION = {"connection", "content-length", "date", "host", "server", "transfer-encoding"}


@dataclass
class Late:
    """The answers of ``method`` at ``path`` wait until ``release`` is set; ``answered`` tells that there is one."""

    method: str
    path: str
    url: str = ""
    answered: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)


@contextmanager
def late_answers(product_url: str, method: str, path: str) -> Iterator[Late]:
    """Everything else passes at once. What is held for 60 seconds passes, too."""
    late = Late(method, path)

    class Between(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {k: v for k, v in self.headers.items() if k.lower() not in _OF_THE_CONNECTION}
            request = urllib.request.Request(
                product_url + self.path, method=self.command, data=body or None, headers=headers
            )
            try:
                answer = urllib.request.urlopen(request, timeout=60)
            except urllib.error.HTTPError as refused:
                answer = refused
            with answer:
                content = answer.read()
            if (self.command, self.path) == (late.method, late.path):
                late.answered.set()
                late.release.wait(60)
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                if name.lower() not in _OF_THE_CONNECTION:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass_on  # noqa: N815 - what http.server calls

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: it would be among what pytest shows."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Between)
    server.daemon_threads = True
    late.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield late
    finally:
        late.release.set()
        server.shutdown()
        server.server_close()
