"""Taking machines and networks away: the steps of a deletion and the undo of a creation are the same work."""

from provisioner.operations import names
from provisioner.operations.base import Done, Outcome, StepContext, Wait
from provisioner.operations.node_steps import cluster_of, node_of, provider_of


def delete_machine(context: StepContext) -> Outcome:
    node = node_of(context)
    gone = provider_of(node.cluster).delete_machine(region=node.cluster.region, name=names.machine(node))
    return Done() if gone else Wait(0.3, f"{node.name}: its machine to end")


def delete_network(context: StepContext) -> Outcome:
    cluster = cluster_of(context)
    gone = provider_of(cluster).delete_network(region=cluster.region, name=names.network(cluster))
    return Done() if gone else Wait(0.5, "the network to end")
