"""Roles, grants and the allowlist: changed by the control plane's account, on any node that answers.

The database is the truth: after a change it is read, and what it says is what people see.
"""

from collections.abc import Mapping
from typing import Any

from backend.access import actions as access
from backend.access import passwords
from backend.clusters.models import Cluster
from backend.clusters.states import NodeState
from backend.operations.models import Operation
from provisioner.agent.base import AgentUnreachable, Job
from provisioner.operations import names
from provisioner.operations.base import Blocked, Done, OperationCode, Outcome, StepCode, StepContext, Wait
from provisioner.operations.client_access import let_in
from provisioner.operations.node_steps import JobFailed, cluster_of, live_nodes, look_at, node_of, run_job
from provisioner.operations.passwords import steady_hash
from provisioner.operations.surroundings import surroundings

# What the database or the agent says when the same again would be refused again.
REFUSALS = frozenset(
    {
        "auth-not-everywhere",
        "control-too-weak",
        "engine-refused",
        "invalid-parameters",
        "membership-cycle",
        "permission-not-applicable",
        "role-exists",
        "role-protected",
        "unknown-resource",
        "unknown-role",
    }
)
_ORDER_ANEW = "Cancel, and order what is possible; or change it with CQL, then retry."

Work = tuple[str, dict[str, Any]]
"""A kind of job and its parameters."""


def apply_access(context: StepContext) -> Outcome:
    """All changes of the order, one after the other; each says what shall be, so doing one again does nothing."""
    cluster = cluster_of(context)
    for position, change in enumerate(context.operation.parameters["changes"]):
        kind, parameters = _work(context, cluster, change)
        try:
            job = _on_any_node(cluster, names.job(context.operation, f"access-{position}"), kind, parameters)
        except JobFailed as error:
            raise _blocked_or(error) from error
        if isinstance(job, Wait):
            return job
    return Done(_told(context.operation.parameters))


def take_back(context: StepContext) -> Outcome:
    """What can be taken back, in reverse. What the database refuses was never there, or is not ours."""
    cluster = cluster_of(context)
    for position, change in enumerate(context.operation.parameters["undo"]):
        name = names.job(context.operation, f"access-back-{position}")
        for part, (kind, parameters) in enumerate(_work_back(context, cluster, change)):
            try:
                job = _on_any_node(cluster, f"{name}-{part}", kind, parameters)
            except JobFailed as error:
                if error.code in REFUSALS:
                    break
                raise
            if isinstance(job, Wait):
                return job
    return Done()


def read_access(context: StepContext) -> Outcome:
    cluster = cluster_of(context)
    name = f"{names.job(context.operation, 'roles')}-{context.step.position}"
    job = _on_any_node(cluster, name, "roles", {}, once=False)
    if isinstance(job, Wait):
        return job
    access.roles_read(cluster.id, job.result)
    return Done(f"{len(job.result['roles'])} roles")


def _work(context: StepContext, cluster: Cluster, change: Mapping[str, Any]) -> Work:
    role = context.operation.parameters["role"]
    match change["action"]:
        case "create" | "alter" | "drop" as action:
            parameters: dict[str, Any] = {"action": action, "name": role, "administrator": cluster.admin_username}
            if "can_login" in change:
                parameters["can_login"] = change["can_login"]
            if which := change.get("password"):
                parameters["password_hash"] = _hash(context, "current" if which == "current" else "next")
            return "change-role", parameters
        case "grant" | "revoke" as kind:
            return kind, {"role": role, **{name: value for name, value in change.items() if name != "action"}}
        case unknown:
            raise LookupError(f"this release does not know the change {unknown}")


def _work_back(context: StepContext, cluster: Cluster, change: Mapping[str, Any]) -> list[Work]:
    role = context.operation.parameters["role"]
    if change.get("password") == "current" and passwords.find(cluster.id, role, "current") is None:
        # Somebody else made the old one: it cannot be put back, and another must be ordered.
        return []
    if change["action"] != "uncreate":
        return [_work(context, cluster, change)]
    # Whether the role is ours is told by creating it once more: only one with our hash is taken for the same.
    create = next(c for c in context.operation.parameters["changes"] if c["action"] == "create")
    return [_work(context, cluster, create), _work(context, cluster, {"action": "drop"})]


def _hash(context: StepContext, which: passwords.Which) -> str:
    role = context.operation.parameters["role"]
    password = passwords.find(context.operation.cluster_id, role, which)
    if password is None:
        raise LookupError(f"there is no password for {role}")
    return steady_hash(password.encode(), purpose=f"{context.operation.id}|{which}")


def _on_any_node(
    cluster: Cluster, name: str, kind: str, parameters: dict[str, Any], *, once: bool = True
) -> Job | Wait:
    """The job on the first node that answers. `once` False: forgotten when read, so that the next look is new."""
    # Those last seen up first: a look at each that is down costs a second.
    for node in sorted(live_nodes(cluster), key=lambda node: node.state != NodeState.UP):
        agent = surroundings().agent(node)
        try:
            looked = look_at(node, agent.ensure_job(name, kind, parameters, wait_seconds=1))
            if not once and isinstance(looked, Job):
                agent.delete_job(name)
        except AgentUnreachable:
            continue
        except JobFailed as error:
            if error.code == "engine-not-running":
                continue
            raise
        return looked
    return Wait(2, "a node to answer")


def _blocked_or(error: JobFailed) -> Exception:
    if error.code not in REFUSALS:
        return error
    return Blocked(error.code, f"The database refuses: {str(error).rstrip('.')}.", _ORDER_ANEW)


def _told(parameters: Mapping[str, Any]) -> str:
    actions = ", ".join(dict.fromkeys(change["action"] for change in parameters["changes"]))
    return f"{parameters['role']}: {actions}"


def apply_allowlist(context: StepContext) -> Outcome:
    return _put_allowlist(context, "allowlist", context.operation.parameters["cidrs"])


def put_back_allowlist(context: StepContext) -> Outcome:
    return _put_allowlist(context, "allowlist-back", context.operation.parameters["before"])


def _put_allowlist(context: StepContext, name: str, cidrs: list[str]) -> Outcome:
    node = node_of(context)
    if node.deleted_at is not None:
        return Done("it has left the ring meanwhile")
    if node.stop_wanted:
        return Done("stopped; it has the list from its next start on")
    try:
        job = run_job(node, names.job(context.operation, name), "allowlist", {"cidrs": cidrs})
    except JobFailed as error:
        raise _blocked_or(error) from error
    return job if isinstance(job, Wait) else Done(", ".join(cidrs) or "from everywhere")


def change_firewall(context: StepContext) -> Outcome:
    return let_in(context, context.operation.parameters["cidrs"])


def put_back_firewall(context: StepContext) -> Outcome:
    return let_in(context, context.operation.parameters["before"])


def _list_applied(operation: Operation) -> None:
    access.allowlist_applied(operation.cluster_id, operation.parameters["entries"])


def _list_cancelled(operation: Operation) -> None:
    access.allowlist_change_cancelled(operation.cluster_id, operation.parameters["entries"])


CHANGE_ALLOWLIST = OperationCode(
    kind="change_allowlist",
    steps={
        "apply_allowlist": StepCode(do=apply_allowlist, undo=put_back_allowlist),
        "allow_clients": StepCode(do=change_firewall, undo=put_back_firewall),
    },
    on_succeeded=_list_applied,
    on_cancelled=_list_cancelled,
)
CHANGE_ACCESS = OperationCode(
    kind="change_access",
    steps={
        "apply_access": StepCode(do=apply_access, undo=take_back),
        "read_access": StepCode(do=read_access),
    },
    on_succeeded=access.role_changed,
    on_cancelled=access.role_change_cancelled,
)
READ_ACCESS = OperationCode(kind="read_access", steps={"read_access": StepCode(do=read_access)})
