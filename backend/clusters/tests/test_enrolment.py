from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store
from django.utils import timezone

from backend.clusters import authorities, enrolment, lifecycle, pki
from backend.clusters.enrolment import EnrolmentRequest, NotReadyYet, Refused
from backend.clusters.models import Cluster, Node, NodeEnrolment


@pytest.fixture
def node(creating: Cluster) -> Node:
    """A node whose machine runs; the agents' authority is there."""
    authorities.ensure_control_plane_pki()
    found = Node.objects.filter(cluster=creating)[0]
    lifecycle.node_machine_ready(found.id, machine_id="m", address="127.1.2.3", agent_address="127.1.2.3:7443")
    found.refresh_from_db()
    return found


def request_of(node: Node, token: str) -> EnrolmentRequest:
    return EnrolmentRequest(
        node_id=node.id,
        token=token,
        agent_csr=pki.new_request(pki.new_key(), "agent"),
        engine_csr=pki.new_request(pki.new_key(), "engine"),
    )


def load(pem: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem.encode())


def server_of(ca_pem: str) -> PolicyBuilder:
    return PolicyBuilder().store(Store([load(ca_pem)]))


def test_a_new_machine_gets_both_certificates(node: Node):
    given = enrolment.accept(request_of(node, enrolment.issue(node)))
    name = x509.DNSName(f"{node.id.replace('_', '-')}.nodes.ringmaster.internal")
    assert server_of(given.agent_ca).build_server_verifier(name).verify(load(given.agent_certificate), [])
    assert server_of(given.cluster_ca).build_client_verifier().verify(load(given.engine_certificate), [])
    assert given.cluster_ca == node.cluster.ca_certificate
    assert pki.names_of(given.engine_certificate) >= {"127.1.2.3"}
    assert f"CN={node.id}" in load(given.engine_certificate).subject.rfc4514_string()
    row = NodeEnrolment.objects.get(node=node)
    assert row.agent_certificate_expires_at == pki.expires_at(given.agent_certificate)


def test_the_same_request_gets_the_same_answer_also_later(node: Node):
    request = request_of(node, enrolment.issue(node))
    first = enrolment.accept(request)
    NodeEnrolment.objects.update(expires_at=timezone.now() - timedelta(days=1))
    assert enrolment.accept(request) == first


def test_another_request_with_a_used_token_is_refused(node: Node):
    token = enrolment.issue(node)
    enrolment.accept(request_of(node, token))
    assert enrolment.issue(node) == token
    with pytest.raises(Refused, match="another request"):
        enrolment.accept(request_of(node, token))


def test_a_token_lasts_an_hour_from_its_last_issue(node: Node):
    token = enrolment.issue(node)
    NodeEnrolment.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(Refused, match="expired"):
        enrolment.accept(request_of(node, token))
    assert enrolment.issue(node) == token
    assert enrolment.accept(request_of(node, token))


def test_the_token_of_another_node_opens_nothing(node: Node):
    other = Node.objects.exclude(id=node.id)[0]
    enrolment.issue(node)
    with pytest.raises(Refused, match="wrong token"):
        enrolment.accept(request_of(node, enrolment.issue(other)))


def test_a_node_without_an_enrolment_is_refused_in_the_same_words(node: Node):
    with pytest.raises(Refused, match="wrong token or unknown node"):
        enrolment.accept(request_of(node, "x"))


def test_a_deleted_node_is_refused(node: Node):
    token = enrolment.issue(node)
    Node.objects.filter(id=node.id).update(deleted_at=timezone.now())
    with pytest.raises(Refused, match="deleted"):
        enrolment.accept(request_of(node, token))


def test_a_machine_that_is_quicker_than_its_address_is_asked_to_wait(node: Node):
    token = enrolment.issue(node)
    Node.objects.filter(id=node.id).update(address=None)
    request = request_of(node, token)
    with pytest.raises(NotReadyYet):
        enrolment.accept(request)
    Node.objects.filter(id=node.id).update(address="127.1.2.3")
    assert enrolment.accept(request)


def test_a_bad_signing_request_does_not_use_up_the_token(node: Node):
    token = enrolment.issue(node)
    good = request_of(node, token)
    with pytest.raises(Refused, match="signing request"):
        enrolment.accept(EnrolmentRequest(node_id=node.id, token=token, agent_csr="x", engine_csr=good.engine_csr))
    assert enrolment.accept(good)


def test_only_a_hash_of_the_token_is_stored(node: Node):
    token = enrolment.issue(node)
    assert token not in str(list(NodeEnrolment.objects.values()))


def test_a_certificate_is_renewed_with_a_new_key_and_counts_when_it_is_served(node: Node):
    given = enrolment.accept(request_of(node, enrolment.issue(node)))
    first_expiry = NodeEnrolment.objects.get().agent_certificate_expires_at
    renewed = enrolment.renew_certificate(node.id, pki.new_request(pki.new_key(), "agent"))
    assert load(renewed).public_key() != load(given.agent_certificate).public_key()
    assert pki.names_of(renewed) == pki.names_of(given.agent_certificate)
    assert NodeEnrolment.objects.get().agent_certificate_expires_at == first_expiry
    NodeEnrolment.objects.update(agent_certificate_expires_at=timezone.now())
    enrolment.certificate_renewed(node.id, renewed)
    assert NodeEnrolment.objects.get().agent_certificate_expires_at == pki.expires_at(renewed)


def test_nothing_is_renewed_for_a_node_that_is_gone(node: Node):
    lifecycle.cluster_deleted(node.cluster_id)
    with pytest.raises(LookupError):
        enrolment.renew_certificate(node.id, pki.new_request(pki.new_key(), "agent"))
