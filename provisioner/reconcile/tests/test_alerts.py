"""Messages about alerts go from rows to receivers that are really there."""

from collections.abc import Iterator
from typing import Any

import pytest

from backend.accounts.models import Membership, Organisation, User
from backend.accounts.queries import Identity
from backend.accounts.states import Permission, Role
from backend.alerts import deliveries, receiver_actions
from backend.alerts.models import AlertDelivery
from backend.alerts.schemas import AlertReceiverOrder
from backend.alerts.states import DeliveryKind
from provisioner.messengers.tests.receivers import Received, http_receiver, mail_receiver
from provisioner.reconcile import alerts

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def who(settings: Any) -> Identity:
    settings.ENV = settings.ENV.model_copy(update={"ringmaster_alert_networks": ["127.0.0.0/8"]})
    organisation = Organisation.objects.create(name="Acme", slug="acme")
    user = User.objects.create(email="owner@acme.example", name="Owner")
    Membership.objects.create(organisation=organisation, user=user, role=Role.OWNER)
    return Identity(
        organisation_id=organisation.id,
        user_id=user.id,
        user_email=user.email,
        role=Role.OWNER,
        permissions=frozenset(Permission),
    )


@pytest.fixture
def http() -> Iterator[Received]:
    with http_receiver() as received:
        yield received


def receiver(who: Identity, **order: Any) -> str:
    made = receiver_actions.create(who, AlertReceiverOrder.model_validate({"name": "ops", **order}))
    return str(made["id"])


def test_a_test_arrives_and_its_delivery_says_so(who: Identity, http: Received):
    receiver_id = receiver(who, kind="webhook", url=http.url)
    made = receiver_actions.test(who, receiver_id)
    assert alerts.deliver() == 1
    assert [(body["id"], body["status"]) for body in http.bodies] == [(made["id"], "test")]
    row = AlertDelivery.objects.get()
    assert (row.state, row.result, row.attempts) == ("sent", "200 ok", 1)
    assert alerts.deliver() == 0


def test_a_test_that_does_not_arrive_says_why_at_once(who: Identity, http: Received):
    http.status, http.text = 503, "tired"
    receiver_actions.test(who, receiver(who, kind="slack", url=http.url))
    alerts.deliver()
    row = AlertDelivery.objects.get()
    assert (row.state, row.result) == ("failed", "127.0.0.1 answered 503 tired")


def test_alerts_are_sent_again_until_the_other_side_takes_them(who: Identity, http: Received):
    http.status = 503
    receiver_id = receiver(who, kind="slack", url=http.url)
    content = deliveries.test_content(receiver_actions.find_receiver(who, receiver_id), "me")
    deliveries.add(receiver_id, DeliveryKind.ALERTS, content)
    alerts.deliver()
    row = AlertDelivery.objects.get()
    assert (row.state, row.attempts) == ("pending", 1)
    assert alerts.deliver() == 0  # not before its time
    http.status = 200
    AlertDelivery.objects.update(due_at="2026-01-01T00:00:00Z")
    alerts.deliver()
    row.refresh_from_db()
    assert (row.state, row.attempts) == ("sent", 2)


def test_mail_goes_through_the_installations_server(who: Identity, settings: Any):
    with mail_receiver() as mails:
        settings.ENV = settings.ENV.model_copy(update={"ringmaster_smtp_url": mails.url})
        receiver_actions.test(who, receiver(who, kind="email", addresses=["duty@acme.example"]))
        alerts.deliver()
        assert mails.recipients == ["duty@acme.example"]
    assert AlertDelivery.objects.get().state == "sent"


def test_a_network_that_the_operator_took_back_is_not_sent_to(who: Identity, http: Received, settings: Any):
    receiver_id = receiver(who, kind="slack", url=http.url)
    settings.ENV = settings.ENV.model_copy(update={"ringmaster_alert_networks": []})
    receiver_actions.test(who, receiver_id)
    alerts.deliver()
    row = AlertDelivery.objects.get()
    assert (row.state, http.requests) == ("failed", [])
    assert "not a public address" in row.result
