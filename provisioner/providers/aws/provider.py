"""The provider `aws`: EC2 instances in a network per cluster. See docs/aws.md."""

from collections.abc import Mapping, Sequence

from provisioner.providers.aws.checks import Checks
from provisioner.providers.aws.cloud import Cloud
from provisioner.providers.aws.connections import Connections
from provisioner.providers.aws.images import Images
from provisioner.providers.aws.machines import Machines
from provisioner.providers.aws.networks import Networks
from provisioner.providers.aws.notices import notices
from provisioner.providers.aws.price_list import price_list
from provisioner.providers.aws.settings import AwsSettings
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


class AwsProvider:
    def __init__(self, settings: AwsSettings) -> None:
        self._cloud = Cloud(settings)
        self._networks = Networks(self._cloud, settings)
        self._images = Images(self._cloud, settings)
        self._machines = Machines(self._cloud, settings, self._networks, self._images)
        self._checks = Checks(self._cloud, settings)
        self.connections = Connections(self._cloud, settings, self._networks)

    def find_image(self, *, region: str, engine: str, version: str) -> Image:
        return self._images.find(region=region, engine=engine, version=version)

    def named_image(self, *, region: str, ids: Mapping[str, str]) -> Image:
        return self._images.named(region=region, ids=ids)

    def ensure_network(self, spec: NetworkSpec) -> Network:
        return self._networks.ensure(spec)

    def delete_network(self, *, region: str, name: str) -> bool:
        """With its connections."""
        return self._networks.is_empty(region, name) and (
            self.connections.delete_all(region, name) and self._networks.delete(region, name)
        )

    def list_networks(self, *, region: str) -> list[Network]:
        return self._networks.all(region)

    def ensure_machine(self, spec: MachineSpec) -> Machine:
        return self._machines.ensure(spec)

    def find_machine(self, *, region: str, name: str) -> Machine | None:
        return self._machines.find(region, name)

    def delete_machine(self, *, region: str, name: str) -> bool:
        return self._machines.delete(region, name)

    def start_machine(self, *, region: str, name: str) -> None:
        self._machines.start(region, name)

    def stop_machine(self, *, region: str, name: str) -> None:
        self._machines.stop(region, name, force=False)

    def kill_machine(self, *, region: str, name: str) -> None:
        """The nearest AWS has to a power loss: a stop that does not ask the operating system."""
        self._machines.stop(region, name, force=True)

    def list_machines(self, *, region: str) -> list[Machine]:
        return self._machines.all(region)

    def allow_clients(self, *, region: str, network: str, sources: Sequence[str], ports: Sequence[int]) -> None:
        self._networks.allow_clients(region=region, network=network, sources=sources, ports=ports)

    def ensure_connection(self, spec: ConnectionSpec) -> Connection:
        return self.connections.ensure(spec)

    def delete_connection(self, spec: ConnectionSpec) -> bool:
        return self.connections.delete(spec)

    def shortfalls(self, *, region: str, machine_type: str, machines: Mapping[str, int]) -> list[Shortfall]:
        return self._checks.shortfalls(region=region, machine=machine_type, machines=machines)

    def capacity(self, *, region: str) -> Capacity:
        return self._checks.capacity(region)

    def missing_permissions(self, *, region: str) -> list[str]:
        return self._checks.missing_permissions(region)

    def notices(self, *, region: str) -> list[Notice]:
        return notices(self._cloud, self._machines, region)

    def price_list(self, *, regions: Sequence[str]) -> Mapping[str, Sequence[ListPrice]]:
        return price_list(self._cloud, regions)

    def memory_budget_mib(self, *, region: str) -> int | None:
        """Only AWS knows; `shortfalls` asks it."""
        self._cloud.check_region(region)
        return None
