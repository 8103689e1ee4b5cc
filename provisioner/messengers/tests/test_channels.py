"""Each kind of receiver, over real sockets on loopback."""

import hashlib
import hmac
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from provisioner.messengers import channels, outgoing
from provisioner.messengers.outgoing import Address, NotSent
from provisioner.messengers.tests.receivers import Mails, Received, http_receiver, mail_receiver

ALERT = {
    "fingerprint": "f00d",
    "status": "firing",
    "sentence": "Node down: orders-a-1",
    "value": 1.0,
    "labels": {"node": "nod_1"},
    "starts_at": "2026-01-02T03:04:05+00:00",
    "ends_at": None,
}
CONTENT: dict[str, Any] = {
    "version": 1,
    "status": "firing",
    "summary": "orders: Node down: <!channel> orders-a-1",
    "severity": "critical",
    "rule": "node-down",
    "title": "Node down",
    "hint": "Look at it.",
    "organisation_id": "org_1",
    "cluster": {"id": "clu_1", "name": "orders"},
    "url": "https://console.example.com/clusters/clu_1?tab=alerts",
    "alerts": [ALERT, ALERT | {"status": "resolved", "fingerprint": "beef"}],
    "left": 3,
}
TEST = CONTENT | {"status": "test", "summary": "Test", "cluster": None, "rule": None, "severity": "info", "alerts": []}


def anywhere(_: Address) -> str | None:
    return None


def public_only(address: Address) -> str | None:
    return None if address.is_global else f"{address} is not public."


@pytest.fixture
def http() -> Iterator[Received]:
    with http_receiver() as received:
        yield received


@pytest.fixture
def mail() -> Iterator[Mails]:
    with mail_receiver() as mails:
        yield mails


def test_a_webhook_is_signed_over_time_and_body(http: Received):
    said = channels.send_webhook(CONTENT, message_id="dlv_1", url=http.url, secret="rmw_s", judge=anywhere)
    assert said == "200 ok"
    ((headers, body),) = http.requests
    assert http.bodies == [{"id": "dlv_1", **CONTENT}]
    signed = headers["ringmaster-timestamp"].encode() + b"." + body
    assert headers["ringmaster-signature"] == "v1=" + hmac.new(b"rmw_s", signed, hashlib.sha256).hexdigest()


def test_slack_gets_text_in_which_nobody_is_mentioned(http: Received):
    channels.send_slack(CONTENT, url=http.url, judge=anywhere)
    (body,) = http.bodies
    assert body["text"].splitlines() == [
        "*orders: Node down: &lt;!channel&gt; orders-a-1*",
        "• Node down: orders-a-1 (since 2026-01-02T03:04 UTC)",
        "• Over: Node down: orders-a-1 (since 2026-01-02T03:04 UTC)",
        "• and 3 more",
        "Look at it.",
        "<https://console.example.com/clusters/clu_1?tab=alerts>",
    ]


def test_pagerduty_gets_an_event_for_each_alert_that_opens_or_closes_it(http: Received):
    channels.send_pagerduty(CONTENT, routing_key="key", url=http.url, judge=anywhere)
    assert [(body["event_action"], body["dedup_key"]) for body in http.bodies] == [
        ("trigger", "ringmaster-f00d"),
        ("resolve", "ringmaster-beef"),
    ]
    first = http.bodies[0]
    assert first["routing_key"] == "key"
    assert first["payload"]["summary"] == "orders: Node down: orders-a-1"
    assert (first["payload"]["source"], first["payload"]["severity"]) == ("orders", "critical")


def test_a_test_of_pagerduty_is_closed_at_once(http: Received):
    channels.send_pagerduty(TEST, routing_key="key", url=http.url, judge=anywhere)
    assert [body["event_action"] for body in http.bodies] == ["trigger", "resolve"]


def test_mail_goes_to_all_addresses(mail: Mails):
    server = channels.MailServer(mail.url, "", "ringmaster@example.com")
    said = channels.send_email(CONTENT, addresses=["a@example.com", "b@example.com"], server=server)
    assert said == "Taken by the mail server."
    assert mail.recipients == ["a@example.com", "b@example.com"]
    (message,) = mail.messages
    assert "Subject: [critical] orders: Node down" in message
    assert "Node down: orders-a-1 (since 2026-01-02T03:04 UTC)" in message


def test_mail_that_is_refused_says_for_whom(mail: Mails):
    mail.refuses = "b@example.com"
    server = channels.MailServer(mail.url, "", "ringmaster@example.com")
    said = channels.send_email(CONTENT, addresses=["a@example.com", "b@example.com"], server=server)
    assert said == "Taken by the mail server, but for b@example.com."
    with pytest.raises(NotSent, match=r"refused b@example\.com") as problem:
        channels.send_email(CONTENT, addresses=["b@example.com"], server=server)
    assert problem.value.final


def test_a_password_is_not_sent_without_tls(mail: Mails):
    server = channels.MailServer(mail.url.replace("//", "//me@"), "secret", "ringmaster@example.com")
    with pytest.raises(NotSent, match="no TLS"):
        channels.send_email(CONTENT, addresses=["a@example.com"], server=server)


@pytest.mark.parametrize(("status", "final"), [(500, False), (429, False), (404, True), (302, True)])
def test_what_is_not_a_success_says_so_and_whether_another_try_helps(http: Received, status: int, final: bool):
    http.status, http.text = status, "no\nway"
    with pytest.raises(NotSent, match=f"answered {status} no way") as problem:
        channels.send_slack(CONTENT, url=http.url, judge=anywhere)
    assert problem.value.final is final


def test_redirects_are_not_followed(http: Received):
    http.status, http.location = 307, http.url
    with pytest.raises(NotSent):
        channels.send_slack(CONTENT, url=http.url, judge=anywhere)
    assert len(http.requests) == 1


def test_nothing_is_sent_to_an_address_that_is_not_allowed_whatever_its_name(
    http: Received, monkeypatch: pytest.MonkeyPatch
):
    def inner(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(outgoing.socket, "getaddrinfo", inner)
    url = http.url.replace("127.0.0.1", "hooks.example.com")
    with pytest.raises(NotSent, match=r"127\.0\.0\.1 is not public") as problem:
        channels.send_slack(CONTENT, url=url, judge=public_only)
    assert problem.value.final
    assert http.requests == []
    # Where it is allowed, it goes to the address that was judged, under the name that was given.
    channels.send_slack(CONTENT, url=url, judge=anywhere)
    assert http.requests[0][0]["host"].startswith("hooks.example.com:")


def test_a_receiver_that_is_away_is_tried_again():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        with pytest.raises(NotSent, match="was not reached") as problem:
            channels.send_slack(CONTENT, url=url, judge=anywhere)
    assert not problem.value.final


def test_pagerduty_opens_an_operation_that_is_stuck_and_closes_it_when_it_goes_on(http: Received):
    about = TEST | {"topic": "operations", "operation": {"id": "opr_1"}}
    for severity in ("warning", "info"):
        channels.send_pagerduty(about | {"severity": severity}, routing_key="key", url=http.url, judge=anywhere)
    assert [(body["event_action"], body["dedup_key"]) for body in http.bodies] == [
        ("trigger", "ringmaster-opr_1"),
        ("resolve", "ringmaster-opr_1"),
    ]
