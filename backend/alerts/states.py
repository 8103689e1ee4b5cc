"""The words of alerts, of who is told of them, and of whether that worked."""

from enum import StrEnum

from backend.findings.states import Severity


class AlertComparison(StrEnum):
    ABOVE = "above"
    BELOW = "below"


class AlertUnit(StrEnum):
    """Of a rule's value. none: it says only yes or no."""

    SECONDS = "seconds"
    RATIO = "ratio"
    BYTES = "bytes"
    PER_SECOND = "per second"
    COUNT = "count"
    NONE = "none"


class AlertState(StrEnum):
    FIRING = "firing"
    RESOLVED = "resolved"


class SilenceState(StrEnum):
    """As Alertmanager calls them."""

    PENDING = "pending"
    ACTIVE = "active"
    EXPIRED = "expired"


class ReceiverKind(StrEnum):
    EMAIL = "email"
    SLACK = "slack"
    PAGERDUTY = "pagerduty"
    WEBHOOK = "webhook"


class Topic(StrEnum):
    """What receivers may want to be told of."""

    ALERTS = "alerts"
    BUDGETS = "budgets"
    OPERATIONS = "operations"
    AUDIT = "audit"


USUAL_TOPICS = (Topic.ALERTS, Topic.BUDGETS)
"""Of a receiver that does not say: what somebody has to act on."""


class DeliveryKind(StrEnum):
    """A topic, or a test."""

    ALERTS = "alerts"
    BUDGETS = "budgets"
    OPERATIONS = "operations"
    AUDIT = "audit"
    TEST = "test"


class DeliveryState(StrEnum):
    PENDING = "pending"
    SENT = "sent"
    FAILED = "failed"


_RANK = {Severity.INFO: 0, Severity.WARNING: 1, Severity.CRITICAL: 2}


def at_least(severity: Severity, wanted: Severity) -> bool:
    return _RANK[severity] >= _RANK[wanted]


MAY_NOT_WRITE = "Your role or token may not change alerts."
MAY_NOT_READ_AUDIT = "It is told of the audit log, which your role or token may not read."

RETRY_SECONDS = (5, 15, 60, 300, 900, 1800, 3600, 3600, 3600)
"""After each failed try; when there is none left it is given up, some four hours after the first."""
MOST_RECEIVERS = 50
MOST_TESTS_PER_MINUTE = 10
MOST_REPLAYS_PER_MINUTE = 60
"""Both of an organisation."""
