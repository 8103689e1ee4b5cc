"""Sends messages about alerts to those who want them, and closes in history what Alertmanager does not know any more.

An alert that is silenced when it ends is told to nobody, so its end is found by looking.
"""

import time
from datetime import UTC, datetime, timedelta

import structlog
from django.conf import settings

from backend.alerts import alertmanager, deliveries, history, operation_news
from backend.alerts.addresses import reason_against
from backend.alerts.models import AlertDelivery
from backend.alerts.receiver_actions import secrets_of
from backend.alerts.states import ReceiverKind
from backend.clusters.vault import SecretMissing
from provisioner.messengers import channels
from provisioner.messengers.outgoing import Address, NotSent
from provisioner.reconcile.alone import alone

log = structlog.get_logger(__name__)

AT_MOST_SECONDS = 25.0
"""After which a run begins no message any more; each takes twice ten seconds at most when the other side is slow."""
KNOWN_AFTER = timedelta(minutes=5)
"""After its start Alertmanager has heard of everything again: Prometheus repeats what fires every minute."""


def deliver() -> int:
    """How many messages were tried. Several workers may do it at once."""
    begun = time.monotonic()
    while operation_news.pass_on() and time.monotonic() - begun < AT_MOST_SECONDS:
        pass
    tried = 0
    while time.monotonic() - begun < AT_MOST_SECONDS and (row := deliveries.take_next()) is not None:
        tried += 1
        try:
            result = _send(row)
        except NotSent as error:
            log.warning("alert not delivered", delivery_id=row.id, receiver_id=row.receiver_id, reason=str(error))
            deliveries.not_sent(row, str(error), final=error.final)
        except SecretMissing:
            deliveries.not_sent(row, "The receiver's address or key is gone.", final=True)
        else:
            deliveries.sent(row, result)
    return tried


def _send(row: AlertDelivery) -> str:
    env = settings.ENV
    receiver, content = row.receiver, row.content

    def judge(address: Address) -> str | None:
        return reason_against(address, env.ringmaster_alert_networks)

    kept = secrets_of(receiver.id)
    match ReceiverKind(receiver.kind):
        case ReceiverKind.EMAIL:
            if not env.ringmaster_smtp_url:
                raise NotSent("This installation has no mail server any more (RINGMASTER_SMTP_URL).", final=False)
            server = channels.MailServer(env.ringmaster_smtp_url, env.smtp_password(), env.ringmaster_smtp_from)
            return channels.send_email(content, addresses=receiver.addresses, server=server)
        case ReceiverKind.SLACK:
            return channels.send_slack(content, url=kept["url"], judge=judge)
        case ReceiverKind.PAGERDUTY:
            url = kept.get("url", channels.PAGERDUTY_URL)
            return channels.send_pagerduty(content, routing_key=kept["routing_key"], url=url, judge=judge)
        case ReceiverKind.WEBHOOK:
            return channels.send_webhook(
                content, message_id=row.id, url=kept["url"], secret=kept["signing_secret"], judge=judge
            )


def look() -> int:
    """How many alerts were found to be over. Old messages are forgotten."""
    with alone("reconcile-alerts") as mine:
        if not mine:
            return 0
        deliveries.forget_old()
        if not settings.ENV.ringmaster_alertmanager_url or not history.any_open():
            return 0
        try:
            began = datetime.fromisoformat(alertmanager.uptime_began())
            if datetime.now(UTC) - began < KNOWN_AFTER:
                return 0
            firing = {str(each["fingerprint"]) for each in alertmanager.alerts()}
        except alertmanager.AlertmanagerAway as error:
            log.warning("alertmanager unknown", reason=error.message)
            return 0
        return history.close_all_but(firing)
