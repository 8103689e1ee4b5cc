"""Estimates from the price book, as the API tells them. Changes nothing."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from functools import cache
from typing import Any

from django.utils import timezone

from backend.prices.actions import DATA
from backend.prices.dynamodb import DynamoBill, DynamoLoad, Reserved, UnitPrices, compare
from backend.prices.estimate import NOTHING, Amounts, Bill, Estimate, Line, Load, Shape, estimate
from backend.prices.estimate_schemas import DynamoDbOrder, EstimateOrder, ShapeOrder
from backend.prices.queries import price_book
from backend.prices.states import CURRENCY, UNITS, Term


def answer(order: EstimateOrder) -> dict[str, Any]:
    """Of what was asked for and its alternatives, side by side. One statement."""
    shapes = [shape_of(order, order), *(shape_of(each, order) for each in order.alternatives)]
    book, now = price_book(*{shape.provider for shape in shapes}), timezone.now()
    found = [estimate(shape, book, at=now) for shape in shapes]
    return {
        "currency": CURRENCY,
        "priced_at": now,
        "estimates": [told(each, None if number == 0 else found[0]) for number, each in enumerate(found)],
    }


def shape_of(place: ShapeOrder, order: EstimateOrder) -> Shape:
    """`place` with the load and the backups of the order."""
    return Shape(
        provider=place.provider,
        region=place.region,
        machine_type=place.machine_type,
        nodes=place.nodes,
        zones=place.zones,
        block_bytes_per_node=place.block_bytes_per_node,
        block_class=place.block_class or "",
        backup_bytes=order.backup_bytes,
        backup_class=place.backup_class,
        backup_writes_per_month=order.backup_writes_per_month,
        backup_reads_per_month=order.backup_reads_per_month,
        traffic_out_bytes_per_month=order.traffic_out_bytes_per_month,
        load=Load(**order.load.model_dump()),
    )


def told(found: Estimate, first: Estimate | None = None) -> dict[str, Any]:
    """As schemas.ShapeEstimate; `first`: what the difference is counted from."""
    shape = found.shape
    return {
        "provider": shape.provider,
        "region": shape.region,
        "machine_type": shape.machine_type,
        "nodes": shape.nodes,
        "zones": shape.zones,
        "bills": [_bill(bill, found, first) for bill in found.bills],
        "missing": list(found.missing),
    }


def _bill(bill: Bill, found: Estimate, first: Estimate | None) -> dict[str, Any]:
    on_demand = found.bill(Term.ON_DEMAND)
    same = first and first.bill(bill.term)
    return {
        "term": bill.term,
        "lines": [_line(line) for line in bill.lines],
        "total": asdict(bill.total),
        "saved": on_demand and asdict(on_demand.total - bill.total),
        "difference": same and asdict(bill.total - same.total),
    }


def _line(line: Line) -> dict[str, Any]:
    listed = line.price.listed
    return {
        "item": line.item,
        "name": line.name,
        "formula": line.formula,
        "amounts": asdict(line.amounts),
        "price": {
            "micros": line.price.micros,
            "unit": UNITS[line.item],
            "region": listed.region or None,
            "origin": listed.origin,
            "valid_from": listed.valid_from,
            "source": listed.source,
            "source_date": listed.source_date,
            "assumption": listed.assumption,
            "borrowed": line.price.borrowed,
        },
    }


@cache
def dynamodb_prices() -> UnitPrices:
    """From data/dynamodb.json."""
    found = json.loads((DATA / "dynamodb.json").read_text())
    reserved = {int(years): Reserved(**each) for years, each in found.pop("reserved").items()}
    return UnitPrices(**found | {"date": date.fromisoformat(found["date"])}, reserved=reserved)


def dynamodb_answer(order: DynamoDbOrder) -> dict[str, Any]:
    """What the load would cost at DynamoDB."""
    prices = dynamodb_prices()
    bills = compare(DynamoLoad(**order.model_dump()), prices)
    return {
        "currency": CURRENCY,
        "region": prices.region,
        "source": prices.source,
        "prices_of": prices.date,
        "bills": [_dynamo(bill) for bill in bills],
    }


def _dynamo(bill: DynamoBill) -> dict[str, Any]:
    lines = [{"title": each.title, "formula": each.formula, "amounts": asdict(each.amounts)} for each in bill.lines]
    return {"mode": bill.mode, "lines": lines, "total": asdict(bill.total)}


def shapes_of_machines(provider: str, machines: Mapping[tuple[str, str], int]) -> list[Shape]:
    """The parts of one cluster, from its number of nodes by region and machine type."""
    return [
        Shape(
            provider=provider,
            region=region,
            machine_type=machine_type,
            nodes=nodes,
            whole_cluster=number == 0,
        )
        for number, ((region, machine_type), nodes) in enumerate(sorted(machines.items()))
    ]


def machines_on_demand(shapes: Sequence[Shape]) -> Amounts | None:
    """What these parts of one cluster cost together, on demand. None: a machine type has no price. One statement."""
    book, now = price_book(*{shape.provider for shape in shapes}), timezone.now()
    bills = [estimate(shape, book, at=now).bill(Term.ON_DEMAND) for shape in shapes]
    known = [bill.total for bill in bills if bill is not None]
    return sum(known, NOTHING) if len(known) == len(bills) else None
