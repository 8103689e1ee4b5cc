"""What the catalogue looks like on the wire.

The route that serves it is in clusters/api.py: it needs to know how much is in use.
"""

from ninja import Schema
from pydantic import Field

from backend.catalog.states import SettingType


class CatalogRegion(Schema):
    name: str
    title: str
    zones: list[str]
    nodes_that_fit: dict[str, int | None] = Field(
        description="By machine type: how many more nodes the region holds; null where only the provider knows"
    )


class CatalogMachineType(Schema):
    name: str
    description: str
    vcpus: int | None = Field(description="null: shares the machine at hand")
    memory_mib: int = Field(description="MiB a node of this type uses")
    heap_mib: int = Field(description="MiB of JVM heap")
    storage_gib: int | None = Field(description="GiB of local disk; null: shares a file system")


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


class Catalog(Schema):
    providers: list[CatalogProvider]
    engines: list[CatalogEngine]
