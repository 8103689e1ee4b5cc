"""The Price List Query API: GetProducts for EC2, with filters and pages, over made-up offers.

On demand in us-east-1 machines cost what the catalogue says, elsewhere a tenth more; reservations are fractions of it.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

_CATALOGUE = Path(__file__).resolve().parents[3] / "images" / "machine" / "data" / "instances.json"
_PAGE = 25
_REGIONS = {"us-east-1": 1.0, "eu-west-1": 1.1, "eu-central-1": 1.1}
_RESERVED = {
    ("1yr", "No Upfront", "standard"): 0.63,
    ("3yr", "No Upfront", "standard"): 0.43,
    ("1yr", "No Upfront", "convertible"): 0.70,
    ("1yr", "Partial Upfront", "standard"): 0.30,
    ("1yr", "All Upfront", "standard"): 0.0,
}


def get_products(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """`wanted`: the call's body."""
    filters = {one["Field"]: one["Value"] for one in wanted.get("Filters", [])}
    found = [product for product in _products() if _matches(product, filters)]
    first = int(wanted.get("NextToken") or 0)
    size = min(int(wanted.get("MaxResults", _PAGE)), _PAGE)
    answer: dict[str, Any] = {
        "FormatVersion": "aws_v1",
        "PriceList": [json.dumps(product) for product in found[first : first + size]],
    }
    return answer | ({"NextToken": str(first + size)} if first + size < len(found) else {})


def _matches(product: Mapping[str, Any], filters: Mapping[str, str]) -> bool:
    attributes = product["product"]["attributes"] | {"productFamily": product["product"]["productFamily"]}
    return all(attributes.get(field, "").lower() == value.lower() for field, value in filters.items())


@cache
def _products() -> list[dict[str, Any]]:
    return [product for region, factor in _REGIONS.items() for product in _of_region(region, factor)]


def _of_region(region: str, factor: float) -> Iterator[dict[str, Any]]:
    for entry in json.loads(_CATALOGUE.read_text())["instances"]:
        if entry["provider"] == "aws":
            price = entry["on_demand_usd_hour"] * factor
            yield _machine(region, entry["type"], price, operatingSystem="Linux")
            yield _machine(region, entry["type"], price * 1.9, operatingSystem="Windows")
            yield _machine(region, entry["type"], price * 1.2, operatingSystem="Linux", tenancy="Dedicated")
            # Capacity that is kept but not used.
            yield _machine(
                region, entry["type"], 0.0, operatingSystem="Linux", capacitystatus="UnusedCapacityReservation"
            )
    yield _machine(region, "m5.large", 0.096 * factor, operatingSystem="Linux", instanceFamily="General purpose")
    for volume, price in (("gp3", 0.08), ("gp2", 0.10)):
        attributes = {"volumeApiName": volume, "regionCode": region}
        yield _product("Storage", f"{region}-{volume}", attributes, {"OnDemand": _offer("GB-Mo", price * factor)})


def _machine(region: str, name: str, price: float, **attributes: str) -> dict[str, Any]:
    told = {
        "instanceType": name,
        "instanceFamily": "Storage optimized",
        "regionCode": region,
        "preInstalledSw": "NA",
        "tenancy": "Shared",
        "capacitystatus": "Used",
    } | attributes
    reserved: dict[str, Any] = {}
    for (length, option, offering), share in _RESERVED.items():
        terms = {"LeaseContractLength": length, "PurchaseOption": option, "OfferingClass": offering}
        reserved |= _offer("Hrs", price * share, terms, upfront=0.0 if option == "No Upfront" else price * 2000)
    return _product(
        "Compute Instance", "-".join(told.values()), told, {"OnDemand": _offer("Hrs", price), "Reserved": reserved}
    )


def _product(family: str, sku: str, attributes: dict[str, str], terms: dict[str, Any]) -> dict[str, Any]:
    return {
        "product": {"productFamily": family, "attributes": attributes, "sku": sku},
        "serviceCode": "AmazonEC2",
        "terms": terms,
        "version": "20261101000000",
        "publicationDate": "2026-11-01T00:00:00Z",
    }


def _offer(unit: str, price: float, terms: dict[str, str] | None = None, *, upfront: float = 0.0) -> dict[str, Any]:
    code = "-".join((terms or {"": "ONDEMAND"}).values())
    dimensions = {f"{code}.rate": {"unit": unit, "pricePerUnit": {"USD": f"{price:.10f}"}}}
    if upfront:
        dimensions[f"{code}.upfront"] = {"unit": "Quantity", "pricePerUnit": {"USD": f"{upfront:.10f}"}}
    return {
        code: {"priceDimensions": dimensions, "effectiveDate": "2026-11-01T00:00:00Z", "termAttributes": terms or {}}
    }
