"""What AWS publishes: the Price List Query API (GetProducts of AWSPriceListService).

Reservations are of the class *standard* and with nothing paid up front, so that they compare by the hour with machines
on demand. Format and attributes: AWS Billing User Guide, "Using the AWS Price List Query API".
"""

import datetime
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from provisioner.providers.aws.cloud import Cloud
from provisioner.providers.aws.machine_types import every_type
from provisioner.providers.base import ListPrice

HOME = "us-east-1"
"""One of the few regions that answer; each knows the prices of all."""

BOOT_DISK = "gp3"
_FAMILY = "Storage optimized"
"""All of the catalogue's types are of it."""

_TERMS = {"1yr": "reserved_1y", "3yr": "reserved_3y"}
_Product = dict[str, Any]


def price_list(cloud: Cloud, regions: Sequence[str]) -> dict[str, list[ListPrice]]:
    return {region: [*_machines(cloud, region), *_disks(cloud, region)] for region in regions}


def _machines(cloud: Cloud, region: str) -> Iterator[ListPrice]:
    wanted = {one.name for one in every_type()}
    for product in _products(
        cloud,
        regionCode=region,
        instanceFamily=_FAMILY,
        operatingSystem="Linux",
        preInstalledSw="NA",
        tenancy="Shared",
        capacitystatus="Used",
    ):
        name = product["product"]["attributes"]["instanceType"]
        if name in wanted:
            for term, micros, day in _hourly(product["terms"]):
                yield ListPrice(item="machine", name=name, term=term, micros=micros, day=day)


def _disks(cloud: Cloud, region: str) -> Iterator[ListPrice]:
    for product in _products(cloud, regionCode=region, productFamily="Storage", volumeApiName=BOOT_DISK):
        for offer in product["terms"].get("OnDemand", {}).values():
            if (micros := _paid(offer, "GB-Mo")) is not None:
                yield ListPrice(item="block_storage", name=BOOT_DISK, micros=micros, day=_day(offer))


def _products(cloud: Cloud, **attributes: str) -> Iterable[_Product]:
    filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in attributes.items()]
    told = cloud.prices(HOME).all("get_products", "PriceList", ServiceCode="AmazonEC2", Filters=filters)
    return [json.loads(str(one)) for one in told]


def _hourly(terms: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, int, datetime.date]]:
    for offer in terms.get("OnDemand", {}).values():
        if (micros := _paid(offer, "Hrs")) is not None:
            yield "on_demand", micros, _day(offer)
    for offer in terms.get("Reserved", {}).values():
        of = offer["termAttributes"]
        plain = of.get("PurchaseOption") == "No Upfront" and of.get("OfferingClass") == "standard"
        term = _TERMS.get(of.get("LeaseContractLength", ""))
        if plain and term is not None and (micros := _paid(offer, "Hrs")) is not None:
            yield term, micros, _day(offer)


def _paid(offer: Mapping[str, Any], unit: str) -> int | None:
    """Micro-dollars of one unit; None: it is not sold by this unit, or in another currency."""
    found = [
        Decimal(dimension["pricePerUnit"]["USD"])
        for dimension in offer["priceDimensions"].values()
        if dimension["unit"] == unit and "USD" in dimension["pricePerUnit"]
    ]
    if len(found) != 1 or found[0] <= 0:
        return None
    return int((found[0] * 1_000_000).quantize(Decimal(1), rounding=ROUND_HALF_UP))


def _day(offer: Mapping[str, Any]) -> datetime.date:
    return datetime.datetime.fromisoformat(offer["effectiveDate"]).date()
