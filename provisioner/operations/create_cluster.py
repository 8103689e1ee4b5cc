"""Order to proved: machines, agents, configuration, engines side by side, roles, proof.

The cluster becomes active only when every node has shown that it sees the whole ring and one schema, and that rows
written at ALL are read back at ALL through it. The start settings are those of docs/engine-start.md.
"""

import json

from django.conf import settings

from backend.catalog.models import MachineType
from backend.clusters import actions, authorities, enrolment, vault
from backend.clusters.models import Cluster, Node
from backend.clusters.states import SecretPurpose
from backend.operations.models import Operation
from provisioner.agent.base import AgentUnreachable
from provisioner.operations import names
from provisioner.operations.base import Done, OperationCode, Outcome, StepCode, StepContext, Wait
from provisioner.operations.node_steps import (
    cluster_of,
    done_or_wait,
    live_nodes,
    member_of,
    node_of,
    provider_of,
    revive,
    ring_of,
    run_job,
)
from provisioner.operations.passwords import (
    ADMIN_BCRYPT_ROUNDS,
    CONTROL_BCRYPT_ROUNDS,
    CONTROL_USERNAME,
    bcrypt_hash,
)
from provisioner.operations.removal import delete_machine, delete_network
from provisioner.operations.surroundings import surroundings
from provisioner.providers.base import ImageState, MachineSpec, MachineState, NetworkSpec


def find_image(context: StepContext) -> Outcome:
    cluster = cluster_of(context)
    image = provider_of(cluster).find_image(
        region=cluster.region, engine=cluster.engine, version=cluster.engine_version
    )
    if image.state is ImageState.BUILDING:
        return Wait(1, image.message or "the machine image to be built", image.progress)
    return Done(output={"image": image.id})


def ensure_network(context: StepContext) -> Outcome:
    cluster = cluster_of(context)
    provider_of(cluster).ensure_network(
        NetworkSpec(
            name=names.network(cluster), region=cluster.region, zones=tuple(cluster.zones), tags=names.tags(cluster)
        )
    )
    return Done()


def ensure_machine(context: StepContext) -> Outcome:
    node = node_of(context)
    cluster = node.cluster
    provider = provider_of(cluster)
    name = names.machine(node)
    machine = provider.find_machine(region=cluster.region, name=name)
    if machine is None:
        machine = provider.ensure_machine(_machine_spec(context, cluster, node))
    elif machine.state is MachineState.STOPPED:
        provider.start_machine(region=cluster.region, name=name)
    if machine.state is not MachineState.RUNNING:
        return Wait(0.2, f"{node.name}: its machine to start")
    actions.node_machine_ready(
        node.id, machine_id=machine.id, address=machine.address, agent_address=machine.agent_address
    )
    return Done(machine.address)


def _machine_spec(context: StepContext, cluster: Cluster, node: Node) -> MachineSpec:
    machine_type = MachineType.objects.get(provider_id=cluster.provider, name=cluster.machine_type)
    user_data = {
        "node_id": node.id,
        "cluster_id": cluster.id,
        "enrol_url": settings.ENV.ringmaster_enrol_url,
        "ca_pem": authorities.agent_client_material().ca_pem,
        "token": enrolment.issue(node),
    }
    return MachineSpec(
        name=names.machine(node),
        network=names.network(cluster),
        region=cluster.region,
        zone=node.zone,
        machine_type=cluster.machine_type,
        memory_mib=machine_type.memory_mib,
        image=context.output("find_image")["image"],
        user_data=json.dumps(user_data),
        tags=names.tags(cluster) | {"ringmaster-node": node.id},
    )


def reach_agent(context: StepContext) -> Outcome:
    """The agent serves only once it has its certificates, so an answer proves the enrolment too."""
    node = node_of(context)
    try:
        status = surroundings().agent(node).status()
    except AgentUnreachable:
        return revive(node)
    return Done(f"agent {status.agent_version}")


def install_engine(context: StepContext) -> Outcome:
    node = node_of(context)
    job = run_job(
        node,
        names.job(context.operation, "install"),
        "install",
        {
            "engine": node.cluster.engine,
            "version": node.cluster.engine_version,
        },
    )
    return done_or_wait(job, f"{node.cluster.engine} {node.cluster.engine_version}")


def configure_engine(context: StepContext) -> Outcome:
    node = node_of(context)
    cluster = node.cluster
    heap = MachineType.objects.values_list("heap_mib", flat=True).get(
        provider_id=cluster.provider, name=cluster.machine_type
    )
    config = (
        surroundings()
        .engine(cluster.engine)
        .node_config(ring_of(cluster, live_nodes(cluster), heap), member_of(cluster, node))
    )
    try:
        surroundings().agent(node).put_config(config.document)
    except AgentUnreachable:
        return revive(node)
    return Done()


def start_engine(context: StepContext) -> Outcome:
    node = node_of(context)
    return done_or_wait(run_job(node, names.job(context.operation, "start"), "start", {}), "accepts CQL over TLS")


def secure_cluster(context: StepContext) -> Outcome:
    """Roles, replication of `system_auth`, the control plane's own keyspace; the default superuser goes."""
    cluster = cluster_of(context)
    nodes = live_nodes(cluster)
    control_password = vault.read(cluster.id, SecretPurpose.CONTROL_PASSWORD)
    job = run_job(
        nodes[0],
        names.job(context.operation, "secure"),
        "secure",
        {
            "admin_username": cluster.admin_username,
            "admin_password_hash": bcrypt_hash(
                vault.read(cluster.id, SecretPurpose.ADMIN_PASSWORD), ADMIN_BCRYPT_ROUNDS
            ),
            "control_username": CONTROL_USERNAME,
            "control_password": control_password.decode(),
            "control_password_hash": bcrypt_hash(control_password, CONTROL_BCRYPT_ROUNDS),
            "datacenter": cluster.datacenter,
            "system_auth_replication": len(nodes),
            "replication": len(cluster.zones),
        },
    )
    return done_or_wait(job, f"administrator {cluster.admin_username}")


def prove_node(context: StepContext) -> Outcome:
    node = node_of(context)
    cluster = node.cluster
    job = run_job(
        node,
        names.job(context.operation, "prove"),
        "prove",
        {
            "control_username": CONTROL_USERNAME,
            "control_password": vault.read(cluster.id, SecretPurpose.CONTROL_PASSWORD).decode(),
            "key": context.operation.id,
            "members": [other.address for other in live_nodes(cluster)],
        },
    )
    if isinstance(job, Wait):
        return job
    actions.node_proved(node.id, host_id=str(job.result["host_id"]), engine_version=cluster.engine_version)
    return Done("ring and schema agreed; written at ALL, read at ALL")


def _succeeded(operation: Operation) -> None:
    actions.cluster_active(operation.cluster_id)


def _cancelled(operation: Operation) -> None:
    actions.cluster_deleted(operation.cluster_id)


CODE = OperationCode(
    kind="create_cluster",
    steps={
        "find_image": StepCode(do=find_image),
        "ensure_network": StepCode(do=ensure_network, undo=delete_network),
        "ensure_machine": StepCode(do=ensure_machine, undo=delete_machine),
        "reach_agent": StepCode(do=reach_agent),
        "install_engine": StepCode(do=install_engine),
        "configure_engine": StepCode(do=configure_engine),
        "start_engine": StepCode(do=start_engine),
        "secure_cluster": StepCode(do=secure_cluster),
        "prove_node": StepCode(do=prove_node),
    },
    on_succeeded=_succeeded,
    on_cancelled=_cancelled,
)
