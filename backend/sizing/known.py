"""The planner's data: published figures from data/figures.json, machines of all clouds from the catalogue's files."""

import json
from functools import cache
from pathlib import Path

from backend.catalog.actions import ListedCloud, MachineTypeData, listed_clouds
from backend.sizing.figures import EngineRules, Figures, Scan, SenderLimit, Streaming, Throughput
from backend.sizing.shapes import Machine

DATA = Path(__file__).resolve().parent / "data" / "figures.json"


@cache
def figures() -> Figures:
    found = json.loads(DATA.read_text())
    return Figures(
        throughput=tuple(Throughput(**each) for each in found["throughput"]),
        streaming=tuple(Streaming(**each) for each in found["streaming"]),
        sender_limits=tuple(SenderLimit(**each) for each in found["sender_limits"]),
        scans=tuple(Scan(**each) for each in found["scans"]),
        engines={name: EngineRules(**each) for name, each in found["engines"].items()},
    )


def clouds() -> tuple[ListedCloud, ...]:
    """Those whose machine types have figures to plan with."""
    return tuple(cloud for cloud in _listed() if any(_machine(each) for each in cloud.machine_types))


@cache
def _listed() -> tuple[ListedCloud, ...]:
    return tuple(listed_clouds())


def machines(provider: str) -> list[Machine]:
    """Of a cloud; empty: nothing is known of it. What lacks a figure that limits a node is left out."""
    types = next((cloud.machine_types for cloud in _listed() if cloud.provider == provider), ())
    return [machine for each in types if (machine := _machine(each)) is not None]


def _machine(known: MachineTypeData) -> Machine | None:
    network = known.network_baseline_gbps or known.network_peak_gbps
    if known.vcpus is None or known.cores is None or known.storage_gib is None or network is None:
        return None
    return Machine(
        name=known.name,
        family=known.family,
        vcpus=known.vcpus,
        cores=known.cores,
        memory_bytes=known.memory_mib * 2**20,
        disk_bytes=known.storage_gib * 2**30,
        # Given in thousandths of a Gbit/s at most.
        network_bits_per_second=round(network * 1000) * 1_000_000,
        network_always=known.network_baseline_gbps is not None,
        disk_write_bytes_per_second=known.io_write_bandwidth,
    )
