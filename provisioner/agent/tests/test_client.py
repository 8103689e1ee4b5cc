import ssl
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import pytest

from provisioner.agent.base import AgentNotTrusted, AgentRefused, AgentUnreachable, Disk
from provisioner.agent.client import AgentConnections, HttpAgentClient, server_name
from provisioner.agent.tests.tls_server import Authority, Server, new_authority, open_files, serving

NODE = "nod_01jabc"
TIME = "2026-01-02T03:04:05Z"

STATUS = {
    "time": TIME,
    "agent": {"version": "1.2.3", "started_at": TIME},
    "node_id": NODE,
    "local_data_lost": False,
    "disk": {"total_bytes": 1000, "free_bytes": 600, "data_bytes": 300},
    "engine_certificate_expires_at": TIME,
    "engine": {
        "name": "cassandra",
        "version": "5.0.5",
        "state": "running",
        "pid": 7,
        "started_at": TIME,
        "cql_ready": True,
        "restarts": 1,
        "last_error": "",
        "mode": "NORMAL",
        "config_revision": "r2",
        "running_revision": "r1",
    },
    "ring": None,
}
RING = {
    "host_id": "h1",
    "datacenter": "local-local-1",
    "rack": "local-1a",
    "schema_version": "s1",
    "tokens": [-5, 9223372036854775807],
    "peers": [
        {
            "address": "127.2.0.1",
            "host_id": "h2",
            "datacenter": "local-local-1",
            "rack": "local-1b",
            "schema_version": "s1",
            "up": True,
            "status": "LEAVING",
            "tokens_digest": "0123456789abcdef",
        }
    ],
}


def job(state: str = "running", **changes: Any) -> dict[str, Any]:
    return {
        "name": "op-1-start",
        "kind": "start",
        "state": state,
        "progress": 0.5,
        "message": "waiting for CQL",
        "error": None,
        "result": {},
        "started_at": TIME,
        "finished_at": None,
    } | changes


@pytest.fixture(scope="module")
def authority() -> Authority:
    return new_authority()


@pytest.fixture
def server(authority: Authority) -> Iterator[Server]:
    with serving(authority, dns=server_name(NODE)) as server:
        yield server


@pytest.fixture
def connections(authority: Authority) -> Iterator[AgentConnections]:
    connections = AgentConnections(authority.client())
    yield connections
    connections.close()


@pytest.fixture
def agent(server: Server, connections: AgentConnections) -> HttpAgentClient:
    return connections.client(node_id=NODE, address=server.address)


# Who is whom.


def test_it_expects_the_name_of_the_node() -> None:
    assert server_name("nod_01jabc") == "nod-01jabc.nodes.ringmaster.internal"


def test_it_refuses_another_node_at_the_address(server: Server, connections: AgentConnections) -> None:
    other = connections.client(node_id="nod_01jxyz", address=server.address)
    with pytest.raises(AgentNotTrusted):
        other.status()
    assert server.asked == []


def test_it_refuses_another_node_where_it_has_a_connection_already(
    server: Server, connections: AgentConnections, agent: HttpAgentClient
) -> None:
    server.answer = lambda *_: (200, STATUS)
    agent.status()
    with pytest.raises(AgentNotTrusted):
        connections.client(node_id="nod_01jxyz", address=server.address).put_config({"secret": 1})
    assert len(server.asked) == 1


def test_it_refuses_a_certificate_of_another_authority(connections: AgentConnections) -> None:
    with serving(new_authority(), dns=server_name(NODE)) as stranger:
        with pytest.raises(AgentNotTrusted):
            connections.client(node_id=NODE, address=stranger.address).status()
        assert stranger.asked == []


def test_it_is_refused_with_a_certificate_of_another_authority(server: Server, authority: Authority) -> None:
    mine = new_authority().client()
    material = type(mine)(ca_pem=authority.pem, cert_pem=mine.cert_pem, key_pem=mine.key_pem)
    stranger = AgentConnections(material)
    with pytest.raises(AgentNotTrusted):
        stranger.client(node_id=NODE, address=server.address).status()
    assert server.asked == []
    stranger.close()


def test_it_speaks_no_older_tls(authority: Authority, connections: AgentConnections) -> None:
    with serving(authority, dns=server_name(NODE), newest=ssl.TLSVersion.TLSv1_2) as old:
        with pytest.raises(AgentNotTrusted):
            connections.client(node_id=NODE, address=old.address).status()
        assert old.asked == []


def test_it_leaves_its_key_nowhere(authority: Authority) -> None:
    material = authority.client()
    connections = AgentConnections(material)
    assert not [name for name in open_files() if "agent-client" in name]
    assert material.key_pem.splitlines()[1] not in repr(material)
    connections.close()


# What is asked and answered.


def test_it_reads_the_status(server: Server, agent: HttpAgentClient) -> None:
    server.answer = lambda *_: (200, STATUS | {"ring": RING})
    status = agent.status()
    assert (status.node_id, status.agent_version, status.engine_state) == (NODE, "1.2.3", "running")
    assert status.cql_ready
    assert (status.mode, status.config_revision, status.running_revision) == ("NORMAL", "r2", "r1")
    assert status.disk == Disk(total_bytes=1000, free_bytes=600, data_bytes=300)
    assert status.time == status.engine_certificate_expires_at == datetime.fromisoformat(TIME)
    assert status.ring is not None
    assert status.ring.tokens == (-5, 9223372036854775807)
    peers = [(peer.address, peer.up, peer.status, peer.tokens_digest) for peer in status.ring.peers]
    assert peers == [("127.2.0.1", True, "LEAVING", "0123456789abcdef")]


def test_it_refuses_a_status_of_another_node(server: Server, agent: HttpAgentClient) -> None:
    server.answer = lambda *_: (200, STATUS | {"node_id": "nod_01jxyz"})
    with pytest.raises(AgentRefused) as refusal:
        agent.status()
    assert refusal.value.code == "wrong-node"


def test_it_sends_configuration_and_certificates(server: Server, agent: HttpAgentClient) -> None:
    answers = {"/v1/certificate/request": {"csr": "CSR"}, "/v1/certificate": {"certificate": "C", "not_after": TIME}}
    server.answer = lambda _, path, __: (200, answers.get(path, {}))
    agent.put_config({"engine": "cassandra"})
    assert agent.request_certificate() == "CSR"
    agent.put_certificate("NEW")
    assert agent.certificate() == "C"
    assert server.asked == [
        ("PUT", "/v1/config", {"engine": "cassandra"}),
        ("POST", "/v1/certificate/request", None),
        ("PUT", "/v1/certificate", {"certificate": "NEW"}),
        ("GET", "/v1/certificate", None),
    ]


def test_it_starts_a_job_and_waits_for_its_end(server: Server, agent: HttpAgentClient) -> None:
    server.answer = lambda *_: (200, job("succeeded", result={"a": 1}))
    done = agent.ensure_job("op-1-start", "start", {"b": 2}, wait_seconds=1.5)
    assert (done.state, done.result) == ("succeeded", {"a": 1})
    assert server.asked == [
        ("PUT", "/v1/jobs/op-1-start?wait=1.50", {"kind": "start", "parameters": {"b": 2}}),
    ]


def test_it_never_waits_longer_than_a_step_may(server: Server, agent: HttpAgentClient) -> None:
    server.answer = lambda *_: (200, job())
    agent.job("op-1-start", wait_seconds=60)
    agent.job("op-1-start")
    assert [path for _, path, _ in server.asked] == ["/v1/jobs/op-1-start?wait=2.00", "/v1/jobs/op-1-start"]


def test_it_tells_why_a_job_failed(server: Server, agent: HttpAgentClient) -> None:
    failed = job("failed", error={"code": "engine-exited", "message": "out of heap"})
    server.answer = lambda *_: (200, failed)
    shown = agent.job("op-1-start")
    assert (shown.state, shown.error_code, shown.error_message) == ("failed", "engine-exited", "out of heap")


def test_it_deletes_a_job_that_is_not_there(server: Server, agent: HttpAgentClient) -> None:
    server.answer = lambda *_: (404, {"error": {"code": "job-not-found", "message": "no such job"}})
    agent.delete_job("a/b")
    assert server.asked == [("DELETE", "/v1/jobs/a%2Fb", None)]


def test_it_passes_on_a_refusal(server: Server, agent: HttpAgentClient) -> None:
    server.answer = lambda *_: (422, {"error": {"code": "invalid-config", "message": "heap_mib is missing"}})
    with pytest.raises(AgentRefused) as refusal:
        agent.put_config({})
    assert (refusal.value.code, refusal.value.message) == ("invalid-config", "heap_mib is missing")


@pytest.mark.parametrize(
    "answer", [(200, b"<html>"), (200, {"node_id": 7}), (500, b"oops"), (302, {}), (200, b" " * (5 * 1024 * 1024))]
)
def test_it_refuses_answers_that_make_no_sense(server: Server, agent: HttpAgentClient, answer: tuple[int, Any]) -> None:
    server.answer = lambda *_: answer
    with pytest.raises(AgentRefused) as refusal:
        agent.status()
    assert refusal.value.code == "invalid-answer"


# Connections and time.


def test_it_keeps_its_connection(server: Server, connections: AgentConnections) -> None:
    server.answer = lambda *_: (200, STATUS)
    for _ in range(5):
        connections.client(node_id=NODE, address=server.address).status()
    assert server.connections == 1


def test_it_opens_another_connection_when_the_kept_one_was_closed(server: Server, agent: HttpAgentClient) -> None:
    server.answer = lambda *_: (200, STATUS)
    agent.status()
    replies = iter([None, (200, STATUS)])
    server.answer = lambda *_: next(replies)
    assert agent.status().node_id == NODE
    assert server.connections == 2


def test_it_serves_many_threads(server: Server, connections: AgentConnections) -> None:
    server.answer = lambda *_: (200, STATUS)
    with ThreadPoolExecutor(8) as pool:
        nodes = list(
            pool.map(lambda _: connections.client(node_id=NODE, address=server.address).status().node_id, range(40))
        )
    assert set(nodes) == {NODE}
    assert server.connections <= 8


def test_it_says_when_nobody_answers(connections: AgentConnections) -> None:
    with pytest.raises(AgentUnreachable) as silence:
        connections.client(node_id=NODE, address="127.0.0.1:1").status()
    assert not isinstance(silence.value, AgentNotTrusted)


def test_it_gives_up_within_three_seconds(server: Server, agent: HttpAgentClient) -> None:
    server.answer = lambda *_: time.sleep(4) or (200, STATUS)
    began = time.monotonic()
    with pytest.raises(AgentUnreachable):
        agent.status()
    assert time.monotonic() - began < 3
