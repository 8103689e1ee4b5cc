"""A message about alerts in the form of each kind of receiver. `content` is what docs/alerts.md shows of webhooks."""

import hashlib
import hmac
import smtplib
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from typing import Any
from urllib.parse import urlsplit

from provisioner.messengers.outgoing import SECONDS, Judge, NotSent, encoded, post_json

PAGERDUTY_URL = "https://events.pagerduty.com/v2/enqueue"
_MOST_LINES = 20
# What its Events API v2 knows.
_PAGERDUTY_SEVERITY = {"info": "info", "warning": "warning", "critical": "critical"}

Content = Mapping[str, Any]


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """HMAC-SHA256 of `TIMESTAMP.BODY` with the receiver's secret, in hex."""
    return hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()


def send_webhook(content: Content, *, message_id: str, url: str, secret: str, judge: Judge) -> str:
    """The whole message, signed. What the other side answered; raises NotSent."""
    body = encoded({"id": message_id, **content})
    timestamp = str(int(time.time()))
    headers = {
        "Ringmaster-Timestamp": timestamp,
        "Ringmaster-Signature": f"v1={signature(secret, timestamp, body)}",
    }
    answer = post_json(url, body, headers=headers, judge=judge)
    return f"{answer.status} {answer.text}".strip()


def send_slack(content: Content, *, url: str, judge: Judge) -> str:
    """As incoming webhooks of Slack and of those that speak like it. Raises NotSent."""
    lines = [f"*{_slack(content['summary'])}*", *(f"• {_slack(line)}" for line in _lines(content))]
    if content["hint"]:
        lines.append(_slack(content["hint"]))
    lines.append(f"<{content['url']}>")
    answer = post_json(url, encoded({"text": "\n".join(lines)}), headers={}, judge=judge)
    return f"{answer.status} {answer.text}".strip()


def send_pagerduty(content: Content, *, routing_key: str, url: str, judge: Judge) -> str:
    """An event (Events API v2) for each alert, by whose fingerprint the other side knows it again. Raises NotSent."""
    said = ""
    alerts: Sequence[Mapping[str, Any]] = content["alerts"]
    if "operation" in content:
        return _send_operation(content, routing_key=routing_key, url=url, judge=judge)
    if not alerts:  # a test: it is opened and closed, so that nobody is woken for long
        event = _pagerduty_event(content, {"sentence": content["summary"], "labels": {}, "value": None})
        for action in ("trigger", "resolve"):
            body = {"routing_key": routing_key, "event_action": action, "dedup_key": "ringmaster-test", **event}
            said = post_json(url, encoded(body), headers={}, judge=judge).text
        return said or "accepted"
    for alert in alerts:
        body = {
            "routing_key": routing_key,
            "event_action": "trigger" if alert["status"] == "firing" else "resolve",
            "dedup_key": f"ringmaster-{alert['fingerprint']}",
            **_pagerduty_event(content, alert),
        }
        said = post_json(url, encoded(body), headers={}, judge=judge).text
    return said or "accepted"


def _send_operation(content: Content, *, routing_key: str, url: str, judge: Judge) -> str:
    """Opened while it is stuck or when it failed, closed when it goes on or ends otherwise."""
    body = {
        "routing_key": routing_key,
        "event_action": "trigger" if content["severity"] != "info" else "resolve",
        "dedup_key": f"ringmaster-{content['operation']['id']}",
        **_pagerduty_event(content, {"sentence": content["summary"], "labels": {}, "value": None}),
    }
    return post_json(url, encoded(body), headers={}, judge=judge).text or "accepted"


def _pagerduty_event(content: Content, alert: Mapping[str, Any]) -> dict[str, Any]:
    cluster = content["cluster"]
    source = cluster["name"] if cluster else "ringmaster"
    return {
        "payload": {
            "summary": f"{source}: {alert['sentence']}"[:1024],
            "source": source,
            "severity": _PAGERDUTY_SEVERITY[content["severity"]],
            "class": content["rule"] or "test",
            "custom_details": {"hint": content["hint"], "value": alert["value"], "labels": alert["labels"]},
        },
        "client": "Ringmaster",
        "client_url": content["url"],
    }


@dataclass(frozen=True)
class MailServer:
    """`url`: smtp://[user@]host[:port], with STARTTLS where the server has it, or smtps://."""

    url: str
    password: str
    sender: str


def send_email(content: Content, *, addresses: Sequence[str], server: MailServer) -> str:
    """One message to all of them. Raises NotSent."""
    message = EmailMessage()
    message["Subject"] = f"[{content['severity']}] {' '.join(content['summary'].split())}"[:200]
    message["From"] = server.sender
    message["To"] = ", ".join(addresses)
    message["Date"] = formatdate()
    message["Message-ID"] = make_msgid(domain="ringmaster.invalid")
    message["Auto-Submitted"] = "auto-generated"
    lines = [content["summary"], "", *_lines(content), "", content["hint"], "", content["url"]]
    message.set_content("\n".join(lines) + "\n")
    parts = urlsplit(server.url)
    host = parts.hostname or ""
    try:
        with _mail_connection(parts.scheme, host, parts.port) as smtp:
            if parts.scheme == "smtp":
                smtp.ehlo()
                if smtp.has_extn("starttls"):
                    smtp.starttls(context=ssl.create_default_context())
                elif parts.username:
                    raise NotSent("The mail server has no TLS, and a password is not sent without.", final=False)
            if parts.username:
                smtp.login(parts.username, server.password)
            refused = smtp.send_message(message)
    except smtplib.SMTPRecipientsRefused as error:
        raise NotSent(f"The mail server refused {', '.join(sorted(error.recipients))}.", final=True) from error
    except smtplib.SMTPException as error:
        raise NotSent(f"The mail server refused: {' '.join(str(error).split())[:300]}", final=False) from error
    except OSError as error:
        raise NotSent(f"The mail server was not reached: {error.strerror or error}.", final=False) from error
    return (
        f"Taken by the mail server, but for {', '.join(sorted(refused))}." if refused else "Taken by the mail server."
    )


def _mail_connection(scheme: str, host: str, port: int | None) -> smtplib.SMTP:
    if scheme == "smtps":
        return smtplib.SMTP_SSL(host, port or 465, timeout=SECONDS, context=ssl.create_default_context())
    return smtplib.SMTP(host, port or 25, timeout=SECONDS)


def _lines(content: Content) -> list[str]:
    alerts: Sequence[Mapping[str, Any]] = content["alerts"]
    lines = [
        f"{'' if alert['status'] == 'firing' else 'Over: '}{alert['sentence']} (since {alert['starts_at'][:16]} UTC)"
        for alert in alerts[:_MOST_LINES]
    ]
    left = len(alerts) - len(lines) + content.get("left", 0)
    return [*lines, f"and {left} more"] if left > 0 else lines


def _slack(text: str) -> str:
    """Slack's three control characters, so that no name of a table can mention everybody."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
