"""What is known when a change is planned, and the words of its outcome. Pure: backend/changes/queries.py reads it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from backend.catalog.queries import MachineTypeFacts, RegionFacts, SettingProblem
from backend.changes.plans import Planned
from backend.changes.schemas import Mode
from backend.cloud_accounts.room import Room
from backend.clusters import quorum
from backend.clusters.ceilings import Exceeded, Machines
from backend.clusters.models import Cluster, Datacenter, Node


@dataclass(frozen=True, kw_only=True)
class TableBytes:
    """How large a table is, in bytes by id of the node."""

    on_disk: Mapping[str, int]
    in_memory: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """One cluster, what surrounds it, and what the catalogue offers it."""

    cluster: Cluster
    datacenters: tuple[Datacenter, ...]
    """Living ones, in their order."""
    nodes: tuple[Node, ...]
    """Living ones, by position, each with its data centre."""
    gone: Mapping[str, str] = field(default_factory=dict)
    """Names of its deleted nodes by id."""
    next_position: int
    next_datacenter_position: int
    numbers: Mapping[str, int]
    """By zone: the highest number that a node's name has ended with."""
    regions: Mapping[str, RegionFacts]
    """By name: those of the cluster's provider in which can be ordered."""
    used_mib: Mapping[str, int]
    """By region name: MiB that living nodes use, of whichever cluster."""
    rooms: Mapping[str, Room] = field(default_factory=dict)
    """By region name: what the cloud told of quotas and offers; a region that is not there has no such limits."""
    machine_types: Mapping[str, MachineTypeFacts]
    """By name: those of the provider that can be ordered."""
    memory_mib: Mapping[str, int]
    """By name: MiB of a node of each of the provider's types, also of those that cannot be ordered any more."""
    versions: Sequence[str]
    """Of the engine, that can be ordered."""
    upgrade_targets: Sequence[str]
    """The versions that the cluster may change to from its own."""
    connections: bool = False
    """Networks of the provider can have connections with others."""
    firewall: bool = False
    """Networks of the provider have a firewall, which lets in whom the allowlist names."""
    takes_commands: bool = True
    """Tables of the engine can be flushed, compacted and the like."""
    table_bytes: Callable[[str, str], TableBytes | None] = lambda keyspace, table: None
    """Of a keyspace's table; None: there are no numbers."""
    against_ceilings: Callable[[Machines, Machines], Sequence[Exceeded]] = lambda before, after: ()
    """What ceilings say when the cluster's machines would be others."""
    check_settings: Callable[[Mapping[str, Any]], Sequence[SettingProblem]]
    needing_restart: Callable[[Mapping[str, Any], Mapping[str, Any]], Sequence[str]]
    """Of the settings that differ between two mappings, those that every node is restarted for."""

    def nodes_of(self, datacenter: Datacenter) -> list[Node]:
        return [node for node in self.nodes if node.datacenter_id == datacenter.id]

    def rack(self, datacenter: Datacenter, zone: str) -> list[Node]:
        return [node for node in self.nodes_of(datacenter) if node.zone == zone]

    def tokens(self) -> list[int]:
        """All of the cluster: a token belongs to one node of it."""
        return [token for node in self.nodes for token in node.tokens]


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A change that can be made: the operation, the rows it begins with, and what to tell people about it."""

    planned: Planned
    title: str
    mode: Mode
    touched: tuple[str, ...]
    """Names of the nodes that are added, removed, restarted or changed."""
    impact: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    over_ceilings: tuple[str, ...] = ()
    """Ceilings that do not hold any more, which is not this change's doing: a sentence each, also in `warnings`."""
    new_datacenter: Datacenter | None = None
    new_nodes: tuple[Node, ...] = ()
    before: Mapping[str, Any] = field(default_factory=dict)
    """What the audit log says was there before."""
    after: Facts
    """What a next change would begin with."""


class Refused(Exception):
    """The change cannot be made: `code` for programs, a sentence with the arithmetic, and what to do about it."""

    def __init__(
        self,
        code: str,
        sentence: str,
        *,
        hint: str = "",
        field: str | None = None,
        wrong_word: bool = False,
        fields: list[tuple[str, str]] | None = None,
    ) -> None:
        """`wrong_word`: the request names what does not exist, whatever state the cluster is in."""
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence
        self.hint = hint
        self.field = field
        self.fields = fields
        self.wrong_word = wrong_word


class NothingToDo(Refused):
    """All is as wanted already."""

    def __init__(self, sentence: str) -> None:
        super().__init__("nothing_to_change", sentence, hint="Nothing is left to do.")


def place_of(node: Node) -> quorum.Place:
    return quorum.Place(node.id, node.datacenter_id, node.zone)


def count(number: int, noun: str) -> str:
    """1 node, 3 nodes, 1,200 MiB."""
    return f"{number:,} {noun}" if number == 1 or noun == "MiB" else f"{number:,} {noun}s"


def listed(words: Sequence[str]) -> str:
    """a; a and b; a, b and c."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
