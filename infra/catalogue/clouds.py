"""The catalogue's files about AWS and GCP, made from what is known of their machine types (images/machine/data).

What each figure means and where it comes from: docs/machine-types.md.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[2]
_AGENT = _ROOT / "images" / "agent"
_SOURCES = _ROOT / "images" / "machine" / "data"
_REGIONS = Path(__file__).resolve().parent / "regions.json"
_CATALOGUE = _ROOT / "backend" / "catalog" / "data"

NAMES = {"aws": "Amazon Web Services", "gcp": "Google Cloud"}

PRICES_OF = {"aws": "2026-07-06", "gcp": "2026-08-20"}
"""The day of each price list, as instances.json says it in `sources`."""

OBSERVED_NUMA_NODES = {"i4i.24xlarge", "i7i.24xlarge"}
"""Types whose number of NUMA nodes somebody saw and published; `numa_note` in cpu-pinning-cases.json names them."""

_NUMA_NODES_SEEN = {"i7i.24xlarge": 1}
"""Observed, but without a test vector of its own."""

_REPLACED = {"i4i.12xlarge": "i4i.16xlarge", "i4i.24xlarge": "i4i.16xlarge"}
"""Presets measured with requests of 512 bytes (their warnings say so), and the type whose figures per disk stand in.
The agent does the same: images/agent/ioproperties/presets.go."""

_SAME_DISKS = {"i3.metal": "i3.16xlarge"}
"""Without a published ceiling, and the type that has the same disks and one. The agent does the same."""

Document = dict[str, Any]


def providers(
    instances: Document, io: Document, pinning: Document, regions: Document, shards: Mapping[str, int]
) -> dict[str, Document]:
    """The contents of the catalogue's file by provider.

    `shards`: by topology, such as 1x16x2, how many CPUs are left for shards; KeyError where one is missing.
    """
    return {
        provider: {
            "providers": [
                {
                    "id": provider,
                    "name": name,
                    "regions": [_region(provider, region) for region in regions[provider]],
                    "machine_types": [
                        _machine_type(entry, io, pinning, shards, price_region=instances["regions"][provider])
                        for entry in _in_order(instances, provider)
                    ],
                }
            ]
        }
        for provider, name in NAMES.items()
    }


def topology(entry: Document, pinning: Document) -> str:
    """NUMA nodes x cores per node x threads per core, as `agent pin --topology` takes it."""
    nodes = numa_nodes(entry["type"], pinning)
    return f"{nodes}x{entry['cores'] // nodes}x{entry['threads_per_core']}"


def numa_nodes(name: str, pinning: Document) -> int:
    """What the test vectors of the pinning rule expect of the type; 1 where they do not know it."""
    if name in _NUMA_NODES_SEEN:
        return _NUMA_NODES_SEEN[name]
    # Vectors name a z3 by its size alone: how many disks it has does not change its CPUs.
    size = re.sub(r"-(standard|high)lssd$", "", name)
    return next((int(case["topo"].partition("x")[0]) for case in pinning["cases"] if case["type"] == size), 1)


def heap_mib(memory_mib: int) -> int:
    """MiB of JVM heap: a quarter of the memory, from 1 GiB to 31 GiB. Above that pointers are not compressed."""
    return min(max(memory_mib // 4, 1024), 31 * 1024)


def io_figures(entry: Document, io: Document) -> Document:
    """What the RAID0 over all local disks does: requests of 4 KiB and bytes, per second. Empty where nobody knows.

    Never above what the vendor publishes.
    """
    name, disks = entry["type"], entry["local_nvme_count"]
    presets = {preset["type"]: preset for preset in io["presets"] if preset["provider"] == entry["provider"]}
    note = ""
    if name in presets and presets[name]["disks"] == disks:
        source, total = "preset", dict(presets[name]["total"])
        if (other := _REPLACED.get(name)) is not None:
            total = {figure: value * disks for figure, value in presets[other]["per_disk"].items()}
            note = f"Per disk as {other}: its own figures were measured with requests of 512 bytes."
    elif (rung := _on_ladder(entry, io)) is not None:
        source, total = "gcp_ladder", dict(rung["total"])
        note = f"Of {disks} local SSD{'s' if disks > 1 else ''} of 375 GiB."
    else:
        return {}
    published = io["vendor_published_ceiling"]["values"].get(_SAME_DISKS.get(name, name), (None, None))
    capped = []
    for figure, most in zip(("read_iops", "write_iops"), published, strict=True):
        if most is not None and total[figure] > most:
            total[figure] = most
            capped.append(figure.replace("_iops", "s"))
    if capped:
        note = f"Measured a little higher; {' and '.join(capped)} are what the vendor publishes."
    return {f"io_{figure}": value for figure, value in total.items()} | {"io_source": source, "io_note": note}


def _on_ladder(entry: Document, io: Document) -> Document | None:
    if not entry["type"].startswith("n2-"):
        return None
    return next((rung for rung in io["gcp_local_ssd_ladder"] if rung["disks"] == entry["local_nvme_count"]), None)


def _in_order(instances: Document, provider: str) -> list[Document]:
    found = [entry for entry in instances["instances"] if entry["provider"] == provider and entry["local_nvme_count"]]
    return sorted(found, key=lambda entry: (entry["family"], entry["vcpus"], entry["memory_gib"], entry["type"]))


def _region(provider: str, region: Document) -> Document:
    joint = "" if provider == "aws" else "-"
    return {
        "name": region["name"],
        "title": region["title"],
        "zones": [f"{region['name']}{joint}{zone}" for zone in region["zones"]],
    }


def _machine_type(
    entry: Document, io: Document, pinning: Document, shards: Mapping[str, int], *, price_region: str
) -> Document:
    name, count, memory_mib = entry["type"], entry["local_nvme_count"], int(entry["memory_gib"] * 1024)
    # AWS counts its disks in GB, Google in GiB.
    each = (
        entry["local_nvme_size_gb"] * 10**9 if "local_nvme_size_gb" in entry else entry["local_nvme_size_gib"] * 2**30
    )
    # Google's machines are sold without the local SSDs that are chosen for them.
    price = entry.get("on_demand_usd_hour_with_recommended_local_ssd", entry["on_demand_usd_hour"])
    return {
        "name": name,
        "family": entry["family"],
        "architecture": entry["arch"],
        "vcpus": entry["vcpus"],
        "cores": entry["cores"],
        "threads_per_core": entry["threads_per_core"],
        "numa_nodes": numa_nodes(name, pinning),
        "numa_source": "observed" if name in OBSERVED_NUMA_NODES else "expected",
        "shards": shards[topology(entry, pinning)],
        "memory_mib": memory_mib,
        "heap_mib": heap_mib(memory_mib),
        "storage_gib": count * each // 2**30,
        "nvme_count": count,
        "nvme_size_gb": round(each / 10**9),
        **io_figures(entry, io),
        # What Google publishes is the most that a machine may send, not what it always gets.
        "network_baseline_gbps": entry.get("network_baseline_gbps"),
        "network_peak_gbps": entry.get("network_peak_gbps", entry.get("network_egress_gbps")),
        "price_micros_per_hour": int((Decimal(str(price)) * 1_000_000).to_integral_value()),
        "price_currency": "USD",
        "price_region": price_region,
        "price_date": PRICES_OF[entry["provider"]],
    }


def read_sources() -> tuple[Document, Document, Document, Document]:
    """instances.json, io-params.json, cpu-pinning-cases.json and regions.json."""
    names = ("instances.json", "io-params.json", "cpu-pinning-cases.json")
    instances, io, pinning = (json.loads((_SOURCES / name).read_text()) for name in names)
    return instances, io, pinning, json.loads(_REGIONS.read_text())


def shards_by_topology(topologies: set[str]) -> dict[str, int]:
    """What the agent's own rule leaves for shards. Raises CalledProcessError when it cannot be built or refuses."""
    with tempfile.TemporaryDirectory() as folder:
        agent = Path(folder) / "agent"
        subprocess.run(["go", "build", "-o", str(agent), "./cmd/agent"], cwd=_AGENT, check=True)
        return {each: _shards(agent, each) for each in sorted(topologies)}


def _shards(agent: Path, shape: str) -> int:
    command = [str(agent), "pin", "--topology", shape, "--siblings", "split"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return int(json.loads(answer)["n_shards"])


def text_of(document: Document) -> str:
    """A region and a machine type per line, so that a change of one is a change of one line."""
    (provider,) = document["providers"]
    lines = {
        key: ",\n".join(f"        {json.dumps(each, ensure_ascii=False)}" for each in provider[key])
        for key in ("regions", "machine_types")
    }
    return (
        '{\n  "providers": [\n    {\n'
        f'      "id": {json.dumps(provider["id"])},\n'
        f'      "name": {json.dumps(provider["name"])},\n'
        f'      "regions": [\n{lines["regions"]}\n      ],\n'
        f'      "machine_types": [\n{lines["machine_types"]}\n      ]\n'
        "    }\n  ]\n}\n"
    )


def main() -> int:
    """Writes both files."""
    instances, io, pinning, regions = read_sources()
    shards = shards_by_topology({topology(entry, pinning) for entry in instances["instances"]})
    for provider, document in providers(instances, io, pinning, regions, shards).items():
        (_CATALOGUE / f"{provider}.json").write_text(text_of(document))
    return 0


if __name__ == "__main__":
    sys.exit(main())
