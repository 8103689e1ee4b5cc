"""Setting, removing and showing ceilings. What obeys them is in backend/clusters/ceilings.py and backend/changes."""

from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from backend.accounts.models import Organisation
from backend.accounts.queries import Identity, require
from backend.accounts.states import Permission
from backend.audit import actions as audit
from backend.budgets.queries import of_cluster
from backend.budgets.schemas import CeilingOrder
from backend.budgets.states import reason_against_writing
from backend.clusters.ceilings import Held, Prices, held_by, machines_by_cluster
from backend.clusters.models import Ceiling, Cluster
from backend.clusters.queries import cluster_not_found
from backend.core.errors import Invalid, NotFound
from backend.core.pagination import PageQuery, cut
from backend.core.schemas import allowed


@transaction.atomic
def set_ceiling(who: Identity, order: CeilingOrder) -> dict[str, Any]:
    """Nothing is taken away that is beyond it already. Raises Forbidden, NotFound, Invalid."""
    require(who, Permission.BUDGETS_WRITE)
    if order.nodes is None and order.micros_per_month is None:
        raise Invalid(
            "field_missing",
            "A ceiling is of nodes, of micro-dollars a month, or of both.",
            hint="Give at least one; remove_ceiling takes a ceiling away.",
            field="nodes",
        )
    # Two at once would both find none and both make one.
    Organisation.objects.select_for_update(no_key=True).get(id=who.organisation_id)
    living = Cluster.objects.filter(organisation_id=who.organisation_id, deleted_at=None)
    if order.cluster_id is not None and not living.filter(id=order.cluster_id).exists():
        raise cluster_not_found()
    mine = Ceiling.objects.filter(organisation_id=who.organisation_id, cluster=order.cluster_id)
    before = mine.select_for_update().first()
    said = None if before is None else _facts(before)
    row = before or Ceiling(organisation_id=who.organisation_id, cluster_id=order.cluster_id)
    row.nodes, row.micros_per_month = order.nodes, order.micros_per_month
    if _facts(row) != said:
        row.changed_by = who.actor
        row.save()
        _record(who, row, "ceiling.set", before=said, after=_facts(row))
    return _shapes(who, [row])[0]


@transaction.atomic
def remove_ceiling(who: Identity, ceiling_id: str) -> None:
    """Raises Forbidden, NotFound."""
    require(who, Permission.BUDGETS_WRITE)
    row = _ceilings(who).select_for_update(of=("self",)).filter(id=ceiling_id).first()
    if row is None:
        raise NotFound("ceiling_not_found", "There is no such ceiling.", hint="list_ceilings has all there are.")
    _record(who, row, "ceiling.remove", before=_facts(row))
    row.delete()


def list_ceilings(who: Identity, query: PageQuery) -> dict[str, Any]:
    """Newest first, with what there is. Four statements."""
    rows = _ceilings(who) if query.cursor is None else _ceilings(who).filter(id__lt=query.cursor)
    found = list(rows.select_related("cluster").order_by("-id")[: query.limit + 1])
    held = _held(who)
    whole = sum(held.values(), Held())
    return cut(_shapes(who, found, held), query, lambda row: row) | {"held": _held_shape(whole)}


def _ceilings(who: Identity) -> QuerySet[Ceiling]:
    """Those of deleted clusters say nothing any more."""
    living = Q(cluster=None) | Q(cluster__deleted_at=None)
    return Ceiling.objects.filter(living, organisation_id=who.organisation_id)


def _held(who: Identity) -> dict[str, Held]:
    machines = machines_by_cluster(who.organisation_id)
    prices = Prices.now(*{provider for provider, _ in machines.values()}) if machines else None
    return {cluster_id: held_by(*each, prices) for cluster_id, each in machines.items()}


def _shapes(who: Identity, rows: list[Ceiling], held: dict[str, Held] | None = None) -> list[dict[str, Any]]:
    held = _held(who) if held is None else held
    whole = sum(held.values(), Held())
    reason = reason_against_writing(may=Permission.BUDGETS_WRITE in who.permissions)
    return [
        {
            "id": row.id,
            "cluster": of_cluster(row.cluster),
            "nodes": row.nodes,
            "micros_per_month": row.micros_per_month,
            "held": _held_shape(whole if row.cluster_id is None else held.get(row.cluster_id, Held())),
            "changed_by": row.changed_by,
            "changed_at": row.changed_at,
            "allowed_actions": [allowed("set_ceiling", reason), allowed("remove_ceiling", reason)],
        }
        for row in rows
    ]


def _held_shape(held: Held) -> dict[str, int]:
    return {"nodes": held.nodes, "micros_per_month": held.micros, "unpriced_nodes": held.unpriced}


def _facts(row: Ceiling) -> dict[str, Any]:
    return {"nodes": row.nodes, "micros_per_month": row.micros_per_month}


def _record(
    who: Identity, row: Ceiling, action: str, *, before: dict[str, Any] | None, after: dict[str, Any] | None = None
) -> None:
    audit.record(
        who,
        action=action,
        target_type="ceiling",
        target_id=row.cluster_id or row.organisation_id,
        target_name=row.cluster.name if row.cluster else "organisation",
        before=before,
        after=after,
    )
