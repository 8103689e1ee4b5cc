"""Plans of clusters from the price book and published figures, as the API tells them. Changes nothing."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from django.utils import timezone

from backend.accounts.queries import Identity
from backend.catalog.actions import ListedCloud, ListedRegion
from backend.catalog.queries import engine_titles, provider_names
from backend.core.errors import Invalid
from backend.prices.book import PriceBook
from backend.prices.estimate import Estimate, Load, estimate
from backend.prices.estimate import Shape as PricedShape
from backend.prices.estimates import told
from backend.prices.money import MICROS
from backend.prices.queries import price_book
from backend.prices.states import CURRENCY, REFERENCE_REGIONS, Term
from backend.sizing import history, known
from backend.sizing.choosing import Chosen, Priced, of_families
from backend.sizing.durations import recovery, scan
from backend.sizing.figures import Calibration, Measured, Throughput, calibrated, calibrated_by_own
from backend.sizing.reasons import assumptions, reasons
from backend.sizing.schemas import SizingOrder
from backend.sizing.shapes import Limit, Shape, Workload, shapes_of

_UNITS = {
    Limit.THROUGHPUT: "replica operations a second",
    Limit.DISK: "bytes",
    Limit.MEMORY: "bytes on disk",
    Limit.NETWORK: "bits a second",
}


def plan(who: Identity, order: SizingOrder) -> dict[str, Any]:
    """Shapes for a workload, with limits, prices and reasons. Raises Invalid."""
    region = _check(order)
    workload = _workload(order)
    figures = known.figures()
    calibration = _calibration(who, order)
    rules = figures.engines[order.engine]
    found = shapes_of(workload, known.machines(order.provider), calibration, rules, zones=order.zones)
    book, now = price_book(order.provider), timezone.now()
    costs = {shape.machine.name: _estimate(shape, order, region, book, now) for shape in found}
    chosen = of_families(Priced(shape=shape, year_micros=_year(costs[shape.machine.name])) for shape in found)
    return {
        "currency": CURRENCY,
        "priced_at": now,
        "region": region,
        "calibrated_by": _figure(calibration.figure) if isinstance(calibration.figure, Throughput) else None,
        "measured_by": _measured(calibration.figure) if isinstance(calibration.figure, Measured) else None,
        "is_as_seen": calibration.is_as_seen,
        "assumptions": list(assumptions(workload, calibration, rules)),
        "shapes": [_shape(each, workload, order, costs) for each in chosen],
    }


def _calibration(who: Identity, order: SizingOrder) -> Calibration:
    """Raises Invalid for a cluster that cannot be planned by, whoever's it is."""
    if order.like_cluster_id is None:
        return calibrated(known.figures().throughput, order.engine, order.p99_ms)
    for one in history.measured(who):
        if one.cluster_id == order.like_cluster_id and one.engine == order.engine:
            return calibrated_by_own(one, order.p99_ms)
    raise Invalid(
        "sizing_cluster",
        "Nothing was measured of such a cluster of this engine that a plan could go by.",
        hint="Choose from what get_sizing_choices lists: a cluster must have been busy for a week. Or leave it out.",
        field="like_cluster_id",
    )


def _check(order: SizingOrder) -> str:
    """The region whose prices count. Raises Invalid where nothing is known to plan with."""
    clouds = {cloud.provider: cloud for cloud in known.clouds()}
    engines = sorted(known.figures().engines)
    if order.engine not in engines:
        raise Invalid(
            "sizing_engine",
            f"There are no figures of the engine {order.engine}. Known: {', '.join(engines)}.",
            hint="Choose from what get_sizing_choices lists.",
            field="engine",
        )
    cloud = clouds.get(order.provider)
    if cloud is None:
        raise Invalid(
            "sizing_provider",
            f"Nothing is known of machines of {order.provider} that a plan could go by. Known: {', '.join(clouds)}.",
            hint="Choose from what get_sizing_choices lists.",
            field="provider",
        )
    region = order.region or REFERENCE_REGIONS[order.provider]
    names = [each.name for each in cloud.regions]
    if region not in names:
        raise Invalid(
            "sizing_region",
            f"There is no region {region} of {order.provider}. Known: {', '.join(names)}.",
            hint="Choose from what get_sizing_choices lists.",
            field="region",
        )
    return region


def _workload(order: SizingOrder) -> Workload:
    return Workload(
        reads_per_second=order.reads_per_second,
        writes_per_second=order.writes_per_second,
        row_bytes=order.row_bytes,
        data_bytes=order.data_bytes,
        growth_percent_per_month=order.growth_percent_per_month,
        months_ahead=order.months_ahead,
        replication_factor=order.replication_factor,
        p99_ms=order.p99_ms,
        spare_percent=order.spare_percent,
    )


def _estimate(shape: Shape, order: SizingOrder, region: str, book: PriceBook, now: Any) -> Estimate:
    load = Load(
        reads_per_second=order.reads_per_second,
        writes_per_second=order.writes_per_second,
        row_bytes=order.row_bytes,
        clients_in_zone=order.clients_in_zone,
    )
    priced = PricedShape(
        provider=order.provider,
        region=region,
        machine_type=shape.machine.name,
        nodes=shape.nodes,
        zones=shape.zones,
        load=load,
    )
    return estimate(priced, book, at=now)


def _year(cost: Estimate) -> int | None:
    bill = cost.bill(Term.ON_DEMAND)
    return bill.total.year if bill else None


def _shape(chosen: Chosen, workload: Workload, order: SizingOrder, costs: dict[str, Estimate]) -> dict[str, Any]:
    shape, machine, figures = chosen.shape, chosen.shape.machine, known.figures()
    back = recovery(shape, workload, figures, order.engine)
    whole = scan(shape, workload, figures.scans, order.engine, rows_per_core=order.scan_rows_per_core)
    return {
        "machine_type": machine.name,
        "family": machine.family,
        "vcpus": machine.vcpus,
        "memory_bytes": machine.memory_bytes,
        "disk_bytes": machine.disk_bytes,
        "zones": shape.zones,
        "nodes_per_zone": shape.nodes_per_zone,
        "nodes": shape.nodes,
        "decided_by": shape.decided_by,
        "first_limit": shape.first_limit,
        "limits": [
            asdict(bound) | {"unit": _UNITS[bound.limit], "headroom_percent": bound.headroom_percent}
            for bound in shape.bounds
        ],
        "recovery": back and asdict(back),
        "scan": whole and asdict(whole),
        "reasons": [*reasons(shape, workload), *_cheaper(chosen, costs)],
        "estimate": told(costs[machine.name]),
    }


def _cheaper(chosen: Chosen, costs: dict[str, Estimate]) -> Iterator[str]:
    other = chosen.cheaper
    if other is None:
        return
    saved = (_year(costs[chosen.shape.machine.name]) or 0) - (_year(costs[other.machine.name]) or 0)
    yield (
        f"{other.nodes:,} × {other.machine.name} would do as well and cost {saved // MICROS:,} dollars a year less, "
        "but be more nodes to look after."
    )


def _figure(figure: Throughput) -> dict[str, Any]:
    return {
        "engine": figure.engine,
        "version": figure.version,
        "machine_type": figure.machine_type,
        "vcpus": figure.vcpus,
        "nodes": figure.nodes,
        "operations_per_second": figure.operations_per_second,
        "p99_ms": figure.p99_ms,
        "work_per_vcpu": int(figure.work_per_vcpu),
        "source": figure.source,
        "note": figure.note,
    }


def _measured(found: Measured) -> dict[str, Any]:
    return {
        "cluster": {"id": found.cluster_id, "name": found.cluster_name},
        "engine": found.engine,
        "machine_type": found.machine_type,
        "vcpus": found.vcpus,
        "nodes": found.nodes,
        "operations_per_second": found.operations_per_second,
        "busy_percent": found.busy_permille / 10,
        "p99_ms": found.p99_ms,
        "work_per_vcpu": int(found.work_per_vcpu),
    }


def choices(who: Identity) -> dict[str, Any]:
    """What can be planned with."""
    offered, titles = set(provider_names()), engine_titles()
    figures = known.figures()
    return {
        "providers": [
            {
                "id": cloud.provider,
                "name": cloud.name,
                "is_offered": cloud.provider in offered,
                "regions": [asdict(region) for region in _reference_first(cloud)],
            }
            for cloud in known.clouds()
        ],
        "engines": [{"name": name, "title": titles.get(name, name)} for name in sorted(figures.engines)],
        "figures": [_figure(figure) for figure in figures.throughput],
        "measured": [_measured(one) for one in history.measured(who)],
    }


def _reference_first(cloud: ListedCloud) -> list[ListedRegion]:
    """The region whose prices are known comes first: a form begins with it."""
    reference = REFERENCE_REGIONS.get(cloud.provider)
    return sorted(cloud.regions, key=lambda region: region.name != reference)
