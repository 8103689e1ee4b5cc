"""Agents' certificates are renewed in time, once, and again when the new one was lost on the way."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from django.db.models.functions import Now
from django.utils import timezone

from backend.clusters.models import MaintenanceWindow, Node, NodeEnrolment
from backend.operations.models import Operation
from provisioner.agent import fake_certificates
from provisioner.agent.base import AgentUnreachable
from provisioner.operations.surroundings import Surroundings, surroundings, use
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world
from provisioner.reconcile.certificates import renew_certificates

pytestmark = pytest.mark.django_db(transaction=True)


class Agents:
    """Agents that can do nothing but change their certificate."""

    def __init__(self) -> None:
        self.installed: dict[str, str] = {}
        self.lose_next = False
        self.lose_reply = False
        self.signed = 0

    def __call__(self, node: Node) -> "Agents":
        self.node_id = node.id
        return self

    def certificate(self) -> str:
        old = fake_certificates.new_certificate(fake_certificates.new_key(), self.node_id, days=5, age_days=25)
        return self.installed.get(self.node_id, old)

    def request_certificate(self) -> str:
        self.signed += 1
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, self.node_id)])
        request = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, SHA256())
        return request.public_bytes(Encoding.PEM).decode()

    def put_certificate(self, certificate_pem: str) -> None:
        if self.lose_next:
            self.lose_next = False
            raise AgentUnreachable("gone")
        self.installed[self.node_id] = certificate_pem
        if self.lose_reply:
            self.lose_reply = False
            raise AgentUnreachable("gone")


@pytest.fixture
def agents() -> Iterator[Agents]:
    """Three nodes of which the first has a certificate with five days left, the second one with twenty-five."""
    with cluster_world(ClusterWorld.create) as world:
        world.create()
        nodes = list(Node.objects.filter(cluster_id=world.cluster_id).order_by("position"))
        for node, days in zip(nodes, (5, 25, None), strict=True):
            NodeEnrolment.objects.create(
                node=node,
                token_hash=b"0" * 32,
                expires_at=Now(),
                used_at=None if days is None else Now(),
                agent_certificate_expires_at=None if days is None else Now() + timedelta(days=days),
            )
        here = surroundings()
        made = Agents()
        with use(Surroundings(provider=here.provider, engine=here.engine, agent=made)):  # type: ignore[arg-type]
            yield made


def test_only_what_ends_soon_is_renewed_and_only_once(agents: Agents) -> None:
    soonest = Node.objects.order_by("position")[0]
    assert renew_certificates() == 1
    assert list(agents.installed) == [soonest.id]
    certificate = x509.load_pem_x509_certificate(agents.installed[soonest.id].encode())
    assert soonest.id in certificate.subject.rfc4514_string()
    enrolment = NodeEnrolment.objects.get(node=soonest)
    assert enrolment.agent_certificate_expires_at == certificate.not_valid_after_utc
    assert renew_certificates() == 0


def test_a_certificate_lost_on_the_way_is_made_again(agents: Agents) -> None:
    agents.lose_next = True
    assert renew_certificates() == 0
    assert renew_certificates() == 1


def test_a_certificate_whose_reply_was_lost_is_not_made_again(agents: Agents) -> None:
    agents.lose_reply = True
    assert renew_certificates() == 0
    assert renew_certificates() == 1
    assert agents.signed == 1


@pytest.fixture
def ending() -> Iterator[ClusterWorld]:
    """An active cluster whose engines' certificates have a quarter of their life left."""
    with cluster_world(ClusterWorld.create) as world:
        world.created()
        nodes = Node.objects.filter(cluster_id=world.cluster_id)
        nodes.update(engine_certificate_expires_at=Now() + timedelta(days=99))
        yield world


def test_engines_certificates_are_renewed_by_an_operation_once(ending: ClusterWorld) -> None:
    before = ending.agents.certificate_serials()
    assert (renew_certificates(), renew_certificates()) == (1, 0)
    operation = Operation.objects.get(kind="rotate_certificates")
    assert operation.actor == "ringmaster"
    ending.finish(operation)
    after = ending.agents.certificate_serials()
    assert len(after) == 3
    assert not set(before.values()) & set(after.values())
    assert renew_certificates() == 0


def test_outside_of_the_windows_nothing_is_begun(ending: ClusterWorld) -> None:
    yesterday = timezone.now() - timedelta(hours=30)
    MaintenanceWindow.objects.create(
        cluster_id=ending.cluster_id,
        weekdays=[yesterday.weekday()],
        starts_at=yesterday.time(),
        minutes=60,
        time_zone="UTC",
    )
    assert renew_certificates() == 0
