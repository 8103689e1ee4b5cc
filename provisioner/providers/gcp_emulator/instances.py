"""Instances of the emulated API: made, booted, stopped, deleted."""

import ipaddress
from typing import Any

from google.cloud import compute_v1

from provisioner.providers.gcp_emulator.call import Call, check_labels, check_name
from provisioner.providers.gcp_emulator.errors import invalid, not_ready, quota_exceeded
from provisioner.providers.gcp_emulator.geography import MACHINE_TYPES, ZONES, TypeFacts
from provisioner.providers.gcp_emulator.world import World


def insert(call: Call) -> compute_v1.Operation:
    world, zone, instance = call.world, call.parts["zone"], call.body
    _require(call)
    check_name(instance.name)
    check_labels(instance.labels.items())
    facts = _type_facts(zone, instance)
    _check_disks(world, instance, facts)
    interface = instance.network_interfaces[0] if instance.network_interfaces else compute_v1.NetworkInterface()
    subnet = world.get(world.path(interface.subnetwork))
    if world.path(interface.subnetwork).split("/")[1] != ZONES[zone]:
        raise invalid("Invalid value for field 'resource.networkInterfaces[0].subnetwork': another region.")
    _check_scheduling(instance, facts)
    path = f"zones/{zone}/instances/{instance.name}"
    if path not in world.resources:
        _check_quotas(world, ZONES[zone], instance, facts)
    instance.zone = world.link(f"zones/{zone}")
    instance.status = "PROVISIONING"
    world.add(path, instance, "made")
    interface.network = subnet.network
    interface.network_i_p = _address(world, subnet)
    for access in interface.access_configs:
        access.nat_i_p = interface.network_i_p if world.loopback else f"203.0.113.{world.number() % 254 + 1}"
    exhausted = ("ZONE_RESOURCE_POOL_EXHAUSTED", f"The zone '{zone}' does not have enough resources available.")
    identity = instance.id
    return call.operate(
        "insert",
        path,
        effect=lambda: _boot(world, path, identity),
        fail=lambda: world.remove(path),
        error=exhausted if zone in world.exhausted_zones else None,
    )


def get(call: Call) -> compute_v1.Instance:
    call.world.require("compute.instances.get")
    instance: compute_v1.Instance = call.world.get(_path(call))
    return instance


def aggregated_list(call: Call) -> compute_v1.InstanceAggregatedList:
    call.world.require("compute.instances.list")
    found, following = call.page(r for p, r in sorted(call.world.resources.items()) if "/instances/" in p)
    items: dict[str, Any] = {}
    for zone in ZONES:
        here = [instance for instance in found if instance.zone.endswith(f"/{zone}")]
        if zone in call.world.unreachable_zones:
            items[f"zones/{zone}"] = _warning("UNREACHABLE", f"The zone '{zone}' could not be reached.")
        elif here:
            items[f"zones/{zone}"] = {"instances": here}
        else:
            items[f"zones/{zone}"] = _warning("NO_RESULTS_ON_PAGE", "There are no results on this page.")
    return compute_v1.InstanceAggregatedList(items=items, next_page_token=following)


def start(call: Call) -> compute_v1.Operation:
    world, path = call.world, _path(call)
    world.require("compute.instances.start")
    instance = world.get(path)
    if instance.status not in ("TERMINATED", "RUNNING"):
        raise not_ready(path)
    identity = instance.id
    if instance.status == "TERMINATED":
        instance.status = "STAGING"

    def fail() -> None:
        if (there := _same(world, path, identity)) is not None and there.status == "STAGING":
            there.status = "TERMINATED"

    return call.operate("start", path, effect=lambda: _boot(world, path, identity), fail=fail)


def stop(call: Call) -> compute_v1.Operation:
    world, path = call.world, _path(call)
    world.require("compute.instances.stop")
    instance = world.get(path)
    if any(disk.type_ == "SCRATCH" for disk in instance.disks) and "discardLocalSsd" not in call.query:
        raise invalid(f"Instance '{path}' has local SSDs: discardLocalSsd must be given.")
    identity, orderly = instance.id, call.query.get("noGracefulShutdown") != "true"
    before = instance.status
    if before != "TERMINATED":
        instance.status = "STOPPING"

    def effect() -> None:
        # One that was off when this was asked for, and was started since, stays on.
        if (there := _same(world, path, identity)) is not None and there.status == "STOPPING":
            there.status = "TERMINATED"
            there.last_stop_timestamp = world.now()
            world.stop_program(path, orderly=orderly)
            world.note("stopped", path)

    def fail() -> None:
        if (there := _same(world, path, identity)) is not None and there.status == "STOPPING":
            there.status = before

    return call.operate("stop", path, effect=effect, fail=fail)


def delete(call: Call) -> compute_v1.Operation:
    world, path = call.world, _path(call)
    world.require("compute.instances.delete")
    instance = world.get(path)
    identity, before = instance.id, instance.status
    instance.status = "STOPPING"

    def effect() -> None:
        if _same(world, path, identity) is not None:
            world.stop_program(path, orderly=False)
            world.remove(path)

    def fail() -> None:
        if (there := _same(world, path, identity)) is not None:
            there.status = before

    return call.operate("delete", path, effect=effect, fail=fail)


def _path(call: Call) -> str:
    return f"zones/{call.parts['zone']}/instances/{call.parts['instance']}"


def _same(world: World, path: str, identity: int) -> compute_v1.Instance | None:
    """The instance of this path, if it is still that one and not a later one of the same name."""
    instance: compute_v1.Instance | None = world.resources.get(path)
    return instance if instance is not None and instance.id == identity else None


def _boot(world: World, path: str, identity: int) -> None:
    instance = _same(world, path, identity)
    if instance is None or instance.status not in ("PROVISIONING", "STAGING"):
        return
    instance.status = "STAGING"

    def runs() -> None:
        booted = _same(world, path, identity)
        if booted is not None and booted.status == "STAGING":
            booted.status = "RUNNING"
            booted.last_start_timestamp = world.now()
            world.note("booted", path)
            world.start_program(path)

    world.later(world.boot_seconds, runs)


def _require(call: Call) -> None:
    instance, require = call.body, call.world.require
    require("compute.instances.create", "compute.disks.create", "compute.subnetworks.use")
    if instance.labels:
        require("compute.instances.setLabels")
    if instance.metadata.items:
        require("compute.instances.setMetadata")
    if instance.tags.items:
        require("compute.instances.setTags")
    if instance.service_accounts:
        require("compute.instances.setServiceAccount", "iam.serviceAccounts.actAs")
    for disk in instance.disks:
        if disk.initialize_params.source_image:
            require("compute.images.useReadOnly")
        if disk.initialize_params.labels:
            require("compute.disks.setLabels")
    if any(interface.access_configs for interface in instance.network_interfaces):
        require("compute.subnetworks.useExternalIp")


def _type_facts(zone: str, instance: compute_v1.Instance) -> TypeFacts:
    place, _, name = instance.machine_type.rpartition("/")
    if name not in MACHINE_TYPES or not place.endswith(f"zones/{zone}/machineTypes"):
        raise invalid(f"Invalid value for field 'resource.machineType': '{instance.machine_type}'.")
    return MACHINE_TYPES[name]


def _check_disks(world: World, instance: compute_v1.Instance, facts: TypeFacts) -> None:
    boot = [disk for disk in instance.disks if disk.boot]
    if len(boot) != 1:
        raise invalid("Invalid value for field 'resource.disks': exactly one must be a boot disk.")
    world.get(world.path(boot[0].initialize_params.source_image))
    check_labels(boot[0].initialize_params.labels.items())
    local = [disk for disk in instance.disks if disk.type_ == "SCRATCH"]
    if any(disk.interface != "NVME" or not disk.auto_delete for disk in local):
        raise invalid("Invalid value for field 'resource.disks': local SSDs are NVME and deleted with the instance.")
    if local and len(local) not in facts.local_ssd_counts:
        raise invalid(f"Invalid value for field 'resource.disks': {len(local)} local SSDs are not offered.")


def _check_scheduling(instance: compute_v1.Instance, facts: TypeFacts) -> None:
    if instance.scheduling.provisioning_model == "SPOT" and instance.scheduling.automatic_restart:
        raise invalid("Scheduling must have automatic restart off for spot instances.")


def _check_quotas(world: World, region: str, instance: compute_v1.Instance, facts: TypeFacts) -> None:
    local_gb = 375 * sum(1 for disk in instance.disks if disk.type_ == "SCRATCH")
    wanted = {"CPUS": facts.cpus, "LOCAL_SSD_TOTAL_GB": local_gb, "INSTANCES": 1}
    used = usage(world, region)
    for metric, amount in wanted.items():
        limit = world.quotas[region, metric]
        if used[metric] + amount > limit:
            raise quota_exceeded(metric, limit, region)


def usage(world: World, region: str) -> dict[str, float]:
    """What the region's instances use of each quota."""
    used = {"CPUS": 0.0, "N2_CPUS": 0.0, "LOCAL_SSD_TOTAL_GB": 0.0, "IN_USE_ADDRESSES": 0.0, "INSTANCES": 0.0}
    for path, instance in world.resources.items():
        if "/instances/" not in path or ZONES[path.split("/")[1]] != region:
            continue
        name = instance.machine_type.rpartition("/")[2]
        used["INSTANCES"] += 1
        used["CPUS"] += MACHINE_TYPES[name].cpus
        used["N2_CPUS"] += MACHINE_TYPES[name].cpus if name.startswith("n2-") else 0
        used["LOCAL_SSD_TOTAL_GB"] += 375 * sum(1 for disk in instance.disks if disk.type_ == "SCRATCH")
        used["IN_USE_ADDRESSES"] += sum(len(interface.access_configs) for interface in instance.network_interfaces)
    return used


def _address(world: World, subnet: compute_v1.Subnetwork) -> str:
    """The subnet's next free one; or, where programs run on machines, one of 127.<loopback>.0.0/16."""
    block = ipaddress.ip_network(f"127.{world.loopback}.0.0/16" if world.loopback else subnet.ip_cidr_range)
    taken = {
        resource.network_interfaces[0].network_i_p
        for path, resource in world.resources.items()
        if "/instances/" in path
    }
    # The first is the gateway's.
    for host in range(2, block.num_addresses - 2):
        address = str(block.network_address + host)
        if address not in taken:
            return address
    raise invalid(f"IP space of '{subnet.name}' is exhausted.")


def _warning(code: str, message: str) -> dict[str, Any]:
    return {"warning": {"code": code, "message": message}}
