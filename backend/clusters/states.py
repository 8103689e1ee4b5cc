"""The words of a cluster's life, and what may be done in which state."""

from enum import StrEnum


class ClusterState(StrEnum):
    CREATING = "creating"
    ACTIVE = "active"
    DEGRADED = "degraded"
    DELETING = "deleting"
    DELETED = "deleted"


class NodeState(StrEnum):
    PENDING = "pending"
    STARTING = "starting"
    JOINING = "joining"
    UP = "up"
    DOWN = "down"
    STOPPED = "stopped"
    UNOBSERVED = "unobserved"
    DATA_LOST = "data_lost"
    LEAVING = "leaving"
    DELETED = "deleted"


class HealingMode(StrEnum):
    """What the control plane does when a node is broken: mends it, or only tells."""

    ACT = "act"
    TELL = "tell"


class SecretPurpose(StrEnum):
    """Why a secret is kept. The value goes into the encryption's associated data, so a row cannot be swapped."""

    AGENT_CA_KEY = "agent-ca-key"
    CONTROL_PLANE_KEY = "control-plane-key"
    ENROL_SERVER_KEY = "enrol-server-key"
    CLUSTER_CA_KEY = "cluster-ca-key"
    ADMIN_PASSWORD = "admin-password"
    # Made when a new password is ordered; takes the place of the other when the engine has it.
    NEXT_ADMIN_PASSWORD = "next-admin-password"
    CONTROL_PASSWORD = "control-password"


# In these the cluster serves its users.
SERVING = (ClusterState.ACTIVE, ClusterState.DEGRADED)

_MAY_NOT_CHANGE = "Your role or token may not change clusters."
_MAY_NOT_READ = "Your role or token may not see passwords."
_GONE = "The cluster is deleted."
_BUSY = {
    "create_cluster": "The cluster is being created.",
    "delete_cluster": "The cluster is being deleted.",
    "rotate_credentials": "A new password is being set.",
}


def why_busy(kind: str) -> str:
    """An open operation as a reason to wait."""
    return _BUSY.get(kind, "Another operation is working on the cluster.")


def reason_against_deleting(state: ClusterState, *, may: bool, busy_kind: str | None) -> str | None:
    """`busy_kind`: kind of the open operation on the cluster, if there is one."""
    if state is ClusterState.DELETED:
        return _GONE
    if not may:
        return _MAY_NOT_CHANGE
    if busy_kind == "create_cluster":
        return f"{why_busy(busy_kind)} Cancel that operation to take everything away."
    return why_busy(busy_kind) if busy_kind is not None else None


def reason_against_rotating(state: ClusterState, *, may: bool, busy_kind: str | None) -> str | None:
    if state is ClusterState.DELETED:
        return _GONE
    if not may:
        return _MAY_NOT_CHANGE
    if busy_kind is not None:
        return why_busy(busy_kind)
    return None if state in SERVING else "The cluster is not active."


def reason_against_revealing(state: ClusterState, *, may: bool, busy_kind: str | None, revealed: bool) -> str | None:
    if state is ClusterState.DELETED:
        return _GONE
    if not may:
        return _MAY_NOT_READ
    if busy_kind in ("create_cluster", "rotate_credentials"):
        return why_busy(busy_kind)
    if state not in SERVING:
        return "The cluster is not active."
    if revealed:
        return "The password was shown already. Set a new one to see it once more."
    return None
