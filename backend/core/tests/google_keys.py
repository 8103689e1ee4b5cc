"""Google Cloud KMS as far as it is asked here: encrypt and decrypt of one symmetric key, over HTTP.

Written after https://cloud.google.com/kms/docs/reference/rest/v1/projects.locations.keyRings.cryptoKeys: the same
fields, and the status and words of its errors.
"""

import base64
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE = 12
NAME = "projects/shop/locations/global/keyRings/ringmaster/cryptoKeys/master"


class Refused(Exception):
    def __init__(self, code: int, status: str, message: str) -> None:
        super().__init__(message)
        self.body = {"error": {"code": code, "status": status, "message": message}}
        self.code = code


class GoogleKeys:
    def __init__(self) -> None:
        self._key = AESGCM(AESGCM.generate_key(256))
        self._enabled = True
        keys = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                try:
                    code, answer = 200, keys.answer(self.path, body)
                except Refused as refusal:
                    code, answer = refusal.code, refusal.body
                said = json.dumps(answer).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, format: str, *arguments: Any) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def disable(self) -> None:
        self._enabled = False

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, body: dict[str, str]) -> dict[str, str]:
        name, _, verb = path.removeprefix("/v1/").partition(":")
        if name != NAME:
            raise Refused(404, "NOT_FOUND", f"CryptoKey {name} not found.")
        if not self._enabled:
            raise Refused(400, "FAILED_PRECONDITION", f"{name}/cryptoKeyVersions/1 is not enabled.")
        context = base64.b64decode(body.get("additionalAuthenticatedData", ""))
        if verb == "encrypt":
            nonce = os.urandom(_NONCE)
            closed = nonce + self._key.encrypt(nonce, base64.b64decode(body["plaintext"]), context)
            return {"name": f"{name}/cryptoKeyVersions/1", "ciphertext": base64.b64encode(closed).decode()}
        closed = base64.b64decode(body["ciphertext"])
        try:
            opened = self._key.decrypt(closed[:_NONCE], closed[_NONCE:], context)
        except InvalidTag as error:
            raise Refused(400, "INVALID_ARGUMENT", "Decryption failed: verify that 'name' is correct.") from error
        return {"plaintext": base64.b64encode(opened).decode()}
