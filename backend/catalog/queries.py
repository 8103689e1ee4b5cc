"""What can be ordered."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Prefetch

from backend.catalog.models import EngineVersion, MachineType, Provider, Region, Zone


@dataclass(frozen=True, kw_only=True)
class RegionFacts:
    id: str
    provider: str
    name: str
    zones: tuple[str, ...]
    memory_budget_mib: int | None


@dataclass(frozen=True, kw_only=True)
class MachineTypeFacts:
    provider: str
    name: str
    memory_mib: int
    heap_mib: int


@dataclass(frozen=True, kw_only=True)
class EngineVersionFacts:
    engine: str
    title: str
    version: str


def find_region(provider: str, region: str) -> RegionFacts | None:
    """An orderable region with its orderable zones in order, or None."""
    found = Region.objects.filter(provider_id=provider, provider__enabled=True, name=region, enabled=True).first()
    if found is None:
        return None
    zones = Zone.objects.filter(region=found, enabled=True).order_by("name").values_list("name", flat=True)
    return RegionFacts(
        id=found.id,
        provider=provider,
        name=found.name,
        zones=tuple(zones),
        memory_budget_mib=found.memory_budget_mib,
    )


def find_machine_type(provider: str, name: str) -> MachineTypeFacts | None:
    found = MachineType.objects.filter(provider_id=provider, provider__enabled=True, name=name, enabled=True).first()
    if found is None:
        return None
    return MachineTypeFacts(provider=provider, name=name, memory_mib=found.memory_mib, heap_mib=found.heap_mib)


def find_engine_version(engine: str, version: str | None = None) -> EngineVersionFacts | None:
    """The named version of an engine, or its default."""
    versions = EngineVersion.objects.filter(engine=engine, enabled=True)
    found = (versions.filter(version=version) if version is not None else versions.filter(is_default=True)).first()
    if found is None:
        return None
    return EngineVersionFacts(engine=engine, title=found.engine_title, version=found.version)


def provider_names() -> list[str]:
    return list(Provider.objects.filter(enabled=True).order_by("id").values_list("id", flat=True))


def region_names(provider: str) -> list[str]:
    regions = Region.objects.filter(provider_id=provider, provider__enabled=True, enabled=True)
    return list(regions.order_by("name").values_list("name", flat=True))


def machine_type_names(provider: str) -> list[str]:
    types = MachineType.objects.filter(provider_id=provider, provider__enabled=True, enabled=True)
    return list(types.order_by("position", "name").values_list("name", flat=True))


def engine_names() -> list[str]:
    return sorted(set(EngineVersion.objects.filter(enabled=True).values_list("engine", flat=True)))


def engine_version_names(engine: str) -> list[str]:
    versions = EngineVersion.objects.filter(engine=engine, enabled=True)
    return list(versions.order_by("position", "version").values_list("version", flat=True))


def nodes_that_fit(memory_mib: int, *, budget_mib: int | None, used_mib: int) -> int | None:
    """How many more nodes of ``memory_mib`` each a region holds; None where only the provider knows. All in MiB."""
    return None if budget_mib is None else max(0, (budget_mib - used_mib) // memory_mib)


def catalog(used_memory_mib: Mapping[str, int]) -> dict[str, Any]:
    """Everything that can be ordered. ``used_memory_mib``: MiB that live nodes use, by region id. Five queries."""
    providers = (
        Provider.objects.filter(enabled=True)
        .order_by("id")
        .prefetch_related(
            Prefetch("regions", Region.objects.filter(enabled=True).order_by("name")),
            Prefetch("regions__zones", Zone.objects.filter(enabled=True).order_by("name")),
            Prefetch("machine_types", MachineType.objects.filter(enabled=True).order_by("position", "name")),
        )
    )
    return {
        "providers": [_provider(provider, used_memory_mib) for provider in providers],
        "engines": _engines(),
    }


def _provider(provider: Provider, used_memory_mib: Mapping[str, int]) -> dict[str, Any]:
    types = list(provider.machine_types.all())
    return {
        "id": provider.id,
        "name": provider.name,
        "regions": [
            {
                "name": region.name,
                "title": region.title,
                "zones": [zone.name for zone in region.zones.all()],
                "nodes_that_fit": {
                    machine_type.name: nodes_that_fit(
                        machine_type.memory_mib,
                        budget_mib=region.memory_budget_mib,
                        used_mib=used_memory_mib.get(region.id, 0),
                    )
                    for machine_type in types
                },
            }
            for region in provider.regions.all()
        ],
        "machine_types": [
            {
                "name": machine_type.name,
                "description": machine_type.description,
                "vcpus": machine_type.vcpus,
                "memory_mib": machine_type.memory_mib,
                "heap_mib": machine_type.heap_mib,
                "storage_gib": machine_type.storage_gib,
            }
            for machine_type in types
        ],
    }


def _engines() -> list[dict[str, Any]]:
    engines: dict[str, dict[str, Any]] = {}
    for version in EngineVersion.objects.filter(enabled=True).order_by("engine", "position", "version"):
        engine = engines.setdefault(
            version.engine, {"name": version.engine, "title": version.engine_title, "versions": []}
        )
        engine["versions"].append({"version": version.version, "is_default": version.is_default})
    return list(engines.values())
