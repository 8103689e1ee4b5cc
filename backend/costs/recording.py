"""What closed usage costs, written down in the transaction that writes the usage: so once, and for all of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from datetime import date, datetime, timedelta

from django.db.models import Max, Sum

from backend.core import ids
from backend.costs.adding import add_up, by_month
from backend.costs.models import CostDay, CostLine, CostMonth, HourToShare, UsageRecord
from backend.costs.pricing import LineKey, Used, cost_of, parts_of_lines, together
from backend.costs.pricing import Sum as LineSum
from backend.costs.sharing import Parts
from backend.costs.tables import Shares, add_to_tables, shared_tables
from backend.prices.queries import price_book
from backend.prices.states import Item

_UNIQUE = ("organisation_id", "day", "cluster_id", "item", "provider", "region", "name", "price", "sequence")
ClusterKey = tuple[str, str]
"""Organisation and cluster; a cluster of "": what belongs to none."""
DayKey = tuple[str, str, date]
HourKey = tuple[str, datetime, str]
"""Cluster, hour, organisation."""


@dataclass
class _Lines:
    """Of one cluster and day."""

    known: dict[LineKey, LineSum] = field(default_factory=dict)
    last: dict[LineKey, int] = field(default_factory=dict)
    """The highest sequence."""
    added: dict[LineKey, LineSum] = field(default_factory=dict)


@dataclass(frozen=True)
class _Hour:
    """`is_new`: the cluster had no machine in it as far as was known before."""

    parts: Parts
    is_new: bool


def record_costs(records: Sequence[UsageRecord], *, closed: datetime) -> None:
    """`records`: just written; `closed`: until when hours are closed. In a transaction that nobody else runs."""
    if not records:
        return
    hours = _by_hour(records)
    days = _known({(key[0], key[1], hour.date()) for key, hour in hours})
    book = price_book(*sorted({record.provider for record in records}))
    seconds = _seconds_of_clusters(hours)
    to_share: dict[HourKey, _Hour] = {}
    for (key, hour), used in sorted(hours.items()):
        lines = days[(*key, hour.date())]
        so_far = together(lines.known, lines.added)
        more = cost_of(used, hour=hour, seconds_of_cluster=seconds[key, hour], book=book, known=so_far)
        after = together(so_far, more)
        lines.added = together(lines.added, more)
        to_share[key[1], hour, key[0]] = _Hour(
            parts_of_lines(after) - parts_of_lines(so_far), is_new=seconds[key, hour] > 0
        )
    _write_lines(days, closed)
    _write_sums(to_share)


def _by_hour(records: Iterable[UsageRecord]) -> dict[tuple[ClusterKey, datetime], list[Used]]:
    sums: dict[tuple[ClusterKey, datetime], dict[tuple[str, str, str, str], int]] = {}
    for record in records:
        used = sums.setdefault(((record.organisation_id, record.cluster_id), record.hour), {})
        thing = (record.item, record.provider, record.region, record.name)
        used[thing] = used.get(thing, 0) + int(record.unit_seconds)
    return {
        key: [
            Used(item=Item(item), provider=provider, region=region, name=name, quantity=quantity)
            for (item, provider, region, name), quantity in used.items()
        ]
        for key, used in sums.items()
    }


def _known(keys: set[DayKey]) -> dict[DayKey, _Lines]:
    found = {key: _Lines() for key in keys}
    days = [day for _, _, day in keys]
    rows = (
        CostLine.objects.filter(
            organisation_id__in={key[0] for key in keys},
            cluster_id__in={key[1] for key in keys},
            day__gte=min(days),
            day__lte=max(days),
        )
        .values("organisation_id", "cluster_id", "day", "item", "provider", "region", "name", "price")
        .annotate(quantity=Sum("quantity"), micros=Sum("micros"), last=Max("sequence"))
    )
    for row in rows:
        lines = found.get((row["organisation_id"], row["cluster_id"], row["day"]))
        if lines is not None:
            key = LineKey(
                item=Item(row["item"]),
                provider=row["provider"],
                region=row["region"],
                name=row["name"],
                price=row["price"],
            )
            lines.known[key] = LineSum(int(row["quantity"]), int(row["micros"]))
            lines.last[key] = row["last"]
    return found


def _seconds_of_clusters(
    hours: Mapping[tuple[ClusterKey, datetime], list[Used]],
) -> dict[tuple[ClusterKey, datetime], int]:
    """The cluster's fee is due for each hour in which it had a machine: what of that is new, in seconds."""
    moments = [hour for _, hour in hours]
    rows = (
        UsageRecord.objects.filter(
            item=Item.MACHINE,
            cluster_id__in={key[1] for key, _ in hours},
            hour__gte=min(moments),
            hour__lte=max(moments),
        )
        .values_list("organisation_id", "cluster_id", "hour")
        .annotate(seconds=Sum("unit_seconds"))
    )
    after = {((row[0], row[1]), row[2]): int(row[3]) for row in rows}
    found = {}
    for key, used in hours.items():
        new = sum(each.quantity for each in used if each.item is Item.MACHINE)
        total = after.get(key, 0)
        found[key] = 3600 * ((total > 0) - (total - new > 0))
    return found


def _write_lines(days: Mapping[DayKey, _Lines], closed: datetime) -> None:
    """A row grows until its day is over; what comes later is a row of its own."""
    last_open = (closed - timedelta(seconds=1)).date()
    amounts = {}
    for (organisation_id, cluster_id, day), lines in days.items():
        for key, more in lines.added.items():
            sequence = lines.last.get(key, 0) if day >= last_open else lines.last.get(key, -1) + 1
            row = (organisation_id, day, cluster_id, *astuple(key), sequence, ids.new_cost_line_id())
            amounts[row] = {"quantity": more.quantity, "micros": more.micros}
    add_up(CostLine, amounts, by=[*_UNIQUE, "id"], unique=_UNIQUE)


def add_to_days(amounts: Mapping[DayKey, tuple[Parts, int]]) -> None:
    """Parts, and what of them was shared for want of metrics."""
    columns = {key: asdict(parts) | {"unmeasured": unmeasured} for key, (parts, unmeasured) in amounts.items()}
    add_up(CostDay, columns, by=["organisation_id", "cluster_id", "day"])
    add_up(CostMonth, by_month(columns), by=["organisation_id", "cluster_id", "month"])


def _write_sums(to_share: Mapping[HourKey, _Hour]) -> None:
    """Of tables all is shared at first: what of it is whose, sharing_hours.py finds out."""
    days: dict[DayKey, Parts] = {}
    for (cluster_id, hour, organisation_id), more in to_share.items():
        key = (organisation_id, cluster_id, hour.date())
        days[key] = days.get(key, Parts()) + more.parts
    add_to_days({key: (parts, 0) for key, parts in days.items()})
    shared = shared_tables({(key[0], key[1]) for key in days})
    of_tables = {(shared[key[0], key[1]], key[0], key[2]): Shares(parts) for key, parts in days.items()}
    add_to_tables(of_tables)
    add_up(
        HourToShare,
        {key: asdict(more.parts) | {"uncounted": int(more.is_new)} for key, more in to_share.items()},
        by=["cluster_id", "hour", "organisation_id"],
    )
