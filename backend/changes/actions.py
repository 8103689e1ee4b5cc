"""Carrying out changes of clusters: new rows, operation and audit record in one transaction."""

from dataclasses import dataclass
from typing import Any

from django.db import transaction

from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission
from backend.audit import actions as audit
from backend.catalog.models import Region
from backend.changes.planning import Proposal, Refused, propose
from backend.changes.queries import beside_of, check_not_deleted, facts_of
from backend.changes.schemas import AddDatacenter, AnyChange, ChangeMachineType, ReplaceNode, Scale
from backend.clusters import ceilings
from backend.clusters.models import Cluster, Node
from backend.clusters.queries import cluster_not_found, get_cluster
from backend.clusters.reach import clusters
from backend.core.errors import Conflict, DomainError, Invalid
from backend.operations import actions as operations
from backend.operations.models import Operation
from backend.operations.queries import get_operation


@dataclass(frozen=True)
class Begun:
    operation: Operation
    proposal: Proposal


@transaction.atomic
def change(who: Identity, cluster_id: str, wanted: AnyChange) -> dict[str, Any]:
    """Begins a change that a person or a program wants. Raises NotFound, Forbidden, Invalid, Conflict."""
    require(who, Permission.CLUSTERS_WRITE)
    if not clusters(who).filter(id=cluster_id).exists():
        raise cluster_not_found()
    begun = begin(cluster_id, wanted, actor=who.actor)
    audit.record(
        who,
        action=f"cluster.{wanted.kind}",
        target_type="cluster",
        target_id=cluster_id,
        target_name=begun.operation.cluster_name,
        before=dict(begun.proposal.before) or None,
        after=wanted.model_dump(mode="json", exclude={"kind"}, exclude_none=True) or None,
    )
    return {"cluster": get_cluster(who, cluster_id), "operation": get_operation(who, begun.operation.id)}


@transaction.atomic
def begin(cluster_id: str, wanted: AnyChange, *, actor: str) -> Begun:
    """Begins a change of a living cluster, whoever wants it. Raises Invalid, Conflict."""
    # Held until the end: two changes at once would both choose from the same nodes, names and tokens.
    cluster = Cluster.objects.select_for_update().get(id=cluster_id)
    check_not_deleted(cluster)
    if refusal := beside_of(cluster, wanted).refusal:
        raise refusal
    _hold_room(cluster, wanted)
    try:
        proposal = propose(facts_of(cluster), wanted)
    except Refused as refused:
        raise _answer(refused) from None
    _insert(proposal)
    planned = proposal.planned
    operation = operations.start(
        organisation_id=cluster.organisation_id,
        kind=planned.kind,
        cluster_id=cluster.id,
        cluster_name=cluster.name,
        actor=actor,
        parameters=planned.parameters,
        groups=planned.groups,
        expected_seconds=planned.expected_seconds,
        cancellable_until=planned.cancellable_until,
        pausable=planned.pausable,
    )
    operations.notify(cluster.organisation_id, "cluster", cluster.id, cluster.id)
    return Begun(operation, proposal)


def _hold_room(cluster: Cluster, wanted: AnyChange) -> None:
    """Whoever orders or changes in the same regions, or below the same ceilings, waits until this has what it takes."""
    match wanted:
        case AddDatacenter():
            names = [wanted.region]
        case Scale() | ReplaceNode() | ChangeMachineType():
            names = list(cluster.datacenters.filter(deleted_at=None).values_list("region", flat=True))
        case _:
            return
    regions = Region.objects.select_for_update().filter(provider_id=cluster.provider, name__in=names)
    list(regions.order_by("id").values_list("id", flat=True))
    ceilings.hold(cluster.organisation_id, cluster.id)


def _answer(refused: Refused) -> DomainError:
    kind = Invalid if refused.wrong_word else Conflict
    return kind(refused.code, refused.sentence, hint=refused.hint, field=refused.field, fields=refused.fields)


def _insert(proposal: Proposal) -> None:
    if proposal.new_datacenter is not None:
        proposal.new_datacenter.save(force_insert=True)
    Node.objects.bulk_create(proposal.new_nodes)
