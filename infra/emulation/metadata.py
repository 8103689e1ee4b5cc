"""The metadata service that AWS's machines ask at 169.254.169.254, as far as cloud-init and the agent ask it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MAC = "52:54:00:12:34:56"
"""Of the machine's only network interface."""
_TOKEN = "a-token"


@dataclass
class Instance:
    """What the service tells. Change it and the next question is answered with the change."""

    id: str
    type: str
    address: str
    public_key: str
    user_data: str
    zone: str = "us-east-1a"
    asked: list[str] = field(default_factory=list)
    """The paths of the questions that were answered."""

    def tree(self) -> Mapping[str, str]:
        """By path below /latest/."""
        link = f"meta-data/network/interfaces/macs/{MAC}"
        document = {"instanceId": self.id, "instanceType": self.type, "availabilityZone": self.zone}
        return {
            "dynamic/instance-identity/document": json.dumps(document),
            f"{link}/device-number": "0",
            f"{link}/local-ipv4s": self.address,
            f"{link}/mac": MAC,
            "meta-data/ami-id": "ami-0123456789abcdef0",
            "meta-data/hostname": "node",
            "meta-data/instance-id": self.id,
            "meta-data/instance-type": self.type,
            "meta-data/local-hostname": "node",
            "meta-data/local-ipv4": self.address,
            "meta-data/placement/availability-zone": self.zone,
            "meta-data/public-keys/0/openssh-key": self.public_key,
            "user-data": self.user_data,
        }

    def answer(self, path: str) -> str | None:
        """A value, or what is in a folder, a name a line; None where there is neither."""
        tree = self.tree()
        if path in tree:
            return tree[path]
        below = path.rstrip("/") + "/"
        if below == "meta-data/public-keys/":
            return "0=key"  # the one folder whose listing has another form
        names = [rest for name in tree if name.startswith(below) for rest in [name.removeprefix(below)]]
        listed = dict.fromkeys(rest.partition("/")[0] + "/" * ("/" in rest) for rest in names)
        return "\n".join(listed) or None


@contextmanager
def serve(instance: Instance) -> Iterator[int]:
    """The port on 127.0.0.1 where the service answers."""

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            self._answer(_TOKEN if self.path == "/latest/api/token" else None)

        def do_GET(self) -> None:
            if self.headers.get("X-aws-ec2-metadata-token") != _TOKEN:
                self.send_error(401)
                return
            # cloud-init asks below a day instead of "latest".
            path = self.path.lstrip("/").partition("/")[2]
            answer = instance.answer(path)
            if answer is not None:
                instance.asked.append(path)
            self._answer(answer)

        def _answer(self, text: str | None) -> None:
            if text is None:
                self.send_error(404)
                return
            body = text.encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            if self.command == "PUT":
                self.send_header("X-aws-ec2-metadata-token-ttl-seconds", "300")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
