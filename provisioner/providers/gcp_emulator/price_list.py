"""The Cloud Billing Catalog API: SKUs of Compute Engine, page by page.

N2 and local SSDs as in the catalogue's sources; how Z3's price is split between vCPU and memory is made up.
"""

from collections.abc import Iterator, Mapping
from typing import Any

PATH = "/v1/services/6F81-5844-456A/skus"
_PAGE = 6
_AMERICAS = ("us-central1", "us-east1", "us-west1")

SKUS: tuple[tuple[str, str, str, str, tuple[str, ...], float], ...] = (
    ("N2 Instance Core running in Americas", "CPU", "OnDemand", "h", _AMERICAS, 0.031611),
    ("N2 Instance Ram running in Americas", "RAM", "OnDemand", "GiBy.h", _AMERICAS, 0.004237),
    ("Spot Preemptible N2 Instance Core running in Americas", "CPU", "Preemptible", "h", _AMERICAS, 0.007650),
    ("N2 Custom Instance Core running in Americas", "CPU", "OnDemand", "h", _AMERICAS, 0.033174),
    ("N2D AMD Instance Core running in Americas", "CPU", "OnDemand", "h", _AMERICAS, 0.027502),
    ("Commitment v1: N2 Cpu in Americas for 1 Year", "CPU", "Commit1Yr", "h", _AMERICAS, 0.019915),
    ("Commitment v1: N2 Ram in Americas for 1 Year", "RAM", "Commit1Yr", "GiBy.h", _AMERICAS, 0.002669),
    ("Commitment v1: N2 Cpu in Americas for 3 Years", "CPU", "Commit3Yr", "h", _AMERICAS, 0.014225),
    ("Commitment v1: N2 Ram in Americas for 3 Years", "RAM", "Commit3Yr", "GiBy.h", _AMERICAS, 0.001907),
    ("Z3 Instance Core running in Iowa", "CPU", "OnDemand", "h", ("us-central1",), 0.0496555),
    ("Z3 Instance Core running in Americas", "CPU", "OnDemand", "h", _AMERICAS, 0.06),
    ("Z3 Instance Ram running in Iowa", "RAM", "OnDemand", "GiBy.h", ("us-central1",), 0.006655),
    ("Z3 Instance Ram running in Council Bluffs", "RAM", "OnDemand", "GiBy.h", ("us-central1",), 0.005),
    ("Z3 Instance Local SSD running in Iowa", "LocalSSD", "OnDemand", "GiBy.mo", ("us-central1",), 0.16),
    ("DWS Calendar Mode Z3 Instance Core running in Iowa", "CPU", "OnDemand", "h", ("us-central1",), 0.09),
    ("SSD backed Local Storage", "LocalSSD", "OnDemand", "GiBy.mo", _AMERICAS, 0.08),
    ("Commitment v1: Local SSD In Americas for 1 Year", "LocalSSD", "Commit1Yr", "GiBy.mo", _AMERICAS, 0.0504),
    ("Balanced PD Capacity", "SSD", "OnDemand", "GiBy.mo", _AMERICAS, 0.1),
    ("Balanced PD Capacity in Belgium", "SSD", "OnDemand", "GiBy.mo", ("europe-west1",), 0.11),
    ("N2 Instance Core running in Belgium", "CPU", "OnDemand", "h", ("europe-west1",), 0.034773),
    ("N2 Instance Ram running in Belgium", "RAM", "OnDemand", "GiBy.h", ("europe-west1",), 0.004661),
    ("SSD backed Local Storage in Belgium", "LocalSSD", "OnDemand", "GiBy.mo", ("europe-west1",), 0.088),
)
"""Description, resource group, usage type, unit, regions, US dollars."""


def page(query: Mapping[str, str]) -> dict[str, Any]:
    found = list(_skus())
    first = int(query.get("pageToken") or 0)
    size = min(int(query.get("pageSize") or _PAGE), _PAGE)
    following = str(first + size) if first + size < len(found) else ""
    return {"skus": found[first : first + size], "nextPageToken": following}


def _skus() -> Iterator[dict[str, Any]]:
    for description, group, usage, unit, regions, price in SKUS:
        yield {
            "description": description,
            "category": {"resourceFamily": "Compute", "resourceGroup": group, "usageType": usage},
            "serviceRegions": list(regions),
            "pricingInfo": [_info(unit, price * 2, "2026-01-01"), _info(unit, price, "2026-10-01")],
        }


def _info(unit: str, price: float, day: str) -> dict[str, Any]:
    """The last one of a SKU is what counts today."""
    whole = int(price)
    amount = {"currencyCode": "USD", "units": str(whole), "nanos": round((price - whole) * 1e9)}
    return {
        "effectiveTime": f"{day}T00:00:00Z",
        "pricingExpression": {"usageUnit": unit, "tieredRates": [{"startUsageAmount": 0, "unitPrice": amount}]},
    }
