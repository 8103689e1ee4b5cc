"""The certificates in real TLS handshakes, as drivers, nodes and agents do them (OpenSSL, strict)."""

import ssl
from pathlib import Path

import pytest

from backend.clusters import pki
from backend.clusters.pki import Authority, Usage


class Side:
    """One end of a connection, with its certificate and key in files as OpenSSL wants them."""

    def __init__(self, folder: Path, name: str, ca: Authority, *, dns: list[str], ips: list[str]) -> None:
        key = pki.new_key()
        certificate = pki.sign_request(
            ca, pki.new_request(key, "x"), common_name=name, dns=dns, ips=ips, days=1, usages=list(Usage)
        )
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(key + certificate.encode())


def shake_hands(client: ssl.SSLContext, server: ssl.SSLContext, name: str) -> None:
    """Raises ssl.SSLError when one does not trust the other."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname=name),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(6):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    assert ends[0].version() == ends[1].version() == "TLSv1.3"


@pytest.fixture
def ca() -> Authority:
    return pki.new_ca("Ringmaster orders")


@pytest.fixture
def server(ca: Authority, tmp_path: Path) -> ssl.SSLContext:
    node = Side(tmp_path, "node", ca, dns=["nod-1.nodes.ringmaster.internal"], ips=["127.1.2.3"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(node.file)
    return context


def trusting(ca: Authority) -> ssl.SSLContext:
    """What the Python snippet does, as strict as newer Pythons are by default."""
    context = ssl.create_default_context(cadata=ca.certificate_pem)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


def test_a_driver_checks_a_node_by_its_address(ca: Authority, server: ssl.SSLContext):
    shake_hands(trusting(ca), server, "127.1.2.3")


def test_a_driver_refuses_a_node_at_another_address(ca: Authority, server: ssl.SSLContext):
    with pytest.raises(ssl.SSLCertVerificationError, match="IP address mismatch"):
        shake_hands(trusting(ca), server, "127.1.2.4")


def test_a_driver_refuses_a_node_of_another_cluster(server: ssl.SSLContext):
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(trusting(pki.new_ca("Ringmaster other")), server, "127.1.2.3")


def test_both_sides_can_ask_for_a_certificate(ca: Authority, server: ssl.SSLContext, tmp_path: Path):
    server.load_verify_locations(cadata=ca.certificate_pem)
    server.verify_mode = ssl.CERT_REQUIRED
    client = trusting(ca)
    client.load_cert_chain(Side(tmp_path, "control-plane", ca, dns=["control-plane"], ips=[]).file)
    shake_hands(client, server, "nod-1.nodes.ringmaster.internal")
