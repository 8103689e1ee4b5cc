"""What a machine is told when it is made."""

import json
from typing import Any

import pytest

from backend.catalog.models import MachineType
from backend.clusters.models import Cluster
from provisioner import runner
from provisioner.agent.schema import UserData
from provisioner.engines.base import DiskFigures
from provisioner.operations.node_steps import live_nodes, ring_of
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world
from provisioner.providers.base import Machine, MachineSpec, Shortfall

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_the_cloud_cannot_give_is_said_before_a_machine_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []
    with cluster_world(ClusterWorld.create) as world:

        def full(**wanted: Any) -> list[Shortfall]:
            asked.append(wanted)
            return [Shortfall(code="quota-exceeded", message="6 vCPUs are wanted, 4 are left.", hint="Ask for more.")]

        monkeypatch.setattr(world.provider, "shortfalls", full)
        operation = world.start()
        runner.run(operation.id)
        operation.refresh_from_db()
        assert (operation.state, operation.reason_code) == ("blocked", "quota-exceeded")
        assert operation.reason == "6 vCPUs are wanted, 4 are left."
        assert world.provider.list_machines(region="fake-1") == []
    assert asked[0] == {
        "region": "fake-1",
        "machine_type": "fake.small",
        "machines": {"fake-1a": 1, "fake-1b": 1, "fake-1c": 1},
    }


def test_a_machine_of_its_own_is_told_what_its_disks_are_for(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[dict[str, Any]] = []
    with cluster_world(ClusterWorld.create) as world:
        ensure = world.provider.ensure_machine

        def listening(spec: MachineSpec) -> Machine:
            told.append(json.loads(spec.user_data))
            return ensure(spec)

        monkeypatch.setattr(world.provider, "ensure_machine", listening)
        world.created()
    assert len(told) == 3
    for user_data in told:
        assert user_data["machine"] == {
            "engine": "cassandra",
            "membership": "new",
            "generation": 1,
            "provider": "fake",
        }
        # As the agent reads it; the machine adds its own addresses.
        UserData.model_validate({"address": "", "listen": "", "engine_cache": ""} | user_data)


def test_all_nodes_go_by_one_value_of_what_their_disks_do(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[dict[str, Any]] = []
    figures = {"read_iops": 1644800, "read_bandwidth": 8061370940, "write_iops": 720000, "write_bandwidth": 3235102608}
    with cluster_world(ClusterWorld.create) as world:
        columns = {f"io_{name}": value for name, value in figures.items()} | {"io_source": "preset", "vcpus": 32}
        MachineType.objects.filter(provider_id="fake", name="fake.small").update(**columns)
        ensure = world.provider.ensure_machine

        def listening(spec: MachineSpec) -> Machine:
            told.append(json.loads(spec.user_data)["machine"]["io_properties"])
            return ensure(spec)

        monkeypatch.setattr(world.provider, "ensure_machine", listening)
        world.created()
        cluster = Cluster.objects.get()
        members = ring_of(cluster, live_nodes(cluster)).members
    assert told == [figures] * 3
    assert {(member.vcpus, member.disks) for member in members} == {(32, DiskFigures(**figures))}
