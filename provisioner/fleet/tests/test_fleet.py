"""The simulated fleet keeps the promises of the fakes, over its socket."""

import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from provisioner.agent.base import AgentClient, AgentUnreachable
from provisioner.agent.conformance import NODES, AgentConformance
from provisioner.agent.fake import AgentEffect, AgentFault
from provisioner.fleet.client import Fleet
from provisioner.fleet.server import serving
from provisioner.fleet.simulator import PlantedNode, Simulator
from provisioner.providers.base import MachineSpec, OutOfCapacity
from provisioner.providers.conformance import ProviderConformance, World
from provisioner.providers.fake import UNKNOWN_VERSION
from provisioner.providers.fake_faults import Fault

SECURE = {
    "admin_username": "admin",
    "admin_password_hash": "$2a$admin",
    "control_username": "ringmaster",
    "control_password": "secret",
}


@pytest.fixture
def simulator() -> Simulator:
    return Simulator()


@pytest.fixture
def fleet(simulator: Simulator) -> Iterator[Fleet]:
    # Not tmp_path: the path of a socket has little room.
    with tempfile.TemporaryDirectory(prefix="rm-fleet-") as folder:
        socket = Path(folder) / "fleet.sock"
        with serving(simulator, socket):
            yield Fleet(socket)


class TestProvider(ProviderConformance):
    @pytest.fixture
    def world(self, fleet: Fleet) -> World:
        return World(
            open=fleet.provider,
            leftovers=lambda: list(fleet.world("inventory")),
            region="fake-1",
            other_region="fake-2",
            zones=("fake-1a", "fake-1b", "fake-1c"),
            machine_type="fake.small",
            memory_mib=512,
            engine="cassandra",
            version="5.0.5",
            unknown_version=UNKNOWN_VERSION,
            seconds=5,
        )


@dataclass
class SimulatedAgents:
    """The agents of a fleet, as the suite wants to see them; their machines always have power."""

    fleet: Fleet

    def client(self, *, node_id: str, address: str) -> AgentClient:
        return self.fleet.agent(node_id=node_id, address=address)

    def inject(self, fault: AgentFault) -> None:
        self.fleet.world("inject_agents", fault=asdict(fault))

    def kill_engine(self, node_id: str) -> None:
        self.fleet.world("kill_engine", node_id=node_id)

    def lose_data(self, node_id: str) -> None:
        self.fleet.world("lose_data", node_id=node_id)

    def change(self, node_id: str, **fields: Any) -> None:
        self.fleet.world("change", node_id=node_id, what=fields)

    def roles(self, cluster_name: str) -> frozenset[str]:
        return frozenset(self.fleet.world("roles", cluster_name=cluster_name))

    def history(self) -> list[AgentEffect]:
        return [AgentEffect(**effect) for effect in self.fleet.world("agent_effects")]


class TestAgents(AgentConformance):
    @pytest.fixture
    def agents(self, fleet: Fleet, simulator: Simulator) -> SimulatedAgents:
        simulator.agents.powered = lambda address: address in NODES.values()
        return SimulatedAgents(fleet)


def planted(number: int) -> PlantedNode:
    name = f"nod-{number}"
    return PlantedNode(
        node_id=f"nod_{number}",
        machine=MachineSpec(
            name=f"rm-{name}",
            network="rm-clu-1",
            region="fake-1",
            zone=("fake-1a", "fake-1b", "fake-1c")[number % 3],
            machine_type="fake.small",
            memory_mib=600,
            image="cassandra-5.0.5",
            user_data="{}",
            tags={"ringmaster-cluster": "clu_1", "ringmaster-node": f"nod_{number}"},
        ),
        config={"cluster_name": "one", "version": "5.0.5", "datacenter": "dc", "rack": "r", "initial_tokens": [number]},
    )


def test_a_planted_ring_serves_until_a_machine_loses_power(fleet: Fleet, simulator: Simulator) -> None:
    places = simulator.plant([planted(number) for number in range(6)], SECURE)
    status = fleet.agent(node_id="nod_0", address=places[0]["agent_address"]).status()
    assert status.cql_ready
    assert status.ring is not None
    assert [peer.up for peer in status.ring.peers] == [True] * 5
    provider = fleet.provider()
    provider.kill_machine(region="fake-1", name="rm-nod-1")
    with pytest.raises(AgentUnreachable):
        fleet.agent(node_id="nod_1", address=places[1]["agent_address"]).status()
    ring = fleet.agent(node_id="nod_0", address=places[0]["agent_address"]).status().ring
    assert ring is not None
    assert {peer.address: peer.up for peer in ring.peers}[places[1]["address"]] is False


def test_it_fails_as_told(fleet: Fleet) -> None:
    fleet.world("inject", fault=asdict(Fault(name="out-of-capacity", call="find_image")))
    with pytest.raises(OutOfCapacity):
        fleet.provider().find_image(region="fake-1", engine="cassandra", version="5.0.5")
    fleet.world("end_faults")
    fleet.provider().find_image(region="fake-1", engine="cassandra", version="5.0.5")
