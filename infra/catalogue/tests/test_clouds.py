import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from infra.catalogue import clouds

DATA = Path(clouds.__file__).resolve().parents[2] / "backend" / "catalog" / "data"
INSTANCES, PINNING, REGIONS = clouds.read_sources()
IO = json.loads((Path(clouds.__file__).resolve().parents[2] / "images/machine/data/io-params.json").read_text())
COMMITTED = {name: (DATA / f"{name}.json").read_text() for name in clouds.NAMES}
TYPES: dict[str, dict[str, Any]] = {
    machine_type["name"]: machine_type
    for text in COMMITTED.values()
    for machine_type in json.loads(text)["providers"][0]["machine_types"]
}

FIGURES = ("read_iops", "read_bandwidth", "write_iops", "write_bandwidth")


def shape(machine_type: dict[str, Any]) -> str:
    nodes = machine_type["numa_nodes"]
    return f"{nodes}x{machine_type['cores'] // nodes}x{machine_type['threads_per_core']}"


def told_of_disks(machine_type: dict[str, Any]) -> dict[str, Any]:
    """What the agent answered when the file was made."""
    if "io_source" not in machine_type:
        return {}
    figures = {name: machine_type[f"io_{name}"] for name in FIGURES}
    note = machine_type["io_note"]
    capped = [f"{word}_iops" for word in ("read", "write") if "publishes" in note and f"{word}s" in note]
    other = re.match(r"Per disk as ([a-z0-9.]+):", note)
    return figures | {"source": machine_type["io_source"], "capped": capped, "per_disk_as": other and other[1]}


@pytest.mark.parametrize("provider", clouds.NAMES)
def test_the_committed_file_is_what_the_sources_say(provider: str) -> None:
    # Asking the agent takes a build: `make lint` does that. Here the committed answers stand in.
    shards = {shape(machine_type): machine_type["shards"] for machine_type in TYPES.values()}
    io = {name: told_of_disks(machine_type) for name, machine_type in TYPES.items()}
    made = clouds.providers(INSTANCES, PINNING, REGIONS, clouds.AgentSays(shards, io))
    assert clouds.text_of(made[provider]) == COMMITTED[provider]


def test_every_type_with_local_disks_is_there_once() -> None:
    assert len(TYPES) == len(INSTANCES["instances"]) == 108


def test_shards_are_those_of_the_pinning_rules_vectors() -> None:
    expected = {case["topo"]: case["n_shards"] for case in PINNING["cases"] if "adj" not in case["topo"]}
    found = {shape(machine_type): machine_type["shards"] for machine_type in TYPES.values()}
    assert len(found.keys() & expected.keys()) > 10
    assert {topology: found[topology] for topology in found.keys() & expected.keys()} == {
        topology: expected[topology] for topology in found.keys() & expected.keys()
    }


@pytest.mark.parametrize(("name", "published"), IO["vendor_published_ceiling"]["values"].items())
def test_no_figure_is_above_what_the_vendor_publishes(name: str, published: list[int | None]) -> None:
    for figure, most in zip(("io_read_iops", "io_write_iops"), published, strict=True):
        assert most is None or TYPES[name][figure] <= most


def test_figures_of_the_whole_array_are_not_multiplied() -> None:
    (preset,) = [each for each in IO["presets"] if each["type"] == "i7ie.24xlarge"]
    assert TYPES["i7ie.24xlarge"]["io_read_iops"] == preset["total"]["read_iops"]
    (rung,) = [each for each in IO["gcp_local_ssd_ladder"] if each["disks"] == 24]
    assert TYPES["n2-highmem-32"]["io_write_bandwidth"] == rung["total"]["write_bandwidth"]


@pytest.mark.parametrize("family", sorted({machine_type["family"] for machine_type in TYPES.values()}))
def test_more_disks_of_a_family_never_do_less(family: str) -> None:
    known = [each for each in TYPES.values() if each["family"] == family and "io_source" in each]
    by_size = sorted(known, key=lambda each: (each["nvme_count"] * each["nvme_size_gb"], each["vcpus"]))
    for figure in ("io_read_bandwidth", "io_write_bandwidth"):
        figures = [each[figure] for each in by_size]
        # Rounding of measurements: a little less is the same.
        assert all(later >= 0.95 * earlier for earlier, later in pairwise(figures)), family


def test_what_nobody_measured_has_no_figures() -> None:
    assert "io_source" not in TYPES["i8g.48xlarge"]
    assert TYPES["i8g.48xlarge"]["nvme_count"] == 12


def test_only_published_observations_of_numa_nodes_are_called_so() -> None:
    observed = {name: each["numa_nodes"] for name, each in TYPES.items() if each["numa_source"] == "observed"}
    assert observed == {"i4i.24xlarge": 2, "i7i.24xlarge": 1}
    assert all(name in PINNING["numa_note"] for name in clouds.OBSERVED_NUMA_NODES)


@pytest.mark.parametrize(("memory", "heap"), [(2048, 1024), (15616, 3904), (124928, 31232), (786432, 31744)])
def test_the_heap_is_a_quarter_within_limits(memory: int, heap: int) -> None:
    assert clouds.heap_mib(memory) == heap


def test_a_price_is_whole_micros_with_the_day_of_its_list() -> None:
    assert TYPES["i8g.metal-24xl"]["price_micros_per_hour"] == 9_060_480
    # With the eight local SSDs that it gets.
    assert TYPES["n2-highmem-16"]["price_micros_per_hour"] == 1_376_879
    for provider, day in clouds.PRICES_OF.items():
        assert day in INSTANCES["sources"][f"{provider}_prices"]


def test_google_counts_disks_in_gib() -> None:
    assert (TYPES["n2-highmem-4"]["storage_gib"], TYPES["n2-highmem-4"]["nvme_size_gb"]) == (750, 403)
    assert (TYPES["i3.2xlarge"]["storage_gib"], TYPES["i3.2xlarge"]["nvme_size_gb"]) == (1769, 1900)


@pytest.mark.parametrize("provider", clouds.NAMES)
def test_every_region_has_three_zones_named_as_the_cloud_does(provider: str) -> None:
    regions = json.loads(COMMITTED[provider])["providers"][0]["regions"]
    assert all(len(set(region["zones"])) == 3 for region in regions)
    zones = {region["name"]: region["zones"] for region in regions}
    assert zones.get("us-east-1", ["us-east-1a"])[0] == "us-east-1a"
    assert zones.get("europe-west1", ["europe-west1-b"])[0] == "europe-west1-b"
