import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from provisioner.engines.base import Capability, DiskFigures, Engine, Entry, InvalidOption, SettingDifference
from provisioner.engines.cassandra import disks
from provisioner.engines.cassandra import options as cassandra_options
from provisioner.engines.cassandra.engine import CassandraEngine
from provisioner.engines.cassandra.options import CassandraOptions, parse_options
from provisioner.engines.conformance import EngineConformance, agreeing_views, three_zone_ring
from provisioner.engines.registry import engine, engine_names
from provisioner.engines.settings import Truth, Whole


class TestConformance(EngineConformance):
    @pytest.fixture
    def engine(self) -> Engine:
        return CassandraEngine()


def test_it_is_known_by_name() -> None:
    assert engine_names() == ["cassandra", "scylla"]
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


def _catalogue() -> dict[str, dict[str, Any]]:
    data = Path(__file__).resolve().parents[3] / "backend" / "catalog" / "data" / "cassandra.json"
    return {setting["name"]: setting for setting in json.loads(data.read_text())["engines"][0]["settings"]}


def test_it_knows_the_settings_of_the_catalogue_with_the_same_limits() -> None:
    catalogue = _catalogue()
    assert sorted(catalogue) == sorted(cassandra_options.names())
    assert catalogue["gc"]["choices"] == list(cassandra_options.COLLECTORS)
    for name, setting in cassandra_options.SETTINGS.items():
        shown = catalogue[name]
        match setting:
            case Truth():
                assert shown["type"] == "boolean", name
            case Whole():
                limits = (shown["type"], shown["minimum"], shown["maximum"])
                assert limits == ("integer", setting.low, setting.high), name


def test_what_the_catalogue_calls_the_engines_own_value_can_be_set() -> None:
    parse_options({name: setting["default"] for name, setting in _catalogue().items() if "default" in setting})


def test_it_names_the_collector_to_the_jvm_and_not_in_the_yaml() -> None:
    ring = replace(three_zone_ring("5.0.5"), options={"gc": "zgc", "cdc_enabled": True})
    document = CassandraEngine().node_config(ring, ring.members[0]).document
    assert document["jvm"] == {"profile": "small", "collector": "zgc"}
    assert document["settings"] == {"cdc_enabled": True}
    own = replace(ring, options={"gc": "default"})
    assert CassandraEngine().node_config(own, own.members[0]).document["jvm"] == {"profile": "small"}


def test_it_finds_what_a_running_engine_has_otherwise() -> None:
    wanted = {"read_timeout_ms": 8000, "max_hint_window_minutes": 180, "cdc_enabled": True, "concurrent_reads": 16}
    in_effect = {
        "read_request_timeout": "8s",
        "max_hint_window": "10800000ms",
        "cdc_enabled": "false",
        "concurrent_writes": "8",
    }
    assert CassandraEngine().settings_disagreement(wanted, in_effect) == [
        SettingDifference(setting="cdc_enabled", wanted="true", found="false")
    ]


AGENT_FILES = Path(__file__).resolve().parents[3] / "images" / "agent" / "ioproperties" / "testdata"


def _agents_figures(machine_type: str) -> DiskFigures:
    """As the agent's tests have them."""
    text = (AGENT_FILES / f"{machine_type}.io_properties.yaml").read_text()
    lines = (line.partition(":") for line in text.splitlines() if "read" in line or "write" in line)
    return DiskFigures(**{name.strip(): int(value) for name, _, value in lines})


@pytest.mark.parametrize(("machine_type", "cpus"), [("i3.8xlarge", 32), ("i4i.xlarge", 4), ("n2-highmem-16", 16)])
def test_it_derives_from_the_disks_what_the_agent_derives(machine_type: str, cpus: int) -> None:
    derived = disks.settings(_agents_figures(machine_type), cpus)
    written = "".join(f"{name}: {value}\n" for name, value in derived.items())
    assert written == (AGENT_FILES / f"{machine_type}.cassandra.yaml").read_text()


def test_what_the_disks_are_good_for_is_in_the_configuration_unless_something_else_is_wished() -> None:
    small = three_zone_ring("5.0.5")
    figures = _agents_figures("i3.8xlarge")
    members = tuple(replace(member, vcpus=32, disks=figures) for member in small.members)
    ring = replace(small, members=members)
    assert CassandraEngine().node_config(ring, members[0]).document["settings"] == {
        "concurrent_reads": 328,
        "concurrent_writes": 256,
        "concurrent_compactors": 8,
        "compaction_throughput": "512MiB/s",
    }
    wished = replace(ring, options={"concurrent_reads": 64, "compaction_throughput_mib": 0})
    settings = CassandraEngine().node_config(wished, members[0]).document["settings"]
    assert (settings["concurrent_reads"], settings["compaction_throughput"]) == (64, "0MiB/s")
    assert settings["concurrent_writes"] == 256


@pytest.mark.parametrize("cpus", [1, 2, 8, 192])
def test_what_it_derives_stays_within_what_can_be_set(cpus: int) -> None:
    for figure in (1, 10**5, 10**7, 10**11):
        slow = DiskFigures(read_iops=figure, read_bandwidth=figure, write_iops=figure, write_bandwidth=figure)
        derived = disks.settings(slow, cpus)
        assert 32 <= int(derived["concurrent_reads"]) <= max(32, 16 * cpus)
        assert 1 <= int(derived["concurrent_compactors"]) <= 8
        assert str(derived["compaction_throughput"]).endswith("MiB/s")
