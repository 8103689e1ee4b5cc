"""Certificates, as pure functions: ECDSA P-256 keys, X.509 certificates, PEM in and out.

Three authorities use it: the agents' (control plane ↔ agents), and one per cluster (node ↔ node, driver ↔ node).
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CA_DAYS = 3650
# Clocks of new machines may be behind: certificates are valid from a little before they were made.
_BACKDATE = timedelta(minutes=10)
_MAX_REQUEST_CHARACTERS = 8192


class RequestRefused(ValueError):
    """A signing request that is not one, is not signed by its own key, or has a key of another kind."""


class Usage(Enum):
    SERVER = ExtendedKeyUsageOID.SERVER_AUTH
    CLIENT = ExtendedKeyUsageOID.CLIENT_AUTH


@dataclass(frozen=True)
class Authority:
    """A CA: PEM of its private key (never shown, never logged) and of its certificate."""

    key_pem: bytes
    certificate_pem: str

    def __repr__(self) -> str:
        return "Authority(...)"


def new_ca(common_name: str) -> Authority:
    """A self-signed authority that may sign end certificates only, valid for ten years."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(common_name)
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATE)
        .not_valid_after(now + timedelta(days=CA_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(key_cert_sign=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Authority(_key_pem(key), certificate.public_bytes(serialization.Encoding.PEM).decode())


def new_key() -> bytes:
    """PEM (PKCS 8, not encrypted) of a new private key."""
    return _key_pem(ec.generate_private_key(ec.SECP256R1()))


def new_request(key_pem: bytes, common_name: str) -> str:
    """PEM of a signing request for a key. What it asks for beside the key is ignored by `sign_request`."""
    request = (
        x509.CertificateSigningRequestBuilder().subject_name(_name(common_name)).sign(_key(key_pem), hashes.SHA256())
    )
    return request.public_bytes(serialization.Encoding.PEM).decode()


def sign_request(
    ca: Authority,
    csr_pem: str,
    *,
    common_name: str,
    dns: Sequence[str],
    ips: Sequence[str],
    days: int,
    usages: Sequence[Usage],
    serial: int | None = None,
) -> str:
    """PEM of a certificate for the request's key. Names come from the caller only, never from the request.

    `serial`: by which the caller knows it again; random if left out. Raises RequestRefused.
    """
    public_key = _requested_key(csr_pem)
    issuer = x509.load_pem_x509_certificate(ca.certificate_pem.encode())
    now = datetime.now(UTC)
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in dns]
    names += [x509.IPAddress(ipaddress.ip_address(address)) for address in ips]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(_name(common_name))
        .issuer_name(issuer.subject)
        .public_key(public_key)
        .serial_number(serial or x509.random_serial_number())
        .not_valid_before(now - _BACKDATE)
        .not_valid_after(min(now + timedelta(days=days), issuer.not_valid_after_utc))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(key_cert_sign=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([usage.value for usage in usages]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        .add_extension(_authority_identifier(issuer), critical=False)
        .sign(_key(ca.key_pem), hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def expires_at(certificate_pem: str) -> datetime:
    return x509.load_pem_x509_certificate(certificate_pem.encode()).not_valid_after_utc


def serial_of(certificate_pem: str) -> int:
    return x509.load_pem_x509_certificate(certificate_pem.encode()).serial_number


def due_for_renewal(certificate_pem: str, *, now: datetime | None = None) -> bool:
    """True when a third of the certificate's life or less is left."""
    certificate = x509.load_pem_x509_certificate(certificate_pem.encode())
    life = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    return certificate.not_valid_after_utc - (now or datetime.now(UTC)) <= life / 3


def names_of(certificate_pem: str) -> frozenset[str]:
    """The DNS names and IP addresses a certificate is for."""
    certificate = x509.load_pem_x509_certificate(certificate_pem.encode())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return frozenset(names.get_values_for_type(x509.DNSName)) | frozenset(
        str(address) for address in names.get_values_for_type(x509.IPAddress)
    )


def _requested_key(csr_pem: str) -> ec.EllipticCurvePublicKey:
    if len(csr_pem) > _MAX_REQUEST_CHARACTERS:
        raise RequestRefused("the signing request is too long")
    try:
        request = x509.load_pem_x509_csr(csr_pem.encode())
        key = request.public_key()
        signed = request.is_signature_valid
    except (ValueError, UnsupportedAlgorithm, InvalidSignature) as error:
        raise RequestRefused("this is not a signing request in PEM") from error
    if not signed:
        raise RequestRefused("the signing request is not signed by its own key")
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise RequestRefused("the key of the signing request must be ECDSA P-256")
    return key


def _authority_identifier(issuer: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    subject = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(subject)


def _name(common_name: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Ringmaster"),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
        ]
    )


def _key_usage(*, key_cert_sign: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not key_cert_sign,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=key_cert_sign,
        encipher_only=False,
        decipher_only=False,
    )


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _key(key_pem: bytes) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(key_pem, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("not an ECDSA key")
    return key
