"""Removing a cluster that an operation has ordered for itself."""

from backend.accounts.queries import Identity
from backend.clusters import actions as clusters
from backend.clusters.models import Cluster
from backend.clusters.schemas import ClusterUpdate
from backend.clusters.states import ClusterState
from backend.operations import actions as operations
from backend.operations.models import Operation
from backend.operations.states import OPEN, OperationState, title


def take_away(who: Identity, cluster_id: str) -> str:
    """One step further: empty when the cluster is gone, else what is waited for. Raises DomainError."""
    cluster = Cluster.objects.get(id=cluster_id)
    if cluster.state == ClusterState.DELETED:
        return ""
    busy = list(Operation.objects.filter(cluster_id=cluster.id, state__in=OPEN))
    for operation in busy:
        if operation.kind == "delete_cluster":
            if operation.state == OperationState.BLOCKED:
                operations.retry(who, operation.id)
        elif operation.cancel_requested_at is None:
            operations.cancel(who, operation.id)
    if busy:
        return f"{title(busy[0].kind).lower()} ({busy[0].id})"
    if cluster.termination_protection:
        clusters.update(who, cluster.id, ClusterUpdate.model_validate({"termination_protection": False}))
    return f"the deletion of {clusters.delete(who, cluster.id)['cluster']['name']}"
