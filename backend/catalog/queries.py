"""What can be ordered."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Prefetch, QuerySet

from backend.catalog.models import EngineSetting, EngineVersion, MachineType, Provider, Region, Zone
from backend.catalog.states import SettingType


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
    # By provider, why it cannot run there.
    not_on: Mapping[str, str]


@dataclass(frozen=True)
class SettingProblem:
    """Why a value cannot be set, as a sentence. `name` is the setting's."""

    name: str
    message: str


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


def has_firewall(provider: str) -> bool:
    """Whether its networks have a firewall that keeps out whom the allowlist does not name."""
    return Provider.objects.filter(id=provider, firewall=True).exists()


def connection_kinds(provider: str) -> list[str]:
    """Of connections of its networks with others: peering, endpoint. None where there are no such."""
    found = Provider.objects.filter(id=provider).values_list("connections", flat=True).first()
    return list(found or [])


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
    return EngineVersionFacts(engine=engine, title=found.engine_title, version=found.version, not_on=found.not_on)


def provider_names() -> list[str]:
    return list(Provider.objects.filter(enabled=True).order_by("id").values_list("id", flat=True))


def region_names(provider: str) -> list[str]:
    regions = Region.objects.filter(provider_id=provider, provider__enabled=True, enabled=True)
    return list(regions.order_by("name").values_list("name", flat=True))


def machine_type_names(provider: str) -> list[str]:
    types = MachineType.objects.filter(provider_id=provider, provider__enabled=True, enabled=True)
    return list(types.order_by("position", "name").values_list("name", flat=True))


def architectures(provider: str) -> dict[str, str]:
    """Processor architecture by name of machine type, also of those that cannot be ordered; empty: not told."""
    return dict(MachineType.objects.filter(provider_id=provider).values_list("name", "architecture"))


def engine_names() -> list[str]:
    return sorted(set(EngineVersion.objects.filter(enabled=True).values_list("engine", flat=True)))


def engine_titles() -> dict[str, str]:
    """By name of the engine, of those that can be ordered."""
    return dict(EngineVersion.objects.filter(enabled=True).values_list("engine", "engine_title"))


def manages_access(engine: str) -> bool:
    """Whether the roles of clusters of this engine, and from where they may be used, can be changed from here."""
    return not EngineVersion.objects.filter(engine=engine, manages_access=False).exists()


def makes_backups(engine: str) -> bool:
    """Whether clusters of this engine can be backed up and restored from here."""
    return not EngineVersion.objects.filter(engine=engine, makes_backups=False).exists()


def archives_logs(engine: str) -> bool:
    """Whether commit logs of clusters of this engine can be archived from here."""
    return not EngineVersion.objects.filter(engine=engine, archives_logs=False).exists()


def imports_sstables(engine: str) -> bool:
    """Whether clusters of this engine take SSTables that other clusters left."""
    return not EngineVersion.objects.filter(engine=engine, imports_sstables=False).exists()


def places_by_itself(engine: str) -> bool:
    """Whether the engine moves data among its nodes by itself, and sends files loaded anywhere to their replicas."""
    return EngineVersion.objects.filter(engine=engine, places_by_itself=True).exists()


def answers_questions(engine: str) -> bool:
    """Whether nodes of this engine can be asked about themselves from here."""
    return not EngineVersion.objects.filter(engine=engine, answers_questions=False).exists()


def takes_commands(engine: str) -> bool:
    """Whether tables of this engine can be flushed, compacted and the like from here."""
    return not EngineVersion.objects.filter(engine=engine, takes_commands=False).exists()


def engine_version_names(engine: str) -> list[str]:
    versions = EngineVersion.objects.filter(engine=engine, enabled=True)
    return list(versions.order_by("position", "version").values_list("version", flat=True))


def upgrade_targets(engine: str, version: str) -> list[str]:
    """The versions that a cluster of this version may change to, in the catalogue's order."""
    versions = EngineVersion.objects.filter(engine=engine, enabled=True, upgrades_from__contains=[version])
    return list(versions.order_by("position", "version").values_list("version", flat=True))


def check_settings(engine: str, settings: Mapping[str, Any]) -> list[SettingProblem]:
    """What is wrong with settings that are to differ from the engine's own values; empty: nothing."""
    known = {setting.name: setting for setting in _settings(engine)}
    problems = [
        SettingProblem(name, message)
        for name, value in settings.items()
        if (message := _problem(known.get(name), name, value, known)) is not None
    ]
    return problems or _too_high(known, settings)


def _settings(engine: str) -> QuerySet[EngineSetting]:
    return EngineSetting.objects.filter(engine=engine, enabled=True).order_by("position", "name")


def _too_high(known: Mapping[str, EngineSetting], settings: Mapping[str, Any]) -> list[SettingProblem]:
    """Those above the setting that they may not exceed; both with their own values or the engine's."""
    problems = []
    for name, setting in known.items():
        if not setting.not_above:
            continue
        other = known[setting.not_above]
        value, limit = settings.get(name, setting.default), settings.get(other.name, other.default)
        if value is not None and limit is not None and value > limit:
            where = name if name in settings else other.name
            problems.append(
                SettingProblem(where, f"{setting.title} is {value}, but may not exceed {other.title.lower()}, {limit}.")
            )
    return problems


def settings_needing_restart(engine: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Names of the settings because of which every node is restarted when one mapping takes the other's place.

    Those that a running engine does not take, and those that go back to the engine's own value: which one that is on a
    machine, only a start tells.
    """
    live = set(EngineSetting.objects.filter(engine=engine, live=True).values_list("name", flat=True))
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    return sorted(name for name in changed if name not in live or name not in after)


def _problem(setting: EngineSetting | None, name: str, value: Any, known: Mapping[str, EngineSetting]) -> str | None:
    if setting is None:
        return f"There is no setting {name}. Known: {', '.join(known)}."
    match SettingType(setting.type):
        case SettingType.BOOLEAN:
            return None if isinstance(value, bool) else f"{setting.title} is true or false."
        case SettingType.CHOICE:
            return None if value in setting.choices else f"{setting.title} is one of {', '.join(setting.choices)}."
        case SettingType.INTEGER:
            # A boolean is a whole number to Python, but not to the one who wrote it.
            right, kind = isinstance(value, int) and not isinstance(value, bool), "a whole number"
        case SettingType.NUMBER:
            right, kind = isinstance(value, int | float) and not isinstance(value, bool), "a number"
    low, high = setting.minimum, setting.maximum
    if right and (low is None or value >= low) and (high is None or value <= high):
        return None
    limits = [f"from {low:g}" if low is not None else "", f"to {high:.10g}" if high is not None else "", setting.unit]
    return f"{setting.title} is {kind} {' '.join(part for part in limits if part)}".rstrip() + "."


def nodes_that_fit(memory_mib: int, *, budget_mib: int | None, used_mib: int) -> int | None:
    """How many more nodes of ``memory_mib`` each a region holds; None where only the provider knows. All in MiB."""
    return None if budget_mib is None else max(0, (budget_mib - used_mib) // memory_mib)


def catalog(used_memory_mib: Mapping[str, int]) -> dict[str, Any]:
    """Everything that can be ordered. ``used_memory_mib``: MiB that live nodes use, by region id. Six queries."""
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
        "machine_types": [_machine_type(machine_type) for machine_type in types],
    }


def _machine_type(found: MachineType) -> dict[str, Any]:
    return {
        "name": found.name,
        "description": found.description,
        "family": found.family,
        "architecture": found.architecture,
        "vcpus": found.vcpus,
        "cores": found.cores,
        "threads_per_core": found.threads_per_core,
        "numa_nodes": found.numa_nodes,
        "numa_source": found.numa_source or None,
        "shards": found.shards,
        "memory_mib": found.memory_mib,
        "heap_mib": found.heap_mib,
        "storage_gib": found.storage_gib,
        "nvme_count": found.nvme_count,
        "nvme_size_gb": found.nvme_size_gb,
        "io": None
        if not found.io_source
        else {
            "read_iops": found.io_read_iops,
            "write_iops": found.io_write_iops,
            "read_bandwidth": found.io_read_bandwidth,
            "write_bandwidth": found.io_write_bandwidth,
            "source": found.io_source,
            "note": found.io_note,
        },
        "network_baseline_gbps": found.network_baseline_gbps,
        "network_peak_gbps": found.network_peak_gbps,
        "price": None
        if found.price_micros_per_hour is None
        else {
            "micros_per_hour": found.price_micros_per_hour,
            "currency": found.price_currency,
            "region": found.price_region,
            "date": found.price_date,
        },
    }


def _engines() -> list[dict[str, Any]]:
    engines: dict[str, dict[str, Any]] = {}
    for version in EngineVersion.objects.filter(enabled=True).order_by("engine", "position", "version"):
        engine = engines.setdefault(
            version.engine,
            {
                "name": version.engine,
                "title": version.engine_title,
                "versions": [],
                "settings": [],
                "not_on": version.not_on,
            },
        )
        engine["versions"].append(
            {"version": version.version, "is_default": version.is_default, "upgrades_from": version.upgrades_from}
        )
    for setting in EngineSetting.objects.filter(enabled=True, engine__in=engines).order_by("position", "name"):
        engines[setting.engine]["settings"].append(
            {
                "name": setting.name,
                "title": setting.title,
                "description": setting.description,
                "type": setting.type,
                "unit": setting.unit,
                "minimum": setting.minimum,
                "maximum": setting.maximum,
                "choices": setting.choices,
                "not_above": setting.not_above or None,
                "default": setting.default,
                "live": setting.live,
            }
        )
    return list(engines.values())
