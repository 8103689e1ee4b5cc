"""The words of a finding's life."""

from enum import StrEnum


class FindingState(StrEnum):
    OPEN = "open"
    CLOSED = "closed"


class Severity(StrEnum):
    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"
