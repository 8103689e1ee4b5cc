"""A fleet that is there already: rows of clusters that serve, and their machines and agents in the simulator."""

from dataclasses import asdict
from typing import Any

from e2e.bench.tenants import Tenant
from provisioner.fleet.client import Fleet
from provisioner.fleet.simulator import PlantedNode
from provisioner.providers.base import MachineSpec

ZONES = ("fake-1a", "fake-1b", "fake-1c")
REGION = "fake-1"
_NODES_OF_THREE = (3, 6, 6)  # in three clusters: five nodes each on average
_TOKENS = 16
_SECURE = {
    "admin_username": "admin",
    "admin_password_hash": "-",
    "control_username": "ringmaster",
    "control_password": "-",
    "control_password_hash": "-",
}


def plant_clusters(fleet: Fleet, tenant: Tenant, *, first: int, count: int) -> int:
    """`count` clusters, numbered from `first`. How many nodes they have together."""
    from django.utils import timezone

    from backend.clusters.models import Cluster, Datacenter, Node
    from backend.clusters.states import ClusterState, NodeState

    now, total = timezone.now(), 0
    for number in range(first, first + count):
        size = _NODES_OF_THREE[number % 3]
        cluster = Cluster.objects.create(
            organisation_id=tenant.organisation_id,
            name=f"fleet-{number:05}",
            engine="cassandra",
            engine_version="5.0.5",
            provider="fake",
            ring_name=f"fleet-{number:05}",
            state=ClusterState.ACTIVE,
            admin_username="admin",
            created_by="owner@fleet.test",
            active_at=now,
        )
        datacenter = Datacenter.objects.create(
            cluster=cluster,
            name="fake-fake-1",
            region=REGION,
            zones=list(ZONES),
            machine_type="fake.small",
            nodes_per_zone=size // 3,
        )
        nodes = [
            Node(
                cluster=cluster,
                datacenter=datacenter,
                name=f"{cluster.name}-{ZONES[position % 3]}-{position // 3 + 1}",
                machine_type="fake.small",
                zone=ZONES[position % 3],
                position=position,
                tokens=[(position * _TOKENS + token) * 10**15 for token in range(_TOKENS)],
                is_seed=position < 3,
                state=NodeState.UP,
                engine_version="5.0.5",
            )
            for position in range(size)
        ]
        places = fleet.world("plant", nodes=[_planted(cluster, node) for node in nodes], secure=_SECURE)
        for node, place in zip(nodes, places, strict=True):
            node.machine_id, node.address, node.agent_address = place["id"], place["address"], place["agent_address"]
        Node.objects.bulk_create(nodes)
        total += size
    return total


def _planted(cluster: Any, node: Any) -> dict[str, Any]:
    from provisioner.operations import names

    return asdict(
        PlantedNode(
            node_id=node.id,
            machine=MachineSpec(
                name=names.machine(node),
                network=names.network(node.datacenter),
                region=REGION,
                zone=node.zone,
                machine_type="fake.small",
                memory_mib=600,
                image="cassandra-5.0.5",
                user_data="{}",
                tags=names.tags(cluster) | {"ringmaster-node": node.id},
            ),
            config={
                "cluster_name": cluster.ring_name,
                "version": "5.0.5",
                "datacenter": node.datacenter.name,
                "rack": node.zone,
                "initial_tokens": node.tokens,
                "revision": "planted",
            },
        )
    )
