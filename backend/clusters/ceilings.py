"""Ceilings: what an order or a change would come to, beside what the organisation and the cluster may have.

Counted is what there will be when all that has begun is done: a node whose successor is there already is not counted.
Money is that of machines on demand with mark-up and fees, by a month of 730 hours, as orders and plans tell it
(docs/costs.md); what depends on use is not in it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from backend.clusters.models import Ceiling, Node
from backend.prices.book import PriceBook
from backend.prices.estimate import Shape, estimate
from backend.prices.estimates import shapes_of_machines
from backend.prices.money import spoken
from backend.prices.queries import price_book
from backend.prices.states import Term

Machines = Mapping[tuple[str, str], int]
"""Of one cluster: its nodes by region and machine type."""

_HINT = "Take fewer or smaller nodes, delete what nobody needs, or ask who may (budgets:write) to raise the ceiling."


@dataclass(frozen=True)
class Held:
    """What is there, or would be."""

    nodes: int = 0
    micros: int = 0
    """A month."""
    unpriced: int = 0
    """Nodes that are not in `micros`: the price book does not know their machine type."""

    def __add__(self, other: "Held") -> "Held":
        return Held(self.nodes + other.nodes, self.micros + other.micros, self.unpriced + other.unpriced)


@dataclass(frozen=True)
class Exceeded:
    """A ceiling that does not hold: `refuses` what would go further beyond it, and otherwise only says so."""

    code: str
    sentence: str
    refuses: bool
    hint: str = _HINT


@dataclass(frozen=True)
class Prices:
    """What parts of clusters cost a month, each shape worked out once."""

    book: PriceBook
    at: datetime
    _known: dict[Shape, int | None] = field(default_factory=dict)

    @classmethod
    def now(cls, *providers: str) -> "Prices":
        """One statement."""
        return cls(price_book(*providers), timezone.now())

    def month(self, shape: Shape) -> int | None:
        """Micro-dollars; None: its machine type has no price."""
        if shape not in self._known:
            bill = estimate(shape, self.book, at=self.at).bill(Term.ON_DEMAND)
            self._known[shape] = None if bill is None else bill.total.month
        return self._known[shape]


def held_by(provider: str, machines: Machines, prices: Prices | None) -> Held:
    """What one cluster has. Without prices only nodes are counted."""
    nodes = sum(machines.values())
    if prices is None:
        return Held(nodes)
    found = [(shape.nodes, prices.month(shape)) for shape in shapes_of_machines(provider, machines)]
    return Held(
        nodes,
        sum(month for _, month in found if month is not None),
        sum(number for number, month in found if month is None),
    )


def machines_of(nodes: Iterable[Node]) -> dict[tuple[str, str], int]:
    """Of a cluster's living nodes, each with its data centre."""
    nodes = list(nodes)
    replaced = {node.replaces_id for node in nodes}
    counted: dict[tuple[str, str], int] = defaultdict(int)
    for node in nodes:
        if node.id not in replaced:
            counted[node.datacenter.region, node.machine_type] += 1
    return dict(counted)


def machines_by_cluster(organisation_id: str) -> dict[str, tuple[str, Machines]]:
    """Provider and machines of each living cluster by its id. One statement."""
    living = Node.objects.filter(deleted_at=None, cluster__organisation_id=organisation_id)
    replaced = living.exclude(replaces_id="").order_by().values("replaces_id")
    counted = (
        living.exclude(id__in=replaced)
        .order_by()
        .values_list("cluster_id", "cluster__provider", "datacenter__region", "machine_type")
        .annotate(number=Count("id"))
    )
    found: dict[str, tuple[str, dict[tuple[str, str], int]]] = {}
    for cluster_id, provider, region, machine_type, number in counted:
        found.setdefault(cluster_id, (provider, {}))[1][region, machine_type] = number
    return dict(found)


def hold(organisation_id: str, cluster_id: str | None = None) -> None:
    """Whoever adds nodes under the same ceilings waits until this transaction has added its own, or none."""
    rows = _ceilings(organisation_id, cluster_id).select_for_update(no_key=True)
    list(rows.order_by("id").values_list("id", flat=True))


def against(
    organisation_id: str, cluster_id: str | None, *, provider: str, before: Machines, after: Machines
) -> list[Exceeded]:
    """What ceilings say to a cluster that has `before` and would have `after`; `cluster_id`: None for a new one.

    One statement where there is no ceiling. Call it after `hold` if it is acted upon.
    """
    rows = list(_ceilings(organisation_id, cluster_id).select_related("cluster").order_by("cluster_id"))
    if not rows:
        return []
    others = machines_by_cluster(organisation_id)
    others.pop(cluster_id or "", None)
    paid = any(row.micros_per_month is not None for row in rows)
    prices = Prices.now(provider, *{each for each, _ in others.values()}) if paid else None
    own_now, own_then = (held_by(provider, machines, prices) for machines in (before, after))
    rest = sum((held_by(each, machines, prices) for each, machines in others.values()), Held())
    return list(
        chain.from_iterable(
            exceeded(row, own_now, own_then) if row.cluster_id else exceeded(row, rest + own_now, rest + own_then)
            for row in rows
        )
    )


def exceeded(ceiling: Ceiling, now: Held, then: Held) -> list[Exceeded]:
    """What would be beyond the ceiling. What does not make it worse is never refused."""
    whose = f"the cluster {ceiling.cluster.name}" if ceiling.cluster else "the organisation"
    found = []
    if ceiling.nodes is not None and then.nodes > ceiling.nodes:
        limit = f"The ceiling of {whose} is {_nodes(ceiling.nodes)}"
        found.append(
            Exceeded(
                "node_ceiling_reached", f"{limit}: it has {now.nodes} now and would have {then.nodes}.", refuses=True
            )
            if then.nodes > now.nodes
            else Exceeded("node_ceiling_reached", f"{limit}, and it has {then.nodes}.", refuses=False)
        )
    if ceiling.micros_per_month is not None:
        found += _exceeded_money(ceiling.micros_per_month, whose, now, then)
    return found


def _exceeded_money(most: int, whose: str, now: Held, then: Held) -> list[Exceeded]:
    limit = f"The ceiling of {whose} is {spoken(most)} dollars a month"
    if then.unpriced > now.unpriced:
        return [
            Exceeded(
                "cost_ceiling_unknown",
                f"{limit}, and what {_nodes(then.unpriced - now.unpriced)} of this would cost is not known.",
                refuses=True,
                hint="Choose a machine type with a price, or have one uploaded (upload_prices).",
            )
        ]
    if then.micros <= most:
        return []
    if then.micros <= now.micros:
        text = f"{limit}, and its machines come to {spoken(then.micros)}."
        return [Exceeded("cost_ceiling_reached", text, refuses=False)]
    text = f"{limit}: its machines come to {spoken(now.micros)} now and would come to {spoken(then.micros)}."
    return [Exceeded("cost_ceiling_reached", text, refuses=True)]


def _ceilings(organisation_id: str, cluster_id: str | None) -> QuerySet[Ceiling]:
    whose = Q(cluster=None) if cluster_id is None else Q(cluster=None) | Q(cluster=cluster_id)
    return Ceiling.objects.filter(whose, organisation_id=organisation_id)


def _nodes(number: int) -> str:
    return "1 node" if number == 1 else f"{number:,} nodes"
