"""Our side of launch_calls: a cluster's machines made by a provider, in the way that operations do it."""

from dataclasses import dataclass
from typing import Any

VERSION = "5.0.5"
TAGS = {"ringmaster-cluster": "clu_1"}


@dataclass(frozen=True)
class Place:
    """Where the machines are made, and of what type."""

    region: str
    zones: tuple[str, ...]
    machine_type: str
    memory_mib: int


def make(provider: Any, place: Place, cluster: str, machines: int) -> None:
    """Raises RuntimeError unless all of them run at the end."""
    from provisioner.providers.base import MachineSpec, MachineState, NetworkSpec

    image = provider.find_image(region=place.region, engine="cassandra", version=VERSION).id
    provider.ensure_network(NetworkSpec(name=cluster, region=place.region, zones=place.zones, tags=TAGS))
    for number in range(machines):
        name = f"{cluster}-nod-{number}"
        if provider.find_machine(region=place.region, name=name) is None:
            provider.ensure_machine(
                MachineSpec(
                    name=name,
                    network=cluster,
                    region=place.region,
                    zone=place.zones[number % len(place.zones)],
                    machine_type=place.machine_type,
                    memory_mib=place.memory_mib,
                    image=image,
                    user_data=f'{{"node_id": "{name}"}}',
                    tags=TAGS | {"ringmaster-node": name},
                )
            )
    listed = provider.list_machines(region=place.region)
    running = [one for one in listed if one.state is MachineState.RUNNING and one.name.startswith(cluster)]
    if len(running) != machines:
        raise RuntimeError(f"{len(running)} of {machines} machines run")


def delete(provider: Any, place: Place, cluster: str) -> None:
    """All machines there are in the region, and the cluster's network."""
    for one in provider.list_machines(region=place.region):
        while not provider.delete_machine(region=place.region, name=one.name):
            pass
    while not provider.delete_network(region=place.region, name=cluster):
        pass
