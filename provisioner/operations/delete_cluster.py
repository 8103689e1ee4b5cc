"""Everything of a cluster goes: machines and disks first, then the network, then a look that nothing is left.

From the first machine on there is no way back, so the plan is not cancellable (the action says so).
"""

from backend.clusters import lifecycle
from backend.operations.models import Operation
from provisioner.operations import names
from provisioner.operations.base import Done, OperationCode, Outcome, StepCode, StepContext
from provisioner.operations.network_connections import delete_connections
from provisioner.operations.node_steps import cluster_of, provider_of
from provisioner.operations.removal import delete_machine, delete_network


class StillThere(Exception):
    """The provider still lists something of a deleted cluster."""


def check_nothing_left(context: StepContext) -> Outcome:
    cluster = cluster_of(context)
    provider = provider_of(cluster)
    datacenters = list(cluster.datacenters.filter(deleted_at=None))
    machines = [
        machine.name
        for datacenter in datacenters
        for machine in provider.list_machines(region=datacenter.region)
        if machine.tags.get("ringmaster-cluster") == cluster.id
    ]
    networks = [
        network.name
        for datacenter in datacenters
        for network in provider.list_networks(region=datacenter.region)
        if network.name == names.network(datacenter)
    ]
    if machines or networks:
        raise StillThere(f"the provider still lists {', '.join(machines + networks)}")
    return Done()


def _succeeded(operation: Operation) -> None:
    lifecycle.cluster_deleted(operation.cluster_id)


def _cancelled(operation: Operation) -> None:
    lifecycle.cluster_kept(operation.cluster_id)


CODE = OperationCode(
    kind="delete_cluster",
    steps={
        "delete_connections": StepCode(do=delete_connections),
        "delete_machine": StepCode(do=delete_machine),
        "delete_network": StepCode(do=delete_network),
        "check_nothing_left": StepCode(do=check_nothing_left),
    },
    on_succeeded=_succeeded,
    on_cancelled=_cancelled,
)
