"""What pretended agents promise, as tests. A test module subclasses this and gives the fixture `agents`."""

from typing import Any, Protocol

import pytest

from provisioner.agent.base import AgentClient, AgentRefused, AgentUnreachable, Job
from provisioner.agent.fake import AgentEffect, AgentFault

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


class PretendedAgents(Protocol):
    """Agents without machines, all of one world."""

    def client(self, *, node_id: str, address: str) -> AgentClient: ...

    def inject(self, fault: AgentFault) -> None: ...

    def kill_engine(self, node_id: str) -> None: ...

    def lose_data(self, node_id: str) -> None: ...

    def change(self, node_id: str, **fields: Any) -> None: ...

    def roles(self, cluster_name: str) -> frozenset[str]: ...

    def history(self) -> list[AgentEffect]: ...


def client(agents: PretendedAgents, node_id: str = "nod_1") -> AgentClient:
    return agents.client(node_id=node_id, address=NODES[node_id])


def config(node_id: str) -> dict[str, Any]:
    return {
        "cluster_name": "demo",
        "datacenter": "dc",
        "rack": node_id,
        "initial_tokens": [int(node_id[-1])],
        "revision": "r1",
    }


def run(agents: PretendedAgents, kind: str, parameters: dict[str, Any] | None = None, node_id: str = "nod_1") -> Job:
    return client(agents, node_id).ensure_job(f"op-1-{kind}", kind, parameters or {})


def start_all(agents: PretendedAgents) -> None:
    for node_id in NODES:
        run(agents, "install", {"engine": "cassandra", "version": "5.0.5"}, node_id)
        client(agents, node_id).put_config(config(node_id))
        assert run(agents, "start", node_id=node_id).state == "succeeded"


class AgentConformance:
    def test_it_forms_secures_and_proves_a_ring(self, agents: PretendedAgents) -> None:
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
            peers = {(peer.rack, peer.up) for peer in ring.peers}
            assert peers == {(other, True) for other in NODES if other != node_id}

    def test_it_does_a_job_once(self, agents: PretendedAgents) -> None:
        start_all(agents)
        start_all(agents)
        effects = [effect.effect for effect in agents.history() if effect.node_id == "nod_1"]
        assert effects == ["install", "configured", "start"]

    def test_it_does_a_failed_job_anew(self, agents: PretendedAgents) -> None:
        failed = run(agents, "start")
        assert (failed.state, failed.error_code) == ("failed", "not-configured")
        client(agents).put_config(config("nod_1"))
        assert run(agents, "start").error_code == "not-installed"
        run(agents, "install", {"version": "5.0.5"})
        assert run(agents, "start").state == "succeeded"

    def test_it_forgets_a_job(self, agents: PretendedAgents) -> None:
        run(agents, "install", {"version": "5.0.5"})
        client(agents).delete_job("op-1-install")
        client(agents).delete_job("op-1-install")
        with pytest.raises(AgentRefused, match="job-not-found"):
            client(agents).job("op-1-install")

    def test_it_proves_nothing_while_a_member_is_missing(self, agents: PretendedAgents) -> None:
        start_all(agents)
        run(agents, "secure", SECURE)
        agents.kill_engine("nod_2")
        proof = run(agents, "prove", PROVE)
        assert (proof.state, proof.error_code) == ("failed", "ring-incomplete")
        assert "10.2.0.2" in proof.error_message

    def test_it_proves_nothing_with_a_wrong_password(self, agents: PretendedAgents) -> None:
        start_all(agents)
        run(agents, "secure", SECURE)
        assert run(agents, "prove", PROVE | {"control_password": "guess"}).error_code == "bad-credentials"

    def test_it_loses_a_reply_after_the_effect(self, agents: PretendedAgents) -> None:
        agents.inject(AgentFault(name="reply-lost", call="ensure_job", times=1))
        with pytest.raises(AgentUnreachable):
            run(agents, "install", {"version": "5.0.5"})
        assert run(agents, "install", {"version": "5.0.5"}).state == "succeeded"
        assert [effect.effect for effect in agents.history()] == ["install"]

    def test_it_fails_as_told_and_then_no_more(self, agents: PretendedAgents) -> None:
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

    def test_it_repairs_and_tells_what_repairs_go_by(self, agents: PretendedAgents) -> None:
        start_all(agents)
        run(agents, "secure", SECURE | {"datacenter": "dc", "replication": 3, "system_auth_replication": 3})
        run(agents, "plant-canary")
        ring = client(agents).keyspace_ring("ringmaster")
        assert [(one.start, one.end, len(one.replicas)) for one in ring.ranges] == [(3, 1, 3), (1, 2, 3), (2, 3, 3)]
        assert {node.address for node in ring.nodes} == set(PROVE["members"])
        tables = {(one.keyspace, one.table): one for one in client(agents).tables().tables}
        assert tables["ringmaster", "canary"].bytes > 0
        assert {one.name: one.replication for one in client(agents).tables().keyspaces}["ringmaster"] == {"dc": 3}
        parameters = {"keyspace": "ringmaster", "tables": ["canary"], "mode": "full"}
        repaired = run(agents, "repair", parameters | {"ranges": [{"start": "1", "end": "2"}]})
        assert (repaired.state, repaired.result["outcome"], repaired.result["command"]) == ("succeeded", "completed", 1)
        for changed, code in (
            ({"tables": ["nowhere"]}, "table-not-found"),
            ({"keyspace": "nowhere"}, "unknown-keyspace"),
            ({"ranges": [{"start": "1", "end": "3"}]}, "not-a-replica"),
            ({"mode": "pull"}, "invalid-parameters"),
        ):
            refused = client(agents).ensure_job("refused", "repair", parameters | changed)
            assert (refused.state, refused.error_code) == ("failed", code)
        assert client(agents).repairs().repairs == ()
        before = client(agents).ensure_job("faster", "set-throughput", {"stream_mib_s": 0, "compaction_mib_s": 200})
        assert before.result == {"stream_mib_s": 24, "compaction_mib_s": 64}
        load = client(agents).load()
        assert (load.stream_mib_s, load.compaction_mib_s, load.pending_compactions) == (0, 200, 0)

    def test_it_renews_a_certificate(self, agents: PretendedAgents) -> None:
        before = client(agents).certificate()
        assert client(agents).request_certificate()
        client(agents).put_certificate("new")
        assert client(agents).certificate() != before

    def test_it_tells_of_its_node(self, agents: PretendedAgents) -> None:
        start_all(agents)
        agents.change("nod_1", disk_used=0.9, clock_offset_seconds=60)
        first, second = client(agents, "nod_1").status(), client(agents, "nod_2").status()
        assert first.disk is not None
        assert first.disk.free_bytes == pytest.approx(first.disk.total_bytes * 0.1)
        assert first.time is not None
        assert second.time is not None
        assert 58 < (first.time - second.time).total_seconds() < 62
        assert (first.mode, first.config_revision, first.running_revision) == ("NORMAL", "r1", "r1")

    def test_it_does_not_start_an_engine_whose_data_is_lost(self, agents: PretendedAgents) -> None:
        start_all(agents)
        agents.lose_data("nod_1")
        assert client(agents).status().local_data_lost
        assert client(agents).status().engine_state == "stopped"
        refused = client(agents).ensure_job("again", "start", {})
        assert (refused.state, refused.error_code) == ("failed", "local-data-lost")
