import multiprocessing
import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from provisioner.providers.base import MachineSpec, MachineState, NetworkSpec, OutOfCapacity, ProviderError
from provisioner.providers.conformance import ProviderConformance, World
from provisioner.providers.fake import UNKNOWN_VERSION, FakeProvider, FakeSettings
from provisioner.providers.fake_faults import SLOW, UNSEEN, Fault, Moment


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def settings(tmp_path: Path) -> FakeSettings:
    return FakeSettings(path=tmp_path / "fake.sqlite")


NETWORK = NetworkSpec(name="rm-net", region="fake-1", zones=("fake-1a", "fake-1b", "fake-1c"))


def spec(name: str = "rm-one") -> MachineSpec:
    return MachineSpec(
        name=name,
        network=NETWORK.name,
        region="fake-1",
        zone="fake-1a",
        machine_type="fake.small",
        memory_mib=512,
        image="cassandra-5.0.5",
        user_data="{}",
    )


class TestConformance(ProviderConformance):
    @pytest.fixture
    def world(self, settings: FakeSettings) -> World:
        return World(
            open=lambda: FakeProvider(settings),
            leftovers=FakeProvider(settings).inventory,
            region=settings.region,
            zones=("fake-1a", "fake-1b", "fake-1c"),
            other_region=settings.second_region,
            machine_type="fake.small",
            memory_mib=512,
            engine="cassandra",
            version="5.0.5",
            unknown_version=UNKNOWN_VERSION,
            seconds=5,
        )


class TestConformanceWhileThingsTakeTime(TestConformance):
    @pytest.fixture
    def settings(self, tmp_path: Path) -> FakeSettings:
        return FakeSettings(path=tmp_path / "fake.sqlite", boot_seconds=0.05, delete_seconds=0.05)


@pytest.fixture
def provider(settings: FakeSettings) -> Iterator[FakeProvider]:
    provider = FakeProvider(settings)
    provider.ensure_network(NETWORK)
    return provider


def test_it_fails_before_the_effect_as_often_as_told(provider: FakeProvider) -> None:
    provider.inject(Fault(name="out-of-capacity", call="ensure_machine", times=2))
    for _ in range(2):
        with pytest.raises(OutOfCapacity):
            provider.ensure_machine(spec())
    assert provider.list_machines(region="fake-1") == []
    assert provider.ensure_machine(spec()).state is MachineState.RUNNING


def test_it_loses_the_reply_after_the_effect(provider: FakeProvider) -> None:
    provider.inject(Fault(name="connection-lost", call="ensure_machine", moment=Moment.AFTER, times=1))
    with pytest.raises(ProviderError):
        provider.ensure_machine(spec())
    assert [machine.name for machine in provider.list_machines(region="fake-1")] == ["rm-one"]
    provider.ensure_machine(spec())
    assert [effect.effect for effect in provider.history() if effect.name == "rm-one"] == ["made"]


def test_it_loses_the_reply_of_a_deletion(provider: FakeProvider) -> None:
    provider.ensure_machine(spec())
    provider.inject(Fault(name="connection-lost", call="delete_machine", moment=Moment.AFTER, times=1))
    with pytest.raises(ProviderError):
        provider.delete_machine(region="fake-1", name="rm-one")
    assert provider.find_machine(region="fake-1", name="rm-one") is None
    assert provider.delete_machine(region="fake-1", name="rm-one")


def test_it_takes_its_time_when_told_to_be_slow(settings: FakeSettings) -> None:
    clock = Clock()
    provider = FakeProvider(replace(settings, clock=clock))
    provider.ensure_network(NETWORK)
    provider.inject(Fault(name=SLOW, moment=Moment.DELAYED, call="*_machine", seconds=30))
    assert provider.ensure_machine(spec()).state is MachineState.STARTING
    clock.now += 31
    assert provider.ensure_machine(spec()).state is MachineState.RUNNING
    assert not provider.delete_machine(region="fake-1", name="rm-one")
    assert provider.inventory() == ["machine rm-one", "network rm-net"]
    clock.now += 31
    assert provider.delete_machine(region="fake-1", name="rm-one")


def test_it_does_not_show_at_once_what_was_made(settings: FakeSettings) -> None:
    clock = Clock()
    provider = FakeProvider(replace(settings, clock=clock))
    provider.ensure_network(NETWORK)
    provider.inject(Fault(name=UNSEEN, moment=Moment.DELAYED, call="ensure_machine", times=1, seconds=5))
    made = provider.ensure_machine(spec())
    assert provider.find_machine(region="fake-1", name="rm-one") is None
    assert provider.list_machines(region="fake-1") == []
    assert "machine rm-one" in provider.inventory()
    assert provider.ensure_machine(spec()).id == made.id
    clock.now += 6
    assert [machine.id for machine in provider.list_machines(region="fake-1")] == [made.id]


def test_it_hits_only_what_the_fault_names(provider: FakeProvider) -> None:
    provider.inject(Fault(name="rate-limited", call="ensure_*", target="rm-two"))
    provider.ensure_machine(spec("rm-one"))
    with pytest.raises(ProviderError):
        provider.ensure_machine(spec("rm-two"))
    provider.end_faults()
    provider.ensure_machine(spec("rm-two"))


def _struck(path: Path, seed: int) -> list[bool]:
    provider = FakeProvider(FakeSettings(path=path, seed=seed))
    provider.inject(Fault(name="rate-limited", call="find_machine", probability=0.3))
    answers = []
    for _ in range(60):
        try:
            provider.find_machine(region="fake-1", name="rm-one")
            answers.append(False)
        except ProviderError:
            answers.append(True)
    return answers


def test_it_replays_a_seed(tmp_path: Path) -> None:
    first = _struck(tmp_path / "one", seed=7)
    assert first == _struck(tmp_path / "two", seed=7)
    assert first != _struck(tmp_path / "three", seed=8)
    assert 6 <= sum(first) <= 30


def _ensure_in_another_process(path: Path) -> None:
    FakeProvider(FakeSettings(path=path)).ensure_machine(spec("rm-elsewhere"))


def test_it_is_one_world_for_all_processes(provider: FakeProvider, settings: FakeSettings) -> None:
    processes = [
        multiprocessing.get_context("spawn").Process(target=_ensure_in_another_process, args=(settings.path,))
        for _ in range(2)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(30)
        assert process.exitcode == 0
    assert [machine.name for machine in provider.list_machines(region="fake-1")] == ["rm-elsewhere"]
    assert [effect.effect for effect in provider.history()] == ["network-made", "made"]


def test_it_leaks_and_doubles_nothing_when_a_tenth_of_calls_fail(provider: FakeProvider) -> None:
    provider.inject(Fault(name="connection-lost", probability=0.1))
    provider.inject(Fault(name="connection-lost", probability=0.1, moment=Moment.AFTER))
    order = random.Random(20)
    names = [f"rm-{number}" for number in range(100)]
    wanted = {name: order.random() < 0.5 for name in names}

    def until_it_works(name: str) -> None:
        for _ in range(50):
            with suppress(ProviderError):
                provider.ensure_machine(spec(name))
                break
        while not wanted[name]:
            with suppress(ProviderError):
                if provider.delete_machine(region="fake-1", name=name):
                    break

    for name in names:
        until_it_works(name)
    assert provider.strikes() > 20
    provider.end_faults()
    assert [machine.name for machine in provider.list_machines(region="fake-1")] == sorted(
        n for n in names if wanted[n]
    )
    made = [effect.name for effect in provider.history() if effect.effect == "made"]
    assert sorted(made) == sorted(names)
