"""A real TLS server in the test's own process that answers like an agent, and certificates for both sides."""

import datetime
import ipaddress
import json
import os
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from provisioner.agent.client import ClientMaterial


@dataclass(frozen=True)
class Authority:
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    def issue(self, common_name: str, *, dns: str = "", address: str = "") -> tuple[str, str]:
        """Certificate and key, as PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        return self._certify(common_name, key.public_key(), dns=dns, address=address), _key_pem(key)

    def sign(self, request_pem: str, common_name: str, *, dns: str = "", address: str = "") -> str:
        """The certificate for a signing request, with names of our choice."""
        key = x509.load_pem_x509_csr(request_pem.encode()).public_key()
        assert isinstance(key, ec.EllipticCurvePublicKey)
        return self._certify(common_name, key, dns=dns, address=address)

    def _certify(self, common_name: str, key: ec.EllipticCurvePublicKey, *, dns: str = "", address: str = "") -> str:
        names: list[x509.GeneralName] = [x509.DNSName(dns)] if dns else []
        if address:
            names.append(x509.IPAddress(ipaddress.ip_address(address)))
        builder = _builder(common_name, key, issuer=self.certificate.subject)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        certificate = builder.sign(self.key, hashes.SHA256())
        return certificate.public_bytes(serialization.Encoding.PEM).decode()

    def client(self, common_name: str = "control-plane") -> ClientMaterial:
        certificate, key = self.issue(common_name)
        return ClientMaterial(ca_pem=self.pem, cert_pem=certificate, key_pem=key)


def new_authority() -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    constraints = x509.BasicConstraints(ca=True, path_length=None)
    certificate = (
        _builder("test authority", key.public_key())
        .add_extension(constraints, critical=True)
        .sign(key, hashes.SHA256())
    )
    return Authority(key, certificate)


def _builder(
    common_name: str, key: ec.EllipticCurvePublicKey, issuer: x509.Name | None = None
) -> x509.CertificateBuilder:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer or name)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
    )


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(encoding, form, serialization.NoEncryption()).decode()


Answer = tuple[int, Any]


@dataclass
class Server:
    """`asked` is what came in: method, path, body. `answer` makes the reply; None closes the connection without one."""

    address: str
    asked: list[tuple[str, str, Any]] = field(default_factory=list)
    connections: int = 0
    answer: Callable[[str, str, Any], Answer | None] = lambda *_: (200, {})


@contextmanager
def serving(
    authority: Authority,
    *,
    dns: str,
    newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
    anyone_may_ask: bool = False,
) -> Iterator[Server]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = newest
    context.verify_mode = ssl.CERT_NONE if anyone_may_ask else ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=authority.pem)
    certificate, key = authority.issue("a server", dns=dns, address="127.0.0.1")
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(certificate + key)
        file.flush()
        context.load_cert_chain(file.name)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            server.connections += 1
            super().setup()

        def do(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            body = json.loads(self.rfile.read(length)) if length else None
            server.asked.append((self.command, self.path, body))
            answer = server.answer(self.command, self.path, body)
            if answer is None:
                self.close_connection = True
                return
            status, document = answer
            content = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_DELETE = do  # noqa: N815

        def log_message(self, *_: object) -> None: ...

    class Listener(ThreadingHTTPServer):
        daemon_threads = True
        # Python's own five are soon full when threads connect at once; the kernel then has them ask again a second
        # later, which is longer than the client waits.
        request_queue_size = 128

        def handle_error(self, *_: object) -> None:
            """Handshakes that fail are what some tests are about."""

    listener = Listener(("127.0.0.1", 0), Handler)
    # The handshake happens in the connection's own thread, at the first read.
    listener.socket = context.wrap_socket(listener.socket, server_side=True, do_handshake_on_connect=False)
    server = Server(f"127.0.0.1:{listener.server_port}")
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        thread.join()
        listener.server_close()


def open_files() -> list[str]:
    """What this process has open, by name."""
    names = []
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            names.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        except FileNotFoundError:
            continue
    return names
