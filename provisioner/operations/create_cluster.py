"""Order to proved: machines, agents, configuration, engines side by side, roles, proof.

The cluster becomes active only when every node has shown that it sees the whole ring and one schema, and that rows
written at ALL are read back at ALL through it. A test drive has its data set and its workload by then. The start
settings are those of docs/engine-start.md.
"""

from backend.clusters import lifecycle, vault
from backend.clusters.states import SecretPurpose
from backend.operations.models import Operation
from provisioner.operations import names
from provisioner.operations.base import Done, OperationCode, Outcome, StepCode, StepContext, Wait
from provisioner.operations.client_access import allow_clients
from provisioner.operations.drive_steps import load_data_set, start_workload
from provisioner.operations.machine_steps import (
    configure_first,
    ensure_machine,
    ensure_network,
    find_image,
    install_engine,
    reach_agent,
    start_engine,
)
from provisioner.operations.node_steps import (
    cluster_of,
    done_or_wait,
    live_nodes,
    node_of,
    prove_parameters,
    run_job,
)
from provisioner.operations.passwords import (
    CONTROL_USERNAME,
    control_hash,
    persons_hash,
)
from provisioner.operations.removal import delete_machine, delete_network


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
            "admin_password_hash": persons_hash(vault.read(cluster.id, SecretPurpose.ADMIN_PASSWORD)),
            "control_username": CONTROL_USERNAME,
            "control_password": control_password.decode(),
            "control_password_hash": control_hash(control_password),
            "datacenter": nodes[0].datacenter.name,
            "system_auth_replication": len(nodes),
            "replication": len(nodes[0].datacenter.zones),
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
        prove_parameters(context, cluster),
    )
    if isinstance(job, Wait):
        return job
    lifecycle.node_proved(node.id, host_id=str(job.result["host_id"]), engine_version=cluster.engine_version)
    return Done("ring and schema agreed; written at ALL, read at ALL")


def _succeeded(operation: Operation) -> None:
    lifecycle.cluster_active(operation.cluster_id)


def _cancelled(operation: Operation) -> None:
    lifecycle.cluster_deleted(operation.cluster_id)


CODE = OperationCode(
    kind="create_cluster",
    steps={
        "find_image": StepCode(do=find_image),
        "ensure_network": StepCode(do=ensure_network, undo=delete_network),
        "allow_clients": StepCode(do=allow_clients),
        "ensure_machine": StepCode(do=ensure_machine, undo=delete_machine),
        "reach_agent": StepCode(do=reach_agent),
        "install_engine": StepCode(do=install_engine),
        "configure_engine": StepCode(do=configure_first),
        "start_engine": StepCode(do=start_engine),
        "secure_cluster": StepCode(do=secure_cluster),
        "prove_node": StepCode(do=prove_node),
        "load_data_set": StepCode(do=load_data_set),
        "start_workload": StepCode(do=start_workload),
    },
    on_succeeded=_succeeded,
    on_cancelled=_cancelled,
)
