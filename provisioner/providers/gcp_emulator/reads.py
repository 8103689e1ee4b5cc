"""What is only read: regions, machine types, images, operations; and which permissions an account has."""

from typing import Any

from google.cloud import compute_v1

from provisioner.providers.gcp_emulator.call import Call
from provisioner.providers.gcp_emulator.errors import not_found
from provisioner.providers.gcp_emulator.geography import MACHINE_TYPES, QUOTAS, REGIONS
from provisioner.providers.gcp_emulator.instances import usage


def get_region(call: Call) -> compute_v1.Region:
    call.world.require("compute.regions.get")
    region = call.parts["region"]
    used = usage(call.world, region)
    quotas = [
        compute_v1.Quota(metric=metric, limit=call.world.quotas[region, metric], usage=used[metric])
        for metric in QUOTAS
    ]
    zones = [call.world.link(f"zones/{zone}") for zone in REGIONS[region]]
    return compute_v1.Region(name=region, status="UP", zones=zones, quotas=quotas)


def get_machine_type(call: Call) -> compute_v1.MachineType:
    call.world.require("compute.machineTypes.get")
    name, zone = call.parts["machine_type"], call.parts["zone"]
    # One zone does not have the largest, as it is in the real cloud.
    if name not in MACHINE_TYPES or (name.startswith("z3-") and zone.endswith("-c")):
        raise not_found(f"projects/{call.world.project}/zones/{zone}/machineTypes/{name}")
    facts = MACHINE_TYPES[name]
    return compute_v1.MachineType(
        name=name,
        zone=zone,
        guest_cpus=facts.cpus,
        memory_mb=facts.memory_mb,
        architecture="X86_64",
        bundled_local_ssds=compute_v1.BundledLocalSsds(partition_count=facts.bundled_local_ssds),
    )


def list_images(call: Call) -> compute_v1.ImageList:
    call.world.require("compute.images.list")
    items, following = call.page(resource for _, resource in call.world.below("global/images"))
    return compute_v1.ImageList(items=items, next_page_token=following)


def get_operation(call: Call) -> compute_v1.Operation:
    """Only plain scripts ask for single ones; our provider looks at resources."""
    path = f"{call.scope}/operations/{call.parts['operation']}"
    if path not in call.world.operations:
        raise not_found(path)
    return call.world.operations[path]


def list_zone_operations(call: Call) -> compute_v1.OperationList:
    call.world.require("compute.zoneOperations.list")
    here = f"{call.scope}/operations/"
    found = [operation for path, operation in call.world.operations.items() if path.startswith(here)]
    items, following = call.page(found)
    return compute_v1.OperationList(items=items, next_page_token=following)


def test_iam_permissions(call: Call) -> dict[str, Any]:
    asked = call.sent.get("permissions", [])
    return {"permissions": [permission for permission in asked if permission not in call.world.denied]}
