"""What Google publishes: the SKUs of Compute Engine in the Cloud Billing Catalog API.

There is no price of a machine type: it is the sum of its vCPUs, GiB of memory and GiB of local SSD. SKUs are told apart
by their description, since their ids differ by region. The price of a region goes before that of a larger area
("Americas"); of two for the same the higher one counts, as a dearer twin of the same name is what is billed.
Committed use discounts are reservations here; nothing is paid up front.
"""

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from provisioner.providers.base import ListPrice
from provisioner.providers.gcp.client import Compute
from provisioner.providers.gcp.machine_types import MachineFacts, every_fact

COMPUTE_ENGINE = "6F81-5844-456A"
BOOT_DISK = "pd-balanced"
_HOURS_PER_MONTH = 730
_PAGE = 5000
_FIELDS = (
    "nextPageToken,skus(description,category(resourceGroup,usageType),serviceRegions,"
    "pricingInfo(effectiveTime,pricingExpression(usageUnit,tieredRates(unitPrice))))"
)
_TERMS = {"OnDemand": "on_demand", "Commit1Yr": "reserved_1y", "Commit3Yr": "reserved_3y"}
_MACHINE = re.compile(
    r"(?:(?P<family>\w+) Instance (?P<part>Core|Ram) running in"
    r"|Commitment v1: (?P<committed>\w+) (?P<share>Cpu|Ram) in) "
)
_LOCAL_SSD = re.compile(r"SSD backed Local Storage(?: in .*)?|Commitment v1: Local SSD .*")
_BOOT_DISK = re.compile(r"Balanced PD Capacity(?: in .*)?")


@dataclass(frozen=True)
class _Rate:
    """`regions`: how many it holds for. `micros` of a vCPU and hour, GiB and hour, or GiB and month."""

    micros: Decimal
    regions: int
    day: datetime.date


_Key = tuple[str, str]
"""What it is of (`n2 core`, `n2 ram`, `local ssd`, `boot disk`), and the term."""


def price_list(compute: Compute, regions: Sequence[str]) -> dict[str, list[ListPrice]]:
    rates: dict[str, dict[_Key, _Rate]] = {region: {} for region in regions}
    for sku in _skus(compute):
        key, rate = _key(sku), _rate(sku)
        if key is None or rate is None:
            continue
        for region in set(sku["serviceRegions"]) & set(rates):
            rates[region][key] = _chosen(rate, rates[region].get(key))
    return {region: list(_prices(found)) for region, found in rates.items()}


def _skus(compute: Compute) -> Iterator[dict[str, Any]]:
    token = ""
    while True:
        query = {"currencyCode": "USD", "pageSize": str(_PAGE), "fields": _FIELDS}
        answer = compute.catalog(f"v1/services/{COMPUTE_ENGINE}/skus", query | ({"pageToken": token} if token else {}))
        yield from answer.get("skus", [])
        token = answer.get("nextPageToken", "")
        if not token:
            return


def _key(sku: Mapping[str, Any]) -> _Key | None:
    term = _TERMS.get(sku["category"]["usageType"])
    description = sku["description"]
    if term is None:
        return None
    if _LOCAL_SSD.fullmatch(description):
        return "local ssd", term
    if _BOOT_DISK.fullmatch(description):
        return "boot disk", term
    if (found := _MACHINE.match(description)) is None:
        return None
    family = (found["family"] or found["committed"]).lower()
    return f"{family} {'ram' if 'Ram' in (found['part'], found['share']) else 'core'}", term


def _rate(sku: Mapping[str, Any]) -> _Rate | None:
    """None: it has several prices by quantity, or none."""
    if not sku.get("pricingInfo"):
        return None
    latest = sku["pricingInfo"][-1]
    tiers = [_micros(tier["unitPrice"]) for tier in latest["pricingExpression"]["tieredRates"]]
    if len(tiers) != 1 or tiers[0] <= 0:
        return None
    day = datetime.datetime.fromisoformat(latest["effectiveTime"]).date()
    return _Rate(tiers[0], len(sku["serviceRegions"]), day)


def _micros(price: Mapping[str, Any]) -> Decimal:
    return Decimal(price.get("units") or 0) * 1_000_000 + Decimal(price.get("nanos") or 0) / 1000


def _chosen(one: _Rate, other: _Rate | None) -> _Rate:
    if other is None:
        return one
    if (one.regions == 1) is not (other.regions == 1):
        return one if one.regions == 1 else other
    return max(one, other, key=lambda rate: rate.micros)


def _prices(rates: Mapping[_Key, _Rate]) -> Iterator[ListPrice]:
    for facts in every_fact():
        for term in _TERMS.values():
            if (price := _machine(facts, term, rates)) is not None:
                yield price
    if (disk := rates.get(("boot disk", "on_demand"))) is not None:
        yield ListPrice(item="block_storage", name=BOOT_DISK, micros=_whole(disk.micros), day=disk.day)


def _machine(facts: MachineFacts, term: str, rates: Mapping[_Key, _Rate]) -> ListPrice | None:
    """Local SSDs for which there is no commitment are paid on demand."""
    core, ram = rates.get((f"{facts.series} core", term)), rates.get((f"{facts.series} ram", term))
    ssd = rates.get(("local ssd", term)) or rates.get(("local ssd", "on_demand"))
    if core is None or ram is None or ssd is None:
        return None
    micros = (
        facts.cpus * core.micros
        + Decimal(str(facts.memory_gib)) * ram.micros
        + facts.local_ssd_gib * ssd.micros / _HOURS_PER_MONTH
    )
    day = max(rate.day for rate in (core, ram, ssd))
    return ListPrice(item="machine", name=facts.name, term=term, micros=_whole(micros), day=day)


def _whole(micros: Decimal) -> int:
    return int(micros.quantize(Decimal(1), rounding=ROUND_HALF_UP))
