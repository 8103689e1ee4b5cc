"""The provider `gcp`: machines on Google Compute Engine. See docs/gcp.md."""

from collections.abc import Mapping, Sequence

from provisioner.providers.base import (
    Capacity,
    Connection,
    ConnectionSpec,
    Image,
    ListPrice,
    Machine,
    MachineSpec,
    Network,
    NetworkSpec,
    Notice,
    Shortfall,
)
from provisioner.providers.gcp import capacity, connections, images, machines, networks, permissions, price_list
from provisioner.providers.gcp.client import compute
from provisioner.providers.gcp.settings import GcpSettings


class GcpProvider:
    def __init__(self, settings: GcpSettings) -> None:
        self._compute = compute(settings)

    def find_image(self, *, region: str, engine: str, version: str) -> Image:
        return images.find(self._compute, region=region, engine=engine, version=version)

    def named_image(self, *, region: str, ids: Mapping[str, str]) -> Image:
        return images.named(self._compute, ids)

    def ensure_network(self, spec: NetworkSpec) -> Network:
        return networks.ensure(self._compute, spec)

    def delete_network(self, *, region: str, name: str) -> bool:
        """With its peerings and endpoints, but never while a machine is in it."""
        if networks.delete(self._compute, region, name):
            return True
        if not machines.are_in_network(self._compute, region, name):
            connections.delete_endpoints(self._compute, region=region, network=name)
        return False

    def ensure_machine(self, spec: MachineSpec) -> Machine:
        return machines.ensure(self._compute, spec)

    def find_machine(self, *, region: str, name: str) -> Machine | None:
        return machines.find(self._compute, region, name)

    def delete_machine(self, *, region: str, name: str) -> bool:
        return machines.delete(self._compute, region, name)

    def start_machine(self, *, region: str, name: str) -> None:
        machines.start(self._compute, region, name)

    def stop_machine(self, *, region: str, name: str) -> None:
        machines.stop(self._compute, region, name)

    def kill_machine(self, *, region: str, name: str) -> None:
        machines.kill(self._compute, region, name)

    def list_machines(self, *, region: str) -> list[Machine]:
        return machines.list_all(self._compute, region)

    def list_networks(self, *, region: str) -> list[Network]:
        return networks.list_all(self._compute, region)

    def allow_clients(self, *, region: str, network: str, sources: Sequence[str], ports: Sequence[int]) -> None:
        networks.allow_clients(self._compute, region, network, sources, ports)

    def ensure_connection(self, spec: ConnectionSpec) -> Connection:
        return connections.ensure(self._compute, spec)

    def delete_connection(self, spec: ConnectionSpec) -> bool:
        return connections.delete(self._compute, spec)

    def shortfalls(self, *, region: str, machine_type: str, machines: Mapping[str, int]) -> list[Shortfall]:
        return capacity.shortfalls(self._compute, region=region, machine_type_name=machine_type, machines=machines)

    def capacity(self, *, region: str) -> Capacity:
        """Quotas only: which zones offer a type is asked type by type, when machines are about to be made."""
        return capacity.of_region(self._compute, region)

    def missing_permissions(self, *, region: str) -> list[str]:
        """Those of a project hold in all of its regions. Needs no permission itself."""
        return permissions.missing(self._compute)

    def notices(self, *, region: str) -> list[Notice]:
        return machines.notices(self._compute, region)

    def price_list(self, *, regions: Sequence[str]) -> Mapping[str, Sequence[ListPrice]]:
        return price_list.price_list(self._compute, regions)

    def memory_budget_mib(self, *, region: str) -> int | None:
        """Only GCP knows; quotas are `shortfalls`."""
        self._compute.zones(region)
        return None
