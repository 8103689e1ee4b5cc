"""The words of imports: how SSTables of another cluster lie in a location, and how far an import is."""

from enum import StrEnum

from backend.clusters.states import SERVING, ClusterState


class ImportLayout(StrEnum):
    """FILES: folders KEYSPACE/TABLE or KEYSPACE/TABLE-ID, as data folders and copies of snapshots have them.

    MEDUSA: what cassandra-medusa writes, in its full and its differential mode.
    """

    FILES = "files"
    MEDUSA = "medusa"


class ImportState(StrEnum):
    """CHECKED: it was only looked at, and nothing was changed."""

    RUNNING = "running"
    CHECKED = "checked"
    SUCCEEDED = "succeeded"
    CANCELLED = "cancelled"


def reason_against_importing(state: ClusterState, *, may: bool, can: bool) -> str | None:
    """`can`: the engine takes SSTables from here."""
    if state is ClusterState.DELETED:
        return "The cluster is deleted."
    if not can:
        return "This engine does not take files from here yet."
    if not may:
        return "Your role or token may not change clusters."
    return None if state in SERVING else "The cluster does not serve yet, or not any more."
