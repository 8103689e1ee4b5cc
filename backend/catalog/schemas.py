"""What the catalogue looks like on the wire.

The route that serves it is in clusters/api.py: it needs to know how much is in use.
"""

from ninja import Schema
from pydantic import Field


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


class CatalogEngine(Schema):
    name: str
    title: str
    versions: list[CatalogEngineVersion]


class Catalog(Schema):
    providers: list[CatalogProvider]
    engines: list[CatalogEngine]
