"""The emulated Google cloud that the tests of the provider `gcp` share, and the real one for who has an account."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from provisioner.providers.base import Machine, MachineSpec, NetworkSpec, ProviderError
from provisioner.providers.conformance import World
from provisioner.providers.gcp.provider import GcpProvider
from provisioner.providers.gcp.settings import GcpSettings
from provisioner.providers.gcp_emulator.server import ComputeEmulator
from provisioner.providers.gcp_emulator.world import World as Cloud

PROJECT, REGION, OTHER_REGION = "test-project", "us-central1", "europe-west1"
ZONES = ("us-central1-a", "us-central1-b", "us-central1-c")
VERSION = "5.0.5"
NETWORK = NetworkSpec(name="rm-net", region=REGION, zones=ZONES, tags={"ringmaster-cluster": "clu_1"})


@contextmanager
def emulated(cloud: Cloud) -> Iterator[ComputeEmulator]:
    with ComputeEmulator(cloud) as emulator:
        cloud.add_image(engine="cassandra", version=VERSION)
        yield emulator


def settings_for(emulator: ComputeEmulator, **others: Any) -> GcpSettings:
    defaults = {"agents_from": ("192.0.2.0/24",)}
    return GcpSettings(project=PROJECT, endpoint=emulator.url, **(defaults | others))


def world_of(cloud: Cloud, open_provider: Callable[[], Any], *, seconds: float = 5) -> World:
    return World(
        open=open_provider,
        leftovers=cloud.inventory,
        region=REGION,
        zones=ZONES,
        other_region=OTHER_REGION,
        machine_type="n2-highmem-8",
        memory_mib=65536,
        engine="cassandra",
        version=VERSION,
        unknown_version="0.0.0",
        seconds=seconds,
    )


def spec(name: str = "rm-one", *, zone: int = 0, user_data: str = "{}", **others: Any) -> MachineSpec:
    return MachineSpec(
        name=name,
        region=REGION,
        zone=ZONES[zone],
        user_data=user_data,
        **{
            "network": NETWORK.name,
            "machine_type": "n2-highmem-8",
            "memory_mib": 65536,
            "image": f"projects/{PROJECT}/global/images/cassandra-5-0-5",
            "tags": {"ringmaster-cluster": "clu_01J", "ringmaster-node": "nod_1"},
            **others,
        },
    )


class Patient:
    """A provider as an operation uses it: what may be tried again is tried again, until `seconds` are over.

    Conformance asks once where an operation asks until it is done; on a cloud that takes its time this stands between.
    """

    def __init__(self, provider: GcpProvider, *, seconds: float, pause: float) -> None:
        self._provider = provider
        self._seconds = seconds
        self._pause = pause

    def ensure_machine(self, wanted: MachineSpec) -> Machine:
        return self._until(lambda: self._provider.ensure_machine(wanted), lambda machine: bool(machine.address))

    def delete_network(self, *, region: str, name: str) -> bool:
        def settled(gone: bool) -> bool:
            return gone or bool(self._provider.list_machines(region=region))

        return self._until(lambda: self._provider.delete_network(region=region, name=name), settled)

    def __getattr__(self, method: str) -> Any:
        call = getattr(self._provider, method)
        return lambda *args, **kwargs: self._until(lambda: call(*args, **kwargs), lambda _: True)

    def _until(self, ask: Callable[[], Any], settled: Callable[[Any], bool]) -> Any:
        give_up_at = time.monotonic() + self._seconds
        while True:
            late = time.monotonic() > give_up_at
            try:
                answer = ask()
                if late or settled(answer):
                    return answer
            except ProviderError as error:
                if late or not error.retryable:
                    raise
            time.sleep(self._pause)
