"""One real start of the engine on an address of its own, so that the JVM can archive the classes a start needs.

The node is set up as the agent does it (TLS both ways, passwords, the same collector), used a little over CQL, and
asked to end; the JVM writes its archive on the way out. Everything else of it is thrown away.
"""

import json
import random
import signal
import socket
import subprocess
import time
from pathlib import Path

from baking.cql import CqlError, CqlSession
from baking.java import BakeError, Java

# Class-data archives do not depend on the heap's size; small leaves room for others on the machine.
JVM_PROFILE = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xms256m", "-Xmx256m")

_CQL_SECONDS = 120
_EXIT_SECONDS = 120

_STATEMENTS = (
    "ALTER KEYSPACE system_auth WITH replication = {'class': 'NetworkTopologyStrategy', 'rehearsal': 1}",
    "CREATE ROLE keeper WITH SUPERUSER = true AND LOGIN = true AND HASHED PASSWORD = '{hash}'",
    "CREATE ROLE visitor WITH LOGIN = true AND HASHED PASSWORD = '{hash}'",
    "ALTER ROLE visitor WITH HASHED PASSWORD = '{hash}'",
    "CREATE KEYSPACE rehearsal WITH replication = {'class': 'NetworkTopologyStrategy', 'rehearsal': 1}",
    "CREATE TABLE rehearsal.proof (key text, node text, value text, written_at timestamp, PRIMARY KEY (key, node))",
    "GRANT SELECT ON KEYSPACE rehearsal TO visitor",
    "GRANT MODIFY ON KEYSPACE rehearsal TO visitor",
    "INSERT INTO rehearsal.proof (key, node, value, written_at) VALUES ('k', 'n', 'v', toTimestamp(now()))",
    "SELECT node, value FROM rehearsal.proof WHERE key = 'k'",
    "SELECT * FROM system.local",
    "SELECT * FROM system.peers_v2",
    "SELECT * FROM system_views.gossip_info",
    "SELECT role, is_superuser FROM system_auth.roles",
    "SELECT keyspace_name, replication FROM system_schema.keyspaces",
    "DELETE FROM rehearsal.proof WHERE key = 'k'",
    "DROP ROLE visitor",
    "DROP KEYSPACE rehearsal",
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


def write_config(scratch: Path, address: str) -> list[str]:
    """`cassandra.yaml` and what else the engine reads; returns the JVM options that point to it."""
    factory = {"class_name": "org.apache.cassandra.security.PEMBasedSslContextFactory"}
    files = {"keystore": str(scratch / "node.pem"), "truststore": str(scratch / "ca.pem")}
    simple_seeds = "org.apache.cassandra.locator.SimpleSeedProvider"
    config = {
        "cluster_name": "rehearsal",
        "num_tokens": 4,
        "initial_token": "-6000000000000000000,-2000000000000000000,2000000000000000000,6000000000000000000",
        "auto_bootstrap": False,
        "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
        "endpoint_snitch": "GossipingPropertyFileSnitch",
        "listen_address": address,
        "rpc_address": address,
        "native_transport_port": 9042,
        "storage_port": 7000,
        "seed_provider": [{"class_name": simple_seeds, "parameters": [{"seeds": f"{address}:7000"}]}],
        "authenticator": "PasswordAuthenticator",
        "authorizer": "CassandraAuthorizer",
        "role_manager": "CassandraRoleManager",
        "commitlog_sync": "periodic",
        "commitlog_sync_period": "10000ms",
        "data_file_directories": [str(scratch / "data")],
        "commitlog_directory": str(scratch / "commitlog"),
        "hints_directory": str(scratch / "hints"),
        "saved_caches_directory": str(scratch / "saved_caches"),
        "cdc_raw_directory": str(scratch / "cdc_raw"),
        "server_encryption_options": {
            "internode_encryption": "all",
            "require_client_auth": True,
            "ssl_context_factory": factory,
            **files,
        },
        "client_encryption_options": {"enabled": True, "optional": False, "ssl_context_factory": factory, **files},
    }
    # JSON is YAML too.
    (scratch / "cassandra.yaml").write_text(json.dumps(config, indent=2))
    (scratch / "rackdc.properties").write_text("dc=rehearsal\nrack=rehearsal\n")
    (scratch / "logback.xml").write_text(_LOGBACK.format(file=scratch / "system.log"))
    return [
        f"-Dcassandra.config=file://{scratch}/cassandra.yaml",
        f"-Dcassandra-rackdc.properties=file://{scratch}/rackdc.properties",
        f"-Dlogback.configurationFile={scratch}/logback.xml",
        f"-Dcassandra.storagedir={scratch}",
        f"-Dcassandra.logdir={scratch}",
    ]


def rehearse(java: Java, tree: Path, jars: list[str], options: list[str], archive: Path, scratch: Path) -> None:
    """Start, use and end the node; `archive` is there afterwards. BakeError with the engine's last words."""
    command = [
        str(java.program("java")),
        f"-XX:ArchiveClassesAtExit={archive}",
        *JVM_PROFILE,
        f"@{tree / 'jvm.options'}",
        *("-cp", class_path(jars, tree)),
        *("-Dcassandra.skip_wait_for_gossip_to_settle=0", "-Dcassandra.ring_delay_ms=500"),
        "-Dcassandra.superuser_setup_delay_ms=0",
        "-Dcassandra-foreground=yes",
        *options,
        "org.apache.cassandra.service.CassandraDaemon",
    ]
    address = json.loads((scratch / "cassandra.yaml").read_text())["rpc_address"]
    with (scratch / "output.log").open("wb") as output:
        node = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=scratch)
        try:
            _use(node, address, scratch)
            node.send_signal(signal.SIGTERM)
            node.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            raise BakeError(f"The rehearsal node did not end within {_EXIT_SECONDS} s of being asked.") from None
        finally:
            if node.poll() is None:
                node.kill()
                node.wait()
    if not archive.exists():
        raise BakeError(f"The JVM wrote no class-data archive: {_last_words(scratch)}")


def _use(node: subprocess.Popen[bytes], address: str, scratch: Path) -> None:
    give_up_at = time.monotonic() + _CQL_SECONDS
    while True:
        try:
            with CqlSession(address, username="cassandra", password="cassandra") as session:
                for statement in _STATEMENTS:
                    session.run(statement.replace("{hash}", _HASH))
            return
        except (OSError, CqlError) as error:
            # Not up yet, or up but without its first role; a statement that is wrong shows in the last error.
            if node.poll() is not None:
                raise BakeError(f"The rehearsal node ended: {_last_words(scratch)}") from error
            if time.monotonic() > give_up_at:
                raise BakeError(f"The rehearsal node could not be used within {_CQL_SECONDS} s: {error}") from error
            time.sleep(0.2)


def _last_words(scratch: Path) -> str:
    for name in ("output.log", "system.log"):
        text = (scratch / name).read_text(errors="replace") if (scratch / name).exists() else ""
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
