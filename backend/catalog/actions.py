"""Filling the catalogue from data/*.json, and noting what a provider says of a region."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal, TypeVar

from django.db import models, transaction
from django.utils import timezone
from pydantic import BaseModel, ConfigDict

from backend.catalog.models import EngineSetting, EngineVersion, MachineType, Provider, Region, Zone
from backend.catalog.states import CLOUDS, IoSource, NumaSource, SettingType

DATA = Path(__file__).resolve().parent / "data"
_Row = TypeVar("_Row", bound=models.Model)
# Fields of a row that the files say nothing of.
_NOTED = {"memory_budget_mib", "memory_budget_at"}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _RegionData(_Strict):
    name: str
    title: str
    zones: list[str]


class MachineTypeData(_Strict):
    """A machine type as the files tell it; units as in models.MachineType."""

    name: str
    description: str = ""
    vcpus: int | None = None
    memory_mib: int
    heap_mib: int
    storage_gib: int | None = None
    family: str = ""
    architecture: str = ""
    cores: int | None = None
    threads_per_core: int | None = None
    numa_nodes: int | None = None
    numa_source: NumaSource | Literal[""] = ""
    shards: int | None = None
    nvme_count: int | None = None
    nvme_size_gb: int | None = None
    io_read_iops: int | None = None
    io_write_iops: int | None = None
    io_read_bandwidth: int | None = None
    io_write_bandwidth: int | None = None
    io_source: IoSource | Literal[""] = ""
    io_note: str = ""
    network_baseline_gbps: float | None = None
    network_peak_gbps: float | None = None
    price_micros_per_hour: int | None = None
    price_currency: str = ""
    price_region: str = ""
    price_date: date | None = None


class _ProviderData(_Strict):
    id: str
    name: str
    firewall: bool = False
    connections: list[Literal["peering", "endpoint"]] = []
    regions: list[_RegionData]
    machine_types: list[MachineTypeData]


class _VersionData(_Strict):
    version: str
    is_default: bool = False
    upgrades_from: list[str] = []


class _SettingData(_Strict):
    name: str
    title: str
    description: str
    type: SettingType
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: list[str] = []
    not_above: str = ""
    default: int | float | bool | str | None = None
    live: bool


class _EngineData(_Strict):
    name: str
    title: str
    versions: list[_VersionData]
    not_on: dict[str, str] = {}
    manages_access: bool = True
    answers_questions: bool = True
    takes_commands: bool = True
    makes_backups: bool = True
    archives_logs: bool = True
    imports_sstables: bool = True
    places_by_itself: bool = False
    settings: list[_SettingData] = []


class _CatalogData(_Strict):
    providers: list[_ProviderData] = []
    engines: list[_EngineData] = []


def load(*, with_tests: bool, clouds: Mapping[str, Collection[str] | None] | None = None) -> None:
    """Makes the tables say what the files say. What left the files is disabled, not deleted: old clusters name it.

    ``*.test.json`` counts only ``with_tests``. ``clouds`` are those the installation offers, with the regions it uses;
    None: no cloud. A cloud with None has all its regions. Loading again changes nothing; memory budgets are not
    touched.
    """
    files = [path for path in sorted(DATA.glob("*.json")) if with_tests or not path.name.endswith(".test.json")]
    found = [_CatalogData.model_validate(json.loads(path.read_text())) for path in files]
    engines = [engine for one in found for engine in one.engines]
    providers = [
        (provider, (clouds or {}).get(provider.id))
        for one in found
        for provider in one.providers
        if provider.id not in CLOUDS or provider.id in (clouds or {})
    ]
    with transaction.atomic():
        for model in (Provider, Region, Zone, MachineType, EngineVersion, EngineSetting):
            model.objects.update(enabled=False)
        _upsert(Provider, [_provider(data) for data, _ in providers])
        regions = [(data, region) for data, only in providers for region in data.regions if _among(region.name, only)]
        _upsert(Region, [_region(data, region) for data, region in regions])
        _upsert(Zone, [zone for data, region in regions for zone in _zones(data, region)])
        _upsert(MachineType, [row for data, _ in providers for row in _machine_types(data)])
        # First no default at all: the database allows one per engine at any moment.
        EngineVersion.objects.filter(engine__in=[engine.name for engine in engines]).update(is_default=False)
        _upsert(EngineVersion, [row for engine in engines for row in _versions(engine)])
        _upsert(EngineSetting, [row for engine in engines for row in _settings(engine)])


def _upsert(model: type[_Row], rows: list[_Row]) -> None:
    """Rows with ids that are there already take the new values, but for what others note in them."""
    fields = [field.name for field in model._meta.concrete_fields if not field.primary_key]
    told = [name for name in fields if name not in _NOTED]
    if rows:
        model._default_manager.bulk_create(rows, update_conflicts=True, unique_fields=["id"], update_fields=told)


def _among(name: str, names: Collection[str] | None) -> bool:
    return names is None or name in names


def _provider(data: _ProviderData) -> Provider:
    return Provider(id=data.id, name=data.name, firewall=data.firewall, connections=data.connections)


def _region(data: _ProviderData, region: _RegionData) -> Region:
    return Region(id=f"{data.id}/{region.name}", provider_id=data.id, name=region.name, title=region.title)


def _zones(data: _ProviderData, region: _RegionData) -> list[Zone]:
    region_id = f"{data.id}/{region.name}"
    return [Zone(id=f"{region_id}/{zone}", region_id=region_id, name=zone) for zone in region.zones]


def _machine_types(data: _ProviderData) -> list[MachineType]:
    return [
        MachineType(id=f"{data.id}/{one.name}", provider_id=data.id, position=position, **one.model_dump())
        for position, one in enumerate(data.machine_types)
    ]


def _versions(data: _EngineData) -> list[EngineVersion]:
    return [
        EngineVersion(
            id=f"{data.name}/{one.version}",
            engine=data.name,
            engine_title=data.title,
            version=one.version,
            is_default=one.is_default,
            upgrades_from=one.upgrades_from,
            not_on=data.not_on,
            manages_access=data.manages_access,
            answers_questions=data.answers_questions,
            takes_commands=data.takes_commands,
            makes_backups=data.makes_backups,
            archives_logs=data.archives_logs,
            imports_sstables=data.imports_sstables,
            places_by_itself=data.places_by_itself,
            position=position,
        )
        for position, one in enumerate(data.versions)
    ]


def _settings(data: _EngineData) -> list[EngineSetting]:
    return [
        EngineSetting(id=f"{data.name}/{one.name}", engine=data.name, position=position, **one.model_dump())
        for position, one in enumerate(data.settings)
    ]


def record_memory_budget(region_id: str, budget_mib: int | None) -> None:
    """What the provider says all nodes of the region may use together, in MiB; None: only the provider knows."""
    Region.objects.filter(id=region_id).update(memory_budget_mib=budget_mib, memory_budget_at=timezone.now())


@dataclass(frozen=True, kw_only=True)
class ListedMachine:
    """What a provider asks for a machine type on demand, with its local disks. Micro-dollars an hour."""

    provider: str
    region: str
    name: str
    micros_per_hour: int
    day: date


def listed_machines() -> list[ListedMachine]:
    """From data/*.json: of all clouds, whether the installation offers them or not."""
    found = [_CatalogData.model_validate(json.loads(path.read_text())) for path in sorted(DATA.glob("*.json"))]
    return [
        ListedMachine(
            provider=provider.id,
            region=one.price_region,
            name=one.name,
            micros_per_hour=one.price_micros_per_hour,
            day=one.price_date,
        )
        for each in found
        for provider in each.providers
        for one in provider.machine_types
        if one.price_micros_per_hour is not None and one.price_date is not None
    ]


@dataclass(frozen=True, kw_only=True)
class ListedRegion:
    name: str
    title: str
    zones: int


@dataclass(frozen=True, kw_only=True)
class ListedCloud:
    """What the files tell of a provider."""

    provider: str
    name: str
    regions: tuple[ListedRegion, ...]
    machine_types: tuple[MachineTypeData, ...]


def listed_clouds() -> list[ListedCloud]:
    """From data/*.json: of all clouds, whether the installation offers them or not."""
    files = [DATA / f"{cloud}.json" for cloud in sorted(CLOUDS)]
    found = [_CatalogData.model_validate(json.loads(path.read_text())) for path in files]
    return [
        ListedCloud(
            provider=one.id,
            name=one.name,
            regions=tuple(
                ListedRegion(name=each.name, title=each.title, zones=len(each.zones)) for each in one.regions
            ),
            machine_types=tuple(one.machine_types),
        )
        for each in found
        for one in each.providers
    ]
