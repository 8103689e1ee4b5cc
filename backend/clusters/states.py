"""The words of a cluster's life. What may be done in which state is in `allowed_actions`."""

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
    UP = "up"
    DOWN = "down"
    UNOBSERVED = "unobserved"
    DELETED = "deleted"


class SecretPurpose(StrEnum):
    """Why a secret is kept. The value goes into the encryption's associated data, so a row cannot be swapped."""

    AGENT_CA_KEY = "agent-ca-key"
    CONTROL_PLANE_KEY = "control-plane-key"
    ENROL_SERVER_KEY = "enrol-server-key"
    CLUSTER_CA_KEY = "cluster-ca-key"
    ADMIN_PASSWORD = "admin-password"
    CONTROL_PASSWORD = "control-password"
