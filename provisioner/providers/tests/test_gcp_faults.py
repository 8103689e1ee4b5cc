"""The provider `gcp` when calls, answers and operations fail."""

import random
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest

from provisioner.providers.base import AccessDenied, ProviderError, QuotaExceeded, RateLimited
from provisioner.providers.gcp.provider import GcpProvider
from provisioner.providers.gcp.settings import GcpSettings
from provisioner.providers.gcp_emulator.faults import ANSWER_LOST, Fault, Moment
from provisioner.providers.gcp_emulator.server import ComputeEmulator
from provisioner.providers.gcp_emulator.world import World as Cloud
from provisioner.providers.tests.gcp_world import NETWORK, REGION, emulated, settings_for, spec

FAULTS = 500


@pytest.fixture
def emulator() -> Iterator[ComputeEmulator]:
    with emulated(Cloud(seed=4)) as emulator:
        yield emulator


@pytest.fixture
def cloud(emulator: ComputeEmulator) -> Cloud:
    return emulator.world


@pytest.fixture
def provider(emulator: ComputeEmulator) -> GcpProvider:
    provider = GcpProvider(settings_for(emulator, failure_seconds=0.0))
    provider.ensure_network(NETWORK)
    return provider


@pytest.mark.parametrize(
    ("fault", "error", "retryable"),
    [
        ("unavailable", ProviderError, True),
        ("internal", ProviderError, True),
        (ANSWER_LOST, ProviderError, True),
        ("rate-limited", RateLimited, True),
        ("too-many", RateLimited, True),
        ("quota-exceeded", QuotaExceeded, False),
    ],
)
def test_it_says_what_kind_of_failure_it_was(
    cloud: Cloud, provider: GcpProvider, fault: str, error: type[ProviderError], retryable: bool
) -> None:
    cloud.inject(Fault(name=fault, call="instances.insert"))
    with pytest.raises(error) as raised:
        provider.ensure_machine(spec())
    assert type(raised.value) is error
    assert raised.value.retryable is retryable


def test_it_says_which_permission_is_missing(cloud: Cloud, provider: GcpProvider) -> None:
    cloud.denied.add("compute.disks.create")
    with pytest.raises(AccessDenied, match=r"lacks the permission compute\.disks\.create") as raised:
        provider.ensure_machine(spec())
    assert "role.yaml" in raised.value.hint


def test_it_says_that_nobody_answers() -> None:
    provider = GcpProvider(GcpSettings(project="test-project", endpoint="http://127.0.0.1:9"))
    with pytest.raises(ProviderError, match="could not be reached") as raised:
        provider.list_machines(region=REGION)
    assert raised.value.retryable


def test_it_finds_a_machine_whose_answer_was_lost(cloud: Cloud, provider: GcpProvider) -> None:
    cloud.inject(Fault(name=ANSWER_LOST, call="instances.insert", moment=Moment.AFTER, times=1))
    with pytest.raises(ProviderError):
        provider.ensure_machine(spec())
    assert provider.ensure_machine(spec()).name == "rm-one"
    assert [effect.effect for effect in cloud.history if effect.path.endswith("instances/rm-one")] == ["made", "booted"]


def _campaign(provider: GcpProvider, cloud: Cloud) -> dict[str, int]:
    """Orders that are made, some given up half-way, all deleted, until enough has gone wrong; machines wanted whole."""
    order, whole = random.Random(4), dict[str, int]()
    number = 0
    while cloud.strikes() < FAULTS:
        number += 1
        network = f"rm-net-{number}"
        wanted = replace(NETWORK, name=network)
        machines = [spec(f"rm-{number}-{zone}", zone=zone, network=network) for zone in range(3)]
        for _ in _tries():
            with suppress(ProviderError):
                provider.ensure_network(wanted)
                break
        for machine in machines:
            whole[machine.name] = 0
            for _ in _tries():
                with suppress(ProviderError):
                    provider.ensure_machine(machine)
                    whole[machine.name] = 1
                    break
                if order.random() < 0.1:
                    break
        for machine in machines:
            for _ in _tries():
                with suppress(ProviderError):
                    if provider.delete_machine(region=REGION, name=machine.name):
                        break
        for _ in _tries():
            with suppress(ProviderError):
                if provider.delete_network(region=REGION, name=network):
                    break
    return whole


def _tries() -> Iterator[int]:
    """A bound, so that a fault run that goes in circles fails instead of hanging."""
    yield from range(200)
    raise AssertionError("it does not get anywhere")


def test_it_leaks_and_doubles_nothing_over_five_hundred_faults(cloud: Cloud, provider: GcpProvider) -> None:
    started_at = time.monotonic()
    assert provider.delete_network(region=REGION, name=NETWORK.name)
    for name in (ANSWER_LOST, "unavailable", "rate-limited"):
        cloud.inject(Fault(name=name, probability=0.03))
        cloud.inject(Fault(name=name, probability=0.04, moment=Moment.AFTER))
    for call in ("*.insert", "*.delete"):
        cloud.inject(Fault(name="INTERNAL_ERROR", call=call, probability=0.1, moment=Moment.INSIDE))
    whole = _campaign(provider, cloud)
    assert cloud.end_faults() >= FAULTS
    assert cloud.inventory() == []
    assert provider.list_machines(region=REGION) == []
    assert provider.list_networks(region=REGION) == []
    booted = [effect.path.rpartition("/")[2] for effect in cloud.history if effect.effect == "booted"]
    assert len(booted) == len(set(booted))
    assert {name for name, wanted in whole.items() if wanted} <= set(booted)
    assert time.monotonic() - started_at < 120
