"""Filling the catalogue from data/*.json, and noting what a provider says of a region."""

import json
from collections.abc import Collection, Mapping
from datetime import date
from pathlib import Path
from typing import Literal

from django.db import transaction
from django.utils import timezone
from pydantic import BaseModel, ConfigDict

from backend.catalog.models import EngineSetting, EngineVersion, MachineType, Provider, Region, Zone
from backend.catalog.states import CLOUDS, IoSource, NumaSource, SettingType

DATA = Path(__file__).resolve().parent / "data"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _RegionData(_Strict):
    name: str
    title: str
    zones: list[str]


class _MachineTypeData(_Strict):
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
    machine_types: list[_MachineTypeData]


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
    makes_backups: bool = True
    settings: list[_SettingData] = []


class _CatalogData(_Strict):
    providers: list[_ProviderData] = []
    engines: list[_EngineData] = []


def load(*, with_tests: bool, clouds: Mapping[str, Collection[str] | None] | None = None) -> None:
    """Makes the tables say what the files say. What left the files is disabled, not deleted: old clusters name it.

    ``*.test.json`` counts only ``with_tests``. ``clouds`` are those the installation offers, with the regions it uses;
    None: all of them. Loading again changes nothing; memory budgets are not touched.
    """
    files = [path for path in sorted(DATA.glob("*.json")) if with_tests or not path.name.endswith(".test.json")]
    found = [_CatalogData.model_validate(json.loads(path.read_text())) for path in files]
    with transaction.atomic():
        for model in (Provider, Region, Zone, MachineType, EngineVersion, EngineSetting):
            model.objects.update(enabled=False)
        for data in found:
            for provider in data.providers:
                if provider.id not in CLOUDS:
                    _load_provider(provider)
                elif clouds is not None and provider.id in clouds:
                    _load_provider(provider, only=clouds[provider.id])
            for engine in data.engines:
                _load_engine(engine)


def _load_provider(data: _ProviderData, *, only: Collection[str] | None = None) -> None:
    Provider.objects.update_or_create(
        id=data.id,
        defaults={
            "name": data.name,
            "firewall": data.firewall,
            "connections": data.connections,
            "enabled": True,
        },
    )
    for region in data.regions:
        if only is not None and region.name not in only:
            continue
        region_id = f"{data.id}/{region.name}"
        Region.objects.update_or_create(
            id=region_id,
            defaults={"provider_id": data.id, "name": region.name, "title": region.title, "enabled": True},
        )
        for zone in region.zones:
            Zone.objects.update_or_create(
                id=f"{region_id}/{zone}", defaults={"region_id": region_id, "name": zone, "enabled": True}
            )
    for position, machine_type in enumerate(data.machine_types):
        MachineType.objects.update_or_create(
            id=f"{data.id}/{machine_type.name}",
            defaults={
                **machine_type.model_dump(),
                "provider_id": data.id,
                "position": position,
                "enabled": True,
            },
        )


def _load_engine(data: _EngineData) -> None:
    # First no default at all: the database allows one per engine at any moment.
    EngineVersion.objects.filter(engine=data.name).update(is_default=False)
    for position, version in enumerate(data.versions):
        EngineVersion.objects.update_or_create(
            id=f"{data.name}/{version.version}",
            defaults={
                "engine": data.name,
                "engine_title": data.title,
                "version": version.version,
                "is_default": version.is_default,
                "upgrades_from": version.upgrades_from,
                "not_on": data.not_on,
                "manages_access": data.manages_access,
                "makes_backups": data.makes_backups,
                "position": position,
                "enabled": True,
            },
        )
    for position, setting in enumerate(data.settings):
        EngineSetting.objects.update_or_create(
            id=f"{data.name}/{setting.name}",
            defaults={**setting.model_dump(), "engine": data.name, "position": position, "enabled": True},
        )


def record_memory_budget(region_id: str, budget_mib: int | None) -> None:
    """What the provider says all nodes of the region may use together, in MiB; None: only the provider knows."""
    Region.objects.filter(id=region_id).update(memory_budget_mib=budget_mib, memory_budget_at=timezone.now())
