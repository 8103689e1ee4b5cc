from pathlib import Path
from typing import Any

import pytest

from provisioner.agent.base import AgentClient, AgentRefused, AgentUnreachable, Job
from provisioner.agent.fake import AgentFault, FakeAgents

NODES = {"nod_1": "10.1.0.2:7443", "nod_2": "10.2.0.2:7443", "nod_3": "10.3.0.2:7443"}
SECURE = {
    "admin_username": "admin",
    "admin_password_hash": "$2a$admin",
    "control_username": "ringmaster",
    "control_password": "secret",
    "control_password_hash": "$2a$control",
}
PROVE = {
    "control_username": "ringmaster",
    "control_password": "secret",
    "key": "op_1",
    "members": ["10.1.0.2", "10.2.0.2", "10.3.0.2"],
}


@pytest.fixture
def agents(tmp_path: Path) -> FakeAgents:
    return FakeAgents(tmp_path / "agents.sqlite")


def client(agents: FakeAgents, node_id: str = "nod_1") -> AgentClient:
    return agents.client(node_id=node_id, address=NODES[node_id])


def config(node_id: str) -> dict[str, Any]:
    return {"cluster_name": "demo", "datacenter": "dc", "rack": node_id, "initial_tokens": [int(node_id[-1])]}


def run(agents: FakeAgents, kind: str, parameters: dict[str, Any] | None = None, node_id: str = "nod_1") -> Job:
    return client(agents, node_id).ensure_job(f"op-1-{kind}", kind, parameters or {})


def start_all(agents: FakeAgents) -> None:
    for node_id in NODES:
        run(agents, "install", {"version": "5.0.5"}, node_id)
        client(agents, node_id).put_config(config(node_id))
        assert run(agents, "start", node_id=node_id).state == "succeeded"


def test_it_forms_secures_and_proves_a_ring(agents: FakeAgents) -> None:
    start_all(agents)
    assert client(agents).status().ring is None
    assert run(agents, "secure", SECURE).state == "succeeded"
    assert agents.roles("demo") == {"admin", "ringmaster"}
    for node_id in NODES:
        proof = run(agents, "prove", PROVE, node_id)
        assert proof.state == "succeeded"
        ring = client(agents, node_id).status().ring
        assert ring is not None
        assert ring.host_id == proof.result["host_id"]
        assert ring.tokens == (int(node_id[-1]),)
        assert {(peer.rack, peer.up) for peer in ring.peers} == {(other, True) for other in NODES if other != node_id}


def test_it_does_a_job_once(agents: FakeAgents) -> None:
    start_all(agents)
    start_all(agents)
    assert [effect.effect for effect in agents.history() if effect.node_id == "nod_1"] == [
        "install",
        "configured",
        "start",
    ]


def test_it_does_a_failed_job_anew(agents: FakeAgents) -> None:
    failed = run(agents, "start")
    assert (failed.state, failed.error_code) == ("failed", "not-configured")
    client(agents).put_config(config("nod_1"))
    assert run(agents, "start").error_code == "not-installed"
    run(agents, "install", {"version": "5.0.5"})
    assert run(agents, "start").state == "succeeded"


def test_it_proves_nothing_while_a_member_is_missing(agents: FakeAgents) -> None:
    start_all(agents)
    run(agents, "secure", SECURE)
    agents.kill_engine("nod_2")
    proof = run(agents, "prove", PROVE)
    assert (proof.state, proof.error_code) == ("failed", "ring-incomplete")
    assert "10.2.0.2" in proof.error_message


def test_it_proves_nothing_with_a_wrong_password(agents: FakeAgents) -> None:
    start_all(agents)
    run(agents, "secure", SECURE)
    assert run(agents, "prove", PROVE | {"control_password": "guess"}).error_code == "bad-credentials"


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


def test_it_loses_a_reply_after_the_effect(agents: FakeAgents) -> None:
    agents.inject(AgentFault(name="reply-lost", call="ensure_job", times=1))
    with pytest.raises(AgentUnreachable):
        run(agents, "install", {"version": "5.0.5"})
    assert run(agents, "install", {"version": "5.0.5"}).state == "succeeded"
    assert [effect.effect for effect in agents.history()] == ["install"]


def test_it_fails_as_told_and_then_no_more(agents: FakeAgents) -> None:
    agents.inject(AgentFault(name="unreachable", node="nod_1", call="status", times=1))
    agents.inject(AgentFault(name="refused", call="put_config", times=1))
    agents.inject(AgentFault(name="job-failed", job_kind="install", times=1))
    with pytest.raises(AgentUnreachable):
        client(agents).status()
    with pytest.raises(AgentRefused):
        client(agents).put_config({})
    assert run(agents, "install", {"version": "5.0.5"}).state == "failed"
    assert client(agents).status().engine_state == "absent"
    assert run(agents, "install", {"version": "5.0.5"}).state == "succeeded"


def test_it_shares_its_nodes_between_processes(agents: FakeAgents, tmp_path: Path) -> None:
    start_all(agents)
    other = FakeAgents(tmp_path / "agents.sqlite")
    assert client(other).status().engine_state == "running"


def test_it_renews_a_certificate(agents: FakeAgents) -> None:
    before = client(agents).certificate()
    assert client(agents).request_certificate()
    client(agents).put_certificate("new")
    assert client(agents).certificate() != before
