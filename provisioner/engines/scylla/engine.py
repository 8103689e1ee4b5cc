"""ScyllaDB, behind the interface that every engine has."""

from collections.abc import Mapping
from typing import Any

from provisioner.engines import agreement, placement
from provisioner.engines.base import (
    Capability,
    Entry,
    NodeConfig,
    NodeView,
    Replaced,
    Ring,
    RingMember,
    SettingDifference,
)
from provisioner.engines.scylla import configuration
from provisioner.engines.scylla.options import differences as setting_differences
from provisioner.engines.scylla.options import parse_options

CQL_PORT = 9042


class ScyllaEngine:
    name = "scylla"
    title = "ScyllaDB"
    # The engine itself puts in order what is asked of its ring at once (topology over Raft), and moves tablets to nodes
    # after they have joined.
    capabilities = frozenset({Capability.PARALLEL_FIRST_START, Capability.PARALLEL_JOIN, Capability.TABLETS})

    def client_ports(self, options: Mapping[str, Any]) -> tuple[int, ...]:
        alternator = parse_options(options).alternator
        return (CQL_PORT,) if alternator is None else (CQL_PORT, alternator.port)

    def node_config(
        self, ring: Ring, member: RingMember, entry: Entry = Entry.FIRST, *, replaces: Replaced | None = None
    ) -> NodeConfig:
        document = configuration.document(ring, member, entry, replaces=replaces)
        return NodeConfig(engine=self.name, version=ring.version, document=document, revision=str(document["revision"]))

    def ring_disagreement(self, ring: Ring, views: list[NodeView]) -> str:
        return agreement.ring_disagreement(ring, views)

    def holdings(self, ring: Ring, replication: Mapping[str, int]) -> dict[str, float]:
        """Of keyspaces without tablets, which are placed by tokens."""
        return placement.holdings(ring, replication)

    def settings_disagreement(
        self, options: Mapping[str, Any], in_effect: Mapping[str, str]
    ) -> list[SettingDifference]:
        return setting_differences(options, in_effect)
