"""From where the network of a data centre lets clients in: those whom the allowlist names, and nobody else.

While the list is empty, those who come through the network's peerings.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from backend.access import queries as access
from backend.connections import queries as connections
from provisioner.operations import names
from provisioner.operations.base import Done, Outcome, StepContext
from provisioner.operations.node_steps import cluster_of, datacenter_of, provider_of
from provisioner.operations.surroundings import surroundings
from provisioner.providers.base import NotFound


def allow_clients(context: StepContext) -> Outcome:
    """By the list as it is wanted now."""
    return let_in(context, access.wanted_cidrs(context.operation.cluster_id))


def let_in(
    context: StepContext,
    cidrs: Sequence[str],
    *,
    without: Collection[str] = (),
    settings: Mapping[str, Any] | None = None,
) -> Outcome:
    """Only from these; none: only through peerings. `without`: ids of connections that do not count any more.

    `settings`: of the engine, which say what ports it has; None: those of the cluster's row.
    """
    datacenter = datacenter_of(context)
    if datacenter.deleted_at is not None:
        return Done("it has gone meanwhile")
    sources = cidrs or connections.client_cidrs(datacenter.id, without=without)
    cluster = cluster_of(context)
    ports = surroundings().engine(cluster.engine).client_ports(cluster.settings if settings is None else settings)
    try:
        provider_of(cluster).allow_clients(
            region=datacenter.region, network=names.network(datacenter), sources=sources, ports=ports
        )
    except NotFound:
        # It is being added, and lets in whom the list names before anybody is told of it.
        return Done("its network is not there yet")
    return Done(", ".join(sources) or "nobody from outside of the network")
