import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from provisioner.providers.base import (
    InvalidRequest,
    MachineSpec,
    MachineState,
    NetworkSpec,
    NotFound,
    OutOfCapacity,
    ProviderError,
)
from provisioner.providers.conformance import ProviderConformance, authority_pem, eventually
from provisioner.providers.local import __main__ as command_line
from provisioner.providers.local import machines, memory
from provisioner.providers.local.power import processes_of
from provisioner.providers.local.provider import LocalProvider, LocalSettings
from provisioner.providers.tests.conftest import REPOSITORY, local_leftovers

REGION = "local-1"
NAME = "rm-nod-1"
TOKEN = "the-one-time-token"

# An engine as far as power goes: in a session of its own, and it notes that it was asked to end.
ENGINE = 'trap \'echo "ended properly" >>"$0"; exit 0\' TERM; echo "started" >>"$0"; while :; do sleep 0.05; done'


class TestConformance(ProviderConformance):
    pass


@pytest.fixture
def provider(settings: LocalSettings) -> Iterator[LocalProvider]:
    provider = LocalProvider(settings)
    provider.ensure_network(NetworkSpec(name="rm-net", region=REGION, zones=("local-1a", "local-1b", "local-1c")))
    yield provider
    for machine in provider.list_machines(region=REGION):
        assert eventually(lambda name=machine.name: provider.delete_machine(region=REGION, name=name), 10)  # type: ignore[misc]
    assert provider.delete_network(region=REGION, name="rm-net")
    assert local_leftovers(settings) == []


def spec(name: str = NAME, zone: str = "local-1a") -> MachineSpec:
    user_data = {"node_id": "nod_1", "cluster_id": "clu_1", "enrol_url": "https://127.0.0.1:1/", "token": TOKEN}
    return MachineSpec(
        name=name,
        network="rm-net",
        region=REGION,
        zone=zone,
        machine_type="local.small",
        memory_mib=64,
        image="cassandra-5.0.5",
        user_data=json.dumps(user_data | {"ca_pem": authority_pem()}),
        tags={"ringmaster-cluster": "clu_1"},
    )


def folder_of(settings: LocalSettings, name: str = NAME) -> Path:
    return settings.state_dir.resolve() / "machines" / name


def state_of(provider: LocalProvider, name: str = NAME) -> MachineState | None:
    machine = provider.find_machine(region=REGION, name=name)
    return machine.state if machine else None


def run_engine(settings: LocalSettings, name: str = NAME) -> Path:
    """Start an engine on the machine the way the agent does; returns the file it writes to."""
    folder = folder_of(settings, name)
    notes = folder / "data" / "notes"
    environment = {"PATH": os.environ["PATH"], "RINGMASTER_MACHINE": str(folder), "RINGMASTER_WORKLOAD": str(folder)}
    subprocess.run(["setsid", "--fork", "/bin/sh", "-c", ENGINE, str(notes)], env=environment, check=True)
    assert eventually(lambda: notes.exists() and notes.read_text() == "started\n", 5)
    return notes


def agents_of(settings: LocalSettings) -> list[int]:
    return [
        process
        for process in processes_of(folder_of(settings))
        if b"--user-data" in _shown(process, "cmdline").split(b"\0")
    ]


def _shown(process: int, file: str) -> bytes:
    try:
        return Path(f"/proc/{process}/{file}").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


# What a machine is.


def test_it_gives_each_zone_a_network_of_its_own(provider: LocalProvider) -> None:
    for number, zone in enumerate(("local-1a", "local-1b", "local-1c"), start=1):
        machine = provider.ensure_machine(spec(f"rm-nod-{number}", zone))
        assert machine.address.startswith(f"127.{number}.")
        assert machine.agent_address == f"{machine.address}:7443"
        assert machine.address.rpartition(".")[2] not in ("0", "255")


def test_it_tells_the_agent_its_place_and_nobody_else(provider: LocalProvider, settings: LocalSettings) -> None:
    machine = provider.ensure_machine(spec())
    path = folder_of(settings) / "user-data.json"
    told = json.loads(path.read_text())
    assert told["token"] == TOKEN
    assert told["address"] == machine.address
    assert told["listen"] == machine.agent_address
    assert told["engine_cache"] == str(settings.cache_dir.resolve())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder_of(settings).stat().st_mode) == 0o700


def test_it_shows_no_secret_in_arguments_environment_or_record(
    provider: LocalProvider, settings: LocalSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://someone:canary@nowhere/")
    provider.ensure_machine(spec())
    assert eventually(lambda: len(agents_of(settings)) == 1, 5)
    for process in processes_of(folder_of(settings)):
        shown = _shown(process, "cmdline") + _shown(process, "environ")
        assert TOKEN.encode() not in shown
        assert b"canary" not in shown
    assert TOKEN not in (folder_of(settings) / "machine.json").read_text()


def test_it_refuses_user_data_that_is_no_object(provider: LocalProvider) -> None:
    for wrong in ("", "[]", "{"):
        with pytest.raises(InvalidRequest):
            provider.ensure_machine(replace(spec(), user_data=wrong))


@pytest.mark.parametrize("name", ["", "..", "a/b", "A", "-a", "x" * 64])
def test_it_refuses_names_that_are_no_file_names(provider: LocalProvider, name: str) -> None:
    with pytest.raises(InvalidRequest):
        provider.ensure_machine(spec(name))
    with pytest.raises(InvalidRequest):
        provider.delete_machine(region=REGION, name=name)


# Addresses.


def test_it_steps_over_an_address_that_answers(provider: LocalProvider, settings: LocalSettings) -> None:
    first = provider.ensure_machine(spec()).address
    assert provider.delete_machine(region=REGION, name=NAME)
    with socket.socket() as other_checkout:
        other_checkout.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other_checkout.bind((first, 9042))
        other_checkout.listen()
        second = provider.ensure_machine(spec()).address
        assert second != first
    assert provider.delete_machine(region=REGION, name=NAME)


def test_it_keeps_an_address_once_chosen(provider: LocalProvider, settings: LocalSettings) -> None:
    first = provider.ensure_machine(spec()).address
    provider.kill_machine(region=REGION, name=NAME)
    with socket.socket() as passer_by:
        passer_by.bind((first, 9042))
        assert provider.ensure_machine(spec()).address == first


def test_it_steps_over_an_address_of_a_stopped_machine(
    provider: LocalProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("provisioner.providers.local.addresses._start", lambda *_: 7)
    first = provider.ensure_machine(spec("rm-nod-1"))
    provider.kill_machine(region=REGION, name="rm-nod-1")
    second = provider.ensure_machine(spec("rm-nod-2"))
    assert first.address == "127.1.0.8"
    assert second.address == "127.1.0.9"


def test_it_gives_two_checkouts_different_addresses(provider: LocalProvider, settings: LocalSettings) -> None:
    elsewhere = replace(settings, state_dir=settings.state_dir.with_name("other"))
    other = LocalProvider(elsewhere)
    other.ensure_network(NetworkSpec(name="rm-net", region=REGION, zones=("local-1a",)))
    assert provider.ensure_machine(spec()).address != other.ensure_machine(spec()).address
    assert other.delete_machine(region=REGION, name=NAME)
    assert provider.find_machine(region=REGION, name=NAME) is not None


# Power.


def test_it_outlives_the_process_that_made_it(provider: LocalProvider, settings: LocalSettings) -> None:
    script = (
        "import sys; from pathlib import Path; from provisioner.providers.tests.test_local import *\n"
        "state, cache, agent = map(Path, sys.argv[1:])\n"
        "LocalProvider(LocalSettings(state_dir=state, cache_dir=cache, agent_binary=agent, bake_script=cache))"
        ".ensure_machine(spec())\n"
        "os.killpg(0, signal.SIGKILL)\n"
    )
    places = [str(settings.state_dir), str(settings.cache_dir), str(settings.agent_binary)]
    worker = subprocess.run(
        [sys.executable, "-c", script, *places], cwd=REPOSITORY, start_new_session=True, check=False
    )
    assert worker.returncode == -signal.SIGKILL
    assert state_of(provider) is MachineState.RUNNING
    assert eventually(lambda: len(agents_of(settings)) == 1, 5)


def test_it_starts_a_killed_agent_again(provider: LocalProvider, settings: LocalSettings) -> None:
    provider.ensure_machine(spec())
    assert eventually(lambda: len(agents_of(settings)) == 1, 5)
    (before,) = agents_of(settings)
    os.kill(before, signal.SIGKILL)
    assert eventually(lambda: len(agents_of(settings)) == 1 and agents_of(settings) != [before], 5)


def test_it_lets_the_engine_end_properly(provider: LocalProvider, settings: LocalSettings) -> None:
    provider.ensure_machine(spec())
    notes = run_engine(settings)
    provider.stop_machine(region=REGION, name=NAME)
    assert eventually(lambda: state_of(provider) is MachineState.STOPPED, 10)
    assert notes.read_text() == "started\nended properly\n"
    assert processes_of(folder_of(settings)) == []


def test_it_cuts_the_power_of_an_engine_in_a_session_of_its_own(
    provider: LocalProvider, settings: LocalSettings
) -> None:
    provider.ensure_machine(spec())
    notes = run_engine(settings)
    provider.kill_machine(region=REGION, name=NAME)
    assert processes_of(folder_of(settings)) == []
    assert notes.read_text() == "started\n"


def test_it_deletes_a_machine_with_its_engine(provider: LocalProvider, settings: LocalSettings) -> None:
    provider.ensure_machine(spec())
    run_engine(settings)
    assert provider.delete_machine(region=REGION, name=NAME)
    assert local_leftovers(settings) == [str(settings.state_dir / "networks" / "rm-net.json")]


def test_it_does_not_start_a_machine_that_shuts_down(provider: LocalProvider, settings: LocalSettings) -> None:
    provider.ensure_machine(spec())
    folder = folder_of(settings)
    stubborn = 'trap "" TERM; echo "started" >>"$0"; while [ ! -e "$0.end" ]; do sleep 0.05; done'
    notes = folder / "data" / "notes"
    environment = {"PATH": os.environ["PATH"], "RINGMASTER_MACHINE": str(folder), "RINGMASTER_WORKLOAD": str(folder)}
    subprocess.run(["setsid", "--fork", "/bin/sh", "-c", stubborn, str(notes)], env=environment, check=True)
    assert eventually(notes.exists, 5)
    provider.stop_machine(region=REGION, name=NAME)
    with pytest.raises(ProviderError, match="shutting down") as refusal:
        provider.start_machine(region=REGION, name=NAME)
    assert refusal.value.retryable
    assert state_of(provider) is MachineState.RUNNING
    notes.with_name("notes.end").touch()
    assert eventually(lambda: state_of(provider) is MachineState.STOPPED, 10)
    provider.start_machine(region=REGION, name=NAME)
    assert state_of(provider) is MachineState.RUNNING


# Crashes.


class Crash(BaseException):
    """The process is gone from here on."""


@pytest.mark.parametrize("moment", ["choose_address", "write_json", "_start"])
def test_it_completes_a_machine_after_a_crash_before(
    provider: LocalProvider, settings: LocalSettings, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    def crash(*_: object, **__: object) -> None:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(machines, moment, crash)
        with pytest.raises(Crash):
            provider.ensure_machine(spec())
    machine = LocalProvider(settings).ensure_machine(spec())
    assert machine.state is MachineState.RUNNING
    assert [machine.name for machine in provider.list_machines(region=REGION)] == [NAME]
    assert "address" in json.loads((folder_of(settings) / "user-data.json").read_text())


def test_it_cleans_up_a_half_made_machine(
    provider: LocalProvider, settings: LocalSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(machines, "write_json", crash)
        with pytest.raises(Crash):
            provider.ensure_machine(spec())
    assert provider.find_machine(region=REGION, name=NAME) is None
    assert provider.delete_machine(region=REGION, name=NAME)


def test_it_goes_on_with_a_deletion_that_was_interrupted(
    provider: LocalProvider, settings: LocalSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise Crash

    provider.ensure_machine(spec())
    with monkeypatch.context() as patch:
        patch.setattr("provisioner.providers.local.machines.shutil.rmtree", crash)
        with pytest.raises(Crash):
            provider.delete_machine(region=REGION, name=NAME)
    with pytest.raises(NotFound):
        provider.start_machine(region=REGION, name=NAME)
    assert [machine.name for machine in provider.list_machines(region=REGION)] == [NAME]
    assert provider.delete_machine(region=REGION, name=NAME)
    assert provider.list_machines(region=REGION) == []


# Memory.


def test_it_refuses_a_machine_for_which_there_is_no_memory(
    provider: LocalProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "available_mib", lambda: 63)
    with pytest.raises(OutOfCapacity, match="needs 64 MiB of memory and 63 MiB are free"):
        provider.ensure_machine(spec())
    assert provider.list_machines(region=REGION) == []


def test_it_keeps_a_reserve_of_memory(settings: LocalSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "total_mib", lambda: 8192)
    assert LocalProvider(settings).memory_budget_mib(region=REGION) == 8192 - 3072
    monkeypatch.setattr(memory, "total_mib", lambda: 2048)
    assert LocalProvider(settings).memory_budget_mib(region=REGION) == 0


def test_it_says_that_the_agent_is_missing(provider: LocalProvider, settings: LocalSettings) -> None:
    unbuilt = LocalProvider(replace(settings, agent_binary=settings.state_dir / "no-agent"))
    with pytest.raises(ProviderError, match="no agent at"):
        unbuilt.ensure_machine(spec())


# The command line.


def test_it_is_switched_by_hand(
    provider: LocalProvider, settings: LocalSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    address = provider.ensure_machine(spec()).address

    def said(*arguments: str) -> str:
        assert command_line.main(["--state-dir", str(settings.state_dir), *arguments]) == 0
        return capsys.readouterr().out

    assert said("list").split() == [NAME, "local-1a", address, "running"]
    assert said("kill", "nod-1").split() == [NAME, "stopped"]
    assert said("start", NAME).split() == [NAME, "running"]
    said("stop", "--all")
    assert eventually(lambda: said("list").split()[-1] == "stopped", 10)


def test_it_says_when_there_is_no_such_machine(
    provider: LocalProvider, settings: LocalSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.main(["--state-dir", str(settings.state_dir), "kill", "nobody"]) == 1
    assert "No machine ends in 'nobody'" in capsys.readouterr().err
