"""What the catalogue looks like on the wire.

The route that serves it is in clusters/api.py: it needs to know how much is in use.
"""

from datetime import date
from typing import Annotated

from ninja import Schema
from pydantic import Field

from backend.catalog.states import IoSource, NumaSource, SettingType


class CatalogRegion(Schema):
    name: str = Field(description="As the provider calls it, for example eu-west-1; what orders name")
    title: str = Field(description="For people: the place, for example Ireland")
    zones: list[str] = Field(
        description="Names of its zones in which can be ordered, in alphabetical order, for example eu-west-1a"
    )
    nodes_that_fit: dict[str, int | None] = Field(
        description="By machine type: how many more nodes the region holds; null where only the provider knows"
    )


class CatalogMachineIo(Schema):
    """What all local disks of a machine type do together, as one RAID0."""

    read_iops: int = Field(description="4 KiB reads per second")
    write_iops: int = Field(description="4 KiB writes per second")
    read_bandwidth: int = Field(description="Bytes per second")
    write_bandwidth: int = Field(description="Bytes per second")
    source: IoSource = Field(
        description="preset: measured once for the machine type; gcp_ladder: by the number of local SSDs"
    )
    note: str = Field(description="How it differs from the source; may be empty")


class CatalogMachinePrice(Schema):
    """What the provider asks for a machine on demand, local disks included; traffic and boot disk are not."""

    micros_per_hour: int = Field(description="Millionths of the currency, per hour")
    currency: str = Field(description="USD")
    region: str = Field(description="Region of the provider whose price it is; others may cost more")
    date: Annotated[date, Field(description="Day of the price list that it is from")]


class CatalogMachineType(Schema):
    name: str = Field(description="As the provider calls it, for example i4i.2xlarge; what orders name")
    description: str = Field(description="For people: a few words on what it is for; may be empty")
    family: str = Field(description="For example i4i; may be empty")
    architecture: str = Field(description="x86_64 or arm64; empty: that of the machine at hand")
    vcpus: int | None = Field(description="null: shares the machine at hand")
    cores: int | None = Field(description="Physical cores; null: shares the machine at hand")
    threads_per_core: int | None = Field(
        description="Hardware threads of each physical core; null: shares the machine at hand"
    )
    numa_nodes: int | None = Field(description="NUMA nodes that cores and memory are divided among; null: not known")
    numa_source: NumaSource | None = Field(
        description="observed: published by somebody who looked; expected: a machine tells at its first boot"
    )
    shards: int | None = Field(description="CPUs left for the engine when interrupts have theirs; null: not pinned")
    memory_mib: int = Field(description="MiB a node of this type uses")
    heap_mib: int = Field(description="MiB of JVM heap")
    storage_gib: int | None = Field(description="GiB of local disk; null: shares a file system")
    nvme_count: int | None = Field(description="Local NVMe disks; null: shares a file system")
    nvme_size_gb: int | None = Field(description="GB (10^9 bytes) of each local NVMe disk")
    io: CatalogMachineIo | None = Field(
        description="null: not known; where there are NVMe disks they are measured at the first boot"
    )
    network_baseline_gbps: float | None = Field(description="Gbit/s that a node can always use; null: not known")
    network_peak_gbps: float | None = Field(description="Gbit/s that a node can use at most; null: not known")
    price: CatalogMachinePrice | None = Field(description="null: costs nothing, or not known")


class CatalogProvider(Schema):
    id: str = Field(description="What orders name: aws, gcp or local")
    name: str = Field(description="For people, for example Amazon Web Services")
    regions: list[CatalogRegion] = Field(description="Those in which can be ordered, by name")
    machine_types: list[CatalogMachineType] = Field(
        description="Those that can be ordered in its regions, in the order in which to show them"
    )


class CatalogEngineVersion(Schema):
    version: str = Field(description="For example 5.0.5; what orders and upgrades name")
    is_default: bool = Field(description="Taken when an order names no version; one of each engine is")
    upgrades_from: list[str] = Field(description="Versions whose clusters may change to this one")


class CatalogEngineSetting(Schema):
    """Something that the owner of a cluster may set of its engine."""

    name: str = Field(description="By which settings of a cluster name it, for example read_timeout_ms")
    title: str = Field(description="For people, for example Read timeout")
    description: str = Field(description="What it does, in a sentence or two")
    type: SettingType = Field(
        description="What values it takes: integer and number within minimum and maximum, boolean, or choice: one of "
        "choices"
    )
    unit: str = Field(description="Of numbers, for example ms or MiB/s; may be empty")
    minimum: float | None = Field(
        description="Of numbers: the least, itself allowed, in the setting's unit; null: there is none"
    )
    maximum: float | None = Field(
        description="Of numbers: the most, itself allowed, in the setting's unit; null: there is none"
    )
    choices: list[str] = Field(description="Of the type choice: what it can be")
    not_above: str | None = Field(description="Name of the setting that it may not exceed")
    default: int | float | bool | str | None = Field(
        description="The engine's own value; null: it depends on the machine type"
    )
    live: bool = Field(description="A running engine takes it over; false: every node is restarted for it")


class CatalogEngine(Schema):
    name: str = Field(description="What orders name: cassandra or scylla")
    title: str = Field(description="For people, for example Apache Cassandra")
    versions: list[CatalogEngineVersion] = Field(
        description="Those that can be ordered, in the order in which to show them"
    )
    settings: list[CatalogEngineSetting] = Field(
        description="What clusters of this engine may set, in the order in which to show it; empty: nothing"
    )
    not_on: dict[str, str] = Field(description="By provider where it cannot be ordered: the reason, as a sentence")


class Catalog(Schema):
    providers: list[CatalogProvider] = Field(description="Those that this installation offers, by id")
    engines: list[CatalogEngine] = Field(description="Those that can be ordered, by name")
