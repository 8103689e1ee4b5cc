"""What GCP tells of room before anything is made: quotas of the region, and which zones offer a machine type.

It does not tell whether a zone has machines free; that comes out when they are made (OutOfCapacity).
"""

from collections.abc import Iterable, Mapping

from google.cloud import compute_v1

from provisioner.providers.base import (
    Capacity,
    InvalidRequest,
    NotFound,
    OutOfCapacity,
    Quota,
    QuotaExceeded,
    Shortfall,
)
from provisioner.providers.gcp.client import Compute
from provisioner.providers.gcp.machine_types import MachineType, every_type, machine_type


def shortfalls(
    compute: Compute, *, region: str, machine_type_name: str, machines: Mapping[str, int]
) -> list[Shortfall]:
    kind = machine_type(machine_type_name)
    asked = {zone: number for zone, number in machines.items() if number > 0}
    found = compute.region(region)
    offered = {zone: _offered(compute, zone, machine_type_name) for zone in asked}
    number = sum(asked.values())
    needed = {metric: number * one for metric, one in _needs(compute, kind).items()}
    return [
        Shortfall(
            code=OutOfCapacity.code,
            message=f"Zone {zone} does not offer {machine_type_name}.",
            hint="Choose another machine type, or another zone for all nodes of this rack.",
        )
        for zone, offer in offered.items()
        if offer is None
    ] + list(_beyond_quota(region, needed, found.quotas))


def of_region(compute: Compute, region: str) -> Capacity:
    """The region's quotas that count machines of ours. One call."""
    needs = {kind.name: _needs(compute, kind) for kind in every_type()}
    counted = {metric for need in needs.values() for metric in need}
    return Capacity(
        quotas=tuple(
            Quota(
                name=quota.metric,
                limit=quota.limit,
                used=quota.usage,
                per_machine={name: need[quota.metric] for name, need in needs.items() if need.get(quota.metric)},
                hint=f"Ask Google for more {quota.metric} in {region}.",
            )
            for quota in compute.region(region).quotas
            if quota.metric in counted
        )
    )


def _needs(compute: Compute, kind: MachineType) -> dict[str, int]:
    """What one machine takes, by the metric of the quota."""
    needs = {
        "INSTANCES": 1,
        "LOCAL_SSD_TOTAL_GB": kind.chosen_local_ssd_gb,
        "CPUS": kind.cpus,
        f"{kind.family.upper()}_CPUS": kind.cpus,
    }
    return needs | ({"IN_USE_ADDRESSES": 1} if compute.settings.public_addresses else {})


def _offered(compute: Compute, zone: str, name: str) -> compute_v1.MachineType | None:
    request = compute_v1.GetMachineTypeRequest(project=compute.project, zone=zone, machine_type=name)
    try:
        return compute.ask(compute.machine_types.get, request)
    except (NotFound, InvalidRequest):
        return None


def _beyond_quota(region: str, needed: Mapping[str, int], quotas: Iterable[compute_v1.Quota]) -> Iterable[Shortfall]:
    for quota in quotas:
        wanted, free = needed.get(quota.metric, 0), quota.limit - quota.usage
        if wanted > free:
            yield Shortfall(
                code=QuotaExceeded.code,
                message=f"The order needs {wanted} of quota {quota.metric} in {region};"
                f" {free:g} of {quota.limit:g} are free.",
                hint=f"Ask Google for more {quota.metric} in {region}, or order fewer or smaller nodes.",
            )
