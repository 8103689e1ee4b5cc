"""One real start of the engine on addresses of its own, so that the JVM can archive the classes a start needs.

Two nodes form a ring, set up as the agent does it (TLS both ways, passwords, the same collector). One of them is used a
little over CQL, so that it talks to the other, and asked to end; its JVM writes the archive on the way out. Everything
else is thrown away.
"""

import json
import random
import signal
import socket
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from baking.cql import CqlError, CqlSession
from baking.java import BakeError, Java

# Class-data archives do not depend on the heap's size; small leaves room for others on the machine.
JVM_PROFILE = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xms256m", "-Xmx256m")

_CQL_SECONDS = 120
_EXIT_SECONDS = 120

_STATEMENTS = (
    "ALTER KEYSPACE system_auth WITH replication = {'class': 'NetworkTopologyStrategy', 'rehearsal': 2}",
    "CREATE ROLE IF NOT EXISTS keeper WITH SUPERUSER = true AND LOGIN = true AND HASHED PASSWORD = '{hash}'",
    "CREATE ROLE IF NOT EXISTS visitor WITH LOGIN = true AND HASHED PASSWORD = '{hash}'",
    "ALTER ROLE visitor WITH HASHED PASSWORD = '{hash}'",
    "CREATE KEYSPACE IF NOT EXISTS rehearsal WITH replication = {'class': 'NetworkTopologyStrategy', 'rehearsal': 2}",
    "CREATE TABLE IF NOT EXISTS rehearsal.proof (key text, node text, written_at timestamp, PRIMARY KEY (key, node))",
    "GRANT SELECT ON KEYSPACE rehearsal TO visitor",
    "GRANT MODIFY ON KEYSPACE rehearsal TO visitor",
    "INSERT INTO rehearsal.proof (key, node, written_at) VALUES ('k', 'n', toTimestamp(now()))",
    "SELECT node FROM rehearsal.proof WHERE key = 'k'",
    "SELECT * FROM system.local",
    "SELECT * FROM system.peers_v2",
    "SELECT * FROM system_views.gossip_info",
    "SELECT role, is_superuser FROM system_auth.roles",
    "SELECT keyspace_name, replication FROM system_schema.keyspaces",
    "DELETE FROM rehearsal.proof WHERE key = 'k'",
    "DROP ROLE IF EXISTS visitor",
    "DROP KEYSPACE IF EXISTS rehearsal",
)
# bcrypt of a random text, work factor 4: the roles live for a second.
_HASH = "$2a$04$Vq0uS0lVtqpJ0Q2zN8xTt.9C0dWqF1w6hQ5lQw1v2l6i1nR1d5i3S"


def class_path(jars: list[str], tree: Path) -> str:
    """The archive is bound to this very text: the agent builds the same from the manifest."""
    return ":".join(str(tree / "lib" / name) for name in jars)


def free_loopback_address() -> str:
    """An address below 127/8 on which nothing listens on the engine's ports."""
    for _ in range(200):
        address = f"127.{random.randint(200, 250)}.{random.randint(0, 255)}.{random.randint(1, 254)}"
        if all(_can_bind(address, port) for port in (7000, 9042)):
            return address
    raise BakeError("No free loopback address with ports 7000 and 9042 was found.")


def write_keys(java: Java, scratch: Path, facts_class: Path) -> None:
    """A throw-away certificate that is its own authority, as PEM, in `node.pem` and `ca.pem`."""
    store = scratch / "node.p12"
    make = [
        *(str(java.program("keytool")), "-genkeypair", "-alias", "node", "-keyalg", "EC", "-groupname", "secp256r1"),
        *("-dname", "CN=rehearsal", "-validity", "2", "-keystore", str(store), "-storetype", "PKCS12"),
        *("-storepass", "throwaway"),
    ]
    _run(make)
    _run([str(java.program("java")), str(facts_class), "pem", str(store), str(scratch / "node.pem")])
    text = (scratch / "node.pem").read_text()
    (scratch / "ca.pem").write_text(text[text.index("-----BEGIN CERTIFICATE-----") :])


@dataclass(frozen=True, kw_only=True)
class Node:
    """A node of the rehearsal: its own folder, address and tokens; `seeds` are the addresses of both."""

    folder: Path
    address: str
    seeds: tuple[str, ...]
    tokens: tuple[int, ...]

    def options(self) -> list[str]:
        """The JVM options that point to what `write_config` wrote."""
        return [
            f"-Dcassandra.config=file://{self.folder}/cassandra.yaml",
            f"-Dcassandra-rackdc.properties=file://{self.folder}/rackdc.properties",
            f"-Dlogback.configurationFile={self.folder}/logback.xml",
            f"-Dcassandra.storagedir={self.folder}",
            f"-Dcassandra.logdir={self.folder}",
        ]


def two_nodes(scratch: Path) -> tuple[Node, Node]:
    """Two nodes with their folders made and their addresses chosen."""
    addresses = (free_loopback_address(), free_loopback_address())
    folders = (scratch / "archiving", scratch / "other")
    for folder in folders:
        folder.mkdir()
    step = 2**62
    first, second = (
        Node(
            folder=folder,
            address=address,
            seeds=addresses,
            tokens=tuple(first_token + turn * step for turn in range(4)),
        )
        for folder, address, first_token in zip(folders, addresses, (-2 * step, -2 * step + step // 2), strict=True)
    )
    return first, second


def write_config(node: Node, keys: Path) -> None:
    """`cassandra.yaml` and what else the engine reads; `keys` is where `write_keys` wrote."""
    factory = {"class_name": "org.apache.cassandra.security.PEMBasedSslContextFactory"}
    files = {"keystore": str(keys / "node.pem"), "truststore": str(keys / "ca.pem")}
    seeds = ",".join(f"{seed}:7000" for seed in node.seeds)
    config = {
        "cluster_name": "rehearsal",
        "num_tokens": len(node.tokens),
        "initial_token": ",".join(str(token) for token in node.tokens),
        "auto_bootstrap": False,
        "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
        "endpoint_snitch": "GossipingPropertyFileSnitch",
        "listen_address": node.address,
        "rpc_address": node.address,
        "native_transport_port": 9042,
        "storage_port": 7000,
        "seed_provider": [
            {"class_name": "org.apache.cassandra.locator.SimpleSeedProvider", "parameters": [{"seeds": seeds}]}
        ],
        "authenticator": "PasswordAuthenticator",
        "authorizer": "CassandraAuthorizer",
        "role_manager": "CassandraRoleManager",
        "commitlog_sync": "periodic",
        "commitlog_sync_period": "10000ms",
        "data_file_directories": [str(node.folder / "data")],
        "commitlog_directory": str(node.folder / "commitlog"),
        "hints_directory": str(node.folder / "hints"),
        "saved_caches_directory": str(node.folder / "saved_caches"),
        "cdc_raw_directory": str(node.folder / "cdc_raw"),
        "server_encryption_options": {
            "internode_encryption": "all",
            "require_client_auth": True,
            "accepted_protocols": ["TLSv1.3"],
            "ssl_context_factory": factory,
            **files,
        },
        "client_encryption_options": {
            "enabled": True,
            "optional": False,
            "accepted_protocols": ["TLSv1.3", "TLSv1.2"],
            "ssl_context_factory": factory,
            **files,
        },
    }
    # JSON is YAML too.
    (node.folder / "cassandra.yaml").write_text(json.dumps(config, indent=2))
    (node.folder / "rackdc.properties").write_text("dc=rehearsal\nrack=rehearsal\n")
    (node.folder / "logback.xml").write_text(_LOGBACK.format(file=node.folder / "system.log"))


def rehearse(java: Java, tree: Path, jars: list[str], nodes: tuple[Node, Node], archive: Path) -> None:
    """Start both nodes, use and end the first; `archive` is there afterwards. BakeError with its last words."""
    archiving, other = nodes
    with ExitStack() as running:
        node = _start(running, java, tree, jars, archiving, f"-XX:ArchiveClassesAtExit={archive}")
        _start(running, java, tree, jars, other)
        _use(node, archiving)
        node.send_signal(signal.SIGTERM)
        try:
            node.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            raise BakeError(f"The rehearsal node did not end within {_EXIT_SECONDS} s of being asked.") from None
    if not archive.exists():
        raise BakeError(f"The JVM wrote no class-data archive: {_last_words(archiving.folder)}")


def _start(
    running: ExitStack, java: Java, tree: Path, jars: list[str], node: Node, *more_options: str
) -> subprocess.Popen[bytes]:
    command = [
        *(str(java.program("java")), *more_options, *JVM_PROFILE, f"@{tree / 'jvm.options'}"),
        *("-cp", class_path(jars, tree)),
        *("-Dcassandra.skip_wait_for_gossip_to_settle=0", "-Dcassandra.ring_delay_ms=500"),
        *("-Dcassandra.superuser_setup_delay_ms=100", "-Dcassandra.schema_pull_interval_ms=1000"),
        *("-Dcassandra.gossip_quarantine_delay_ms=60000", "-Dcassandra.system_auth.default_rf=2"),
        "-Dcassandra-foreground=yes",
        *node.options(),
        "org.apache.cassandra.service.CassandraDaemon",
    ]
    with (node.folder / "output.log").open("wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=node.folder)

    def end() -> None:
        process.kill()
        process.wait()

    running.callback(end)
    return process


def _use(process: subprocess.Popen[bytes], node: Node) -> None:
    give_up_at = time.monotonic() + _CQL_SECONDS
    statements = list(_STATEMENTS)
    while True:
        try:
            with CqlSession(node.address, username="cassandra", password="cassandra") as session:
                while statements:
                    session.run(statements[0].replace("{hash}", _HASH))
                    statements.pop(0)
            return
        except (OSError, CqlError) as error:
            # Not up yet, or up but without its first role or the other node; a statement that is wrong ends as the last
            # error.
            if process.poll() is not None:
                raise BakeError(f"The rehearsal node ended: {_last_words(node.folder)}") from error
            if time.monotonic() > give_up_at:
                raise BakeError(f"The rehearsal node could not be used within {_CQL_SECONDS} s: {error}") from error
            time.sleep(0.2)


def _last_words(folder: Path) -> str:
    for name in ("output.log", "system.log"):
        text = (folder / name).read_text(errors="replace") if (folder / name).exists() else ""
        if lines := [line for line in text.splitlines() if line.strip()]:
            return lines[-1]
    return "it said nothing"


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BakeError(f"{Path(command[0]).name} failed: {(done.stderr or done.stdout).strip()[-300:]}")


def _can_bind(address: str, port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
        return True


_LOGBACK = """<configuration>
  <appender name="FILE" class="ch.qos.logback.core.rolling.RollingFileAppender">
    <file>{file}</file>
    <rollingPolicy class="ch.qos.logback.core.rolling.SizeAndTimeBasedRollingPolicy">
      <fileNamePattern>{file}.%d{{yyyy-MM-dd}}.%i</fileNamePattern>
      <maxFileSize>20MB</maxFileSize>
    </rollingPolicy>
    <encoder><pattern>%d %-5level %logger %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="FILE"/></root>
</configuration>
"""
