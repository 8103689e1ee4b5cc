"""Keys and certificates of pretended engines: real ones, so that what signs them cannot tell."""

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

_DAY = timedelta(days=1)


def new_key() -> str:
    """PEM of a private key."""
    key = ec.generate_private_key(ec.SECP256R1())
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(encoding, form, serialization.NoEncryption()).decode()


def new_request(key_pem: str, common_name: str) -> str:
    """PEM of a signing request."""
    request = x509.CertificateSigningRequestBuilder().subject_name(_name(common_name)).sign(_key(key_pem), _SHA256)
    return request.public_bytes(serialization.Encoding.PEM).decode()


def new_certificate(key_pem: str, common_name: str, *, days: int, age_days: int = 1) -> str:
    """PEM of a certificate that its own key has signed: made `age_days` ago, valid for so many `days` from now."""
    key, now = _key(key_pem), datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(_name(common_name))
        .issuer_name(_name(common_name))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - age_days * _DAY)
        .not_valid_after(now + days * _DAY)
        .sign(key, _SHA256)
    )
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def fits(certificate_pem: str, key_pem: str) -> bool:
    """Whether the certificate is for the key."""
    certificate = x509.load_pem_x509_certificate(certificate_pem.encode())
    return certificate.public_key() == _key(key_pem).public_key()


def serial_of(certificate_pem: str) -> str:
    """Hexadecimal digits, as agents tell it."""
    return f"{x509.load_pem_x509_certificate(certificate_pem.encode()).serial_number:x}"


def not_after(certificate_pem: str) -> str:
    return x509.load_pem_x509_certificate(certificate_pem.encode()).not_valid_after_utc.isoformat()


_SHA256 = hashes.SHA256()


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)])


def _key(key_pem: str) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(key_pem.encode(), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key
