"""The CQL console in words: states of a statement, limits, and who may."""

from datetime import timedelta
from enum import StrEnum

from backend.clusters.states import ClusterState

# A session ends when it was not used for so long, and in any case after LONGEST_SESSION.
SESSION_IDLE = timedelta(minutes=30)
LONGEST_SESSION = timedelta(hours=8)
# How long what a statement gave can be fetched, and its next page asked for.
ANSWER_KEPT = timedelta(minutes=15)
HISTORY_KEPT = timedelta(days=30)
# Until a worker has taken a statement, and has told its end beyond the statement's own time.
PATIENCE = timedelta(seconds=30)

MOST_PER_MINUTE = 120  # statements and further pages of an organisation
MOST_AT_ONCE_OF_USER = 3  # on one cluster
MOST_AT_ONCE = 12  # on one cluster
MOST_SESSIONS = 10  # of a user on one cluster
MOST_ANSWER_BYTES = 4 * 1024 * 1024
LONGEST_STATEMENT = 65_536  # characters
LARGEST_PAGE = 1000
LONGEST_TIMEOUT = 60  # seconds

QUEUE = "ringmaster.console"
"""Of its own, so that people do not wait behind a backlog of nudges."""


class StatementState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    ANSWERED = "answered"
    FAILED = "failed"
    CANCELLED = "cancelled"


IN_PROGRESS = (StatementState.WAITING, StatementState.RUNNING)


class StatementKind(StrEnum):
    STATEMENT = "statement"
    SCHEMA = "schema"


class SecretPurpose(StrEnum):
    PASSWORD = "password"
    STATEMENT = "statement"
    ANSWER = "answer"


class Consistency(StrEnum):
    ANY = "ANY"
    ONE = "ONE"
    TWO = "TWO"
    THREE = "THREE"
    QUORUM = "QUORUM"
    ALL = "ALL"
    LOCAL_QUORUM = "LOCAL_QUORUM"
    EACH_QUORUM = "EACH_QUORUM"
    SERIAL = "SERIAL"
    LOCAL_SERIAL = "LOCAL_SERIAL"
    LOCAL_ONE = "LOCAL_ONE"


def reason_against_running(*, may: bool, cluster: ClusterState, has_nodes: bool = True) -> str | None:
    """`has_nodes`: some node has a machine that could be asked."""
    if not may:
        return "Your role or token may not run CQL."
    if cluster is ClusterState.DELETED:
        return "The cluster is deleted."
    if cluster is ClusterState.CREATING:
        return "The cluster is still being made."
    return None if has_nodes else "The cluster has no node that could be asked."


def reason_against_writing(*, may: bool, running: str | None) -> str | None:
    """`running`: why nothing can be run at all."""
    if running is not None:
        return running
    return None if may else "Your role or token may not run statements that change something."
