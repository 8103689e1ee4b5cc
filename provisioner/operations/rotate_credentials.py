"""A new password for the customer's administrator, set by the control plane's own account on any node that answers."""

from backend.clusters import lifecycle, vault
from backend.clusters.states import NodeState, SecretPurpose
from backend.operations.models import Operation
from provisioner.agent.base import AgentUnreachable
from provisioner.operations import names
from provisioner.operations.base import Done, OperationCode, Outcome, StepCode, StepContext, Wait
from provisioner.operations.node_steps import cluster_of, live_nodes, look_at
from provisioner.operations.passwords import CONTROL_USERNAME, persons_hash
from provisioner.operations.surroundings import surroundings


def set_password(context: StepContext) -> Outcome:
    cluster = cluster_of(context)
    parameters = {
        "username": cluster.admin_username,
        "password_hash": persons_hash(vault.read(cluster.id, SecretPurpose.NEXT_ADMIN_PASSWORD)),
        "control_username": CONTROL_USERNAME,
        "control_password": vault.read(cluster.id, SecretPurpose.CONTROL_PASSWORD).decode(),
    }
    # Those last seen up first: a look at each that is down costs a second.
    for node in sorted(live_nodes(cluster), key=lambda node: node.state != NodeState.UP):
        try:
            job = (
                surroundings()
                .agent(node)
                .ensure_job(
                    names.job(context.operation, "rotate-password"), "rotate-password", parameters, wait_seconds=1
                )
            )
        except AgentUnreachable:
            continue
        looked = look_at(node, job)
        return looked if isinstance(looked, Wait) else Done(f"set on {node.name}")
    return Wait(2, "a node to answer")


def _succeeded(operation: Operation) -> None:
    lifecycle.credentials_rotated(operation.cluster_id)


def _cancelled(operation: Operation) -> None:
    lifecycle.credentials_rotation_cancelled(operation.cluster_id)


CODE = OperationCode(
    kind="rotate_credentials",
    steps={"set_password": StepCode(do=set_password)},
    on_succeeded=_succeeded,
    on_cancelled=_cancelled,
)
