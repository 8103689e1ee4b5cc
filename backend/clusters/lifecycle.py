"""What the provisioner finds out about clusters and nodes, written down.

Single conditional updates, so that repeating one, or coming late with one, changes nothing.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Coalesce, Now

from backend.accounts import second_person
from backend.accounts.states import DeletionTarget
from backend.clusters import machine_lives, vault
from backend.clusters.models import Cluster, Datacenter, Node, NodeEnrolment
from backend.clusters.states import ClusterState, NodeState, SecretPurpose
from backend.operations import actions as operations


def _tell(cluster_id: str) -> None:
    organisation_id = Cluster.objects.values_list("organisation_id", flat=True).get(id=cluster_id)
    operations.notify(organisation_id, "cluster", cluster_id, cluster_id)


@transaction.atomic
def _change_node(node_id: str, condition: Q, **columns: Any) -> bool:
    changed = Node.objects.filter(condition, id=node_id, deleted_at=None).update(**columns)
    if changed:
        _tell(Node.objects.values_list("cluster_id", flat=True).get(id=node_id))
    return bool(changed)


@transaction.atomic
def node_machine_ready(node_id: str, *, machine_id: str, address: str, agent_address: str, image: str = "") -> None:
    """The node's machine runs, was made from this image, and has its address."""
    same = Q(machine_id=machine_id, image=image, address=address, agent_address=agent_address) & ~Q(
        state=NodeState.PENDING
    )
    _change_node(
        node_id,
        ~same | Q(address=None),
        machine_id=machine_id,
        address=address,
        agent_address=agent_address,
        image=image,
        state=Case(When(state=NodeState.PENDING, then=Value(NodeState.STARTING.value)), default=F("state")),
    )
    machine_lives.begin(node_id)


def node_configured(node_id: str, *, revision: str) -> None:
    """The node's agent has this configuration."""
    Node.objects.filter(~Q(config_revision=revision), id=node_id).update(config_revision=revision)


def node_proved(node_id: str, *, host_id: str, engine_version: str) -> None:
    """The node has shown that it serves reads and writes."""
    _change_node(
        node_id,
        ~Q(state=NodeState.UP, host_id=host_id, engine_version=engine_version),
        state=NodeState.UP,
        state_reason="",
        host_id=host_id,
        engine_version=engine_version,
        observed_at=Now(),
    )


def node_observed(
    node_id: str,
    *,
    state: NodeState,
    host_id: str = "",
    engine_version: str = "",
    agent_version: str = "",
    reason: str = "",
) -> bool:
    """What a look at the node has shown; what is empty was not seen and stays. True when something visible changed."""
    seen = {"host_id": host_id, "engine_version": engine_version, "agent_version": agent_version}
    columns = {name: value for name, value in seen.items() if value} | {"state": state, "state_reason": reason}
    if _change_node(node_id, ~Q(**columns), **columns, observed_at=Now()):
        return True
    Node.objects.filter(id=node_id, deleted_at=None).update(observed_at=Now())
    return False


@transaction.atomic
def _change_cluster(cluster_id: str, before: tuple[ClusterState, ...], **columns: Any) -> bool:
    changed = Cluster.objects.filter(id=cluster_id, state__in=before).update(**columns)
    if changed:
        _tell(cluster_id)
    return bool(changed)


def cluster_active(cluster_id: str) -> bool:
    """The cluster was proved: it serves its users from now on."""
    return _change_cluster(
        cluster_id,
        (ClusterState.CREATING, ClusterState.DEGRADED),
        state=ClusterState.ACTIVE,
        active_at=Coalesce("active_at", Now()),
    )


def cluster_degraded(cluster_id: str) -> bool:
    """A node of an active cluster does not serve."""
    return _change_cluster(cluster_id, (ClusterState.ACTIVE,), state=ClusterState.DEGRADED)


def cluster_recovered(cluster_id: str) -> bool:
    """Every node of a degraded cluster serves again."""
    return _change_cluster(cluster_id, (ClusterState.DEGRADED,), state=ClusterState.ACTIVE)


def cluster_kept(cluster_id: str) -> bool:
    """A deletion was cancelled before it began. Health checks find out whether all nodes serve."""
    return _change_cluster(cluster_id, (ClusterState.DELETING,), state=ClusterState.ACTIVE)


@transaction.atomic
def cluster_deleted(cluster_id: str) -> bool:
    """Nothing of the cluster is left in the world: its nodes end, its secrets are destroyed, its history stays."""
    states = (ClusterState.CREATING, ClusterState.ACTIVE, ClusterState.DEGRADED, ClusterState.DELETING)
    changed = _change_cluster(cluster_id, states, state=ClusterState.DELETED, deleted_at=Now())
    NodeEnrolment.objects.filter(node__cluster_id=cluster_id).delete()
    machine_lives.end(node__cluster_id=cluster_id)
    Node.objects.filter(cluster_id=cluster_id, deleted_at=None).update(
        state=NodeState.DELETED, state_reason="", deleted_at=Now()
    )
    vault.destroy(cluster_id)
    second_person.gone(DeletionTarget.CLUSTER, [cluster_id])
    return changed


@transaction.atomic
def credentials_rotated(cluster_id: str) -> None:
    """The engine has the new password: it can be revealed once."""
    password = vault.find(cluster_id, SecretPurpose.NEXT_ADMIN_PASSWORD)
    if password is None:
        return
    vault.keep(cluster_id, SecretPurpose.ADMIN_PASSWORD, vault.opened(password))
    vault.destroy(cluster_id, SecretPurpose.NEXT_ADMIN_PASSWORD)
    Cluster.objects.filter(id=cluster_id).update(admin_revealed_at=None)
    _tell(cluster_id)


def credentials_rotation_cancelled(cluster_id: str) -> None:
    """The new password is forgotten. Whoever cannot sign in with the old one orders another."""
    vault.destroy(cluster_id, SecretPurpose.NEXT_ADMIN_PASSWORD)


# What happens to the members of a ring


def node_joining(node_id: str) -> None:
    """It is being let into its ring and gets its data."""
    before = [NodeState.PENDING, NodeState.STARTING]
    _change_node(node_id, Q(state__in=before), state=NodeState.JOINING, state_reason="")


def node_leaving(node_id: str, *, reason: str = "") -> None:
    """It hands its data over, or is being made to go."""
    leaving = {"state": NodeState.LEAVING, "state_reason": reason}
    _change_node(node_id, ~Q(**leaving), **leaving)


def node_starts_anew(node_id: str, *, reason: str) -> None:
    """What it has got so far is given up: its machine goes (`node_without_machine`), and another is made."""
    _change_node(
        node_id,
        ~Q(machine_id="", state=NodeState.PENDING, state_reason=reason),
        machine_id="",
        state=NodeState.PENDING,
        state_reason=reason,
    )


@transaction.atomic
def node_without_machine(node_id: str) -> None:
    """Its machine is gone for good. The next one makes itself known with a token of its own."""
    machine_lives.end(node_id=node_id)
    _change_node(
        node_id,
        ~Q(machine_id="", address=None, agent_address="", host_id="", config_revision="", running_revision=""),
        machine_id="",
        address=None,
        agent_address="",
        host_id="",
        config_revision="",
        running_revision="",
        generation=F("generation") + 1,
    )
    NodeEnrolment.objects.filter(node_id=node_id).delete()


@transaction.atomic
def node_gone(node_id: str) -> None:
    """It is no member of its ring and its machine is gone: the row ends, and stays for the history."""
    machine_lives.end(node_id=node_id)
    _change_node(node_id, Q(), state=NodeState.DELETED, state_reason="", is_seed=False, deleted_at=Now())
    NodeEnrolment.objects.filter(node_id=node_id).delete()


@transaction.atomic
def seeds_settled(member_ids: Sequence[str]) -> None:
    """Every zone has a seed among these members of a ring, its first, and whoever is none of them is no seed."""
    members = list(Node.objects.filter(id__in=member_ids, deleted_at=None).order_by("position"))
    zones = {(node.datacenter_id, node.zone) for node in members if node.is_seed}
    for node in members:
        if (node.datacenter_id, node.zone) not in zones:
            zones.add((node.datacenter_id, node.zone))
            _change_node(node.id, Q(is_seed=False), is_seed=True)
    for cluster_id in {node.cluster_id for node in members}:
        gone = Node.objects.filter(~Q(id__in=member_ids), cluster_id=cluster_id, is_seed=True, deleted_at=None)
        for node_id in gone.values_list("id", flat=True):
            _change_node(node_id, Q(is_seed=True), is_seed=False)


@transaction.atomic
def _change_datacenter(datacenter_id: str, **columns: Any) -> None:
    if Datacenter.objects.filter(~Q(**columns), id=datacenter_id, deleted_at=None).update(**columns):
        _tell(Datacenter.objects.values_list("cluster_id", flat=True).get(id=datacenter_id))


def datacenter_scaled(datacenter_id: str, *, nodes_per_zone: int) -> None:
    """Every zone has so many nodes now."""
    _change_datacenter(datacenter_id, nodes_per_zone=nodes_per_zone)


def datacenter_machine_type(datacenter_id: str, machine_type: str) -> None:
    """Every node of it is on a machine of this type."""
    _change_datacenter(datacenter_id, machine_type=machine_type)


def datacenter_network(datacenter_id: str, *, network_id: str, cidr: str) -> None:
    """Its network is there."""
    _change_datacenter(datacenter_id, network_id=network_id, network_cidr=cidr)


@transaction.atomic
def datacenter_gone(datacenter_id: str) -> None:
    """Nothing of it is left in the world; the row stays for the history."""
    if Datacenter.objects.filter(id=datacenter_id, deleted_at=None).update(deleted_at=Now()):
        _tell(Datacenter.objects.values_list("cluster_id", flat=True).get(id=datacenter_id))


# What restarts, upgrades, settings and certificates find out


def node_taken_down(node_id: str, *, reason: str, for_good: bool = False) -> None:
    """Its engine was stopped on purpose: to be started again at once, or `for_good`, until somebody starts it."""
    state = NodeState.STOPPED if for_good else NodeState.STARTING
    _change_node(node_id, ~Q(state=state, state_reason=reason), state=state, state_reason=reason)


def node_stop_wanted(node_id: str, wanted: bool) -> None:
    """Whether it is to stay stopped: nothing starts it by itself then."""
    _change_node(node_id, ~Q(stop_wanted=wanted), stop_wanted=wanted)


def node_runs(node_id: str, *, revision: str) -> None:
    """The engine goes by the configuration of this revision."""
    if revision:
        _change_node(node_id, ~Q(running_revision=revision), running_revision=revision)


def node_back(node_id: str, *, engine_version: str) -> None:
    """Its engine serves again, with what it had before."""
    back = {"state": NodeState.UP, "state_reason": "", "engine_version": engine_version}
    _change_node(node_id, ~Q(**back), **back, observed_at=Now())


def node_drift(node_id: str, drift: list[dict[str, str]]) -> bool:
    """What the running engine has otherwise than it should, `setting`, `wanted`, `found` each. True when it changed."""
    return _change_node(node_id, ~Q(drift=drift), drift=drift)


def node_certificate_renewed(node_id: str, *, expires_at: datetime) -> None:
    """The engine has a certificate that ends then."""
    _change_node(
        node_id,
        ~Q(engine_certificate_expires_at=expires_at) | Q(engine_certificate_expires_at=None),
        engine_certificate_expires_at=expires_at,
    )


@transaction.atomic
def cluster_upgraded(cluster_id: str, *, engine_version: str) -> bool:
    """Every node runs this version. A pin to a build of the version before ends: new machines could not be made."""
    changed = Cluster.objects.filter(~Q(engine_version=engine_version), id=cluster_id).update(
        engine_version=engine_version, image_build=""
    )
    if changed:
        _tell(cluster_id)
    return bool(changed)


@transaction.atomic
def cluster_settings(cluster_id: str, settings: dict[str, Any]) -> bool:
    """Every node has these engine settings."""
    changed = Cluster.objects.filter(~Q(settings=settings), id=cluster_id).update(settings=settings)
    if changed:
        _tell(cluster_id)
    return bool(changed)
