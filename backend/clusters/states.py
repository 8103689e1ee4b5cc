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


class Workload(StrEnum):
    """What a test drive loads and runs: docs/test-drives.md. The agent has the tables (images/agent/workload)."""

    KEY_VALUE = "key-value"
    TIME_SERIES = "timeseries"
    ORDERS = "orders"


class Weekday(StrEnum):
    """In the order in which Python and the rows number them: Monday is 0."""

    MONDAY = "monday"
    TUESDAY = "tuesday"
    WEDNESDAY = "wednesday"
    THURSDAY = "thursday"
    FRIDAY = "friday"
    SATURDAY = "saturday"
    SUNDAY = "sunday"


class SecretPurpose(StrEnum):
    """Why a secret is kept. The value goes into the encryption's associated data, so a row cannot be swapped."""

    AGENT_CA_KEY = "agent-ca-key"
    CONTROL_PLANE_KEY = "control-plane-key"
    ENROL_SERVER_KEY = "enrol-server-key"
    # Of the client certificate with which Prometheus asks agents for metrics, and may ask for nothing else.
    PROMETHEUS_KEY = "prometheus-key"
    CLUSTER_CA_KEY = "cluster-ca-key"
    ADMIN_PASSWORD = "admin-password"
    # Made when a new password is ordered; takes the place of the other when the engine has it.
    NEXT_ADMIN_PASSWORD = "next-admin-password"
    CONTROL_PASSWORD = "control-password"
    # Of all roles that were made here: backend/access/passwords.py.
    ROLE_PASSWORDS = "role-passwords"
    # Of an organisation: what its backups are encrypted with, also after their cluster is gone.
    BACKUP_KEY = "backup-key"
    # Of a backup location: how the control plane and the nodes sign in there.
    STORE_CREDENTIALS = "store-credentials"
    # Of a receiver of alerts: its address or key, or what webhooks are signed with.
    ALERT_RECEIVER = "alert-receiver"


# In these the cluster serves its users.
SERVING = (ClusterState.ACTIVE, ClusterState.DEGRADED)

# Changes of a single node, as the body of change_cluster names them.
NODE_ACTIONS = ("replace_node", "restart_node", "stop_node", "start_node", "measure_disks")

PROTECTED = "The cluster is protected against termination. Switch termination protection off first."
NO_TEST_DRIVE = "The cluster is no test drive: it stays until somebody deletes it."
_MAY_NOT_CHANGE = "Your role or token may not change clusters."
_MAY_NOT_READ = "Your role or token may not see passwords."
_MAY_NOT_SEE = "Your role or token may not see clusters."
_GONE = "The cluster is deleted."
_NOT_ACTIVE = "The cluster is not active."
_BUSY = {
    "create_cluster": "The cluster is being created.",
    "delete_cluster": "The cluster is being deleted.",
    "rotate_credentials": "A new password is being set.",
    "scale_cluster": "The number of its nodes is being changed.",
    "replace_node": "A node is being replaced.",
    "change_machine_type": "Its nodes are being moved to another machine type.",
    "add_datacenter": "A data centre is being added.",
    "remove_datacenter": "A data centre is being removed.",
    "restart_node": "A node is being restarted.",
    "rolling_restart": "It is being restarted node by node.",
    "stop_node": "A node is being stopped.",
    "start_node": "A node is being started.",
    "measure_disks": "The disks of a node are being measured.",
    "upgrade_cluster": "Its engine is being upgraded.",
    "apply_settings": "Engine settings are being applied.",
    "rotate_certificates": "Its certificates are being renewed.",
    "run_command": "A command is being run on a table.",
}


def why_busy(kind: str) -> str:
    """An open operation as a reason to wait."""
    return _BUSY.get(kind, "Another operation is working on the cluster.")


def reason_against_deleting(
    state: ClusterState, *, may: bool, busy_kind: str | None, protected: bool = False
) -> str | None:
    """`busy_kind`: kind of the open exclusive operation on the cluster, if there is one."""
    if state is ClusterState.DELETED:
        return _GONE
    if not may:
        return _MAY_NOT_CHANGE
    if busy_kind == "create_cluster":
        return f"{why_busy(busy_kind)} Cancel that operation to take everything away."
    if busy_kind is not None:
        return why_busy(busy_kind)
    return PROTECTED if protected else None


def reason_against_rotating(state: ClusterState, *, may: bool, busy_kind: str | None) -> str | None:
    """Changes of the ring and restarts are no reason: passwords are kept apart from them."""
    if state is ClusterState.DELETED:
        return _GONE
    if not may:
        return _MAY_NOT_CHANGE
    if busy_kind in ("create_cluster", "delete_cluster", "rotate_credentials"):
        return why_busy(busy_kind)
    return None if state in SERVING else _NOT_ACTIVE


def reason_against_revealing(state: ClusterState, *, may: bool, busy_kind: str | None, revealed: bool) -> str | None:
    if state is ClusterState.DELETED:
        return _GONE
    if not may:
        return _MAY_NOT_READ
    if busy_kind in ("create_cluster", "rotate_credentials"):
        return why_busy(busy_kind)
    if state not in SERVING:
        return _NOT_ACTIVE
    if revealed:
        return "The password was shown already. Set a new one to see it once more."
    return None


def reason_against_updating(state: ClusterState, *, may: bool) -> str | None:
    """Against changing what only the control plane knows: name, tags, protection, healing, maintenance windows."""
    if state is ClusterState.DELETED:
        return _GONE
    return None if may else _MAY_NOT_CHANGE


def reason_against_going_on(state: ClusterState, *, may: bool, test_drive: bool) -> str | None:
    """Against extending a test drive, and against keeping its cluster."""
    if state is ClusterState.DELETED:
        return _GONE
    if not may:
        return _MAY_NOT_CHANGE
    if state is ClusterState.DELETING:
        return why_busy("delete_cluster")
    return None if test_drive else NO_TEST_DRIVE


def reason_against_planning(state: ClusterState, *, may: bool) -> str | None:
    if state is ClusterState.DELETED:
        return _GONE
    return None if may else _MAY_NOT_SEE


def reason_against_changing(state: ClusterState, *, may: bool, busy_kind: str | None) -> str | None:
    """Against any change at all. Whether a certain one is possible, its plan says."""
    if state is ClusterState.DELETED:
        return _GONE
    if not may:
        return _MAY_NOT_CHANGE
    if busy_kind is not None:
        return why_busy(busy_kind)
    return None if state in SERVING else _NOT_ACTIVE


def reason_against_node_action(action: str, *, name: str, state: NodeState, stop_wanted: bool) -> str | None:
    """Against a change of one node, as far as the node itself shows it. `action`: of NODE_ACTIONS."""
    match state:
        case NodeState.DELETED:
            return f"{name} is deleted already."
        case NodeState.PENDING | NodeState.JOINING:
            return f"{name} is not part of the ring yet."
        case NodeState.LEAVING:
            return f"{name} is leaving the ring."
        case _:
            pass
    stopped = state is NodeState.STOPPED or stop_wanted
    match action:
        case "restart_node" | "measure_disks" if stopped:
            return f"{name} is stopped; start it instead."
        case "stop_node" if stopped:
            return f"{name} is stopped already."
        case "start_node" if state is NodeState.UP and not stop_wanted:
            return f"{name} runs already."
        case "restart_node" | "stop_node" | "start_node" | "measure_disks" if state is NodeState.DATA_LOST:
            return f"{name} has lost its data; replace it instead."
        case _:
            return None
