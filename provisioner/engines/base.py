"""What the control plane must know about a database engine. Nothing outside an engine's package asks which one it is.

An engine takes and returns frozen dataclasses; it imports neither Django nor Celery nor providers nor the agent client.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol


class InvalidOption(ValueError):
    """An option of the order that the engine does not know, or whose value it cannot take. `option` is its name."""

    def __init__(self, option: str, message: str) -> None:
        super().__init__(f"{option}: {message}")
        self.option = option


class Capability(StrEnum):
    """Differences that the rest of the product must know, declared instead of asked by name."""

    PARALLEL_FIRST_START = "parallel-first-start"
    PARALLEL_JOIN = "parallel-join"


@dataclass(frozen=True, kw_only=True)
class RingMember:
    """A node as the engine sees it. `rack` is the zone."""

    node_id: str
    name: str
    address: str
    datacenter: str
    rack: str
    tokens: tuple[int, ...]
    is_seed: bool


@dataclass(frozen=True, kw_only=True)
class Ring:
    """Everything that goes into the configuration of the nodes of one cluster."""

    cluster_id: str
    cluster_name: str
    datacenter: str
    members: tuple[RingMember, ...]
    heap_mib: int
    version: str
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class NodeConfig:
    """What `PUT /v1/config` takes (docs/agent-api.md): file contents by name, JVM options, and what the agent needs."""

    engine: str
    version: str
    document: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class NodeView:
    """What one node says of the ring, as the agent reports it."""

    node_id: str
    host_id: str
    schema_version: str
    tokens: frozenset[int]
    peers: tuple["PeerView", ...]


@dataclass(frozen=True, kw_only=True)
class PeerView:
    address: str
    host_id: str
    schema_version: str
    rack: str
    up: bool


class Engine(Protocol):
    name: str
    title: str
    cql_port: int
    capabilities: frozenset[Capability]

    def node_config(self, ring: Ring, member: RingMember) -> NodeConfig:
        """The whole configuration of one node for the first start of an empty ring. InvalidOption, ValueError."""
        ...

    def ring_disagreement(self, ring: Ring, views: list[NodeView]) -> str:
        """Empty when every node sees every member up, with its tokens and one schema; else the first difference."""
        ...
