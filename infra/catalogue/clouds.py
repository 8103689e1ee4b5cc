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
from dataclasses import dataclass
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

Document = dict[str, Any]


@dataclass(frozen=True)
class AgentSays:
    """What only the agent's rules tell. KeyError where an answer is missing."""

    shards: Mapping[str, int]
    """By topology, such as 1x16x2: how many CPUs are left for shards."""
    io: Mapping[str, Document]
    """By machine type: what `agent io-figures` answers, empty where nobody knows."""


def providers(instances: Document, pinning: Document, regions: Document, agent: AgentSays) -> dict[str, Document]:
    """The contents of the catalogue's file by provider."""
    return {
        provider: {
            "providers": [
                {
                    "id": provider,
                    "name": name,
                    # Every cluster has a network of its own, with a firewall.
                    "firewall": True,
                    "connections": ["peering", "endpoint"],
                    "regions": [_region(provider, region) for region in regions[provider]],
                    "machine_types": [
                        _machine_type(entry, pinning, agent, price_region=instances["regions"][provider])
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


def io_figures(known: Document, disks: int) -> Document:
    """What the RAID0 over all local disks does: requests of 4 KiB and bytes, per second. Empty where nobody knows."""
    if not known:
        return {}
    figures = {f"io_{name}": known[name] for name in ("read_iops", "read_bandwidth", "write_iops", "write_bandwidth")}
    note = ""
    if other := known.get("per_disk_as"):
        note = f"Per disk as {other}: its own figures were measured with requests of 512 bytes."
    elif known["source"] == "gcp_ladder":
        note = f"Of {disks} local SSD{'s' if disks > 1 else ''} of 375 GiB."
    if capped := [name.replace("_iops", "s") for name in known.get("capped", ())]:
        note = f"Measured a little higher; {' and '.join(capped)} are what the vendor publishes."
    return figures | {"io_source": known["source"], "io_note": note}


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


def _machine_type(entry: Document, pinning: Document, agent: AgentSays, *, price_region: str) -> Document:
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
        "shards": agent.shards[topology(entry, pinning)],
        "memory_mib": memory_mib,
        "heap_mib": heap_mib(memory_mib),
        "storage_gib": count * each // 2**30,
        "nvme_count": count,
        "nvme_size_gb": round(each / 10**9),
        **io_figures(agent.io[name], count),
        # What Google publishes is the most that a machine may send, not what it always gets.
        "network_baseline_gbps": entry.get("network_baseline_gbps"),
        "network_peak_gbps": entry.get("network_peak_gbps", entry.get("network_egress_gbps")),
        "price_micros_per_hour": int((Decimal(str(price)) * 1_000_000).to_integral_value()),
        "price_currency": "USD",
        "price_region": price_region,
        "price_date": PRICES_OF[entry["provider"]],
    }


def read_sources() -> tuple[Document, Document, Document]:
    """instances.json, cpu-pinning-cases.json and regions.json."""
    instances, pinning = (
        json.loads((_SOURCES / name).read_text()) for name in ("instances.json", "cpu-pinning-cases.json")
    )
    return instances, pinning, json.loads(_REGIONS.read_text())


def ask_agent(instances: Document, pinning: Document) -> AgentSays:
    """The answers for all machine types. Raises CalledProcessError when the agent cannot be built or refuses."""
    entries = instances["instances"]
    with tempfile.TemporaryDirectory() as folder:
        agent = Path(folder) / "agent"
        subprocess.run(["go", "build", "-o", str(agent), "./cmd/agent"], cwd=_AGENT, check=True)
        return AgentSays(
            shards={shape: _shards(agent, shape) for shape in sorted({topology(each, pinning) for each in entries})},
            io={each["type"]: _io(agent, each) for each in entries},
        )


def _shards(agent: Path, shape: str) -> int:
    command = [str(agent), "pin", "--topology", shape, "--siblings", "split"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return int(json.loads(answer)["n_shards"])


def _io(agent: Path, entry: Document) -> Document:
    command = [str(agent), "io-figures", "--presets", str(_SOURCES / "io-params.json")]
    command += ["--provider", entry["provider"], "--type", entry["type"], "--disks", str(entry["local_nvme_count"])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    answer: Document = json.loads(done.stdout or "{}")
    if answer.get("error", {}).get("code") == "io-unknown":
        return {}
    done.check_returncode()
    return answer


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
        f'      "firewall": {json.dumps(provider["firewall"])},\n'
        f'      "connections": {json.dumps(provider["connections"])},\n'
        f'      "regions": [\n{lines["regions"]}\n      ],\n'
        f'      "machine_types": [\n{lines["machine_types"]}\n      ]\n'
        "    }\n  ]\n}\n"
    )


def main() -> int:
    """Writes both files."""
    instances, pinning, regions = read_sources()
    for provider, document in providers(instances, pinning, regions, ask_agent(instances, pinning)).items():
        (_CATALOGUE / f"{provider}.json").write_text(text_of(document))
    return 0


if __name__ == "__main__":
    sys.exit(main())
