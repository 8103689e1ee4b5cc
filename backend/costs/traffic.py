"""What nodes send: from what agents have counted to usage. May be repeated; nothing is counted twice or left out.

An agent's counters only grow, over restarts of its engine and of itself, and have an epoch, which is another one on
another machine. The last reading is kept here, so what is between two readings is counted once, whenever they are made.
It waits in the row of its node until its hour is over, and leaves it in the transaction that writes the usage.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Max

from backend.clusters.models import Datacenter, Node
from backend.costs.clock import database_now
from backend.costs.metering import counted, hour_of, spread
from backend.costs.models import TrafficReading, UsageRecord
from backend.costs.recording import record_costs
from backend.prices.states import Item

GRACE = timedelta(minutes=15)
"""Traffic of an hour is written this long after its end: every node was read once more by then."""
AT_ONCE = 500
"""Nodes that one transaction writes the usage of."""
_CLIENTS = "clients"


class ClientTraffic(StrEnum):
    """Where clients are taken to be: nobody tells. environment.ringmaster_client_traffic."""

    IN_ZONE = "in-zone"
    ACROSS_ZONES = "across-zones"
    OUT = "out"


_OF_CLIENTS = {
    ClientTraffic.IN_ZONE: Item.TRAFFIC_IN_ZONE,
    ClientTraffic.ACROSS_ZONES: Item.TRAFFIC_ACROSS_ZONES,
    ClientTraffic.OUT: Item.TRAFFIC_OUT,
}


@dataclass(frozen=True, kw_only=True)
class Sent:
    """What a node's agent has counted, in bytes. `to_nodes`: by data centre and zone of those it was sent to."""

    node_id: str
    epoch: str
    to_nodes: Mapping[tuple[str, str], int]
    clients: int
    """From and to clients."""


@transaction.atomic
def note(read: Sequence[Sent], now: datetime | None = None) -> None:
    """Takes readings in, at most one of each node. `now`: by the database's clock if it is None.

    Bytes are counted where they are sent, so those between two nodes once. What comes back from clients is theirs.
    """
    if not read:
        return
    wanted = {each.node_id: each for each in read}
    known = {
        row.node_id: row
        for row in TrafficReading.objects.select_for_update().filter(node_id__in=wanted).order_by("node_id")
    }
    nodes = Node.objects.filter(id__in=wanted).select_related("cluster", "datacenter").defer("tokens")
    by_id = {node.id: node for node in nodes}
    regions = _regions({node.cluster_id for node in by_id.values()})
    now = now or database_now()
    rows = [
        _after(known.get(node_id), sent, by_id[node_id], regions, now)
        for node_id, sent in sorted(wanted.items())
        if node_id in by_id
    ]
    TrafficReading.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["node_id"],
        update_fields=["epoch", "counts", "read_at", "due", "due_from"],
    )


def _regions(cluster_ids: set[str]) -> dict[tuple[str, str], str]:
    """Of every data centre, by cluster and name; also of those that are gone."""
    rows = Datacenter.objects.filter(cluster_id__in=cluster_ids).values_list("cluster_id", "name", "region")
    return {(cluster, name): region for cluster, name, region in rows}


def _after(
    before: TrafficReading | None, sent: Sent, node: Node, regions: Mapping[tuple[str, str], str], now: datetime
) -> TrafficReading:
    counts = {f"{datacenter}/{zone}": count for (datacenter, zone), count in sent.to_nodes.items()}
    counts[_CLIENTS] = sent.clients
    items = {
        f"{datacenter}/{zone}": item_between(node, zone, regions.get((node.cluster_id, datacenter)))
        for datacenter, zone in sent.to_nodes
    }
    items[_CLIENTS] = _OF_CLIENTS[ClientTraffic(settings.ENV.ringmaster_client_traffic)]
    due = before.due if before else {}
    for name, count in counts.items():
        last = None if before is None or name not in before.counts else (before.epoch, before.counts[name])
        more = counted(last, (sent.epoch, count))
        for hour, part in spread(more, before.read_at if before else None, now).items():
            of_hour = due.setdefault(hour.isoformat(), {})
            of_hour[items[name]] = of_hour.get(items[name], 0) + part
    return TrafficReading(
        node_id=sent.node_id,
        organisation_id=node.cluster.organisation_id,
        cluster_id=node.cluster_id,
        provider=node.cluster.provider,
        region=node.datacenter.region,
        epoch=sent.epoch,
        counts=counts,
        read_at=max(now, before.read_at) if before else now,
        due=due,
        due_from=_first(due),
    )


def item_between(node: Node, zone: str, region: str | None) -> Item:
    """How what the node sends to a zone of a region is priced. A data centre that is not ours: as another zone."""
    if region is None:
        return Item.TRAFFIC_ACROSS_ZONES
    if region != node.datacenter.region:
        return Item.TRAFFIC_OUT
    return Item.TRAFFIC_IN_ZONE if zone == node.zone else Item.TRAFFIC_ACROSS_ZONES


def close_traffic(now: datetime | None = None) -> int:
    """Writes what is due of all hours that are over. How many records that were."""
    closed, written = hour_of((now or database_now()) - GRACE), 0
    while (found := _close_some(closed)) is not None:
        written += found
    return written


@transaction.atomic
def _close_some(closed: datetime) -> int | None:
    """How many records were written; None: nothing is due."""
    with connection.cursor() as cursor:
        # As in closing.py: lines of a day are written by one at a time.
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('close-hours'))")
    rows = list(TrafficReading.objects.select_for_update().filter(due_from__lt=closed).order_by("node_id")[:AT_ONCE])
    if not rows:
        return None
    records = [record for row in rows for record in _records(row, closed)]
    _number(records)
    UsageRecord.objects.bulk_create(records)
    record_costs(records, closed=closed)
    TrafficReading.objects.bulk_update(rows, ["due", "due_from"])
    return len(records)


def _records(row: TrafficReading, closed: datetime) -> list[UsageRecord]:
    """Takes what is due out of the row."""
    over = {hour: row.due.pop(hour) for hour in sorted(row.due) if datetime.fromisoformat(hour) < closed}
    row.due_from = _first(row.due)
    return [
        UsageRecord(
            organisation_id=row.organisation_id,
            cluster_id=row.cluster_id,
            fact=f"traffic/{row.node_id}/{item}",
            node_id=row.node_id,
            item=item,
            provider=row.provider,
            region=row.region,
            hour=datetime.fromisoformat(hour),
            unit_seconds=count,
        )
        for hour, items in over.items()
        for item, count in items.items()
    ]


def _number(records: Sequence[UsageRecord]) -> None:
    """What comes to an hour that was written already is another record of it."""
    hours = {record.hour for record in records}
    before = (
        UsageRecord.objects.filter(fact__in={record.fact for record in records}, hour__in=hours)
        .values_list("fact", "hour")
        .annotate(Max("sequence"))
    )
    last = {(fact, hour): sequence for fact, hour, sequence in before}
    for record in records:
        record.sequence = last.get((record.fact, record.hour), -1) + 1


def _first(due: Mapping[str, Any]) -> datetime | None:
    return min((datetime.fromisoformat(hour) for hour in due), default=None)
