"""What the catalogue looks like on the wire.

The route that serves it is in clusters/api.py: it needs to know how much is in use.
"""

from datetime import date

from ninja import Schema
from pydantic import Field

from backend.catalog.states import IoSource, NumaSource, SettingType


class CatalogRegion(Schema):
    name: str
    title: str
    zones: list[str]
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
    date: date


class CatalogMachineType(Schema):
    name: str
    description: str
    family: str = Field(description="For example i4i; may be empty")
    architecture: str = Field(description="x86_64 or arm64; empty: that of the machine at hand")
    vcpus: int | None = Field(description="null: shares the machine at hand")
    cores: int | None = Field(description="Physical cores; null: shares the machine at hand")
    threads_per_core: int | None
    numa_nodes: int | None
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
    id: str
    name: str
    regions: list[CatalogRegion]
    machine_types: list[CatalogMachineType]


class CatalogEngineVersion(Schema):
    version: str
    is_default: bool
    upgrades_from: list[str] = Field(description="Versions whose clusters may change to this one")


class CatalogEngineSetting(Schema):
    """Something that the owner of a cluster may set of its engine."""

    name: str
    title: str
    description: str
    type: SettingType
    unit: str = Field(description="Of numbers, for example ms or MiB/s; may be empty")
    minimum: float | None
    maximum: float | None
    choices: list[str] = Field(description="Of the type choice: what it can be")
    not_above: str | None = Field(description="Name of the setting that it may not exceed")
    default: int | float | bool | str | None = Field(
        description="The engine's own value; null: it depends on the machine type"
    )
    live: bool = Field(description="A running engine takes it over; false: every node is restarted for it")


class CatalogEngine(Schema):
    name: str
    title: str
    versions: list[CatalogEngineVersion]
    settings: list[CatalogEngineSetting]
    not_on: dict[str, str] = Field(description="By provider where it cannot be ordered: the reason, as a sentence")


class Catalog(Schema):
    providers: list[CatalogProvider]
    engines: list[CatalogEngine]
