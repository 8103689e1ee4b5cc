"""The provider `local`: zones, machines and addresses on the computer at hand. See docs/local-provider.md."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from provisioner.providers.base import (
    Capacity,
    Connection,
    ConnectionSpec,
    Image,
    InvalidRequest,
    ListPrice,
    Machine,
    MachineSpec,
    Network,
    NetworkSpec,
    NotFound,
    Notice,
    Shortfall,
)
from provisioner.providers.local import memory
from provisioner.providers.local.addresses import REGIONS
from provisioner.providers.local.folders import StateFolder, checked_name, read_network, write_json
from provisioner.providers.local.images import ImageCache
from provisioner.providers.local.machines import LocalMachines

MACHINE_TYPE_PREFIX = "local."


@dataclass(frozen=True, kw_only=True)
class LocalSettings:
    """Where things are. `memory_reserve_mib` is what the control plane and the person keep for themselves."""

    state_dir: Path
    cache_dir: Path
    agent_binary: Path
    bake_script: Path
    memory_reserve_mib: int = 3072


class LocalProvider:
    def __init__(self, settings: LocalSettings) -> None:
        self._settings = settings
        self._state = StateFolder.at(settings.state_dir)
        self._machines = LocalMachines(self._state)
        self._images = ImageCache(cache_dir=settings.cache_dir.resolve(), bake_script=settings.bake_script.resolve())

    def find_image(self, *, region: str, engine: str, version: str) -> Image:
        _check_region(region)
        return self._images.find(engine=engine, version=version)

    def named_image(self, *, region: str, ids: Mapping[str, str]) -> Image:
        """None has a name here: they are found by their engine."""
        raise NotFound(f"There is no image {', '.join(ids.values())}.")

    def ensure_network(self, spec: NetworkSpec) -> Network:
        _check_region(spec.region)
        for zone in spec.zones:
            _check_zone(spec.region, zone)
        path = self._state.network(spec.name)
        wanted = Network(name=spec.name, region=spec.region, zones=spec.zones, tags=dict(spec.tags))
        existing = read_network(path)
        if existing is None:
            write_json(path, {"name": spec.name, "region": spec.region, "zones": spec.zones, "tags": spec.tags})
        elif existing.zones != wanted.zones:
            raise InvalidRequest(f"Network {spec.name} exists with other zones: {', '.join(existing.zones)}.")
        return existing or wanted

    def delete_network(self, *, region: str, name: str) -> bool:
        _check_region(region)
        if any(record.network == name for record in self._machines.records()):
            return False
        self._state.network(name).unlink(missing_ok=True)
        return True

    def list_networks(self, *, region: str) -> list[Network]:
        _check_region(region)
        paths = sorted(self._state.networks.glob("[!.]*.json"))
        networks = [network for path in paths if (network := read_network(path)) is not None]
        return [network for network in networks if network.region == region]

    def ensure_machine(self, spec: MachineSpec) -> Machine:
        user_data = self._user_data(spec)
        return self._machines.ensure(spec, user_data=user_data, agent_binary=self._settings.agent_binary.resolve())

    def find_machine(self, *, region: str, name: str) -> Machine | None:
        _check_region(region)
        return self._machines.find(name)

    def list_machines(self, *, region: str) -> list[Machine]:
        _check_region(region)
        return [machine for machine in self._machines.list() if machine.zone in REGIONS[region]]

    def delete_machine(self, *, region: str, name: str) -> bool:
        _check_region(region)
        return self._machines.delete(name)

    def start_machine(self, *, region: str, name: str) -> None:
        _check_region(region)
        self._machines.start(name)

    def stop_machine(self, *, region: str, name: str) -> None:
        _check_region(region)
        self._machines.stop(name)

    def kill_machine(self, *, region: str, name: str) -> None:
        _check_region(region)
        self._machines.kill(name)

    def allow_clients(self, *, region: str, network: str, sources: Sequence[str], ports: Sequence[int]) -> None:
        """The engine's own authorizer does it: loopback has no firewall of ours."""

    def ensure_connection(self, spec: ConnectionSpec) -> Connection:
        raise InvalidRequest("Networks of this machine have no connections to others.")

    def delete_connection(self, spec: ConnectionSpec) -> bool:
        """There never was one."""
        return True

    def shortfalls(self, *, region: str, machine_type: str, machines: Mapping[str, int]) -> list[Shortfall]:
        return []

    def capacity(self, *, region: str) -> Capacity:
        """The machine's memory is all there is: `memory_budget_mib`."""
        return Capacity()

    def missing_permissions(self, *, region: str) -> list[str]:
        return []

    def notices(self, *, region: str) -> list[Notice]:
        return []

    def price_list(self, *, regions: Sequence[str]) -> Mapping[str, Sequence[ListPrice]]:
        return {}

    def memory_budget_mib(self, *, region: str) -> int | None:
        _check_region(region)
        return max(0, memory.total_mib() - self._settings.memory_reserve_mib)

    def _user_data(self, spec: MachineSpec) -> dict[str, Any]:
        """What a cloud's metadata service would give this machine, but for its address. Checks the spec on the way."""
        _check_region(spec.region)
        _check_zone(spec.region, spec.zone)
        checked_name(spec.name)
        if not spec.machine_type.startswith(MACHINE_TYPE_PREFIX):
            raise InvalidRequest(
                f"Unknown machine type {spec.machine_type!r}: this provider's start with {MACHINE_TYPE_PREFIX!r}."
            )
        network = read_network(self._state.network(spec.network))
        if network is None or spec.zone not in network.zones:
            raise InvalidRequest(f"There is no network {spec.network} in zone {spec.zone}; it must be made first.")
        if not self._images.has(spec.image):
            raise NotFound(f"There is no machine image {spec.image!r}.")
        try:
            user_data = json.loads(spec.user_data)
        except json.JSONDecodeError as error:
            raise InvalidRequest(f"User data must be a JSON object: {error.msg}.") from error
        if not isinstance(user_data, dict):
            raise InvalidRequest("User data must be a JSON object.")
        return user_data | {"engine_cache": str(self._settings.cache_dir.resolve())}


def _check_region(region: str) -> None:
    if region not in REGIONS:
        raise InvalidRequest(f"Unknown region {region!r}: there are {', '.join(REGIONS)}.")


def _check_zone(region: str, zone: str) -> None:
    if zone not in REGIONS[region]:
        raise InvalidRequest(f"Unknown zone {zone!r} in {region}: there are {', '.join(REGIONS[region])}.")
