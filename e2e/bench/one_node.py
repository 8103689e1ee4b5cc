"""One node with the real agent and engine, without the rest of the product: for benchmarks of what a node does."""

import json
import os
import secrets
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bcrypt
import httpx
from cassandra.concurrent import execute_concurrent_with_args

from e2e.trials.application import Connecting, connect
from e2e.trials.retry_idempotent import RetryIdempotent
from infra.local.layout import layout
from provisioner.agent.base import AgentUnreachable, Job
from provisioner.agent.client import AgentConnections, HttpAgentClient, server_name
from provisioner.agent.tests.tls_server import new_authority, serving

KEYSPACE, TABLE = "bench", "blobs"
VERSION = "5.0.5"
_NODE = "nod_01jbench"
_DATACENTER = "local-1"
_ROW_BYTES = 32 * 1024
_TOKENS = 16
_REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class OneNode:
    """`folder` holds all that agent and engine keep; `pid` is the agent's process."""

    client: HttpAgentClient
    folder: Path
    pid: int
    known: Connecting

    def do(self, kind: str, parameters: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
        """Run a job to its end: its result, and how many seconds it took. RuntimeError when it failed."""
        name, began = f"bench-{secrets.token_hex(4)}", time.monotonic()
        job: Job = self.client.ensure_job(name, kind, parameters, wait_seconds=2)
        while job.state == "running":
            job = self.client.job(name, wait_seconds=2)
        seconds = time.monotonic() - began
        self.client.delete_job(name)
        if job.state != "succeeded":
            raise RuntimeError(f"{kind}: {job.error_code}: {job.error_message}")
        return dict(job.result), seconds

    def cpu_seconds(self) -> float:
        """What the agent's process has used so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def manage(self, bean: str, operation: str, *arguments: Any) -> Any:
        """Run an operation of the engine past the agent, as nodetool would. RuntimeError when it refuses."""
        lines = (self.folder / "cassandra" / "conf" / "jolokia.properties").read_text().splitlines()
        facts = dict(line.split("=", 1) for line in lines if "=" in line)
        answer = httpx.post(
            f"http://{facts['host']}:{facts['port']}/jolokia/",
            json={"type": "exec", "mbean": bean, "operation": operation, "arguments": arguments},
            auth=(facts["user"], facts["password"]),
            timeout=600,
            trust_env=False,
        ).json()
        if answer["status"] != 200:
            raise RuntimeError(f"{operation}: {answer.get('error')}")
        return answer["value"]


@contextmanager
def one_node(place: Path) -> Iterator[OneNode]:
    """A secured ring of one node with an empty table of SSTables that stay apart. All of it ends with the block."""
    agents, cluster = new_authority(), new_authority()
    address = f"127.77.{secrets.randbelow(200) + 1}.{secrets.randbelow(200) + 1}"
    folder = place / "node"
    binary = place / "agent"
    subprocess.run(["go", "build", "-o", binary, "./cmd/agent"], cwd=_REPOSITORY / "images" / "agent", check=True)

    def enrol(_: str, __: str, body: Any) -> tuple[int, Any]:
        return 200, {
            "agent_certificate": agents.sign(body["agent_csr"], _NODE, dns=server_name(_NODE)),
            "agent_ca": agents.pem,
            "engine_certificate": cluster.sign(body["engine_csr"], _NODE, dns=server_name(_NODE), address=address),
            "cluster_ca": cluster.pem,
        }

    with serving(agents, dns="localhost", anyone_may_ask=True) as control_plane:
        control_plane.answer = enrol
        user_data = {
            "node_id": _NODE,
            "cluster_id": "clu_bench",
            "enrol_url": f"https://{control_plane.address}/enrol/v1",
            "ca_pem": agents.pem,
            "token": "one-time",
            "listen": f"{address}:7443",
            "address": address,
            "engine_cache": str(layout().engines),
        }
        (place / "user-data.json").write_text(json.dumps(user_data))
        places = ["--state-dir", str(folder), "--user-data", str(place / "user-data.json")]
        with (place / "agent.log").open("w") as log, subprocess.Popen([binary, "run", *places], stdout=log) as agent:
            connections = AgentConnections(agents.client())
            client = connections.client(node_id=_NODE, address=f"{address}:7443")
            known = Connecting(
                contact_points=[address],
                port=9042,
                datacenter=_DATACENTER,
                ca_certificate=cluster.pem,
                username="admin",
                password="bench",
                replication=1,
            )
            node = OneNode(client=client, folder=folder, pid=agent.pid, known=known)
            try:
                _start(node, address)
                yield node
            finally:
                _end(node)
                connections.close()
                agent.terminate()


def _start(node: OneNode, address: str) -> None:
    give_up_at = time.monotonic() + 30
    while True:
        try:
            node.client.status()
            break
        except AgentUnreachable:
            if time.monotonic() > give_up_at:
                raise
            time.sleep(0.05)
    step = 2**64 // _TOKENS
    node.client.put_config(
        {
            "engine": "cassandra",
            "version": VERSION,
            "revision": "r1",
            "cluster_name": "bench",
            "datacenter": _DATACENTER,
            "rack": "a",
            "address": address,
            "seeds": [address],
            "initial_tokens": [-(2**63) + step * turn for turn in range(_TOKENS)],
            "heap_mib": 1024,
            "system_auth_replication": 1,
            "first_boot": {
                "auto_bootstrap": False,
                "ring_delay_ms": 500,
                "gossip_settle_polls": 0,
                "superuser_setup_delay_ms": 0,
            },
            "jvm": {"profile": "standard"},
        }
    )
    node.do("start", {})
    hashed = {name: _hash(word) for name, word in (("admin", "bench"), ("control", "control"))}
    secure = {
        "admin_username": "admin",
        "admin_password_hash": hashed["admin"],
        "control_username": "ringmaster",
        "control_password": "control",
        "control_password_hash": hashed["control"],
        "datacenter": _DATACENTER,
        "system_auth_replication": 1,
        "replication": 1,
    }
    node.do("secure", secure)
    node.do("allowlist", {"cidrs": []})


def _hash(word: str) -> str:
    return bcrypt.hashpw(word.encode(), bcrypt.gensalt(4, prefix=b"2a")).decode()


def _end(node: OneNode) -> None:
    node.client.delete_job("end")
    job = node.client.ensure_job("end", "stop", {}, wait_seconds=2)
    while job.state == "running":
        job = node.client.job("end", wait_seconds=2)


def fill(node: OneNode, *, mebibytes: int, flushes: int = 8) -> int:
    """Write random rows, flushed so many times into SSTables that are not compacted. How many rows."""
    driver = connect(node.known, RetryIdempotent())
    try:
        session = driver.connect()
        session.execute(
            f"CREATE KEYSPACE {KEYSPACE} WITH replication = {{'class': 'NetworkTopologyStrategy', '{_DATACENTER}': 1}}"
        )
        session.execute(
            f"CREATE TABLE {KEYSPACE}.{TABLE} (key bigint PRIMARY KEY, body blob) "
            "WITH compaction = {'class': 'SizeTieredCompactionStrategy', 'enabled': 'false'}"
        )
        insert = session.prepare(f"INSERT INTO {KEYSPACE}.{TABLE} (key, body) VALUES (?, ?)")
        rows = mebibytes * 1024 * 1024 // _ROW_BYTES
        for part in range(flushes):
            keys = range(rows * part // flushes, rows * (part + 1) // flushes)
            execute_concurrent_with_args(
                session, insert, ((key, os.urandom(_ROW_BYTES)) for key in keys), concurrency=24
            )
            # A snapshot flushes.
            node.do("snapshot", {"tag": f"part-{part}", "ttl_seconds": 3600})
            node.do("clear-snapshot", {"tag": f"part-{part}"})
        return rows
    finally:
        driver.shutdown()


def count(node: OneNode, rows: int) -> int:
    """How many of the rows are there."""
    driver = connect(node.known, RetryIdempotent())
    try:
        session = driver.connect()
        select = session.prepare(f"SELECT key FROM {KEYSPACE}.{TABLE} WHERE key = ?")
        answers = execute_concurrent_with_args(session, select, ((key,) for key in range(rows)), concurrency=64)
        return sum(1 for answer in answers if answer.success and answer.result_or_exc.one())
    finally:
        driver.shutdown()


def files_of(node: OneNode, tag: str) -> list[Path]:
    """The files of the table's SSTables in a snapshot."""
    found = (node.folder / "cassandra" / "data" / KEYSPACE).glob(f"{TABLE}-*/snapshots/{tag}/*-big-*")
    return sorted(path for path in found if path.is_file())
