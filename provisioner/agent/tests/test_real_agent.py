"""The client against the agent built from this repository: enrolment, TLS on both sides, and the types of the API."""

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace

from e2e.collector import collecting, tracing_here
from provisioner.agent.base import AgentNotTrusted, AgentRefused, AgentUnreachable
from provisioner.agent.client import AgentConnections, HttpAgentClient, server_name
from provisioner.agent.tests.tls_server import Authority, new_authority, serving
from provisioner.traces import take_over

REPOSITORY = Path(__file__).resolve().parents[3]
NODE = "nod_01jreal"


@pytest.fixture(scope="module")
def authority() -> Authority:
    return new_authority()


@pytest.fixture(scope="module")
def agent_binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The agent RINGMASTER_AGENT_BINARY names, else one built here."""
    if given := os.environ.get("RINGMASTER_AGENT_BINARY"):
        return Path(given)
    binary = tmp_path_factory.mktemp("agent") / "agent"
    environment = os.environ | {"CGO_ENABLED": "0"}
    command = ["go", "build", "-o", str(binary), "./cmd/agent"]
    subprocess.run(command, cwd=REPOSITORY / "images" / "agent", env=environment, check=True)
    return binary


@pytest.fixture(scope="module")
def address(agent_binary: Path, authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """host:port of an enrolled agent."""
    folder = tmp_path_factory.mktemp("node")
    cluster = new_authority()
    listen = f"127.0.0.1:{_free_port()}"

    def enrol(_: str, __: str, body: Any) -> tuple[int, Any]:
        assert (body["node_id"], body["token"]) == (NODE, "one-time")
        return 200, {
            "agent_certificate": authority.sign(body["agent_csr"], NODE, dns=server_name(NODE)),
            "agent_ca": authority.pem,
            "engine_certificate": cluster.sign(body["engine_csr"], NODE, dns=server_name(NODE)),
            "cluster_ca": cluster.pem,
        }

    with serving(authority, dns="localhost", anyone_may_ask=True) as control_plane:
        control_plane.answer = enrol
        user_data = {
            "node_id": NODE,
            "cluster_id": "clu_1",
            "enrol_url": f"https://{control_plane.address}/enrol/v1",
            "ca_pem": authority.pem,
            "token": "one-time",
            "listen": listen,
            "address": "127.0.0.1",
            "engine_cache": str(folder / "cache"),
        }
        (folder / "user-data.json").write_text(json.dumps(user_data))
        places = ["--state-dir", str(folder / "data"), "--user-data", str(folder / "user-data.json")]
        with (folder / "log").open("w") as log, subprocess.Popen([agent_binary, "run", *places], stdout=log) as agent:
            yield listen
            agent.terminate()
            assert agent.wait(10) == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def connections(authority: Authority) -> Iterator[AgentConnections]:
    connections = AgentConnections(authority.client())
    yield connections
    connections.close()


@pytest.fixture
def agent(address: str, connections: AgentConnections) -> HttpAgentClient:
    client = connections.client(node_id=NODE, address=address)
    give_up_at = time.monotonic() + 15
    while True:
        try:
            client.status()
            return client
        except AgentUnreachable:
            assert time.monotonic() < give_up_at, "the agent does not serve"
            time.sleep(0.05)


def test_it_understands_the_status_of_a_new_node(agent: HttpAgentClient) -> None:
    status = agent.status()
    assert (status.node_id, status.engine_state, status.cql_ready, status.ring) == (NODE, "absent", False, None)
    assert status.agent_version


def test_it_sees_a_job_fail_and_can_delete_it(agent: HttpAgentClient) -> None:
    done = agent.ensure_job("op-1-install", "install", {"engine": "cassandra", "version": "5.0.5"}, wait_seconds=2)
    assert (done.state, done.kind, done.error_code) == ("failed", "install", "engine-not-found")
    assert agent.job("op-1-install") == done
    agent.delete_job("op-1-install")
    agent.delete_job("op-1-install")
    with pytest.raises(AgentRefused) as refusal:
        agent.job("op-1-install")
    assert refusal.value.code == "job-not-found"


def test_calls_and_their_jobs_come_back_in_the_trace_of_whoever_calls(
    agent: HttpAgentClient, address: str, authority: Authority
) -> None:
    with collecting() as collector, tracing_here(collector.url):
        tracing = AgentConnections(authority.client(), on_spans=take_over)
        traced = tracing.client(node_id=NODE, address=address)
        with trace.get_tracer("tests").start_as_current_span("attempt"):
            parameters = {"engine": "cassandra", "version": "0.0.1"}
            job = traced.ensure_job("op-2-install", "install", parameters, wait_seconds=2)
            assert job.state == "failed"
            traced.delete_job("op-2-install")
            with pytest.raises(AgentRefused):
                traced.load()
        # In no trace nothing is noted, and nothing is left over.
        traced.status()
        collector.wait(lambda: collector.named("attempt"))
        tracing.close()
    assert len({span.trace for span in collector.spans}) == 1
    assert sorted((span.service, span.name) for span in collector.spans) == [
        ("ringmaster-agent", "DELETE /v1/jobs/{name}"),
        ("ringmaster-agent", "GET /v1/load"),
        ("ringmaster-agent", "PUT /v1/jobs/{name}"),
        ("ringmaster-agent", "job install"),
        ("ringmaster-tests", "DELETE /v1/jobs/{name}"),
        ("ringmaster-tests", "GET /v1/load"),
        ("ringmaster-tests", "PUT /v1/jobs/{name}"),
        ("ringmaster-tests", "attempt"),
    ]
    (done,) = collector.named("job install")
    assert collector.above(done) == ["PUT /v1/jobs/{name}", "PUT /v1/jobs/{name}", "attempt"]
    assert done.error == "engine-not-found"
    assert done.attributes == {
        "ringmaster.job.name": "op-2-install",
        "ringmaster.job.kind": "install",
        "ringmaster.node.id": NODE,
    }
    assert {span.error for span in collector.named("GET /v1/load")} == {"Service Unavailable", "engine-not-running"}
    assert b"0.0.1" not in b"".join(collector.raw)


def test_it_is_told_that_there_is_no_engine_to_ask_about_repairs(agent: HttpAgentClient) -> None:
    for ask in (agent.repairs, agent.load, agent.tables, lambda: agent.keyspace_ring("shop")):
        with pytest.raises(AgentRefused) as refusal:
            ask()
        assert refusal.value.code == "engine-not-running"


def test_it_is_told_what_is_wrong_with_a_configuration(agent: HttpAgentClient) -> None:
    with pytest.raises(AgentRefused) as refusal:
        agent.put_config({"engine": "cassandra"})
    assert refusal.value.code == "invalid-config"


def test_it_renews_the_certificate(agent: HttpAgentClient, authority: Authority) -> None:
    before = agent.certificate()
    request = agent.request_certificate()
    assert agent.request_certificate() == request
    renewed = authority.sign(request, NODE, dns=server_name(NODE))
    agent.put_certificate(renewed)
    assert agent.certificate() == renewed != before


def test_another_node_cannot_command_it(
    agent: HttpAgentClient, address: str, authority: Authority, connections: AgentConnections
) -> None:
    neighbour = AgentConnections(authority.client("nod_01jneighbour"))
    with pytest.raises(AgentNotTrusted):
        neighbour.client(node_id=NODE, address=address).status()
    neighbour.close()
    with pytest.raises(AgentNotTrusted):
        connections.client(node_id="nod_01jother", address=address).status()
