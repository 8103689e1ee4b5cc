"""Brings together what a cluster costs, for the rules that save: the price book, what was metered, and its backups."""

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta

from django.db.models import Count, F, Sum

from backend.advisor.rules.facts import TableUse
from backend.advisor.rules.savings import COLD_DAYS, IDLE_DAYS
from backend.advisor.rules.spending import Metered, Overdue, Place, Spending
from backend.backups.overdue import overdue_backups
from backend.catalog.models import MachineType
from backend.clusters.models import Cluster, Datacenter, Node
from backend.costs.models import CostDay, HourToShare, TableDay
from backend.costs.observing import PROVIDERS
from backend.costs.sharing import PARTS
from backend.prices.queries import price_book
from backend.sizing import known
from backend.sizing.shapes import Machine

UNMEASURED_PERCENT = 2
"""Of what the days cost: hours without metrics say nothing of requests."""
TableName = tuple[str, str]


def spending_of(cluster: Cluster, replication: Iterable[Mapping[str, int]], now: datetime) -> Spending:
    """`replication`: of each keyspace the copies by data centre."""
    nodes = list(cluster.nodes.filter(deleted_at=None))
    backups = tuple(_overdue(cluster))
    machines, offers = machines_of(cluster.provider)
    return Spending(
        book=price_book(cluster.provider, *{each.provider for each in backups}),
        at=now,
        provider=cluster.provider,
        served_days=(now - cluster.active_at).total_seconds() / 86_400 if cluster.active_at is not None else 0,
        engine=known.figures().engines.get(cluster.engine),
        places=tuple(_places(cluster, nodes, list(replication), machines)) if cluster.deleted_at is None else (),
        offers=offers,
        lately=metered(cluster, now.date()) if cluster.deleted_at is None else None,
        overdue=backups,
    )


def metered(cluster: Cluster, today: date) -> Metered | None:
    """The last whole days, if each was measured."""
    begin = today - timedelta(days=IDLE_DAYS)
    if not _all_measured(cluster, begin, today):
        return None
    days = CostDay.objects.filter(**_of(cluster), day__gte=begin, day__lt=today)
    cost = F("compute") + F("storage") + F("traffic") + F("overhead")
    tables = TableDay.objects.filter(
        organisation_id=cluster.organisation_id, table__cluster_id=cluster.id, day__gte=begin, day__lt=today
    ).aggregate(asked=Sum(F("reads") + F("writes")))
    return Metered(
        days=IDLE_DAYS, requests=tables["asked"] or 0, micros=days.aggregate(micros=Sum(cost))["micros"] or 0
    )


def tables_lately(cluster: Cluster, today: date) -> dict[TableName, TableUse]:
    """Of the last whole days, of tables that were there on each of them. Empty: not all was measured."""
    begin = today - timedelta(days=COLD_DAYS)
    if not _all_measured(cluster, begin, today):
        return {}
    rows = (
        TableDay.objects.filter(
            organisation_id=cluster.organisation_id, table__cluster_id=cluster.id, day__gte=begin, day__lt=today
        )
        .exclude(table__name="")
        .values("table__keyspace", "table__name")
        .annotate(days=Count("day"), asked=Sum("reads"), written=Sum("writes"), held=Sum("storage"))
    )
    return {
        (row["table__keyspace"], row["table__name"]): TableUse(
            days=row["days"], reads=row["asked"], writes=row["written"], storage_micros=row["held"]
        )
        for row in rows
        if row["days"] == COLD_DAYS
    }


def _of(cluster: Cluster) -> dict[str, str]:
    return {"organisation_id": cluster.organisation_id, "cluster_id": cluster.id}


def _all_measured(cluster: Cluster, begin: date, end: date) -> bool:
    """Each day cost something, nearly all of it was shared out with metrics, and nothing is still to be."""
    days = CostDay.objects.filter(**_of(cluster), day__gte=begin, day__lt=end).aggregate(
        days=Count("day"), unmeasured=Sum("unmeasured"), micros=Sum(sum((F(part) for part in PARTS[1:]), F(PARTS[0])))
    )
    if days["days"] < (end - begin).days or days["unmeasured"] * 100 > days["micros"] * UNMEASURED_PERCENT:
        return False
    span = {"hour__gte": _midnight(begin), "hour__lt": _midnight(end)}
    return not HourToShare.objects.filter(**_of(cluster), **span, uncounted__gt=0).exists()


def _midnight(day: date) -> datetime:
    return datetime.combine(day, datetime.min.time(), tzinfo=UTC)


def machines_of(provider: str) -> tuple[dict[str, Machine], dict[str, tuple[Machine, ...]]]:
    """Those with figures by name; and by each what can be ordered instead: of its architecture, so that images fit."""
    figures = {machine.name: machine for machine in known.machines(provider)}
    rows = MachineType.objects.filter(provider_id=provider).values_list("name", "architecture", "enabled")
    architectures = {name: architecture for name, architecture, _ in rows if name in figures}
    offered = [name for name, _, enabled in rows if enabled and name in figures]
    return figures, {
        name: tuple(figures[other] for other in offered if architectures[other] == architecture)
        for name, architecture in architectures.items()
    }


def _places(
    cluster: Cluster, nodes: list[Node], replication: list[Mapping[str, int]], machines: Mapping[str, Machine]
) -> Iterable[Place]:
    """Data centres whose nodes are all of one machine type: others are just being changed."""
    for number, datacenter in enumerate(Datacenter.objects.filter(cluster=cluster, deleted_at=None)):
        here = [node for node in nodes if node.datacenter_id == datacenter.id]
        types = {node.machine_type for node in here}
        if len(types) != 1:
            continue
        copies = [factors.get(datacenter.name, 0) for factors in replication]
        yield Place(
            name=datacenter.name,
            region=datacenter.region,
            machine_type=here[0].machine_type,
            nodes=len(here),
            zones=len(datacenter.zones),
            # One in each zone, before anybody makes a keyspace.
            replicas=max([*copies, len(datacenter.zones) if not any(copies) else 1]),
            machine=machines.get(here[0].machine_type),
            is_first=number == 0,
        )


def _overdue(cluster: Cluster) -> Iterable[Overdue]:
    for each in overdue_backups(cluster):
        yield Overdue(
            location=each.location.name,
            provider=PROVIDERS.get(each.location.kind, each.location.kind),
            region=each.location.region,
            expired=len(each.expired),
            endless=len(each.endless),
            oldest=each.oldest,
            bytes=each.bytes,
        )
