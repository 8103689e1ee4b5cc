"""Identity providers for tests: a real one in a process of its own, and one that lies as it is told to."""

import base64
import hashlib
import json
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
from django.test import Client
from joserfc import jwt
from joserfc.jwk import RSAKey

from backend.accounts.models import IdentityProvider
from backend.accounts.provider_actions import add_provider
from backend.conftest import ApiClient

CHECKOUT = Path(__file__).resolve().parents[3]
CLIENT_ID, CLIENT_SECRET = "ringmaster", "a secret of tests only"


def known(issuer: str, **columns: Any) -> IdentityProvider:
    """The provider as the installation knows it."""
    usual = {
        "name": "Corp",
        "issuer": issuer,
        "client_id": CLIENT_ID,
        "scopes": "openid email profile",
        "groups_claim": "groups",
        "email_domains": ["corp.example"],
        "session_hours": 12,
        "second_factor": False,
    }
    return add_provider(client_secret=CLIENT_SECRET, **usual | columns)


class Browser:
    """Somebody's browser, with the console's cookies."""

    def __init__(self) -> None:
        self.client = Client(enforce_csrf_checks=True, raise_request_exception=False)
        self.csrf = self.client.get("/api/v1/session").json()["csrf_token"]

    @property
    def api(self) -> ApiClient:
        csrf = self.client.get("/api/v1/session").json()["csrf_token"]
        return ApiClient(client=self.client, **{"X-CSRFToken": csrf})

    def start(self, provider: IdentityProvider, return_to: object = "/members", **headers: str) -> Any:
        return self.client.post(
            f"/_oidc/{provider.id}/start",
            json.dumps({"return_to": return_to}),
            content_type="application/json",
            headers={"X-CSRFToken": self.csrf} | headers,
        )

    def come_back(self, address: str) -> Any:
        """Where the provider sent it, as Django's answer."""
        parts = urlsplit(address)
        assert parts.netloc == "testserver"
        return self.client.get(f"{parts.path}?{parts.query}")


@dataclass
class RealProvider:
    """`oidc-provider` (npm), certified by the OpenID Foundation."""

    issuer: str
    people_file: Path

    def people(self, **people: dict[str, Any]) -> None:
        self.people_file.write_text(json.dumps(people))

    def sign_in(self, url: str, who: str) -> str:
        """Fills in the provider's form; where it then sends the browser."""
        with httpx.Client(follow_redirects=False) as browser:
            answer = browser.get(url)
            for _ in range(10):
                if answer.is_redirect:
                    target = str(answer.next_request.url) if answer.next_request else ""
                    if not target.startswith(self.issuer):
                        return target
                    answer = browser.get(target)
                    continue
                action = re.search(r'action="([^"]+)"', answer.text)
                assert action is not None, answer.text
                form = {"prompt": "login", "login": who, "password": "any"}
                answer = browser.post(str(answer.url.join(action[1])), data=form)
        raise AssertionError("the provider sends the browser round in circles")


@contextmanager
def real_provider(folder: Path) -> Iterator[RealProvider]:
    people = folder / "people.json"
    people.write_text("{}")
    command = [str(CHECKOUT / ".venv/bin/node"), "provider.mjs", CLIENT_ID, CLIENT_SECRET, str(people)]
    process = subprocess.Popen(
        command, cwd=CHECKOUT / "e2e/oidc", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        assert process.stdout is not None
        issuer = process.stdout.readline().decode().strip()
        assert issuer, "the provider does not start: are the packages of e2e/ installed?"
        yield RealProvider(issuer, people)
    finally:
        process.terminate()
        process.wait(20)


@dataclass
class LyingProvider:
    """Follows the protocol, but for what a test changes in it."""

    issuer: str = ""
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, parameters={"kid": "one"}))
    signs_with: RSAKey | None = None
    """Another key than the one it publishes."""
    header: dict[str, Any] = field(default_factory=dict)
    claims: dict[str, Any] = field(default_factory=dict)
    """In the id token, in the place of what it should hold; None: left out."""
    metadata: dict[str, Any] = field(default_factory=dict)
    userinfo: dict[str, Any] | None = None
    token: dict[str, Any] = field(default_factory=dict)
    """In the answer of the token endpoint."""
    asked: dict[str, Any] = field(default_factory=dict)
    """Of the last authorization request."""

    def send_back(self, url: str, **parameters: str) -> str:
        """What the browser brings to the callback."""
        self.asked = {key: values[0] for key, values in parse_qs(urlsplit(url).query).items()}
        sent = {"code": "the-code", "state": self.asked["state"]} | parameters
        return f"{self.asked['redirect_uri']}?{urlencode(sent)}"

    def described(self) -> dict[str, Any]:
        return (
            {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
                "id_token_signing_alg_values_supported": ["RS256"],
            }
            | ({"userinfo_endpoint": f"{self.issuer}/userinfo"} if self.userinfo else {})
            | self.metadata
        )

    def answer(self, path: str, body: dict[str, str]) -> tuple[int, dict[str, Any]]:
        match path:
            case "/.well-known/openid-configuration":
                return 200, self.described()
            case "/keys":
                return 200, {"keys": [self.key.as_dict(private=False)]}
            case "/userinfo":
                return 200, self.userinfo or {}
            case "/token":
                proof = base64.urlsafe_b64encode(hashlib.sha256(body["code_verifier"].encode()).digest())
                assert proof.rstrip(b"=").decode() == self.asked["code_challenge"]
                token = {"access_token": "an-access-token", "token_type": "Bearer", "id_token": self._id_token()}
                return 200, {key: value for key, value in (token | self.token).items() if value is not None}
        return 404, {}

    def _id_token(self) -> str:
        now = int(time.time())
        usual = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "sub": "jane",
            "iat": now,
            "exp": now + 60,
            "nonce": self.asked["nonce"],
            "email": "jane@corp.example",
            "email_verified": True,
        }
        claims = {key: value for key, value in (usual | self.claims).items() if value is not None}
        header = {"alg": "RS256", "kid": "one"} | self.header
        if header["alg"] == "none":
            parts = (json.dumps(each).encode() for each in (header, claims))
            return ".".join(base64.urlsafe_b64encode(each).rstrip(b"=").decode() for each in parts) + "."
        return str(jwt.encode(header, claims, self.signs_with or self.key, algorithms=[header["alg"]]))


@contextmanager
def lying_provider() -> Iterator[LyingProvider]:
    provider = LyingProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send({})

        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self._send({key: values[0] for key, values in parse_qs(text).items()})

        def _send(self, body: dict[str, str]) -> None:
            status, answer = provider.answer(self.path, body)
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
