"""The words of a connection's life: a peering of a cluster's network with another, or an endpoint in it."""

from enum import StrEnum

from backend.clusters.states import SERVING, ClusterState


class ConnectionKind(StrEnum):
    """PEERING: our network and another reach each other. ENDPOINT: for a service that somebody publishes."""

    PEERING = "peering"
    ENDPOINT = "endpoint"


class ConnectionState(StrEnum):
    """WAITING_FOR_YOU: somebody has to do their part at the other end; the message says what."""

    CREATING = "creating"
    WAITING_FOR_YOU = "waiting_for_you"
    ACTIVE = "active"
    FAILED = "failed"
    DELETING = "deleting"
    DELETED = "deleted"


SETTLED = (ConnectionState.WAITING_FOR_YOU, ConnectionState.ACTIVE, ConnectionState.FAILED)
"""In which nothing of ours works on it: the provider is asked now and then how it stands."""

_MAY_NOT = "Your role or token may not change clusters."


def reason_against_creating(state: ClusterState, *, may: bool, kinds: list[str]) -> str | None:
    """`kinds`: of connections that the cluster's provider has."""
    if state is ClusterState.DELETED:
        return "The cluster is deleted."
    if not kinds:
        return "Networks of this provider have no connections to others."
    if not may:
        return _MAY_NOT
    return None if state in SERVING else "The cluster does not serve yet, or not any more."


def reason_against_deleting(state: ConnectionState, cluster: ClusterState, *, may: bool) -> str | None:
    if state is ConnectionState.DELETED:
        return "It is deleted already."
    if not may:
        return _MAY_NOT
    if cluster not in SERVING:
        return "It goes with its cluster."
    match state:
        case ConnectionState.DELETING:
            return "It is being deleted already."
        case ConnectionState.CREATING:
            return "It is being created; cancel that operation to take it back."
        case _:
            return None
