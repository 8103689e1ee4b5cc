"""Reading what a plan is made of, and putting a plan into words."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from backend.accounts.queries import Identity
from backend.catalog import queries as catalog
from backend.catalog.models import MachineType
from backend.catalog.states import CLOUDS
from backend.changes import numbers
from backend.changes.planning import OPERATION_KINDS, Facts, NothingToDo, Proposal, Refused, desired, propose
from backend.changes.plans import Planned
from backend.changes.schemas import AnyChange, DesiredState, Mode
from backend.clusters.ceilings import Exceeded, Machines, against
from backend.clusters.models import Cluster, Node
from backend.clusters.queries import cluster_not_found, room_in, room_warning, used_memory_mib
from backend.clusters.reach import clusters
from backend.clusters.states import ClusterState, reason_against_changing
from backend.core.errors import Conflict
from backend.operations import actions as operations
from backend.operations import coordination, turns
from backend.operations.coordination import Standing, Verdict
from backend.operations.models import Operation
from backend.operations.states import OPEN, title
from backend.prices.estimate import Shape
from backend.prices.estimates import machines_on_demand, shapes_of_machines

_ENDING_NUMBER = re.compile(r"-([0-9]+)$")


def facts_of(cluster: Cluster) -> Facts:
    """Everything that planning a change of the cluster needs. About a dozen statements, whatever its size."""
    datacenters = list(cluster.datacenters.all())
    every = list(Node.objects.filter(cluster=cluster).select_related("datacenter").order_by("position"))
    living = [node for node in every if node.deleted_at is None]
    for node in living:
        node.cluster = cluster
    names = catalog.machine_type_names(cluster.provider)
    regions = [catalog.find_region(cluster.provider, name) for name in catalog.region_names(cluster.provider)]
    used = used_memory_mib()
    return Facts(
        cluster=cluster,
        datacenters=tuple(datacenter for datacenter in datacenters if datacenter.deleted_at is None),
        nodes=tuple(living),
        gone={node.id: node.name for node in every if node.deleted_at is not None},
        next_position=max((node.position for node in every), default=-1) + 1,
        next_datacenter_position=max(datacenter.position for datacenter in datacenters) + 1,
        numbers=_numbers(every),
        regions={region.name: region for region in regions if region is not None},
        used_mib={region.name: used.get(region.id, 0) for region in regions if region is not None},
        rooms={
            region.name: room_in(cluster.provider, region.name, cluster.cloud_account)
            for region in regions
            if region is not None and cluster.provider in CLOUDS
        },
        machine_types={
            name: found for name in names if (found := catalog.find_machine_type(cluster.provider, name)) is not None
        },
        memory_mib=dict(MachineType.objects.filter(provider_id=cluster.provider).values_list("name", "memory_mib")),
        versions=catalog.engine_version_names(cluster.engine),
        upgrade_targets=catalog.upgrade_targets(cluster.engine, cluster.engine_version),
        connections=bool(catalog.connection_kinds(cluster.provider)),
        firewall=catalog.has_firewall(cluster.provider),
        takes_commands=catalog.takes_commands(cluster.engine),
        table_bytes=partial(numbers.table_bytes, cluster.id),
        against_ceilings=partial(_against_ceilings, cluster),
        check_settings=partial(catalog.check_settings, cluster.engine),
        needing_restart=partial(catalog.settings_needing_restart, cluster.engine),
    )


def _against_ceilings(cluster: Cluster, before: Machines, after: Machines) -> list[Exceeded]:
    return against(cluster.organisation_id, cluster.id, provider=cluster.provider, before=before, after=after)


def _numbers(nodes: Sequence[Node]) -> dict[str, int]:
    """The highest number at the end of a node's name, by zone, those of deleted nodes among them."""
    numbers: dict[str, int] = {}
    for node in nodes:
        if found := _ENDING_NUMBER.search(node.name):
            numbers[node.zone] = max(numbers.get(node.zone, 0), int(found[1]))
    return numbers


def plan_of(who: Identity, cluster_id: str, wanted: AnyChange | DesiredState) -> dict[str, Any]:
    """What a change, or a desired state, would come to. Changes nothing. Raises NotFound, Conflict."""
    cluster = clusters(who).filter(id=cluster_id).first()
    if cluster is None:
        raise cluster_not_found()
    check_not_deleted(cluster)
    facts = facts_of(cluster)
    planned: list[dict[str, Any]] = []
    changes: Sequence[AnyChange] = ()
    if not isinstance(wanted, DesiredState):
        changes = [wanted]
    elif never := desired.never(facts, wanted):
        planned = [_never(refused) for refused in never]
    else:
        changes = desired.changes(facts, wanted)
    for change in changes:
        # Only the first meets what is being done now.
        beside = Beside() if planned else beside_of(cluster, change)
        try:
            proposal = propose(facts, change)
        except NothingToDo:
            continue
        except Refused as refused:
            planned.append(_not_possible(change, refused, beside))
            # What comes after it would begin with a state that is not reached.
            break
        planned.append(_possible(change, facts, proposal, beside) | _costs(facts, proposal.after))
        facts = proposal.after
    costs = [each["cost_per_month_micros"] for each in planned]
    return {
        "possible": all(each["reason"] is None for each in planned),
        "changes": planned,
        "expected_seconds": sum(each["expected_seconds"] for each in planned),
        "cost_per_month_micros": None if None in costs else sum(costs),
    }


def _costs(before: Facts, after: Facts) -> dict[str, int | None]:
    """None where a machine type has no price; no statement where the machines stay the same."""
    shapes = _shapes(before), _shapes(after)
    if shapes[0] == shapes[1]:
        return {"cost_per_month_micros": 0}
    was, will = (machines_on_demand(each) for each in shapes)
    return {"cost_per_month_micros": None if was is None or will is None else will.month - was.month}


def _shapes(facts: Facts) -> list[Shape]:
    """The machines of the cluster, by data centre and type."""
    kinds = Counter((node.datacenter.region, node.machine_type) for node in facts.nodes)
    return shapes_of_machines(facts.cluster.provider, kinds)


def check_not_deleted(cluster: Cluster) -> None:
    """Raises Conflict."""
    if cluster.state == ClusterState.DELETED:
        raise Conflict(
            "cluster_deleted", f"The cluster {cluster.name} is deleted already.", hint="Nothing is left to do."
        )


@dataclass(frozen=True)
class Beside:
    """How a wanted change stands to what is open on the cluster, and to the cluster's state."""

    refusal: Conflict | None = None
    warning: str = ""


def beside_of(cluster: Cluster, change: AnyChange) -> Beside:
    """Without the lock of operations.start, which obeys the same table: what is true now may not be in a moment.

    Asked before the change itself is judged: nodes that are on their way in or out are no reason, but the operation is.
    """
    kind = OPERATION_KINDS[change.kind]
    rows = {row.id: row for row in Operation.objects.filter(cluster_id=cluster.id, state__in=OPEN).order_by("id")}
    # Its id sorts after all others, as that of the youngest does.
    me = Standing(id="~", kind=kind, exclusive=coordination.is_exclusive(kind), pausable=False, going=True)
    others = [turns.standing(row) for row in rows.values()]
    for other in others:
        found = coordination.between(other, me)
        if found.verdict is Verdict.REFUSE:
            return Beside(operations.in_progress(rows[other.id], found.reason))
    if reason := reason_against_changing(ClusterState(cluster.state), may=True, busy_kind=None):
        return Beside(Conflict("cluster_not_active", reason, hint="Look at the cluster's state and its operations."))
    first = coordination.in_the_way(me, others)
    if first is None:
        return Beside()
    reason = coordination.between(first, me).reason
    return Beside(warning=f"It begins when the operation {first.id} ({title(first.kind).lower()}) lets it. {reason}")


def _possible(change: AnyChange, facts: Facts, proposal: Proposal, beside: Beside) -> dict[str, Any]:
    planned = proposal.planned
    return {
        "kind": change.kind,
        "title": proposal.title,
        "change": change.model_dump(mode="json", exclude_none=True),
        "field": None,
        "mode": proposal.mode if beside.refusal is None else Mode.NOT_POSSIBLE,
        "code": beside.refusal and beside.refusal.code,
        "reason": beside.refusal and beside.refusal.message,
        "hint": beside.refusal and beside.refusal.hint,
        "steps": _work(planned),
        "steps_total": sum(len(group) for group in planned.groups),
        "nodes_touched": list(proposal.touched),
        "expected_seconds": planned.expected_seconds,
        "impact": list(proposal.impact),
        "warnings": [*proposal.warnings, *([beside.warning] if beside.warning else []), *_not_sure(facts, proposal)],
        "cancellable": _cancellable(planned),
    }


def _not_sure(facts: Facts, proposal: Proposal) -> list[str]:
    """Of the regions in which machines would be made: how sure it is that there is room."""
    regions = sorted({node.datacenter.region for node in proposal.new_nodes})
    rooms = [facts.rooms[region] for region in regions if region in facts.rooms]
    return [warning for room in rooms if (warning := room_warning(facts.cluster.provider, room))]


def _not_possible(change: AnyChange, refused: Refused, beside: Beside) -> dict[str, Any]:
    found = _never(refused) | {
        "kind": change.kind,
        "title": change.kind.replace("_", " ").capitalize(),
        "change": change.model_dump(mode="json", exclude_none=True),
    }
    if beside.refusal is not None:
        found |= {
            "code": beside.refusal.code,
            "reason": beside.refusal.message,
            "hint": beside.refusal.hint or None,
            "field": None,
        }
    return found


def _never(refused: Refused) -> dict[str, Any]:
    """What no change would make so."""
    return {
        "kind": "desired_state",
        "title": "Cannot be changed",
        "mode": Mode.NOT_POSSIBLE,
        "change": None,
        "field": refused.field,
        "code": refused.code,
        "reason": refused.sentence,
        "hint": refused.hint or None,
        "steps": [],
        "steps_total": 0,
        "nodes_touched": [],
        "expected_seconds": 0,
        "cost_per_month_micros": 0,
        "impact": [],
        "warnings": [],
        "cancellable": "Nothing would begin.",
    }


def _work(planned: Planned) -> list[dict[str, Any]]:
    """Each kind of work once, where it is first done, with the nodes it is done on."""
    nodes: dict[str, list[str]] = {}
    for group in planned.groups:
        for step in group:
            on = nodes.setdefault(step.title, [])
            if step.target_title and step.target_title not in on:
                on.append(step.target_title)
    return [{"title": step_title, "nodes": on} for step_title, on in nodes.items()]


def _cancellable(planned: Planned) -> str:
    paused = " It can be paused between two nodes." if planned.pausable else ""
    if planned.stays_done:
        return f"It can be cancelled at any time; what it has done stays done.{paused}"
    if planned.cancellable_until is None:
        return f"It can be cancelled at any time; what it has begun is taken back.{paused}"
    until = next(step.title for group in planned.groups for step in group if step.name == planned.cancellable_until)
    return f"It can be cancelled until this begins: {until}. What it has done is then taken back.{paused}"
