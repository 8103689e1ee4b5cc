"""First contact: how a new machine's agent gets its certificates.

A machine is given a one-time token when it is made. Its agent sends the token with two signing requests, its own and
the engine's, and gets both certificates. The same request again gets the same answer, so that a reply lost on the wire
does not strand a machine; any other request with a used token is refused.
"""

import base64
import hashlib
import hmac
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from backend.clusters import authorities, pki
from backend.clusters.models import Node, NodeEnrolment
from backend.clusters.pki import Authority, RequestRefused, Usage

TOKEN_LIFE = timedelta(hours=1)
AGENT_CERTIFICATE_DAYS = 30
ENGINE_CERTIFICATE_DAYS = 397
NODES_DOMAIN = "nodes.ringmaster.internal"
# In every agent's certificate beside its own name: Prometheus can check one name per job only (docs/decisions/0033).
ANY_AGENT = f"agent.{NODES_DOMAIN}"


class Refused(Exception):
    """The request is not answered. `why` is for our log; the machine is told no more than that it was refused."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class NotReadyYet(Exception):
    """The token is right, but the machine's address is not known yet: the same request will work in a moment."""


@dataclass(frozen=True, kw_only=True)
class EnrolmentRequest:
    node_id: str
    token: str
    agent_csr: str
    engine_csr: str

    def digest(self) -> bytes:
        parts = (self.node_id, self.token, self.agent_csr, self.engine_csr)
        return hashlib.sha256("\x00".join(parts).encode()).digest()


@dataclass(frozen=True, kw_only=True)
class Certificates:
    """What the agent is answered; all PEM and public."""

    agent_certificate: str
    agent_ca: str
    engine_certificate: str
    cluster_ca: str


def issue(node: Node) -> str:
    """The one-time token for a node's machine, good for an hour from now while it is unused.

    Derived from the node's id and the installation's signing key, not random: two workers that race through a crash
    hand out the same.
    """
    token = _token(node.id)
    expires_at = timezone.now() + TOKEN_LIFE
    defaults = {"token_hash": _hash(token), "expires_at": expires_at}
    _, created = NodeEnrolment.objects.get_or_create(node=node, defaults=defaults)
    if not created:
        NodeEnrolment.objects.filter(node=node, used_at=None).update(**defaults)
    return token


def _token(node_id: str) -> str:
    digest = hmac.digest(_key(), f"enrolment token|{node_id}".encode(), "sha256")
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _key() -> bytes:
    """Not the master key, which changes and may be in a key service: what is derived must be the same tomorrow."""
    return str(settings.SECRET_KEY).encode()


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


@transaction.atomic
def accept(request: EnrolmentRequest) -> Certificates:
    """The certificates for a node. Raises Refused and NotReadyYet."""
    enrolment = (
        NodeEnrolment.objects.select_for_update(of=("self",))
        .select_related("node__cluster")
        .filter(node_id=request.node_id)
        .first()
    )
    # Compared also when there is nothing to compare with, so that the time taken does not tell which nodes exist.
    expected = bytes(enrolment.token_hash) if enrolment is not None else bytes(32)
    if not hmac.compare_digest(_hash(request.token), expected) or enrolment is None:
        raise Refused("wrong token or unknown node")
    node = enrolment.node
    if node.deleted_at is not None:
        raise Refused("the node is deleted")
    agents, cluster = authorities.agents_authority(), authorities.cluster_authority(node.cluster_id)
    if enrolment.used_at is not None:
        if not hmac.compare_digest(bytes(enrolment.request_hash or b""), request.digest()):
            raise Refused("the token was used for another request")
        return _answer(enrolment, agents, cluster)
    if enrolment.expires_at <= timezone.now():
        raise Refused("the token has expired")
    if node.address is None:
        raise NotReadyYet
    try:
        enrolment.agent_certificate = sign_agent_request(agents, node.id, request.agent_csr)
        enrolment.engine_certificate = _sign_engine_request(cluster, node, request.engine_csr)
    except RequestRefused as error:
        raise Refused(str(error)) from error
    enrolment.request_hash = request.digest()
    enrolment.agent_certificate_expires_at = pki.expires_at(enrolment.agent_certificate)
    enrolment.used_at = timezone.now()
    enrolment.save()
    return _answer(enrolment, agents, cluster)


def _answer(enrolment: NodeEnrolment, agents: Authority, cluster: Authority) -> Certificates:
    return Certificates(
        agent_certificate=enrolment.agent_certificate,
        agent_ca=agents.certificate_pem,
        engine_certificate=enrolment.engine_certificate,
        cluster_ca=cluster.certificate_pem,
    )


def agent_dns_name(node_id: str) -> str:
    """The name an agent's certificate is for; the control plane checks it whatever address it connects to."""
    return f"{node_id.replace('_', '-')}.{NODES_DOMAIN}"


def sign_agent_request(agents: Authority, node_id: str, csr_pem: str) -> str:
    """Raises RequestRefused."""
    return pki.sign_request(
        agents,
        csr_pem,
        common_name=node_id,
        dns=[agent_dns_name(node_id), ANY_AGENT],
        ips=[],
        days=AGENT_CERTIFICATE_DAYS,
        usages=[Usage.SERVER, Usage.CLIENT],
    )


def _sign_engine_request(cluster: Authority, node: Node, csr_pem: str, *, serial: int | None = None) -> str:
    return pki.sign_request(
        cluster,
        csr_pem,
        common_name=node.id,
        dns=[agent_dns_name(node.id)],
        ips=[str(node.address)],
        days=ENGINE_CERTIFICATE_DAYS,
        usages=[Usage.SERVER, Usage.CLIENT],
        serial=serial,
    )


def engine_certificate_serial(node_id: str, operation_id: str) -> int:
    """The number of the certificate that an operation gives a node: derived, so that every look knows it again.

    159 bits that nobody can guess, as authorities are asked to choose them.
    """
    digest = hmac.digest(_key(), f"engine certificate|{node_id}|{operation_id}".encode(), "sha256")
    return int.from_bytes(digest[:20], "big") >> 1


def renew_engine_certificate(node: Node, csr_pem: str, *, operation_id: str) -> str:
    """PEM of a new certificate of the cluster's authority for a node's engine. RequestRefused, SecretMissing."""
    serial = engine_certificate_serial(node.id, operation_id)
    return _sign_engine_request(authorities.cluster_authority(node.cluster_id), node, csr_pem, serial=serial)


def renew_certificate(node_id: str, csr_pem: str) -> str:
    """PEM of a new certificate for a node's agent, asked for over mutual TLS. Raises RequestRefused, LookupError."""
    if not Node.objects.filter(id=node_id, deleted_at=None).exists():
        raise LookupError(f"there is no living node {node_id}")
    return sign_agent_request(authorities.agents_authority(), node_id, csr_pem)


def certificate_renewed(node_id: str, certificate_pem: str) -> None:
    """The node's agent serves with this certificate now. Not before: one lost on the way must be made again."""
    NodeEnrolment.objects.filter(node_id=node_id, used_at__isnull=False).update(
        agent_certificate_expires_at=pki.expires_at(certificate_pem)
    )
