from pathlib import Path

import pytest

from provisioner.agent.base import AgentUnreachable
from provisioner.agent.conformance import NODES, SECURE, AgentConformance, client, run, start_all
from provisioner.agent.fake import FakeAgents


@pytest.fixture
def agents(tmp_path: Path) -> FakeAgents:
    return FakeAgents(tmp_path / "agents.sqlite")


class TestConformance(AgentConformance):
    pass


class TestConformanceInMemory(AgentConformance):
    @pytest.fixture
    def agents(self) -> FakeAgents:
        return FakeAgents(None)


def test_it_shows_a_job_running_for_as_many_looks_as_told(tmp_path: Path) -> None:
    agents = FakeAgents(tmp_path / "agents.sqlite", looks={"install": 2})
    states = [run(agents, "install", {"version": "5.0.5"}).state, client(agents).job("op-1-install").state]
    states.append(client(agents).job("op-1-install").state)
    assert states == ["running", "running", "succeeded"]


def test_it_is_silent_without_power(tmp_path: Path) -> None:
    powered = set(NODES.values())
    agents = FakeAgents(tmp_path / "agents.sqlite", powered=lambda address: address in powered)
    start_all(agents)
    run(agents, "secure", SECURE)
    powered.remove(NODES["nod_3"])
    with pytest.raises(AgentUnreachable):
        client(agents, "nod_3").status()
    ring = client(agents).status().ring
    assert ring is not None
    assert {peer.rack: peer.up for peer in ring.peers} == {"nod_2": True, "nod_3": False}


def test_it_shares_its_nodes_between_processes(agents: FakeAgents, tmp_path: Path) -> None:
    start_all(agents)
    other = FakeAgents(tmp_path / "agents.sqlite")
    assert client(other).status().engine_state == "running"
