"""What the control plane may ask of the agent on a node. `client.py` asks a real one, `fake.py` answers for tests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from provisioner.agent.repairs import KeyspaceRing, NodeLoad, RepairActivity, Schema


class AgentError(Exception):
    """Something is wrong between us and an agent."""


class AgentUnreachable(AgentError):
    """No answer: the machine, the agent or the way to it is down. Trying again later is right."""


class AgentNotTrusted(AgentUnreachable):
    """Something answers, but it cannot show this node's certificate, or it does not accept ours."""


class AgentRefused(AgentError):
    """The agent answered with an error. `code` is stable (docs/agent-api.md)."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


@dataclass(frozen=True, kw_only=True)
class Job:
    """A named job. `progress` is 0 to 1; `error_code` and `error_message` are set when it failed."""

    name: str
    kind: str
    state: Literal["running", "succeeded", "failed"]
    progress: float
    message: str
    error_code: str = ""
    error_message: str = ""
    result: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Peer:
    """`tokens_digest`: of the tokens it is believed to own. `status`: gossip's word (NORMAL, LEAVING, JOINING, ...).

    `hints_dropped_at`: when no hint was kept for it last, by the clock of the node that tells; None: not in two days.
    """

    address: str
    host_id: str
    datacenter: str
    rack: str
    schema_version: str
    up: bool
    tokens_digest: str = ""
    status: str = ""
    hints_dropped_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class RingStatus:
    host_id: str
    datacenter: str
    rack: str
    schema_version: str
    tokens: tuple[int, ...]
    peers: tuple[Peer, ...]
    tokens_digest: str = ""


@dataclass(frozen=True, kw_only=True)
class Disk:
    """Of the file system that holds the data folder, in bytes. `data_bytes`: live data; 0: the engine does not say."""

    total_bytes: int
    free_bytes: int
    data_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Bytes that the engine sent and received, over all of its starts on its machine.

    `epoch` names what is counted: when it is another one, all counts began at 0. `to_nodes`: by data centre and zone.
    """

    epoch: str
    to_nodes: Mapping[tuple[str, str], int]
    from_clients: int
    to_clients: int


@dataclass(frozen=True, kw_only=True)
class Status:
    """`engine_state` is one of absent, stopped, starting, running, failed.

    `time`: the node's clock when it answered. `mode`: the engine's own word (NORMAL, JOINING, ...), empty when unknown.
    Revisions are of the configuration: what the agent has stored, and what the engine was last started with.
    `traffic`: None while it is not known, and where the engine does not tell it.
    """

    node_id: str
    agent_version: str
    engine_state: str
    engine_version: str
    cql_ready: bool
    restarts: int
    last_error: str
    ring: RingStatus | None
    mode: str = ""
    time: datetime | None = None
    local_data_lost: bool = False
    disk: Disk | None = None
    config_revision: str = ""
    running_revision: str = ""
    engine_certificate_expires_at: datetime | None = None
    traffic: Traffic | None = None


@dataclass(frozen=True, kw_only=True)
class EngineCertificate:
    """What the engine is to show to drivers and to other nodes."""

    certificate_pem: str
    expires_at: datetime


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """One SSTable of a snapshot. `key` names its object; `repaired_at` is in milliseconds since 1970, 0: it was not.

    `bytes` are those of its files, `stored_bytes` those of its object. Tokens are of its first and last partition.
    """

    key: str
    keyspace: str
    table: str
    table_id: str
    sstable: str
    bytes: int
    stored_bytes: int
    min_token: int
    max_token: int
    level: int
    repaired_at: int


@dataclass(frozen=True, kw_only=True)
class BundlePage:
    """`next`: what to give as `after` for the next page; empty at the end."""

    items: tuple[Bundle, ...]
    next: str


@dataclass(frozen=True, kw_only=True)
class ArchiveEntry:
    """A line of the journal of a node's archive: a stored piece of its commit log; with an empty `key` a gap.

    `begins_at`, `ends_at`: nothing in it reached the node before or after; or when something may be missing. `bytes`
    of what is in the object, `stored_bytes` of the object.
    """

    sequence: int
    begins_at: datetime
    ends_at: datetime
    key: str = ""
    bytes: int = 0
    stored_bytes: int = 0
    sha256: str = ""
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class ArchiveReport:
    """`stream` empty: nothing is archived. Between `began_at` and `covered_until` all is stored but for the gaps."""

    stream: str
    began_at: datetime | None = None
    covered_until: datetime | None = None
    waiting_bytes: int = 0
    problem: str = ""
    entries: tuple[ArchiveEntry, ...] = ()
    more: bool = False


@dataclass(frozen=True, kw_only=True)
class StatementState:
    """How far a statement of people is. `result` and `tree` are documents of docs/agent-api.md, when it has succeeded.

    `line` counts from 1, `column` from 0; None: the engine does not say where.
    """

    state: Literal["running", "succeeded", "failed"]
    code: str = ""
    message: str = ""
    line: int | None = None
    column: int | None = None
    result: Mapping[str, Any] | None = None
    tree: Mapping[str, Any] | None = None


class AgentClient(Protocol):
    """Every call raises AgentUnreachable or AgentRefused, and returns within three seconds."""

    def status(self) -> Status: ...

    def tuning(self) -> Mapping[str, Any]:
        """How its machine was made ready and is tuned: the document of docs/node.md, times as text."""
        ...

    def repairs(self) -> RepairActivity:
        """The repairs that the node coordinates or takes part in now, whoever began them."""
        ...

    def load(self) -> NodeLoad: ...

    def keyspace_ring(self, keyspace: str, table: str = "") -> KeyspaceRing:
        """Who holds which range, as the engine has it; of a table of tablets, which tablet.

        AgentRefused unknown-keyspace, table-not-found.
        """
        ...

    def tables(self) -> Schema:
        """All keyspaces but those that each node has for itself, and their tables with this node's share."""
        ...

    def put_config(self, document: Mapping[str, Any]) -> None: ...

    def ensure_job(self, name: str, kind: str, parameters: Mapping[str, Any], *, wait_seconds: float = 0) -> Job:
        """Start the job unless it runs or has succeeded; then wait up to `wait_seconds` (at most 2) for its end."""
        ...

    def job(self, name: str, *, wait_seconds: float = 0) -> Job: ...

    def delete_job(self, name: str) -> None: ...

    def certificate(self) -> str:
        """PEM of the certificate the agent serves with."""
        ...

    def request_certificate(self) -> str:
        """PEM of a signing request for a new key that the agent made and keeps aside."""
        ...

    def put_certificate(self, certificate_pem: str) -> None: ...

    def engine_certificate(self) -> EngineCertificate: ...

    def request_engine_certificate(self) -> str:
        """PEM of a signing request for a new key of the engine, kept aside; the same until it is used."""
        ...

    def put_engine_certificate(self, certificate_pem: str, *, authorities_pem: str) -> None:
        """The certificate for that key, and all authorities that the engine is to trust. The job reload-tls uses it."""
        ...

    def bundles(self, tag: str, *, after: str = "", limit: int = 1000) -> BundlePage:
        """A page of what the job index-snapshot found in a snapshot."""
        ...

    def archive(self, *, after: int = 0) -> ArchiveReport:
        """What the node archived of its commit log after an entry, and how far it is. What is before is forgotten."""
        ...

    def run_statement(self, name: str, request: Mapping[str, Any], *, wait_seconds: float = 0) -> StatementState:
        """Run a statement unless one of this name runs or has ended; then wait up to `wait_seconds` (at most 2).

        AgentRefused invalid-parameters, too-many-statements.
        """
        ...

    def statement(self, name: str, *, wait_seconds: float = 0) -> StatementState:
        """AgentRefused statement-not-found: it was never run, was fetched long ago, or its agent has ended."""
        ...

    def forget_statement(self, name: str) -> None:
        """Interrupts it if it runs. What a write has done by then stays done."""
        ...
