"""Taking machines and networks away: the steps of a deletion and the undo of a creation are the same work."""

from provisioner.operations import names
from provisioner.operations.base import Done, Outcome, StepContext, Wait
from provisioner.operations.node_steps import cluster_of, datacenter_of, node_of, provider_of


def delete_machine(context: StepContext) -> Outcome:
    node = node_of(context)
    gone = provider_of(node.cluster).delete_machine(region=node.datacenter.region, name=names.machine(node))
    return Done() if gone else Wait(0.3, f"{node.name}: its machine to end")


def delete_network(context: StepContext) -> Outcome:
    """Of the data centre that the step is about; of the first one if it names none."""
    cluster, datacenter = cluster_of(context), datacenter_of(context)
    gone = provider_of(cluster).delete_network(region=datacenter.region, name=names.network(datacenter))
    return Done() if gone else Wait(0.5, "the network to end")
