"""What the steps of several kinds share: the cluster and node of a step, and the way to a node that may have died."""

from collections.abc import Collection, Mapping
from typing import Any

from backend.catalog.models import MachineType
from backend.clusters import vault
from backend.clusters.models import Cluster, Datacenter, Node
from backend.clusters.states import SecretPurpose
from provisioner.agent.base import AgentUnreachable, Job
from provisioner.engines.base import DiskFigures, Ring, RingMember
from provisioner.operations import names
from provisioner.operations.base import Blocked, Done, Outcome, StepContext, Wait
from provisioner.operations.passwords import CONTROL_USERNAME
from provisioner.operations.surroundings import surroundings
from provisioner.providers.base import MachineState, Provider

# Seconds one look at a job may last. Within the three seconds a step may take.
JOB_LOOK_SECONDS = 1.0


def cluster_of(context: StepContext) -> Cluster:
    return Cluster.objects.get(id=context.operation.cluster_id)


def node_of(context: StepContext) -> Node:
    return Node.objects.select_related("cluster", "datacenter").get(id=context.step.target)


def datacenter_of(context: StepContext) -> Datacenter:
    """The one that the step is about; the cluster's first if the step names none (also when it was removed)."""
    every = Datacenter.objects.filter(cluster_id=context.operation.cluster_id)
    return every.get(id=context.step.target) if context.step.target else every.order_by("position")[0]


def provider_of(cluster: Cluster) -> Provider:
    """Where its machines are: at its provider, in its account, and never in one of another organisation."""
    account = cluster.cloud_account
    if account is not None and account.organisation_id != cluster.organisation_id:
        raise LookupError(f"the cloud account {account.id} does not belong to the organisation of {cluster.id}")
    return surroundings().provider(cluster.provider, account)


def live_nodes(cluster: Cluster) -> list[Node]:
    return list(cluster.nodes.filter(deleted_at=None).select_related("cluster", "datacenter").order_by("position"))


def run_job(node: Node, name: str, kind: str, parameters: dict[str, Any], *, final: Collection[str] = ()) -> Job | Wait:
    """Ask for a job and look at it for a while (`look_at`). If the agent does not answer, see to its machine."""
    agent = surroundings().agent(node)
    try:
        job = agent.ensure_job(name, kind, parameters, wait_seconds=JOB_LOOK_SECONDS)
    except AgentUnreachable:
        return revive(node)
    return look_at(node, job, final=final)


def look_at(node: Node, job: Job, *, final: Collection[str] = ()) -> Job | Wait:
    """The job when it has succeeded, else what to wait for. JobFailed; Blocked for a code in `final`, where trying
    again does not help."""
    match job.state:
        case "succeeded":
            return job
        case "running":
            return Wait(0, job.message or f"{node.name} to finish", job.progress)
        case "failed":
            words = f"{node.name}: {job.error_message}"
            if job.error_code in final:
                raise Blocked(job.error_code, words, "Correct what is named there and retry, or cancel.")
            raise JobFailed(words, job.error_code)


class JobFailed(Exception):
    """A job on a node failed. An ordinary exception: shown, backed off, and the job is started anew."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


def revive(node: Node) -> Wait:
    """The agent does not answer: start the machine if it is off, else give it time to come back."""
    provider = provider_of(node.cluster)
    region = node.datacenter.region
    machine = provider.find_machine(region=region, name=names.machine(node))
    if machine is not None and machine.state is MachineState.STOPPED:
        provider.start_machine(region=region, name=names.machine(node))
        return Wait(0.5, f"{node.name}: its machine was off and is being started")
    if machine is None:
        return Wait(1, f"{node.name}: its machine is gone; cancel this, and the node is replaced")
    return Wait(0.5, f"{node.name}: its agent to answer")


def prove_parameters(context: StepContext, cluster: Cluster) -> dict[str, object]:
    """Of the job prove, with all living nodes as members."""
    return {
        "control_username": CONTROL_USERNAME,
        "control_password": vault.read(cluster.id, SecretPurpose.CONTROL_PASSWORD).decode(),
        "key": context.operation.id,
        "members": [node.address for node in live_nodes(cluster)],
    }


def done_or_wait(result: Job | Wait, message: str) -> Outcome:
    return result if isinstance(result, Wait) else Done(message)


def ring_of(
    cluster: Cluster, nodes: list[Node], *, version: str = "", settings: Mapping[str, Any] | None = None
) -> Ring:
    """The ring of these nodes. `version` of the engine and its `settings`: left out, those the cluster has."""
    types = {found.name: found for found in MachineType.objects.filter(provider_id=cluster.provider)}
    return Ring(
        cluster_id=cluster.id,
        name=cluster.ring_name,
        members=tuple(member_of(node, types[node.machine_type]) for node in nodes),
        version=version or cluster.engine_version,
        options=dict(cluster.settings if settings is None else settings),
    )


def member_of(node: Node, machine_type: MachineType) -> RingMember:
    if node.address is None:
        raise LookupError(f"{node.name} has no address yet")
    return RingMember(
        node_id=node.id,
        name=node.name,
        address=node.address,
        datacenter=node.datacenter.name,
        rack=node.zone,
        heap_mib=machine_type.heap_mib,
        tokens=tuple(node.tokens),
        is_seed=node.is_seed,
        vcpus=machine_type.vcpus,
        disks=disk_figures(machine_type),
    )


def disk_figures(machine_type: MachineType) -> DiskFigures | None:
    """The one value that every node on a machine of this type goes by; None: nothing is known of its disks."""
    read_iops, read_bandwidth = machine_type.io_read_iops, machine_type.io_read_bandwidth
    write_iops, write_bandwidth = machine_type.io_write_iops, machine_type.io_write_bandwidth
    if read_iops is None or read_bandwidth is None or write_iops is None or write_bandwidth is None:
        return None
    return DiskFigures(
        read_iops=read_iops, read_bandwidth=read_bandwidth, write_iops=write_iops, write_bandwidth=write_bandwidth
    )
