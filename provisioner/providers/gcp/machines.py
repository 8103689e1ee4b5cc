"""Machines: Compute Engine instances, found by name in whichever zone of their region they are.

An instance's name is unique in its zone, so the name is what keeps a machine from being made twice; request ids keep a
lost answer from looking like somebody else's machine. Creations fail late: the call is accepted, the instance shows up,
and a minute later it is gone and only the operation says why. So whoever finds no instance looks at the operation.
"""

import datetime
from contextlib import suppress
from typing import Any

from google.cloud import compute_v1

from provisioner.providers.base import (
    InvalidRequest,
    Machine,
    MachineSpec,
    MachineState,
    NotFound,
    Notice,
    ProviderError,
)
from provisioner.providers.gcp import images, networks
from provisioner.providers.gcp.client import Compute, last
from provisioner.providers.gcp.errors import AlreadyThere, NotReady, of_operation
from provisioner.providers.gcp.machine_types import MachineType, machine_type
from provisioner.providers.gcp.names import INSTALLATION_LABEL, NETWORK_LABEL, checked_name, labels, spec_hash, tags
from provisioner.providers.gcp.networks import AGENT_PORT

USER_DATA = "user-data"
"""The metadata key under which the agent finds what it is told."""

_SPEC_HASH = "ringmaster-spec"
_STOPPED = ("STOPPING", "STOPPED", "SUSPENDING", "SUSPENDED", "TERMINATED", "PENDING_STOP", "DEPROVISIONING")
_ENDING = ("STOPPING", "SUSPENDING", "PENDING_STOP", "DEPROVISIONING")
_SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]


def ensure(compute: Compute, spec: MachineSpec) -> Machine:
    kind = machine_type(spec.machine_type)
    checked_name(spec.name)
    zones = compute.zones(spec.region)
    if spec.zone not in zones:
        raise InvalidRequest(f"Unknown zone {spec.zone!r} in {spec.region}: there are {', '.join(zones)}.")
    absent = compute.was_absent(spec.region, spec.name)
    instance = None if absent else _find(compute, spec.region, spec.name)
    instance = instance or _make(compute, spec, kind)
    if _metadata(instance).get(_SPEC_HASH) != spec_hash(spec):
        raise InvalidRequest(
            f"Machine {spec.name} exists and was made from another spec.",
            hint="Delete it first, or ask for it as it was asked for the first time.",
        )
    if instance.status in _STOPPED:
        _start(compute, instance)
        instance = _get(compute, spec.zone, spec.name) or instance
    return _machine(compute, instance)


def find(compute: Compute, region: str, name: str) -> Machine | None:
    instance = _find(compute, region, name)
    if instance is None:
        compute.note_absent(region, name)
        return None
    return _machine(compute, instance)


def list_all(compute: Compute, region: str) -> list[Machine]:
    return [_machine(compute, instance) for instance in _ours(compute, region)]


def delete(compute: Compute, region: str, name: str) -> bool:
    """What goes with a machine (its boot disk, local SSDs and addresses) is made to go with it.

    Who says that a machine is gone must be sure: each zone is asked, not only the list of all.
    """
    instance = _find(compute, region, name) or _find_by_zone(compute, region, name)
    if instance is None:
        return True
    zone = last(instance.zone)
    request = compute_v1.DeleteInstanceRequest(project=compute.project, zone=zone, instance=name)
    try:
        compute.change(compute.instances.delete_unary, request, name, "delete", str(instance.id))
    except NotFound:
        return True
    return _get(compute, zone, name) is None


def start(compute: Compute, region: str, name: str) -> None:
    instance = _existing(compute, region, name)
    if instance.status in _STOPPED:
        _start(compute, instance)


def stop(compute: Compute, region: str, name: str) -> None:
    """GCP sends the power button's signal and cuts the power 90 seconds later."""
    _stop(compute, _existing(compute, region, name), graceful=True)


def kill(compute: Compute, region: str, name: str) -> None:
    """The nearest thing that GCP has: a stop that skips the orderly part where a machine asked for one."""
    _stop(compute, _existing(compute, region, name), graceful=False)


def are_in_network(compute: Compute, region: str, network: str) -> bool:
    return bool(_listed(compute, region, f"labels.{NETWORK_LABEL} = {network}"))


def notices(compute: Compute, region: str) -> list[Notice]:
    return [notice for instance in _ours(compute, region) if (notice := _notice(instance)) is not None]


def _find(compute: Compute, region: str, name: str) -> compute_v1.Instance | None:
    """One call for all zones."""
    found = _listed(compute, region, f'name = "{checked_name(name)}"')
    return found[0] if found else None


def _find_by_zone(compute: Compute, region: str, name: str) -> compute_v1.Instance | None:
    for zone in compute.zones(region):
        if (instance := _get(compute, zone, name)) is not None:
            return instance
    return None


def _get(compute: Compute, zone: str, name: str) -> compute_v1.Instance | None:
    request = compute_v1.GetInstanceRequest(project=compute.project, zone=zone, instance=name)
    return compute.look(compute.instances.get, request)


def _existing(compute: Compute, region: str, name: str) -> compute_v1.Instance:
    instance = _find(compute, region, name)
    if instance is None:
        raise NotFound(f"There is no machine {name}.")
    return instance


def _ours(compute: Compute, region: str) -> list[compute_v1.Instance]:
    found = _listed(compute, region, f"labels.{INSTALLATION_LABEL} = {compute.settings.installation}")
    return sorted(found, key=lambda instance: instance.name)


def _listed(compute: Compute, region: str, wanted: str) -> list[compute_v1.Instance]:
    """Of the region. A zone that does not answer is an error, never an empty zone."""
    zones = compute.zones(region)
    request = compute_v1.AggregatedListInstancesRequest(project=compute.project, filter=wanted)
    found: list[compute_v1.Instance] = []
    for scope, scoped in compute.ask_all(compute.instances.aggregated_list, request):
        if last(scope) not in zones:
            continue
        warning: Any = scoped.warning
        if warning.code == "UNREACHABLE":
            raise ProviderError(f"Zone {last(scope)} does not answer: {warning.message}")
        found += scoped.instances
    return found


def _make(compute: Compute, spec: MachineSpec, kind: MachineType) -> compute_v1.Instance:
    network = networks.known(compute, spec.network)
    if network is None or spec.zone not in network.zones:
        raise InvalidRequest(f"There is no network {spec.network} in zone {spec.zone}; it must be made first.")
    # Who asks for the first time learns of an earlier failure from the request id, which brings back its operation.
    before = _last_operation(compute, spec) if spec.name in compute.machines_asked_for else None
    compute.machines_asked_for.add(spec.name)
    if before is not None and before.operation_type == "insert":
        failure = of_operation(before)
        if failure is not None and compute.is_recent(before):
            raise failure
    request = compute_v1.InsertInstanceRequest(
        project=compute.project, zone=spec.zone, instance_resource=_resource(compute, spec, kind)
    )
    # Who saw the same last operation makes the same request, whatever else it would tell the machine.
    seen = "" if before is None else before.name
    with suppress(AlreadyThere):
        compute.change(compute.instances.insert_unary, request, spec.name, "insert", seen)
    instance = _get(compute, spec.zone, spec.name)
    if instance is None:
        raise NotReady(f"Machine {spec.name} has been asked for and does not show yet.")
    return instance


def _last_operation(compute: Compute, spec: MachineSpec) -> compute_v1.Operation | None:
    """The newest that made or deleted a machine of this name."""
    link = compute.link(f"zones/{spec.zone}/instances/{spec.name}")
    request = compute_v1.ListZoneOperationsRequest(
        project=compute.project, zone=spec.zone, filter=f'targetLink = "{link}"'
    )
    operations = compute.ask_all(compute.zone_operations.list, request)
    of_life = [operation for operation in operations if operation.operation_type in ("insert", "delete")]
    return max(of_life, key=lambda operation: operation.insert_time, default=None)


def _resource(compute: Compute, spec: MachineSpec, kind: MachineType) -> compute_v1.Instance:
    """Restarts and moves are ours to decide: a machine that comes up without its disks must not do so unseen."""
    settings, zone = compute.settings, spec.zone
    marks = labels(spec.tags, installation=settings.installation, network=spec.network)
    boot = compute_v1.AttachedDisk(
        boot=True,
        auto_delete=True,
        initialize_params=compute_v1.AttachedDiskInitializeParams(
            source_image=images.source(spec.image),
            disk_size_gb=settings.boot_disk_gb,
            disk_type=f"zones/{zone}/diskTypes/pd-balanced",
            labels=marks,
        ),
    )
    local_ssd = compute_v1.AttachedDisk(
        type_="SCRATCH",
        interface="NVME",
        auto_delete=True,
        initialize_params=compute_v1.AttachedDiskInitializeParams(disk_type=f"zones/{zone}/diskTypes/local-ssd"),
    )
    interface = compute_v1.NetworkInterface(
        subnetwork=compute.link(f"regions/{spec.region}/subnetworks/{spec.network}"), nic_type="GVNIC"
    )
    if settings.public_addresses:
        interface.access_configs = [compute_v1.AccessConfig(type_="ONE_TO_ONE_NAT", name="External NAT")]
    resource = compute_v1.Instance(
        name=spec.name,
        machine_type=f"zones/{zone}/machineTypes/{spec.machine_type}",
        labels=marks,
        tags=compute_v1.Tags(items=[spec.network]),
        metadata=compute_v1.Metadata(
            items=[
                compute_v1.Items(key=USER_DATA, value=spec.user_data),
                compute_v1.Items(key=_SPEC_HASH, value=spec_hash(spec)),
                compute_v1.Items(key="block-project-ssh-keys", value="TRUE"),
            ]
        ),
        disks=[boot] + [local_ssd] * (0 if kind.bundled else kind.local_ssds),
        network_interfaces=[interface],
        scheduling=compute_v1.Scheduling(
            automatic_restart=False, on_host_maintenance="TERMINATE", preemptible=False, provisioning_model="STANDARD"
        ),
        shielded_instance_config=compute_v1.ShieldedInstanceConfig(
            enable_secure_boot=True, enable_vtpm=True, enable_integrity_monitoring=True
        ),
    )
    if settings.machine_service_account:
        resource.service_accounts = [compute_v1.ServiceAccount(email=settings.machine_service_account, scopes=_SCOPES)]
    return resource


def _start(compute: Compute, instance: compute_v1.Instance) -> None:
    if instance.status in _ENDING:
        raise NotReady(f"Machine {instance.name} is stopping and can be started when that is done.")
    request = compute_v1.StartInstanceRequest(project=compute.project, zone=last(instance.zone), instance=instance.name)
    # A machine that was stopped again has another time of its last stop.
    stopped = instance.last_stop_timestamp
    compute.change(compute.instances.start_unary, request, instance.name, "start", str(instance.id), stopped)


def _stop(compute: Compute, instance: compute_v1.Instance, *, graceful: bool) -> None:
    """Local SSDs are kept, where GCP can, unless the settings give them up."""
    if instance.status in _STOPPED and (graceful or instance.status not in _ENDING):
        return
    request = compute_v1.StopInstanceRequest(
        project=compute.project,
        zone=last(instance.zone),
        instance=instance.name,
        discard_local_ssd=compute.settings.discard_local_ssd_on_stop,
        no_graceful_shutdown=not graceful,
    )
    started = instance.last_start_timestamp
    what = "stop" if graceful else "kill"
    compute.change(compute.instances.stop_unary, request, instance.name, what, str(instance.id), started)


def _machine(compute: Compute, instance: compute_v1.Instance) -> Machine:
    """While it stops it counts as stopped: it takes no more work. Its addresses are empty until GCP has chosen them."""
    interface = instance.network_interfaces[0]
    address = interface.network_i_p
    public = interface.access_configs[0].nat_i_p if interface.access_configs else ""
    reached_at = public if compute.settings.public_addresses else address
    if instance.status == "RUNNING":
        state = MachineState.RUNNING
    else:
        state = MachineState.STOPPED if instance.status in _STOPPED else MachineState.STARTING
    return Machine(
        id=str(instance.id),
        name=instance.name,
        zone=last(instance.zone),
        state=state,
        address=address,
        agent_address=f"{reached_at}:{AGENT_PORT}",
        tags=tags(instance.labels),
    )


def _metadata(instance: compute_v1.Instance) -> dict[str, str]:
    return {item.key: item.value for item in instance.metadata.items}


def _notice(instance: compute_v1.Instance) -> Notice | None:
    announced = instance.resource_status.upcoming_maintenance
    if not announced.window_start_time and not announced.maintenance_status:
        return None
    reasons = ", ".join(str(reason) for reason in announced.maintenance_reasons)
    return Notice(
        machine=instance.name,
        # The machine is stopped for it, and local disks do not survive that.
        kind="retirement",
        message=f"GCP has announced maintenance ({announced.type_ or 'unspecified'}{': ' + reasons if reasons else ''})"
        f" from {announced.window_start_time or 'a time not yet said'}; the machine will be stopped for it.",
        before=datetime.datetime.fromisoformat(announced.window_start_time) if announced.window_start_time else None,
    )
