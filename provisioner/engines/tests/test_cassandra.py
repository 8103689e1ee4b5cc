from dataclasses import replace
from typing import Any

import pytest

from provisioner.engines.base import Capability, Engine, Entry, InvalidOption
from provisioner.engines.cassandra.engine import CassandraEngine
from provisioner.engines.cassandra.options import CassandraOptions, parse_options
from provisioner.engines.conformance import EngineConformance, agreeing_views, three_zone_ring
from provisioner.engines.registry import engine, engine_names


class TestConformance(EngineConformance):
    @pytest.fixture
    def engine(self) -> Engine:
        return CassandraEngine()


def test_it_is_known_by_name() -> None:
    assert engine_names() == ["cassandra"]
    assert engine("cassandra").title == "Apache Cassandra"
    with pytest.raises(LookupError, match="there is no engine 'mongo'"):
        engine("mongo")


def test_it_starts_the_nodes_of_an_empty_ring_side_by_side() -> None:
    capabilities = CassandraEngine().capabilities
    assert Capability.PARALLEL_FIRST_START in capabilities
    assert Capability.PARALLEL_JOIN not in capabilities


def test_it_writes_the_document_the_agent_takes() -> None:
    ring = three_zone_ring("5.0.5")
    assert CassandraEngine().node_config(ring, ring.members[1]).document == {
        "engine": "cassandra",
        "version": "5.0.5",
        "cluster_name": "demo clu_1",
        "datacenter": "test-region-1",
        "rack": "zone-1b",
        "address": "10.2.0.1",
        "seeds": ["10.1.0.1", "10.2.0.1", "10.3.0.1"],
        "initial_tokens": [-8999999999999999000 + step for step in range(4)],
        "heap_mib": 512,
        "system_auth_replication": 3,
        "first_boot": {
            "auto_bootstrap": False,
            "ring_delay_ms": 500,
            "gossip_settle_polls": 0,
            "superuser_setup_delay_ms": 0,
        },
        "jvm": {"profile": "small"},
        "settings": {},
        "revision": CassandraEngine().node_config(ring, ring.members[1], Entry.MEMBER).revision,
    }


def test_it_names_seeds_only_as_seeds_and_replicates_roles_to_every_node() -> None:
    ring = three_zone_ring("5.0.5", nodes_per_zone=3)
    document = CassandraEngine().node_config(ring, ring.members[8]).document
    assert document["seeds"] == ["10.1.0.1", "10.2.0.1", "10.3.0.1"]
    assert document["system_auth_replication"] == 9


def test_it_gives_large_heaps_the_standard_machine() -> None:
    small = three_zone_ring("5.0.5")
    ring = replace(small, members=tuple(replace(member, heap_mib=8192) for member in small.members))
    assert CassandraEngine().node_config(ring, ring.members[0]).document["jvm"] == {"profile": "standard"}


def test_it_needs_a_seed_and_tokens() -> None:
    ring = three_zone_ring("5.0.5")
    seedless = replace(ring, members=tuple(replace(member, is_seed=False) for member in ring.members))
    with pytest.raises(ValueError, match="no seed"):
        CassandraEngine().node_config(seedless, seedless.members[0])
    tokenless = replace(ring, members=(replace(ring.members[0], tokens=()), *ring.members[1:]))
    with pytest.raises(ValueError, match="no tokens"):
        CassandraEngine().node_config(tokenless, tokenless.members[1])


def test_it_turns_options_into_settings() -> None:
    options = parse_options({"compaction_throughput_mib": 0, "read_timeout_ms": 8000, "write_timeout_ms": 3000})
    assert options.settings() == {
        "compaction_throughput": "0MiB/s",
        "read_request_timeout": "8000ms",
        "write_request_timeout": "3000ms",
    }
    assert parse_options({}) == CassandraOptions()


@pytest.mark.parametrize(
    "options",
    [
        {"compaction_throughput_mib": -1},
        {"compaction_throughput_mib": 2**63},
        {"read_timeout_ms": "8000"},
        {"read_timeout_ms": True},
        {"write_timeout_ms": 1.5},
        {"write_timeout_ms": None},
        {"authenticator": "AllowAllAuthenticator"},
    ],
)
def test_it_refuses_options_out_of_their_limits(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption):
        parse_options(options)


def test_it_says_who_sees_whom_how() -> None:
    ring = three_zone_ring("5.0.5")
    views = agreeing_views(ring)
    down = replace(views[0].peers[0], up=False)
    views[0] = replace(views[0], peers=(down, *views[0].peers[1:]))
    found = CassandraEngine().ring_disagreement(ring, views)
    assert found == "demo-zone-1a-1 sees demo-zone-1b-1 down"
