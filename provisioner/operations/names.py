"""Names at the provider and on the agents, derived from ids: a call after a crash finds what the one before made."""

from backend.clusters.models import Cluster, Datacenter, Node
from backend.connections.models import NetworkConnection
from backend.operations.models import Operation


def _dns(identifier: str) -> str:
    return identifier.replace("_", "-")


def network(datacenter: Datacenter) -> str:
    """One network per data centre."""
    name = f"rm-{_dns(datacenter.cluster_id)}"
    return f"{name}-{datacenter.position + 1}" if datacenter.position else name


def machine(node: Node) -> str:
    return machine_of(node.id)


def machine_of(node_id: str) -> str:
    return f"rm-{_dns(node_id)}"


def connection(row: NetworkConnection) -> str:
    """Short: at Google the name of the network goes before it, and both together have 63 characters at most."""
    return f"c{row.id.rpartition('_')[2]}"


def job(operation: Operation, kind: str) -> str:
    """One job of a kind per operation and node: asking twice is asking once."""
    return f"{_dns(operation.id)}-{kind}"


def tags(cluster: Cluster) -> dict[str, str]:
    return {"ringmaster-cluster": cluster.id, "ringmaster-organisation": cluster.organisation_id}
