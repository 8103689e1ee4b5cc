"""Machines, agents and configurations: what every kind that brings up a node does first."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.utils import timezone

from backend.catalog.models import MachineType
from backend.catalog.queries import architectures
from backend.clusters import authorities, enrolment, lifecycle
from backend.clusters.models import Cluster, Datacenter, Node
from backend.images import queries as images
from backend.tuning import actions as tuning
from provisioner.agent.base import AgentUnreachable
from provisioner.engines.base import Entry, Replaced
from provisioner.operations import first_boot, names
from provisioner.operations.base import Blocked, Done, Outcome, StepContext, Wait
from provisioner.operations.node_steps import (
    cluster_of,
    datacenter_of,
    disk_figures,
    done_or_wait,
    live_nodes,
    node_of,
    provider_of,
    revive,
    ring_of,
    run_job,
)
from provisioner.operations.surroundings import surroundings
from provisioner.providers.base import Image, ImageState, MachineSpec, MachineState, NetworkSpec

_RAREST_LOOK_SECONDS = 5.0


def find_image(context: StepContext) -> Outcome:
    """Of the version in the operation's parameters, else of the cluster's.

    No machine has been made yet, so this is where the cloud is asked whether it can give all the machines. Blocked.
    """
    cluster = cluster_of(context)
    _check_capacity(cluster, datacenter_of(context))
    image = _image(context, cluster, datacenter_of(context))
    if image.state is ImageState.BUILDING:
        return Wait(1, image.message or "the machine image to be built", image.progress)
    said = ", ".join(image.by_architecture.values())
    return Done(said, {"image": image.id, "by_architecture": dict(image.by_architecture)})


def _image(context: StepContext, cluster: Cluster, datacenter: Datacenter) -> Image:
    """What the cluster is pinned to, else the catalogue's default, else what is found by its tags. Blocked."""
    version = context.operation.parameters.get("engine_version") or cluster.engine_version
    provider = provider_of(cluster)
    due = {node.machine_type for node in _due(cluster, datacenter)}
    told = {architecture for name, architecture in architectures(cluster.provider).items() if name in due}
    wanted = {architecture for architecture in told if architecture}
    found = images.chosen(
        provider=cluster.provider,
        region=datacenter.region,
        engine=cluster.engine,
        version=version,
        architectures=wanted,
        build=cluster.image_build,
    )
    if wanted and len(found) == len(wanted):
        ids = {architecture: row.cloud_id for architecture, row in found.items()}
        return provider.named_image(region=datacenter.region, ids=ids)
    if wanted and cluster.image_build:
        lacking = ", ".join(sorted(wanted - set(found)))
        raise Blocked(
            "pinned-image-missing",
            f"{cluster.name} is pinned to build {cluster.image_build}, of which there is no image with "
            f"{cluster.engine} {version} for {lacking} in {datacenter.region}.",
            "Register one, or pin the cluster to another build or to none; then retry.",
        )
    image = provider.find_image(region=datacenter.region, engine=cluster.engine, version=version)
    if context.operation.kind == "create_cluster":
        _refuse_deprecated(image)
    return image


def _refuse_deprecated(image: Image) -> None:
    """Running clusters go on with it; a new one does not begin with it. Blocked."""
    deprecated = images.deprecated()
    for part in image.by_architecture.values():
        if part in deprecated:
            raise Blocked(
                "image-deprecated",
                f"The only image that was found, {part}, is deprecated: {deprecated[part].deprecation_reason}",
                "Bake another one and make it the default of its engine version, then retry.",
            )


def _due(cluster: Cluster, datacenter: Datacenter) -> list[Node]:
    """Those that have no machine yet."""
    return [n for n in live_nodes(cluster) if n.datacenter_id == datacenter.id and not n.machine_id]


def _check_capacity(cluster: Cluster, datacenter: Datacenter) -> None:
    due = _due(cluster, datacenter)
    for machine_type in sorted({node.machine_type for node in due}):
        wanted = Counter(node.zone for node in due if node.machine_type == machine_type)
        short = provider_of(cluster).shortfalls(
            region=datacenter.region, machine_type=machine_type, machines=dict(wanted)
        )
        if short:
            raise Blocked(
                short[0].code,
                " ".join(shortfall.message for shortfall in short),
                short[0].hint or "Retry when there is room, or cancel.",
            )


def ensure_network(context: StepContext) -> Outcome:
    cluster, datacenter = cluster_of(context), datacenter_of(context)
    network = provider_of(cluster).ensure_network(
        NetworkSpec(
            name=names.network(datacenter),
            region=datacenter.region,
            zones=tuple(datacenter.zones),
            tags=names.tags(cluster),
        )
    )
    lifecycle.datacenter_network(datacenter.id, network_id=network.id, cidr=network.cidr)
    return Done(network.cidr)


def ensure_machine(context: StepContext) -> Outcome:
    node = node_of(context)
    cluster = node.cluster
    provider = provider_of(cluster)
    name = names.machine(node)
    machine = provider.find_machine(region=node.datacenter.region, name=name)
    if machine is None:
        machine = provider.ensure_machine(_machine_spec(context, cluster, node))
    elif machine.state is MachineState.STOPPED:
        provider.start_machine(region=node.datacenter.region, name=name)
    if machine.state is not MachineState.RUNNING:
        return Wait(_until_next_look(context), f"{node.name}: its machine to start")
    lifecycle.node_machine_ready(
        node.id,
        machine_id=machine.id,
        address=machine.address,
        agent_address=machine.agent_address,
        image=_part_for(context, node),
    )
    return Done(machine.address)


def _until_next_look(context: StepContext) -> float:
    """Seconds: a fifth of what it has taken so far, so that a slow cloud is not asked five times a second."""
    started = context.step.started_at
    elapsed = 0.0 if started is None else (timezone.now() - started).total_seconds()
    return min(_RAREST_LOOK_SECONDS, max(0.2, elapsed / 5))


def _machine_spec(context: StepContext, cluster: Cluster, node: Node) -> MachineSpec:
    machine_type = MachineType.objects.get(provider_id=cluster.provider, name=node.machine_type)
    user_data: dict[str, Any] = {
        "node_id": node.id,
        "cluster_id": cluster.id,
        "enrol_url": settings.ENV.ringmaster_enrol_url,
        "ca_pem": authorities.agent_client_material().ca_pem,
        "token": enrolment.issue(node),
    }
    if machine_type.vcpus is not None:
        # The machine is the node's alone: its agent sees to disks, CPUs and kernel (docs/node.md).
        user_data["machine"] = {
            "engine": cluster.engine,
            "membership": "replacing" if node.replaces_id else "new",
            "generation": node.generation,
            "provider": cluster.provider,
        }
        if (figures := disk_figures(machine_type)) is not None:
            # Every node goes by the same, whatever its image knows and whenever it was made.
            user_data["machine"]["io_properties"] = asdict(figures)
    return MachineSpec(
        name=names.machine(node),
        network=names.network(node.datacenter),
        region=node.datacenter.region,
        zone=node.zone,
        machine_type=node.machine_type,
        memory_mib=machine_type.memory_mib,
        image=image_of(context),
        user_data=json.dumps(user_data),
        tags=names.tags(cluster) | {"ringmaster-node": node.id},
    )


def _part_for(context: StepContext, node: Node) -> str:
    """What the cloud calls the image that the node's machine is made from."""
    found: Mapping[str, Any] = next(
        (step.output for step in context.plan if step.name == "find_image" and step.output), {}
    )
    architecture = architectures(node.cluster.provider).get(node.machine_type, "")
    return str(found.get("by_architecture", {}).get(architecture) or found.get("image", ""))


def image_of(context: StepContext) -> str:
    """The image that find_image found, whichever data centre it was about."""
    for step in context.plan:
        if step.name == "find_image" and step.output:
            return str(step.output["image"])
    raise LookupError("find_image has not been done")


def reach_agent(context: StepContext) -> Outcome:
    """The agent serves only once it has its certificates, so an answer proves the enrolment too.

    It serves during the first boot of its machine, which is waited for here. Blocked when that has failed.
    """
    node = node_of(context)
    agent = surroundings().agent(node)
    try:
        status, report = agent.status(), agent.tuning()
    except AgentUnreachable:
        return revive(node)
    tuning.reported(node.id, report)
    return first_boot.what_to_wait_for(node, report) or Done(f"agent {status.agent_version}")


def install_engine(context: StepContext) -> Outcome:
    """The version in the operation's parameters, else the cluster's."""
    cluster = node_of(context).cluster
    version = context.operation.parameters.get("engine_version") or cluster.engine_version
    job = run_job(
        node_of(context),
        names.job(context.operation, "install"),
        "install",
        {"engine": cluster.engine, "version": version},
    )
    return done_or_wait(job, f"{cluster.engine} {version}")


def put_config(
    node: Node,
    ring_nodes: Sequence[Node],
    entry: Entry,
    *,
    replaces: Replaced | None = None,
    version: str = "",
    settings: Mapping[str, Any] | None = None,
) -> Wait | None:
    """Give a node its configuration as a member of the ring of these nodes; what to wait for if it does not answer.

    `version` and `settings` are the cluster's when they are left out.
    """
    cluster = node.cluster
    ring = ring_of(cluster, list(ring_nodes), version=version, settings=settings)
    member = next(member for member in ring.members if member.node_id == node.id)
    config = surroundings().engine(cluster.engine).node_config(ring, member, entry, replaces=replaces)
    try:
        surroundings().agent(node).put_config(config.document)
    except AgentUnreachable:
        return revive(node)
    lifecycle.node_configured(node.id, revision=config.revision)
    return None


def configure_first(context: StepContext) -> Outcome:
    """A node of an empty ring: all start side by side."""
    node = node_of(context)
    return put_config(node, live_nodes(node.cluster), Entry.FIRST) or Done()


def start_engine(context: StepContext) -> Outcome:
    return done_or_wait(
        run_job(node_of(context), names.job(context.operation, "start"), "start", {}), "accepts CQL over TLS"
    )
