"""Connecting clusters' networks: what people order, and what the provisioner finds out."""

from collections.abc import Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Now

from backend.access.checks import check_cidrs
from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission
from backend.audit import actions as audit
from backend.catalog.queries import connection_kinds, has_firewall
from backend.clusters.models import Cluster, Datacenter
from backend.clusters.queries import cluster_not_found
from backend.clusters.reach import clusters
from backend.clusters.states import ClusterState
from backend.connections import plans
from backend.connections.models import NetworkConnection
from backend.connections.queries import connection_not_found, get_connection
from backend.connections.schemas import AnyConnectionOrder, EndpointOrder, PeeringOrder
from backend.connections.states import (
    SETTLED,
    ConnectionState,
    reason_against_creating,
    reason_against_deleting,
)
from backend.core.errors import Conflict, Invalid
from backend.operations import actions as operations
from backend.operations.models import Operation
from backend.operations.queries import get_operation

_PLEASE_LOOK = "Look at the cluster's state and its operations."


def create(who: Identity, cluster_id: str, order: AnyConnectionOrder) -> dict[str, Any]:
    """Stores the connection and starts to make it. Raises NotFound, Forbidden, Invalid, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    try:
        return _create(who, cluster_id, order)
    except IntegrityError:
        raise Conflict(
            "connection_exists",
            f"The cluster has a connection {order.name} already.",
            hint="Choose another name.",
            field="name",
        ) from None


@transaction.atomic
def _create(who: Identity, cluster_id: str, order: AnyConnectionOrder) -> dict[str, Any]:
    cluster = _locked(who, cluster_id)
    kinds = connection_kinds(cluster.provider)
    if reason := reason_against_creating(ClusterState(cluster.state), may=True, kinds=kinds):
        raise Conflict("cannot_connect", reason, hint=_PLEASE_LOOK)
    if order.kind not in kinds:
        raise Conflict(
            "connection_kind_unknown", f"The provider has no {order.kind}.", hint=f"It has {', '.join(kinds)}."
        )
    datacenter = _datacenter(cluster, order.datacenter)
    match order:
        case PeeringOrder():
            _check(order.cidrs)
            wanted: dict[str, Any] = {
                "peer_network": order.peer_network,
                "peer_owner": order.peer_owner,
                "peer_region": order.peer_region,
                "cidrs": order.cidrs,
            }
        case EndpointOrder():
            wanted = {"service": order.service}
    row = NetworkConnection.objects.create(
        cluster=cluster, datacenter=datacenter, kind=order.kind, name=order.name, created_by=who.actor, **wanted
    )
    groups = plans.create(row.name, _firewalls(row))
    operation = _start(who, row, "create_connection", groups, plans.CREATE_SECONDS)
    _record(who, cluster, "connection.create", after=order.model_dump())
    return _started(who, row, operation)


@transaction.atomic
def delete(who: Identity, cluster_id: str, connection_id: str) -> dict[str, Any]:
    """Starts to take it away. Raises NotFound, Forbidden, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    cluster = _locked(who, cluster_id)
    row = NetworkConnection.objects.select_related("datacenter").filter(cluster=cluster, id=connection_id).first()
    if row is None:
        raise connection_not_found()
    if reason := reason_against_deleting(ConnectionState(row.state), ClusterState(cluster.state), may=True):
        raise Conflict("connection_cannot_be_deleted", reason, hint=_PLEASE_LOOK)
    NetworkConnection.objects.filter(id=row.id).update(state=ConnectionState.DELETING, message="")
    groups = plans.delete(row.name, _firewalls(row))
    first = groups[0][0].name
    operation = _start(who, row, "delete_connection", groups, plans.DELETE_SECONDS, cancellable_until=first)
    _record(who, cluster, "connection.delete", before={"name": row.name, "kind": row.kind})
    return _started(who, row, operation)


def _locked(who: Identity, cluster_id: str) -> Cluster:
    found = clusters(who).select_for_update().filter(id=cluster_id).first()
    if found is None:
        raise cluster_not_found()
    return found


def _datacenter(cluster: Cluster, name: str | None) -> Datacenter:
    living = list(cluster.datacenters.filter(deleted_at=None).order_by("position"))
    if name is None and len(living) == 1:
        return living[0]
    found = next((datacenter for datacenter in living if datacenter.name == name), None)
    if found is None:
        names = ", ".join(datacenter.name for datacenter in living)
        raise Invalid("datacenter_unknown", f"Name one of {names}.", hint="Each has its network.", field="datacenter")
    return found


def _check(cidrs: Sequence[str]) -> None:
    problems = [(f"cidrs.{where.split('.')[1]}", message) for where, message in check_cidrs(cidrs)]
    if problems:
        where, message = problems[0]
        raise Invalid("invalid_cidr", message, hint="Nothing was changed.", field=where, fields=problems)


def _firewalls(row: NetworkConnection) -> list[Datacenter]:
    """Whose firewall lets in those who come through it."""
    return [row.datacenter] if row.cidrs and has_firewall(row.cluster.provider) else []


def _start(
    who: Identity,
    row: NetworkConnection,
    kind: str,
    groups: plans.Groups,
    expected_seconds: int,
    *,
    cancellable_until: str | None = None,
) -> Operation:
    operations.notify(who.organisation_id, "cluster", row.cluster_id, row.cluster_id)
    return operations.start(
        organisation_id=who.organisation_id,
        kind=kind,
        cluster_id=row.cluster_id,
        cluster_name=row.cluster.name,
        actor=who.actor,
        parameters={"connection": row.id},
        groups=groups,
        expected_seconds=expected_seconds,
        cancellable_until=cancellable_until,
    )


def _started(who: Identity, row: NetworkConnection, operation: Operation) -> dict[str, Any]:
    return {
        "connection": get_connection(who, row.cluster_id, row.id),
        "operation": get_operation(who, operation.id),
    }


def _record(
    who: Identity,
    cluster: Cluster,
    action: str,
    *,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    audit.record(
        who,
        action=action,
        target_type="cluster",
        target_id=cluster.id,
        target_name=cluster.name,
        before=before,
        after=after,
    )


# What the provisioner finds out


@transaction.atomic
def looked_at(
    connection_id: str, *, state: ConnectionState, message: str, provider_id: str, addresses: Sequence[str]
) -> bool:
    """How the provider says that it stands, asked just now. True when that is something else than before."""
    living = NetworkConnection.objects.filter(
        id=connection_id, deleted_at=None, state__in=[ConnectionState.CREATING, *SETTLED]
    )
    seen = {"state": state, "message": message, "provider_id": provider_id, "addresses": list(addresses)}
    changed = living.filter(~Q(**seen)).update(**seen, checked_at=Now())
    if changed:
        _tell(connection_id)
    else:
        living.update(checked_at=Now())
    return bool(changed)


def not_looked_at(connection_id: str) -> None:
    """The provider did not answer: others have their turn first."""
    NetworkConnection.objects.filter(id=connection_id).update(checked_at=Now())


@transaction.atomic
def gone(connection_id: str) -> None:
    """Nothing of it is left in the world; the row stays for the history."""
    living = NetworkConnection.objects.filter(id=connection_id, deleted_at=None)
    if living.update(state=ConnectionState.DELETED, message="", deleted_at=Now()):
        _tell(connection_id)


def kept(connection_id: str) -> None:
    """Its deletion was cancelled before it began. The next look tells how it stands."""
    NetworkConnection.objects.filter(id=connection_id, state=ConnectionState.DELETING).update(
        state=ConnectionState.WAITING_FOR_YOU
    )


def _tell(connection_id: str) -> None:
    row = NetworkConnection.objects.select_related("cluster").get(id=connection_id)
    operations.notify(row.cluster.organisation_id, "cluster", row.cluster_id, row.cluster_id)
