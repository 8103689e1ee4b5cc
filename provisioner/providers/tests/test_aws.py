"""The promises of every provider, kept by `aws` on the emulated cloud; live where RINGMASTER_LIVE_AWS=1 says so."""

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pytest

from provisioner.providers.aws.provider import AwsProvider
from provisioner.providers.aws.settings import AwsSettings
from provisioner.providers.aws_emulator.emulator import CREDENTIALS, Emulator
from provisioner.providers.aws_emulator.region import Pace
from provisioner.providers.base import Provider
from provisioner.providers.conformance import ProviderConformance, World
from provisioner.providers.tests.aws_world import REGION, VERSION, ZONES, Patient

LIVE = os.environ.get("RINGMASTER_LIVE_AWS") == "1"


def emulated_world(cloud: Emulator, settings: AwsSettings) -> World:
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


class TestConformance(ProviderConformance):
    @pytest.fixture
    def world(self, aws_cloud: Emulator, aws_settings: AwsSettings) -> Iterator[World]:
        yield emulated_world(aws_cloud, aws_settings)
        assert aws_cloud.doubles() == []


class _Repeating:
    """A provider whose calls are repeated as long as it says that they may be: clouds are slow."""

    def __init__(self, provider: Provider, seconds: float) -> None:
        self._provider, self._patient = provider, Patient(seconds)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._provider, name)
        return lambda *args, **kwargs: self._patient(lambda: method(*args, **kwargs))


def repeating(settings: AwsSettings, seconds: float) -> Provider:
    return cast(Provider, _Repeating(AwsProvider(settings), seconds))


class TestConformanceWhereThingsTakeTime(ProviderConformance):
    """Instances boot and end slowly. What AWS refuses meanwhile is asked for again, as operations do."""

    @pytest.fixture
    def world(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
        for name, value in CREDENTIALS.items():
            monkeypatch.setenv(name, value)
        with Emulator(pace=Pace(boot_seconds=0.1, end_seconds=0.1)) as cloud:
            cloud.add_image("cassandra", VERSION)
            settings = AwsSettings(endpoint_url=cloud.url)
            yield replace(emulated_world(cloud, settings), open=lambda: repeating(settings, 5))
            assert cloud.doubles() == []


class TestConformanceLive(ProviderConformance):
    """Needs credentials, two images and the variables of docs/aws.md. Never run where this was written."""

    # Only where it is asked for.
    __test__ = LIVE

    @pytest.fixture
    def world(self) -> World:
        region = os.environ["RINGMASTER_LIVE_AWS_REGION"]
        zones = os.environ["RINGMASTER_LIVE_AWS_ZONES"].split(",")
        settings = AwsSettings(
            installation=f"live-{int(time.time())}",
            instance_profile=os.environ.get("RINGMASTER_LIVE_AWS_PROFILE"),
            image_owners=tuple(os.environ.get("RINGMASTER_LIVE_AWS_OWNERS", "self").split(",")),
        )

        def leftovers() -> list[str]:
            provider = AwsProvider(settings)
            machines = [f"machine {one.name}" for one in provider.list_machines(region=region)]
            return machines + [f"network {one.name}" for one in provider.list_networks(region=region)]

        return World(
            open=lambda: repeating(settings, 300),
            leftovers=leftovers,
            region=region,
            zones=(zones[0], zones[1], zones[2]),
            other_region=os.environ.get("RINGMASTER_LIVE_AWS_OTHER_REGION", "us-west-2"),
            machine_type=os.environ.get("RINGMASTER_LIVE_AWS_TYPE", "i3en.large"),
            memory_mib=16384,
            engine=os.environ.get("RINGMASTER_LIVE_AWS_ENGINE", "cassandra"),
            version=os.environ["RINGMASTER_LIVE_AWS_VERSION"],
            unknown_version="0.0.0",
            seconds=600,
        )
