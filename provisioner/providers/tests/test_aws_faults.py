"""Five hundred random faults while machines and networks come and go: nothing leaked, nothing launched twice."""

import itertools
import random
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from provisioner.providers.aws.provider import AwsProvider
from provisioner.providers.aws.settings import AwsSettings
from provisioner.providers.aws_emulator.emulator import CREDENTIALS, Emulator
from provisioner.providers.aws_emulator.faults import CONNECTION_LOST, Fault, Moment
from provisioner.providers.aws_emulator.region import Pace
from provisioner.providers.base import MachineSpec, ProviderError
from provisioner.providers.conformance import eventually
from provisioner.providers.tests.aws_world import NETWORK, REGION, VERSION, ZONES, spec

FAULTS = 500
SEED = 4

Answer = TypeVar("Answer")


def until_it_works(call: Callable[[], Answer], attempts: int = 400) -> Answer:
    """As operations do; an answer that a person would have to look at is tried again by that person."""
    for _ in range(attempts):
        try:
            return call()
        except ProviderError:
            continue
    raise AssertionError("it never worked")


def until_gone(call: Callable[[], bool]) -> None:
    """A launch that was never answered keeps a machine from being called gone for a second."""
    assert eventually(lambda: until_it_works(call), 20)


def come_and_go(provider: AwsProvider, order: random.Random, template: MachineSpec, number: int) -> None:
    """A cluster is made; of its machines some are given up half way, as a cancelled operation does; all are deleted."""
    network = replace(NETWORK, name=f"rm-clu-{number}")
    until_it_works(lambda: provider.ensure_network(network))
    specs = [
        replace(template, name=f"rm-nod-{number}-{zone}", network=network.name, zone=ZONES[zone]) for zone in range(3)
    ]
    for one in specs:
        if order.random() < 0.3:
            try:
                provider.ensure_machine(one)
            except ProviderError:
                continue
        else:
            until_it_works(lambda one=one: provider.ensure_machine(one))  # type: ignore[misc]
    for one in specs:
        until_gone(lambda name=one.name: provider.delete_machine(region=REGION, name=name))  # type: ignore[misc]
    until_gone(lambda: provider.delete_network(region=REGION, name=network.name))


def test_it_leaks_nothing_and_launches_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    order = random.Random(SEED)
    with Emulator(seed=SEED, pace=Pace(unseen_describes=1, forget_seconds=0.5)) as cloud:
        cloud.add_image("cassandra", VERSION)
        provider = AwsProvider(AwsSettings(endpoint_url=cloud.url, public_addresses=True, shown_after_seconds=1))
        template = spec(provider)
        for code, moment, probability in (
            (CONNECTION_LOST, Moment.BEFORE, 0.06),
            (CONNECTION_LOST, Moment.AFTER, 0.12),
            ("RequestLimitExceeded", Moment.BEFORE, 0.05),
            ("InternalError", Moment.AFTER, 0.05),
        ):
            cloud.faults.inject(Fault(code=code, moment=moment, probability=probability))
        cloud.faults.inject(Fault(code="InsufficientInstanceCapacity", action="RunInstances", probability=0.1))
        for number in itertools.count(1):
            come_and_go(provider, order, template, number)
            if cloud.faults.struck >= FAULTS:
                break
        cloud.faults.end()
        assert cloud.faults.struck >= FAULTS
        assert cloud.doubles() == []
        assert cloud.leftovers() == []
