"""Apache Cassandra 5.0, behind the interface that every engine has."""

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
from provisioner.engines.cassandra import configuration
from provisioner.engines.cassandra.options import differences as setting_differences

CQL_PORT = 9042


class CassandraEngine:
    name = "cassandra"
    title = "Apache Cassandra"
    # Pre-tokened nodes of an empty ring may start side by side. Joins to a ring with data go one after another.
    capabilities = frozenset(
        {
            Capability.PARALLEL_FIRST_START,
            Capability.ADDRESS_ALLOWLIST,
            Capability.INCREMENTAL_RANGES,
            Capability.PULL_REPAIR,
            Capability.REPLACEMENT_READS_ONE_REPLICA,
        }
    )

    def client_ports(self, options: Mapping[str, Any]) -> tuple[int, ...]:
        return (CQL_PORT,)

    def node_config(
        self, ring: Ring, member: RingMember, entry: Entry = Entry.FIRST, *, replaces: Replaced | None = None
    ) -> NodeConfig:
        document = configuration.document(ring, member, entry, replaces=replaces)
        return NodeConfig(engine=self.name, version=ring.version, document=document, revision=str(document["revision"]))

    def ring_disagreement(self, ring: Ring, views: list[NodeView]) -> str:
        return agreement.ring_disagreement(ring, views)

    def holdings(self, ring: Ring, replication: Mapping[str, int]) -> dict[str, float]:
        return placement.holdings(ring, replication)

    def settings_disagreement(
        self, options: Mapping[str, Any], in_effect: Mapping[str, str]
    ) -> list[SettingDifference]:
        return setting_differences(options, in_effect)
