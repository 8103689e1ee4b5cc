import ipaddress
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID
from cryptography.x509.verification import PolicyBuilder, Store
from django.db import connections

from backend.clusters import authorities, pki, queries, vault
from backend.clusters.models import Secret
from backend.clusters.states import SecretPurpose


def load(pem: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem.encode())


def test_the_control_plane_has_a_certificate_that_agents_accept(db):
    authorities.ensure_control_plane_pki()
    material = queries.agent_client_material()
    verifier = PolicyBuilder().store(Store([load(material.ca_pem)])).build_client_verifier()
    assert verifier.verify(load(material.cert_pem), [])
    assert "CN=control-plane" in load(material.cert_pem).subject.rfc4514_string()
    assert material.key_pem not in repr(material)


def test_it_is_made_once(db):
    authorities.ensure_control_plane_pki()
    before = list(Secret.objects.order_by("id").values())
    authorities.ensure_control_plane_pki()
    assert list(Secret.objects.order_by("id").values()) == before


def test_before_that_there_is_nothing_to_speak_with(db):
    with pytest.raises(vault.SecretMissing):
        queries.agent_client_material()


def test_what_ends_soon_is_renewed_and_the_authority_stays(db, monkeypatch: pytest.MonkeyPatch):
    authorities.ensure_control_plane_pki()
    before = queries.agent_client_material()
    late = datetime.now(UTC) + timedelta(days=300)
    real = pki.due_for_renewal
    monkeypatch.setattr(pki, "due_for_renewal", lambda pem: real(pem, now=late))
    authorities.ensure_control_plane_pki()
    after = queries.agent_client_material()
    assert after.cert_pem != before.cert_pem
    assert after.ca_pem == before.ca_pem


@pytest.mark.parametrize(
    ("url", "dns", "ips"),
    [
        ("https://127.0.0.1:1/enrol/v1", ["localhost"], ["127.0.0.1"]),
        ("https://10.1.2.3:1/enrol/v1", ["localhost"], ["127.0.0.1", "10.1.2.3"]),
        ("https://enrol.example.org/enrol/v1", ["localhost", "enrol.example.org"], ["127.0.0.1"]),
    ],
)
def test_the_enrolment_server_is_named_as_machines_reach_it(url: str, dns: list[str], ips: list[str]):
    assert authorities.enrol_server_names(url) == (dns, ips)


def test_the_enrolment_server_gets_files(db, tmp_path: Path):
    authorities.ensure_control_plane_pki()
    certificate, key = tmp_path / "tls" / "enrol.crt", tmp_path / "tls" / "enrol.key"
    for _ in range(2):
        authorities.write_enrol_certificate(certificate, key)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert len(list(key.parent.iterdir())) == 2
    ca = load(queries.agent_client_material().ca_pem)
    verifier = (
        PolicyBuilder().store(Store([ca])).build_server_verifier(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    )
    assert verifier.verify(load(certificate.read_text()), [])


def test_prometheus_gets_a_client_certificate_of_its_own_which_is_renewed(db, tmp_path: Path):
    authorities.ensure_control_plane_pki()
    authorities.write_prometheus_certificate(tmp_path / "secrets")
    own, ca = tmp_path / "secrets" / "prometheus.pem", tmp_path / "secrets" / "agents-ca.crt"
    assert stat.S_IMODE(own.stat().st_mode) == 0o600
    assert "PRIVATE KEY" in own.read_text()
    verifier = PolicyBuilder().store(Store([load(ca.read_text())])).build_client_verifier()
    before = load(own.read_text())
    verifier.verify(before, [])
    assert before.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == "prometheus"
    written = own.stat().st_mtime_ns
    authorities.write_prometheus_certificate(tmp_path / "secrets")
    assert own.stat().st_mtime_ns == written
    secret = Secret.objects.get(purpose=SecretPurpose.PROMETHEUS_KEY)
    vault.keep(
        "control-plane",
        SecretPurpose.PROMETHEUS_KEY,
        vault.opened(secret),
        certificate=ending(authorities.agents_authority(), vault.opened(secret)),
    )
    authorities.ensure_control_plane_pki()
    authorities.write_prometheus_certificate(tmp_path / "secrets")
    assert load(own.read_text()).not_valid_after_utc - datetime.now(UTC) > timedelta(days=396)


def ending(ca: pki.Authority, key: bytes) -> str:
    """A certificate for Prometheus with no time left."""
    return pki.sign_request(
        ca,
        pki.new_request(key, "prometheus"),
        common_name="prometheus",
        dns=["prometheus"],
        ips=[],
        days=0,
        usages=[pki.Usage.CLIENT],
    )


@pytest.mark.django_db(transaction=True)
def test_processes_that_start_together_make_one_authority():
    def make(_: int) -> None:
        try:
            authorities.ensure_control_plane_pki()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(make, range(4)))
    assert Secret.objects.count() == 4
    material = authorities.authority("control-plane", SecretPurpose.CONTROL_PLANE_KEY)
    ca = load(queries.agent_client_material().ca_pem)
    PolicyBuilder().store(Store([ca])).build_client_verifier().verify(load(material.certificate_pem), [])
