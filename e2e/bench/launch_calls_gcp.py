"""A cluster's machines on the emulated Google Cloud: by the provider, and by a script of plain google-cloud-compute.

The script does for each thing what Google's own examples do: ask for it, look at its operation, and for machines get
the instance, whose address is not known before.
"""

import itertools
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from e2e.bench import launch_ours
from e2e.bench.launch_ours import TAGS, VERSION, Place

_REPOSITORY = Path(__file__).resolve().parents[2]
_PROJECT = "test-project"
_REGION = "us-central1"
_ZONES = ("us-central1-a", "us-central1-b", "us-central1-c")
_TYPE = "n2-highmem-8"
_PLACE = Place(_REGION, _ZONES, _TYPE, memory_mib=65536)


@contextmanager
def gcp() -> Iterator["Gcp"]:
    """The emulator serves from a process of its own, so that its work and ours do not share an interpreter."""
    command = [sys.executable, "-m", "provisioner.providers.gcp_emulator"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=_REPOSITORY) as server:
        try:
            if server.stdout is None:
                raise RuntimeError("the emulator has no output")
            cloud = Gcp(server.stdout.readline().strip())
            cloud.control("images", {"engine": "cassandra", "version": VERSION})
            yield cloud
        finally:
            server.kill()


@dataclass
class Gcp:
    url: str
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        from provisioner.providers.gcp.settings import GcpSettings

        self._settings = GcpSettings(project=_PROJECT, endpoint=self.url, agents_from=("192.0.2.0/24",))
        self._script = _Script(self.url)

    def ours(self, machines: int) -> tuple[int, float]:
        from provisioner.providers.gcp.provider import GcpProvider

        cluster = f"rm-clu-{next(self._numbers)}"
        provider = GcpProvider(self._settings)
        provider.list_networks(region=_REGION)  # connects, as a worker long has
        before, began = self._calls(), time.perf_counter()
        launch_ours.make(provider, _PLACE, cluster, machines)
        seconds = time.perf_counter() - began
        calls = self._calls() - before
        launch_ours.delete(provider, _PLACE, cluster)
        return calls, seconds

    def bare(self, machines: int) -> tuple[int, float]:
        from provisioner.providers.gcp.provider import GcpProvider

        name = f"bare-{next(self._numbers)}"
        before, began = self._calls(), time.perf_counter()
        self._script.make(name, machines)
        seconds = time.perf_counter() - began
        calls = self._calls() - before
        launch_ours.delete(GcpProvider(self._settings), _PLACE, name)
        return calls, seconds

    def control(self, what: str, body: dict[str, str]) -> None:
        urllib.request.urlopen(f"{self.url}/emulator/{what}", json.dumps(body).encode()).close()

    def _calls(self) -> int:
        with urllib.request.urlopen(f"{self.url}/emulator/world") as answer:
            return len(json.load(answer)["calls"])


class _Script:
    """Nothing is looked for before it is made, and nothing can be repeated."""

    def __init__(self, url: str) -> None:
        from google.api_core.client_options import ClientOptions
        from google.auth.credentials import AnonymousCredentials
        from google.cloud import compute_v1

        how: dict[str, Any] = {
            "credentials": AnonymousCredentials(),  # type: ignore[no-untyped-call]
            "client_options": ClientOptions(api_endpoint=url),
        }
        self._images = compute_v1.ImagesClient(**how)
        self._networks = compute_v1.NetworksClient(**how)
        self._subnets = compute_v1.SubnetworksClient(**how)
        self._firewalls = compute_v1.FirewallsClient(**how)
        self._instances = compute_v1.InstancesClient(**how)
        self._global = compute_v1.GlobalOperationsClient(**how)
        self._regional = compute_v1.RegionOperationsClient(**how)
        self._zonal = compute_v1.ZoneOperationsClient(**how)

    def make(self, name: str, machines: int) -> None:
        (image,) = self._images.list(project=_PROJECT)
        # Described as ours, so that the provider can take it down.
        description = {"installation": "ringmaster", "region": _REGION, "zones": _ZONES, "tags": TAGS}
        network = {"name": name, "auto_create_subnetworks": False, "description": json.dumps(description)}
        link = f"https://www.googleapis.com/compute/v1/projects/{_PROJECT}/global/networks/{name}"
        self._globally(self._networks.insert_unary(project=_PROJECT, network_resource=network))
        subnet = {"name": name, "network": link, "ip_cidr_range": "10.200.0.0/20"}
        made = self._subnets.insert_unary(project=_PROJECT, region=_REGION, subnetwork_resource=subnet)
        _check(self._regional.get(project=_PROJECT, region=_REGION, operation=made.name))
        for purpose, source in (("agents", {"source_ranges": ["192.0.2.0/24"]}), ("nodes", {"source_tags": [name]})):
            rule = {"name": f"{name}-{purpose}", "network": link, "allowed": [{"I_p_protocol": "tcp"}], **source}
            self._globally(self._firewalls.insert_unary(project=_PROJECT, firewall_resource=rule))
        for number in range(machines):
            self._machine(name, number, f"projects/{_PROJECT}/global/images/{image.name}")
        found = self._instances.aggregated_list(project=_PROJECT)
        running = [one for _, scoped in found for one in scoped.instances if one.status == "RUNNING"]
        if len(running) != machines:
            raise RuntimeError(f"{len(running)} of {machines} machines run")

    def _machine(self, network: str, number: int, image: str) -> None:
        zone, name = _ZONES[number % len(_ZONES)], f"{network}-nod-{number}"
        local = {"type_": "SCRATCH", "interface": "NVME", "auto_delete": True}
        instance = {
            "name": name,
            "machine_type": f"zones/{zone}/machineTypes/{_TYPE}",
            "labels": {**TAGS, "ringmaster-installation": "ringmaster"},
            "tags": {"items": [network]},
            "metadata": {"items": [{"key": "user-data", "value": f'{{"node_id": "{name}"}}'}]},
            "disks": [{"boot": True, "auto_delete": True, "initialize_params": {"source_image": image}}, *[local] * 4],
            "network_interfaces": [
                {
                    "subnetwork": f"https://www.googleapis.com/compute/v1/projects/{_PROJECT}"
                    f"/regions/{_REGION}/subnetworks/{network}"
                }
            ],
        }
        made = self._instances.insert_unary(project=_PROJECT, zone=zone, instance_resource=instance)
        _check(self._zonal.get(project=_PROJECT, zone=zone, operation=made.name))
        self._instances.get(project=_PROJECT, zone=zone, instance=name)

    def _globally(self, made: Any) -> None:
        _check(self._global.get(project=_PROJECT, operation=made.name))


def _check(operation: Any) -> None:
    if operation.status.name != "DONE" or operation.error.errors:
        raise RuntimeError(f"{operation.name} has not been done: {operation.error}")
