"""What the fake agents keep: nodes and rings, each a JSON document in one SQLite file."""

import json
import sqlite3
from dataclasses import dataclass, field
from typing import Any

from provisioner.agent import fake_access

SCHEMA = """
CREATE TABLE IF NOT EXISTS document (id TEXT PRIMARY KEY, ring TEXT, body TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS document_ring ON document (ring);
CREATE TABLE IF NOT EXISTS fault (id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL,
  draws INTEGER NOT NULL DEFAULT 0, strikes INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS repaired (id INTEGER PRIMARY KEY AUTOINCREMENT, ring TEXT NOT NULL, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS history (id INTEGER PRIMARY KEY AUTOINCREMENT, node_id TEXT NOT NULL, effect TEXT NOT NULL);
"""


@dataclass
class Node:
    """A node's side of the world."""

    node_id: str
    agent_address: str
    config: dict[str, Any] | None = None
    installed: str = ""
    versions: list[str] = field(default_factory=list)
    engine_running: bool = False
    running_version: str = ""
    # It runs, but takes no requests until it is stopped and started.
    drained: bool = False
    # What the running engine goes by, in its own words.
    settings: dict[str, str] = field(default_factory=dict)
    # Figures of the job inspect; what is left out is 0.
    figures: dict[str, Any] = field(default_factory=dict)
    engine_key: str = ""
    engine_next_key: str = ""
    engine_certificate: str = ""
    engine_certificate_served: str = ""
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    certificate_number: int = 1
    last_error: str = ""
    # MiB per second; None: what the configuration says.
    stream_limit: int | None = None
    compaction_limit: int | None = None
    # How often its engine was started, and how many repairs the running one has coordinated.
    engine_starts: int = 0
    repair_commands: int = 0
    # It has not heard of the last change of the schema.
    other_schema: bool = False
    # When it kept no hint last, by the address of the node that it was for (ISO 8601).
    hints_dropped: dict[str, str] = field(default_factory=dict)
    # Addresses that it lists as members although they are none any more.
    remembers: list[str] = field(default_factory=list)
    data_lost: bool = False
    running_revision: str = ""
    disk_total_bytes: int = 100 * 2**30
    disk_used: float = 0.1
    clock_offset_seconds: float = 0.0
    engine_certificate_expires_at: str = ""
    # Epoch, bytes sent to nodes by data centre and zone, from clients, to clients; None: it does not tell.
    traffic: tuple[str, dict[str, dict[str, int]], int, int] | None = None
    # What the tuning report finds, by check that fails.
    untuned: dict[str, str] = field(default_factory=dict)
    # At which its first boot is, and code and message with which that failed; empty: it is over.
    boot_step: str = ""
    boot_error: dict[str, str] | None = None
    # A document of fake_backups.NodeBackups.
    backups: dict[str, Any] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return self.agent_address.rpartition(":")[0]


@dataclass
class Ring:
    """What all nodes of a cluster share: its roles with a hash of each password, and what they may do."""

    access: fake_access.Access = field(
        default_factory=lambda: fake_access.Access(passwords={"cassandra": "cassandra"}, superusers=["cassandra"])
    )
    control_username: str = ""
    # By keyspace: replicas per data centre. The engine's own that every node holds for itself are not in it.
    keyspaces: dict[str, dict[str, int]] = field(default_factory=dict)
    # Tables that backups are of; see fake_schema.
    schema: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)


def open_store(path: str) -> sqlite3.Connection:
    # Longer than a hung worker lives before it is shot: it may have hung with the file locked.
    database = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
    database.row_factory = sqlite3.Row
    database.execute("PRAGMA synchronous=OFF")
    return database


def find(database: sqlite3.Connection, identifier: str) -> dict[str, Any] | None:
    row = database.execute("SELECT body FROM document WHERE id = ?", (identifier,)).fetchone()
    body: dict[str, Any] | None = None if row is None else json.loads(row["body"])
    return body


def load(database: sqlite3.Connection, identifier: str) -> dict[str, Any]:
    body = find(database, identifier)
    if body is None:
        raise LookupError(f"nobody has spoken to {identifier} yet")
    return body


def store(database: sqlite3.Connection, identifier: str, thing: Node | Ring) -> None:
    ring = thing.config.get("cluster_name") if isinstance(thing, Node) and thing.config else None
    database.execute("INSERT OR REPLACE INTO document VALUES (?, ?, ?)", (identifier, ring, written_down(thing)))


def written_down(thing: Node | Ring) -> str:
    return json.dumps(vars(thing), default=vars)


def load_ring(database: sqlite3.Connection, cluster_name: str) -> Ring:
    stored = find(database, f"ring {cluster_name}")
    if stored is None:
        return Ring()
    return Ring(**(stored | {"access": fake_access.Access(**stored["access"])}))
