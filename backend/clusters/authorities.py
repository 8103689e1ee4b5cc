"""The installation's own certificates: the agents' authority, its clients (control plane, Prometheus), the enrolment
server.

All are made once, on first use or by ``manage.py bootstrap``, and renewed when a third of their life is left.
"""

import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection, transaction

from backend.clusters import pki, vault
from backend.clusters.pki import Authority, Usage
from backend.clusters.states import SecretPurpose

CONTROL_PLANE = "control-plane"  # owner of the secrets, and the name agents accept
PROMETHEUS = "prometheus"  # the name that agents give their metrics to, and nothing else
_CERTIFICATE_DAYS = 397
_LOCK = 4_701_331_001  # any number of our own: two processes that start at once must not make two authorities


@dataclass(frozen=True, kw_only=True)
class AgentClientMaterial:
    """What the control plane speaks to agents with, as PEM: their authority, its own certificate and key."""

    ca_pem: str
    cert_pem: str
    key_pem: str

    def __repr__(self) -> str:
        return "AgentClientMaterial(...)"


@transaction.atomic
def ensure_control_plane_pki() -> None:
    """Makes what is missing and renews what ends soon. Can be repeated and run side by side."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
    if vault.find(CONTROL_PLANE, SecretPurpose.AGENT_CA_KEY) is None:
        made = pki.new_ca("Ringmaster agents")
        vault.keep(CONTROL_PLANE, SecretPurpose.AGENT_CA_KEY, made.key_pem, certificate=made.certificate_pem)
    ca = agents_authority()
    _ensure(ca, SecretPurpose.CONTROL_PLANE_KEY, CONTROL_PLANE, dns=[CONTROL_PLANE], ips=[], usage=Usage.CLIENT)
    _ensure(ca, SecretPurpose.PROMETHEUS_KEY, PROMETHEUS, dns=[PROMETHEUS], ips=[], usage=Usage.CLIENT)
    dns, ips = enrol_server_names(settings.ENV.ringmaster_enrol_url)
    _ensure(ca, SecretPurpose.ENROL_SERVER_KEY, "enrolment", dns=dns, ips=ips, usage=Usage.SERVER)


def _ensure(
    ca: Authority, purpose: SecretPurpose, common_name: str, *, dns: list[str], ips: list[str], usage: Usage
) -> None:
    known = vault.find(CONTROL_PLANE, purpose)
    if (
        known is not None
        and pki.names_of(known.certificate) == {*dns, *ips}
        and not pki.due_for_renewal(known.certificate)
    ):
        return
    key = pki.new_key()
    certificate = pki.sign_request(
        ca,
        pki.new_request(key, common_name),
        common_name=common_name,
        dns=dns,
        ips=ips,
        days=_CERTIFICATE_DAYS,
        usages=[usage],
    )
    vault.keep(CONTROL_PLANE, purpose, key, certificate=certificate)


def enrol_server_names(enrol_url: str) -> tuple[list[str], list[str]]:
    """DNS names and addresses the enrolment server is reached by: loopback, and the host of RINGMASTER_ENROL_URL."""
    dns, ips = ["localhost"], ["127.0.0.1"]
    host = urlsplit(enrol_url).hostname or "localhost"
    try:
        names, name = ips, str(ipaddress.ip_address(host))
    except ValueError:
        names, name = dns, host
    if name not in names:
        names.append(name)
    return dns, ips


def agents_authority() -> Authority:
    """Raises SecretMissing before ensure_control_plane_pki has run."""
    return authority(CONTROL_PLANE, SecretPurpose.AGENT_CA_KEY)


def cluster_authority(cluster_id: str) -> Authority:
    """Raises SecretMissing when the cluster is gone."""
    return authority(cluster_id, SecretPurpose.CLUSTER_CA_KEY)


def authority(owner: str, purpose: SecretPurpose) -> Authority:
    found = vault.find(owner, purpose)
    if found is None:
        raise vault.SecretMissing(f"{owner} has no {purpose}")
    return Authority(vault.opened(found), found.certificate)


def agent_client_material() -> AgentClientMaterial:
    """Raises SecretMissing before ensure_control_plane_pki has run."""
    own = authority(CONTROL_PLANE, SecretPurpose.CONTROL_PLANE_KEY)
    return AgentClientMaterial(
        ca_pem=_agents_ca_certificate(), cert_pem=own.certificate_pem, key_pem=own.key_pem.decode()
    )


def _agents_ca_certificate() -> str:
    found = vault.find(CONTROL_PLANE, SecretPurpose.AGENT_CA_KEY)
    if found is None:
        raise vault.SecretMissing("the agents' authority was not made yet")
    return found.certificate


def write_enrol_certificate(certificate_file: Path, key_file: Path) -> None:
    """Writes the enrolment server's certificate and key for uvicorn, the key readable by its owner only."""
    material = authority(CONTROL_PLANE, SecretPurpose.ENROL_SERVER_KEY)
    _write(certificate_file, material.certificate_pem.encode() + _agents_ca_certificate().encode())
    _write(key_file, material.key_pem)


def write_prometheus_certificate(folder: Path) -> None:
    """Writes what Prometheus shows to agents and whom it believes: prometheus.pem (certificate and key), agents-ca.crt.

    One file holds both halves, so that they are replaced together. Prometheus reads them anew by itself. Files that are
    right already are left alone.
    """
    own = authority(CONTROL_PLANE, SecretPurpose.PROMETHEUS_KEY)
    for file, content in (
        (folder / "prometheus.pem", own.certificate_pem.encode() + own.key_pem),
        (folder / "agents-ca.crt", _agents_ca_certificate().encode()),
    ):
        if not file.is_file() or file.read_bytes() != content:
            _write(file, content)


def _write(file: Path, content: bytes) -> None:
    """Whole or not at all, and never readable by others, not even for a moment."""
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_name(f".{file.name}.{os.getpid()}")
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
    fresh.rename(file)
