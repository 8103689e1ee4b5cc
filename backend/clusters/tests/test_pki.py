import ipaddress
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from backend.clusters import pki
from backend.clusters.pki import RequestRefused, Usage

BOTH = (Usage.SERVER, Usage.CLIENT)


def _issue(ca: pki.Authority, *, days: int = 30, usages: tuple[Usage, ...] = BOTH) -> x509.Certificate:
    pem = pki.sign_request(
        ca,
        pki.new_request(pki.new_key(), "whatever the machine says"),
        common_name="nod_1",
        dns=["nod-1.nodes.ringmaster.internal"],
        ips=["127.1.2.3"],
        days=days,
        usages=usages,
    )
    return x509.load_pem_x509_certificate(pem.encode())


def _policy(ca: pki.Authority) -> PolicyBuilder:
    return PolicyBuilder().store(Store([x509.load_pem_x509_certificate(ca.certificate_pem.encode())]))


def test_it_makes_server_certificates_that_verify_by_name_and_by_address() -> None:
    ca = pki.new_ca("Ringmaster agents")
    certificate = _issue(ca)
    _policy(ca).build_server_verifier(x509.DNSName("nod-1.nodes.ringmaster.internal")).verify(certificate, [])
    _policy(ca).build_server_verifier(x509.IPAddress(ipaddress.ip_address("127.1.2.3"))).verify(certificate, [])


def test_it_makes_client_certificates_that_verify() -> None:
    ca = pki.new_ca("Ringmaster agents")
    _policy(ca).build_client_verifier().verify(_issue(ca), [])
    with pytest.raises(VerificationError):
        _policy(ca).build_client_verifier().verify(_issue(ca, usages=(Usage.SERVER,)), [])


def test_another_authority_or_another_name_or_another_time_does_not_verify() -> None:
    ca, other = pki.new_ca("one"), pki.new_ca("one")
    certificate = _issue(ca)
    name = x509.DNSName("nod-1.nodes.ringmaster.internal")
    with pytest.raises(VerificationError):
        _policy(other).build_server_verifier(name).verify(certificate, [])
    with pytest.raises(VerificationError):
        _policy(ca).build_server_verifier(x509.DNSName("nod-2.nodes.ringmaster.internal")).verify(certificate, [])
    later = datetime.now(UTC) + timedelta(days=31)
    with pytest.raises(VerificationError):
        _policy(ca).time(later).build_server_verifier(name).verify(certificate, [])


def test_an_end_certificate_cannot_sign_another() -> None:
    ca = pki.new_ca("one")
    certificate = _issue(ca)
    assert certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca is False


def test_names_come_from_us_and_never_from_the_request() -> None:
    certificate = _issue(pki.new_ca("one"))
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    assert [name.value for name in names] == ["nod_1"]
    pem = certificate.public_bytes(serialization.Encoding.PEM).decode()
    assert pki.names_of(pem) == {"nod-1.nodes.ringmaster.internal", "127.1.2.3"}


def test_no_certificate_outlives_its_authority() -> None:
    ca = pki.new_ca("one")
    assert _issue(ca, days=100_000).not_valid_after_utc == pki.expires_at(ca.certificate_pem)


def test_it_says_when_a_third_of_the_life_is_left() -> None:
    pem = _issue(pki.new_ca("one"), days=30).public_bytes(serialization.Encoding.PEM).decode()
    assert not pki.due_for_renewal(pem)
    assert not pki.due_for_renewal(pem, now=datetime.now(UTC) + timedelta(days=19))
    assert pki.due_for_renewal(pem, now=datetime.now(UTC) + timedelta(days=21))


def _with_a_changed_signature(request_pem: str) -> str:
    request = x509.load_pem_x509_csr(request_pem.encode())
    body = bytearray(request.public_bytes(serialization.Encoding.DER))
    place = bytes(body).find(b"Ringmaster")
    body[place] ^= 1
    return x509.load_der_x509_csr(bytes(body)).public_bytes(serialization.Encoding.PEM).decode()


def _with_an_rsa_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM).decode()


@pytest.mark.parametrize(
    ("request_pem", "why"),
    [
        ("", "not a signing request"),
        ("-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n", "not a signing request"),
        ("x" * 9000, "too long"),
        (_with_a_changed_signature(pki.new_request(pki.new_key(), "n")), "own key"),
        (_with_an_rsa_key(), "P-256"),
    ],
    ids=["empty", "garbage", "long", "changed", "rsa"],
)
def test_it_refuses_what_is_not_a_sound_request(request_pem: str, why: str) -> None:
    with pytest.raises(RequestRefused, match=why):
        pki.sign_request(pki.new_ca("one"), request_pem, common_name="n", dns=["n"], ips=[], days=1, usages=BOTH)
