"""As much of Google's storage API as one bucket of small objects needs: https://cloud.google.com/storage/docs/json_api"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


class _Handler(BaseHTTPRequestHandler):
    objects: dict[str, dict[str, tuple[bytes, datetime]]]
    uploads: dict[str, tuple[str, str, bytearray]]
    retained: dict[str, str]
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        bucket = self._path[4]
        kept = self._bucket(bucket)
        if kept is None:
            return
        if self._query.get("uploadType") == "resumable":
            number = f"upload-{len(self.uploads) + 1}"
            self.uploads[number] = (bucket, json.loads(body)["name"], bytearray())
            host = f"http://{self.headers['Host']}"
            self._answer(200, {}, Location=f"{host}/upload/storage/v1/b/{bucket}/o?upload_id={number}")
            return
        # multipart/related: a part of JSON that names the object, then its bytes.
        boundary = self.headers["Content-Type"].partition("boundary=")[2].strip('"').encode()
        _, metadata, content, _ = body.split(b"--" + boundary)
        name = json.loads(metadata.partition(b"\r\n\r\n")[2])["name"]
        kept[name] = (content.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n"), datetime.now(UTC))
        self._answer(200, self._resource(bucket, name))

    def do_GET(self) -> None:
        path = self._path
        kept = self._bucket(path[4] if path[0] == "download" else path[3])
        if kept is None:
            return
        if len(path) < 5:
            mode = {"objectRetention": {"mode": "Enabled"}} if path[3].startswith("locked") else {}
            self._answer(200, {"kind": "storage#bucket", "name": path[3], **mode})
            return
        if len(path) < 6:
            prefix, first = self._query.get("prefix", ""), self._query.get("startOffset", "")
            names = sorted(name for name in kept if name.startswith(prefix) and name >= first)
            self._answer(200, {"kind": "storage#objects", "items": [self._resource(path[3], name) for name in names]})
            return
        name = path[-1]
        if name not in kept:
            self._answer(404, _error(404, f"No such object: {name}"))
        elif self._query.get("alt") == "media" or path[0] == "download":
            self._media(kept[name][0])
        else:
            self._answer(200, self._resource(path[3], name))

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        found = self.uploads.get(self._query["upload_id"])
        if found is None:
            self._answer(410, _error(410, "The upload is over."))
            return
        bucket, name, taken = found
        begin, _, rest = self.headers["Content-Range"].removeprefix("bytes ").partition("-")
        taken += content[len(taken) - int(begin) :]
        if len(taken) < int(rest.partition("/")[2]):
            self._answer(308, {}, Range=f"bytes=0-{len(taken) - 1}")
            return
        self.objects[bucket][name] = (bytes(taken), datetime.now(UTC))
        del self.uploads[self._query["upload_id"]]
        self._answer(200, self._resource(bucket, name))

    def do_PATCH(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        bucket, name = self._path[3], self._path[-1]
        kept = self._bucket(bucket)
        if kept is None:
            return
        if name not in kept:
            self._answer(404, _error(404, f"No such object: {name}"))
            return
        if not bucket.startswith("locked"):
            self._answer(400, _error(400, "The bucket does not have object retention enabled."))
            return
        self.retained[name] = body["retention"]["retainUntilTime"]
        self._answer(200, self._resource(bucket, name) | body)

    def do_DELETE(self) -> None:
        if self.retained.get(self._path[-1], "") > f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}":
            self._answer(403, _error(403, f"Object {self._path[-1]} is under active Retention."))
            return
        if "upload_id" in self._query:
            self.uploads.pop(self._query["upload_id"], None)
            self._answer(499, {})
            return
        kept = self._bucket(self._path[3])
        if kept is None:
            return
        if kept.pop(self._path[-1], None) is None:
            self._answer(404, _error(404, f"No such object: {self._path[-1]}"))
        else:
            self._answer(204, None)

    @property
    def _path(self) -> list[str]:
        return [unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")]

    @property
    def _query(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}

    def _bucket(self, name: str) -> dict[str, tuple[bytes, datetime]] | None:
        if name not in self.objects:
            self._answer(404, _error(404, "The specified bucket does not exist."))
            return None
        return self.objects[name]

    def _resource(self, bucket: str, name: str) -> dict[str, Any]:
        content, updated = self.objects[bucket][name]
        when = f"{updated:%Y-%m-%dT%H:%M:%S.%fZ}"
        return {"bucket": bucket, "name": name, "size": str(len(content)), "updated": when, "etag": "e"}

    def _media(self, content: bytes) -> None:
        given = self.headers.get("Range", "").removeprefix("bytes=")
        first, _, last = given.partition("-")
        begin, end = int(first or 0), min(int(last or len(content)) + 1, len(content))
        if given and begin >= len(content):
            self._answer(416, _error(416, "out of range"))
            return
        self.send_response(206 if given else 200)
        if given:
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(content)}")
        piece = content[begin:end] if given else content
        self.send_header("Content-Length", str(len(piece)))
        self.end_headers()
        self.wfile.write(piece)

    def _answer(self, status: int, body: dict[str, Any] | None, **headers: str) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _error(status: int, message: str) -> dict[str, Any]:
    return {"error": {"code": status, "message": message, "errors": [{"message": message}]}}


@contextmanager
def emulated(*buckets: str) -> Iterator[str]:
    """Address of a server that has these buckets."""
    handler = type(
        "Handler", (_Handler,), {"objects": {bucket: {} for bucket in buckets}, "uploads": {}, "retained": {}}
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
