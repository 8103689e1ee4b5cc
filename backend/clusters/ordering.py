"""Checking an order against the catalogue, before anything is written. Says everything that is wrong, in words."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any

from django.db.models.functions import Lower
from django.utils import timezone

from backend.accounts.queries import Identity
from backend.catalog import queries as catalog
from backend.catalog.queries import MachineTypeFacts, RegionFacts
from backend.cloud_accounts.models import CloudAccount
from backend.cloud_accounts.queries import find_for_order
from backend.clusters.ceilings import against
from backend.clusters.models import Cluster
from backend.clusters.plans import create_seconds
from backend.clusters.queries import room_in, room_warning, used_memory_mib
from backend.clusters.reach import check_tags
from backend.clusters.schemas import ClusterOrder
from backend.core.errors import Conflict, Invalid
from backend.images.queries import missing_of_build
from backend.prices.estimate import Amounts, Shape
from backend.prices.estimates import machines_on_demand


@dataclass(frozen=True, kw_only=True)
class CheckedOrder:
    """An order of which every word is known. Whether it fits and whether the name is free can change any moment."""

    order: ClusterOrder
    region: RegionFacts
    machine_type: MachineTypeFacts
    engine_version: str

    @property
    def nodes_total(self) -> int:
        return len(self.order.zones) * self.order.nodes_per_zone

    @property
    def datacenter(self) -> str:
        return f"{self.order.provider}-{self.order.region}"


@dataclass
class _Problems:
    found: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, code: str, where: str, message: str) -> None:
        self.found.append((code, where, message))

    def unknown(self, code: str, where: str, what: str, value: str, known: list[str]) -> None:
        choice = f"Known: {', '.join(known)}." if known else "None can be ordered at the moment."
        self.add(code, where, f"There is no {what} {value}. {choice}")

    def raise_if_any(self) -> None:
        if self.found:
            code, where, message = self.found[0]
            raise Invalid(
                code,
                message,
                hint="Choose from what get_catalog lists.",
                field=where,
                fields=[(where, message) for _, where, message in self.found],
            )


def check_words(order: ClusterOrder) -> CheckedOrder:
    """Everything but name and room. Raises Invalid with the first problem's code and all wrong fields."""
    problems = _Problems()
    engine_version = _check_engine(order, problems)
    region, machine_type = _check_place(order, problems)
    if len(set(order.zones)) != len(order.zones):
        doubled = next(zone for zone in order.zones if order.zones.count(zone) > 1)
        problems.add("duplicate_zone", "zones", f"The zone {doubled} is named more than once.")
    if order.test_drive is not None and order.termination_protection:
        problems.add(
            "test_drive_protected",
            "termination_protection",
            "A test drive is deleted by itself; leave its protection off.",
        )
    problems.raise_if_any()
    assert region is not None
    assert machine_type is not None
    return CheckedOrder(order=order, region=region, machine_type=machine_type, engine_version=engine_version)


def _check_engine(order: ClusterOrder, problems: _Problems) -> str:
    found = catalog.find_engine_version(order.engine, order.engine_version)
    if found is not None:
        if reason := found.not_on.get(order.provider):
            problems.add("engine_not_on_provider", "provider", f"{found.title} cannot run here. {reason}")
        return found.version
    versions = catalog.engine_version_names(order.engine)
    if not versions:
        problems.unknown("unknown_engine", "engine", "engine", order.engine, catalog.engine_names())
    elif order.engine_version is None:
        problems.add(
            "no_default_version", "engine_version", f"Name a version of {order.engine}. Known: {', '.join(versions)}."
        )
    else:
        problems.unknown(
            "unknown_engine_version", "engine_version", f"version of {order.engine}", order.engine_version, versions
        )
    return ""


def _check_place(order: ClusterOrder, problems: _Problems) -> tuple[RegionFacts | None, MachineTypeFacts | None]:
    providers = catalog.provider_names()
    if order.provider not in providers:
        problems.unknown("unknown_provider", "provider", "provider", order.provider, providers)
        return None, None
    region = catalog.find_region(order.provider, order.region)
    if region is None:
        problems.unknown(
            "unknown_region",
            "region",
            f"region of {order.provider}",
            order.region,
            catalog.region_names(order.provider),
        )
    else:
        for position, zone in enumerate(order.zones):
            if zone not in region.zones:
                problems.unknown(
                    "unknown_zone", f"zones.{position}", f"zone in {order.region}", zone, list(region.zones)
                )
    machine_type = catalog.find_machine_type(order.provider, order.machine_type)
    if machine_type is None:
        known = catalog.machine_type_names(order.provider)
        problems.unknown(
            "unknown_machine_type", "machine_type", f"machine type of {order.provider}", order.machine_type, known
        )
    return region, machine_type


def check_account(who: Identity, order: ClusterOrder, *, lock: bool = False) -> CloudAccount | None:
    """The cloud account to make it in; None: the installation's own. Raises Invalid, Conflict."""
    if order.cloud_account is None:
        return None
    return find_for_order(who, order.cloud_account, provider=order.provider, lock=lock)


def check_build(checked: CheckedOrder) -> None:
    """Raises Conflict when there is no image of the wanted build, or it is deprecated."""
    order = checked.order
    if order.image_build:
        raise_without_images(
            order.image_build,
            provider=order.provider,
            engine=order.engine,
            version=checked.engine_version,
            places=[(order.region, order.machine_type)],
            deprecated_too=False,
        )


def raise_without_images(
    build: str,
    *,
    provider: str,
    engine: str,
    version: str,
    places: Iterable[tuple[str, str]],
    deprecated_too: bool,
) -> None:
    """Raises Conflict. `places`: region and machine type."""
    architectures = catalog.architectures(provider)
    reason = missing_of_build(
        build,
        provider=provider,
        engine=engine,
        version=version,
        places=[(region, architectures.get(machine_type, "")) for region, machine_type in places],
        deprecated_too=deprecated_too,
    )
    if reason is not None:
        raise Conflict(
            "image_build_unusable", reason, hint="Choose a build that list_images lists, or none.", field="image_build"
        )


def check_name_free(who: Identity, name: str) -> None:
    """Raises Conflict when a living cluster of the organisation has the name."""
    living = Cluster.objects.filter(organisation_id=who.organisation_id, deleted_at=None)
    # As the unique index spells it, so that the index answers.
    if living.annotate(lower_name=Lower("name")).filter(lower_name=name.lower()).exists():
        raise name_taken(name)


def name_taken(name: str) -> Conflict:
    return Conflict(
        "name_taken",
        f"A cluster named {name} exists already.",
        hint="Choose another name, or delete that cluster first.",
        field="name",
    )


def check_room(checked: CheckedOrder, account: CloudAccount | None) -> tuple[int | None, str | None]:
    """How many nodes of the type still fit, None: not known; and how sure that is. Raises Conflict when too few do."""
    fit = _check_memory(checked)
    order = checked.order
    room = room_in(order.provider, order.region, account)
    if short := room.shortage(order.machine_type, dict.fromkeys(order.zones, order.nodes_per_zone)):
        raise Conflict(short.code, short.sentence, hint=short.hint, field=short.field)
    known = [number for number in (fit, room.nodes_that_fit(order.machine_type)) if number is not None]
    return min(known, default=None), room_warning(order.provider, room)


def _check_memory(checked: CheckedOrder) -> int | None:
    fit = catalog.nodes_that_fit(
        checked.machine_type.memory_mib,
        budget_mib=checked.region.memory_budget_mib,
        used_mib=used_memory_mib().get(checked.region.id, 0),
    )
    if fit is not None and fit < checked.nodes_total:
        wanted, kind = checked.nodes_total, checked.machine_type.name
        room = "no more nodes" if fit == 0 else "1 more node" if fit == 1 else f"{fit} more nodes"
        raise Conflict(
            "not_enough_memory",
            f"{checked.region.name} has room for {room} of type {kind}; this order needs {wanted}.",
            hint="Order fewer or smaller nodes, or delete a cluster you do not need.",
            field="nodes_per_zone",
        )
    return fit


def check_ceilings(who: Identity, checked: CheckedOrder) -> None:
    """Raises Conflict when the organisation would have more than it may."""
    order = checked.order
    wanted = {(order.region, order.machine_type): checked.nodes_total}
    for each in against(who.organisation_id, None, provider=order.provider, before={}, after=wanted):
        if each.refuses:
            raise Conflict(each.code, each.sentence, hint=each.hint, field="nodes_per_zone")


def _shape(checked: CheckedOrder) -> Shape:
    order = checked.order
    return Shape(
        provider=order.provider,
        region=order.region,
        machine_type=order.machine_type,
        nodes=checked.nodes_total,
        zones=len(order.zones),
    )


def check_order(who: Identity, order: ClusterOrder) -> dict[str, Any]:
    """What the order would come to. Raises what create_cluster would raise; changes nothing."""
    check_tags(who, order.options.tags)
    checked = check_words(order)
    account = check_account(who, order)
    check_build(checked)
    check_name_free(who, order.name)
    check_ceilings(who, checked)
    fit, warning = check_room(checked, account)
    cost = machines_on_demand([_shape(checked)])
    return {
        "ok": True,
        "name": order.name,
        "engine_version": checked.engine_version,
        "datacenter": checked.datacenter,
        "nodes_total": checked.nodes_total,
        "replicas": len(order.zones),
        "memory_mib_total": checked.nodes_total * checked.machine_type.memory_mib,
        "nodes_that_fit": fit,
        "cost": cost and asdict(cost),
        "test_drive": _test_drive(order, cost),
        "warnings": [] if warning is None else [warning],
        "expected_seconds": create_seconds(rows=order.test_drive.rows if order.test_drive else 0),
    }


def _test_drive(order: ClusterOrder, cost: Amounts | None) -> dict[str, Any] | None:
    if order.test_drive is None:
        return None
    hours = order.test_drive.hours
    return {"expires_at": timezone.now() + timedelta(hours=hours), "micros": cost and cost.hour * hours}
