from collections.abc import Iterator

import pytest

from provisioner.providers.aws.provider import AwsProvider
from provisioner.providers.aws.settings import AwsSettings
from provisioner.providers.aws_emulator.emulator import CREDENTIALS, Emulator
from provisioner.providers.conformance import ProviderConformance, World

REGION = "us-east-1"
ZONES = ("us-east-1a", "us-east-1b", "us-east-1c")
VERSION = "5.0.5"


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def cloud() -> Iterator[Emulator]:
    with Emulator() as cloud:
        cloud.add_image("cassandra", VERSION)
        yield cloud


@pytest.fixture
def settings(cloud: Emulator) -> AwsSettings:
    return AwsSettings(endpoint_url=cloud.url, control_plane_cidrs=("192.0.2.0/24",))


class TestConformance(ProviderConformance):
    @pytest.fixture
    def world(self, cloud: Emulator, settings: AwsSettings) -> World:
        return World(
            open=lambda: AwsProvider(settings),
            leftovers=cloud.leftovers,
            region=REGION,
            zones=ZONES,
            other_region="eu-west-1",
            machine_type="i3.large",
            memory_mib=15616,
            engine="cassandra",
            version=VERSION,
            unknown_version="0.0.0",
            seconds=5,
        )
