from collections.abc import Iterator

import pytest

from provisioner.providers.conformance import ProviderConformance, World
from provisioner.providers.gcp.provider import GcpProvider
from provisioner.providers.gcp.settings import GcpSettings
from provisioner.providers.gcp_emulator.server import ComputeEmulator
from provisioner.providers.gcp_emulator.world import World as Cloud

REGION, ZONES = "us-central1", ("us-central1-a", "us-central1-b", "us-central1-c")
VERSION = "5.0.5"


@pytest.fixture
def emulator() -> Iterator[ComputeEmulator]:
    with ComputeEmulator(Cloud()) as emulator:
        emulator.world.add_image(engine="cassandra", version=VERSION)
        yield emulator


@pytest.fixture
def settings(emulator: ComputeEmulator) -> GcpSettings:
    return GcpSettings(
        project="test-project", endpoint=emulator.url, agents_from=("192.0.2.0/24",), failure_seconds=0.2
    )


@pytest.fixture
def world(emulator: ComputeEmulator, settings: GcpSettings) -> World:
    return World(
        open=lambda: GcpProvider(settings),
        leftovers=emulator.world.inventory,
        region=REGION,
        zones=ZONES,
        other_region="europe-west1",
        machine_type="n2-highmem-8",
        memory_mib=65536,
        engine="cassandra",
        version=VERSION,
        unknown_version="0.0.0",
        seconds=5,
    )


class TestConformance(ProviderConformance):
    pass
