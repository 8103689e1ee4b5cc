"""That the emulated Compute API is as strict as the real one where our tests lean on it."""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from google.cloud import compute_v1

from provisioner.providers.gcp.provider import GcpProvider
from provisioner.providers.gcp.settings import GcpSettings
from provisioner.providers.gcp_emulator.server import ComputeEmulator
from provisioner.providers.gcp_emulator.world import World as Cloud
from provisioner.providers.tests.conftest import REPOSITORY
from provisioner.providers.tests.gcp_world import NETWORK, REGION, VERSION, ZONES, emulated, settings_for, spec

REQUEST = "6c8b2a5e-8f3e-5c0e-9a53-2d6c1e0f7b11"


@pytest.fixture
def emulator() -> Iterator[ComputeEmulator]:
    with emulated(Cloud()) as emulator:
        yield emulator


@pytest.fixture
def base(emulator: ComputeEmulator) -> str:
    return f"{emulator.url}/compute/v1/projects/test-project"


def network(name: str = "net", **others: object) -> dict[str, object]:
    return {"name": name, "autoCreateSubnetworks": False, **others}


def reason(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["errors"][0]["reason"]


@pytest.mark.parametrize(
    "body", [network(labels={"a": "b"}), network(autoCreateSubnetwork=False), network(mtu="large"), {"name": "net"}]
)
def test_it_refuses_a_body_that_the_api_does_not_know(base: str, body: dict[str, object]) -> None:
    assert reason(httpx.post(f"{base}/global/networks", json=body)) == (400, "invalid")


def test_it_refuses_a_parameter_that_the_api_does_not_know(base: str) -> None:
    assert reason(httpx.get(f"{base}/global/networks", params={"limit": 1})) == (400, "invalid")
    assert reason(httpx.get(f"{base}/global/networks", params={"filter": "name ~ 'x'"})) == (400, "invalid")
    assert reason(httpx.get(f"{base}/global/somethings")) == (404, "notFound")


def test_it_answers_the_same_request_with_the_same_operation(base: str, emulator: ComputeEmulator) -> None:
    first, second = (
        httpx.post(f"{base}/global/networks", params={"requestId": REQUEST}, json=network()).json() for _ in range(2)
    )
    assert first["name"] == second["name"]
    assert (first["status"], second["status"]) == ("RUNNING", "DONE")
    assert second["clientOperationId"] == REQUEST
    assert reason(httpx.post(f"{base}/global/networks", json=network())) == (409, "alreadyExists")
    assert emulator.world.inventory() == ["global/networks/net"]


def test_it_gives_lists_in_pages(base: str) -> None:
    for name in ("a", "b", "c"):
        httpx.post(f"{base}/global/networks", json=network(name))
    first = httpx.get(f"{base}/global/networks", params={"maxResults": 2}).json()
    second = httpx.get(f"{base}/global/networks", params={"maxResults": 2, "pageToken": first["nextPageToken"]}).json()
    assert [item["name"] for item in first["items"] + second["items"]] == ["a", "b", "c"]
    assert "nextPageToken" not in second


def test_it_keeps_what_something_else_uses(base: str, emulator: ComputeEmulator) -> None:
    provider = GcpProvider(settings_for(emulator))
    provider.ensure_network(NETWORK)
    provider.ensure_machine(spec())
    subnet = f"{base}/regions/{REGION}/subnetworks/rm-net"
    assert reason(httpx.delete(subnet)) == (400, "resourceInUseByAnotherResource")
    assert reason(httpx.delete(f"{base}/global/networks/rm-net")) == (400, "resourceInUseByAnotherResource")


def test_it_wants_to_know_what_becomes_of_local_ssds(base: str, emulator: ComputeEmulator) -> None:
    provider = GcpProvider(settings_for(emulator))
    provider.ensure_network(NETWORK)
    provider.ensure_machine(spec())
    stop = f"{base}/zones/{ZONES[0]}/instances/rm-one/stop"
    assert reason(httpx.post(stop)) == (400, "invalid")
    assert httpx.post(stop, params={"discardLocalSsd": "false"}).status_code == 200


def test_it_refuses_a_number_of_local_ssds_that_is_not_offered(base: str, emulator: ComputeEmulator) -> None:
    GcpProvider(settings_for(emulator)).ensure_network(NETWORK)
    disk = {"type": "SCRATCH", "interface": "NVME", "autoDelete": True}
    body = {
        "name": "rm-one",
        "machineType": f"zones/{ZONES[0]}/machineTypes/n2-highmem-8",
        "disks": [
            {"boot": True, "initializeParams": {"sourceImage": "projects/test-project/global/images/cassandra-5-0-5"}},
            *[disk] * 3,
        ],
        "networkInterfaces": [{"subnetwork": f"regions/{REGION}/subnetworks/rm-net"}],
    }
    answer = httpx.post(f"{base}/zones/{ZONES[0]}/instances", json=body)
    assert "3 local SSDs" in answer.json()["error"]["message"]


class Sleeper:
    """What runs on a machine: a real process, told the machine's user data and address."""

    def __init__(self, instance: compute_v1.Instance, folder: Path) -> None:
        metadata = {item.key: item.value for item in instance.metadata.items}
        told = folder / f"{instance.name}.json"
        told.write_text(metadata["user-data"])
        code = "import pathlib, sys, time; print(pathlib.Path(sys.argv[1]).read_text(), flush=True); time.sleep(60)"
        self.process = subprocess.Popen([sys.executable, "-c", code, str(told)], stdout=subprocess.PIPE, text=True)

    def stop(self, *, orderly: bool) -> None:
        (self.process.terminate if orderly else self.process.kill)()
        self.process.wait(10)


def test_it_runs_a_program_on_a_machine_while_that_has_power(tmp_path: Path) -> None:
    started: list[Sleeper] = []

    def program(instance: compute_v1.Instance) -> Sleeper:
        started.append(Sleeper(instance, tmp_path))
        return started[-1]

    with emulated(Cloud(loopback=131, program=program)) as emulator:
        provider = GcpProvider(settings_for(emulator))
        provider.ensure_network(NETWORK)
        machine = provider.ensure_machine(spec(user_data='{"token": "t"}'))
        assert machine.address.startswith("127.131.")
        stdout = started[0].process.stdout
        assert stdout is not None
        assert json.loads(stdout.readline()) == {"token": "t"}
        provider.stop_machine(region=REGION, name="rm-one")
        assert started[0].process.poll() == -15
        provider.start_machine(region=REGION, name="rm-one")
        provider.kill_machine(region=REGION, name="rm-one")
        assert started[1].process.poll() == -9
        provider.start_machine(region=REGION, name="rm-one")
        assert provider.delete_machine(region=REGION, name="rm-one")
        assert [sleeper.process.poll() for sleeper in started[1:]] == [-9, -9]
        provider.ensure_machine(spec("rm-two", user_data="{}"))
    assert started[-1].process.poll() is not None


def test_it_serves_other_processes() -> None:
    command = [sys.executable, "-m", "provisioner.providers.gcp_emulator"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY, env=os.environ) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            httpx.post(f"{url}/emulator/images", json={"engine": "cassandra", "version": VERSION})
            provider = GcpProvider(GcpSettings(project="test-project", endpoint=url))
            assert provider.find_image(region=REGION, engine="cassandra", version=VERSION).id.endswith(
                "cassandra-5-0-5"
            )
            provider.ensure_network(NETWORK)
            httpx.post(f"{url}/emulator/faults", json={"name": "unavailable", "call": "networks.*", "times": 1})
            assert httpx.delete(f"{url}/emulator/faults").json() == {"strikes": 0}
            with urllib.request.urlopen(f"{url}/emulator/world") as answer:
                world = json.load(answer)
            assert "global/networks/rm-net" in world["inventory"]
        finally:
            server.kill()
