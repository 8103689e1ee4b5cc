"""Closing hours: from facts to usage records and what they cost. May be repeated, after a crash and side by side."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Max, Sum

from backend.costs.clock import database_now
from backend.costs.metering import Held, differences, due, hour_of
from backend.costs.models import Meter, UsageRecord
from backend.costs.recording import record_costs
from backend.prices.states import Item

GRACE = timedelta(minutes=5)
"""An hour is closed this long after its end: who was about to write a fact of it has done so."""
AT_ONCE = 500
"""Facts that one transaction meters."""


@dataclass(frozen=True, kw_only=True)
class Fact:
    """Something that was held, whose it is, and how far it was metered."""

    name: str
    held: Held
    item: Item
    organisation_id: str
    cluster_id: str
    node_id: str
    provider: str
    region: str
    kind: str
    """Machine type or class of storage."""
    metered: Held | None
    """As it was known when it was last metered; None: never."""
    closed: datetime | None
    """What was before it is written."""


# Those not metered to their end or to the last closed hour, and those that are otherwise than when they were metered.
_DUE = """
SELECT fact.*, meter.units AS old_units, meter.began_at AS old_began, meter.ended_at AS old_ended, meter.closed
  FROM ({facts}) fact
  LEFT JOIN costs_meter meter ON meter.fact = fact.name
 WHERE fact.began_at < %(closed)s
   AND (meter.fact IS NULL
        OR meter.closed < LEAST(%(closed)s, fact.ended_at)
        OR meter.began_at <> fact.began_at OR meter.ended_at IS DISTINCT FROM fact.ended_at
        OR meter.units <> fact.units)
 ORDER BY fact.name
 LIMIT %(at_once)s
"""
_FACTS = (
    """
    SELECT 'machine/' || id AS name, 'machine' AS item, organisation_id, cluster_id, node_id, provider, region,
           machine_type AS kind, 1::bigint AS units, began_at, ended_at
      FROM clusters_machinelife
    """,
    """
    SELECT 'disk/' || id AS name, 'block_storage' AS item, organisation_id, cluster_id, node_id, provider, region,
           disk_class AS kind, disk_bytes AS units, disk_began_at AS began_at,
           CASE WHEN ended_at < disk_began_at THEN disk_began_at ELSE ended_at END AS ended_at
      FROM clusters_machinelife
     WHERE disk_began_at IS NOT NULL
    """,
    """
    SELECT 'bytes/' || id AS name, 'object_storage' AS item, organisation_id, cluster_id, '' AS node_id, provider,
           region, 'standard' AS kind, bytes AS units, began_at, ended_at
      FROM costs_heldbytes
    """,
)


def close_hours(now: datetime | None = None) -> int:
    """Writes what is missing of all hours that are over. How many records that were.

    `now`: by the database's clock if it is None. How far a fact was metered is kept with it, so a clock that was put
    back closes nothing twice.
    """
    closed, written = hour_of((now or database_now()) - GRACE), 0
    for facts in _FACTS:
        while (found := _close_some(_DUE.format(facts=facts), closed)) is not None:
            written += found
    return written


@transaction.atomic
def _close_some(statement: str, closed: datetime) -> int | None:
    """How many records were written; None: nothing is due."""
    with connection.cursor() as cursor:
        # Who comes meanwhile waits, and then finds that it is done.
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('close-hours'))")
        cursor.execute(statement, {"closed": closed, "at_once": AT_ONCE})
        columns = [column.name for column in cursor.description or ()]
        facts = [_fact(dict(zip(columns, row, strict=True))) for row in cursor.fetchall()]
    if not facts:
        return None
    records = [record for fact in facts for record in _records(fact, max(closed, fact.closed or closed))]
    UsageRecord.objects.bulk_create(records)
    record_costs(records, closed=closed)
    meters = [
        Meter(
            fact=fact.name,
            began_at=fact.held.began_at,
            ended_at=fact.held.ended_at,
            units=fact.held.units,
            closed=max(closed, fact.closed or closed),
        )
        for fact in facts
    ]
    Meter.objects.bulk_create(
        meters,
        update_conflicts=True,
        unique_fields=["fact"],
        update_fields=["began_at", "ended_at", "units", "closed"],
    )
    return len(records)


def _records(fact: Fact, closed: datetime) -> list[UsageRecord]:
    if fact.metered is None or fact.closed is None:
        return [_record(fact, hour, used, 0) for hour, used in due(fact.held, closed=closed).items()]
    if _goes_on(fact.held, fact.metered, fact.closed):
        wanted = due(fact.held, since=fact.closed, closed=closed)
        return [_record(fact, hour, used, 0) for hour, used in wanted.items()]
    before = UsageRecord.objects.filter(fact=fact.name).values("hour").annotate(Sum("unit_seconds"), Max("sequence"))
    rows = {row["hour"]: row for row in before}
    written = {hour: int(row["unit_seconds__sum"]) for hour, row in rows.items()}
    wanted = differences(due(fact.held, closed=closed), written)
    return [
        _record(fact, hour, used, rows[hour]["sequence__max"] + 1 if hour in rows else 0)
        for hour, used in wanted.items()
    ]


def _goes_on(held: Held, metered: Held, closed: datetime) -> bool:
    """All that was written stays true."""
    same = (held.began_at, held.units) == (metered.began_at, metered.units)
    ends = [end for end in (held.ended_at, metered.ended_at) if end is not None]
    return same and (held.ended_at == metered.ended_at or all(end >= closed for end in ends))


def _record(fact: Fact, hour: datetime, used: int, sequence: int) -> UsageRecord:
    return UsageRecord(
        organisation_id=fact.organisation_id,
        cluster_id=fact.cluster_id,
        fact=fact.name,
        node_id=fact.node_id,
        item=fact.item,
        provider=fact.provider,
        region=fact.region,
        name=fact.kind,
        hour=hour,
        unit_seconds=used,
        sequence=sequence,
    )


def _fact(row: dict[str, Any]) -> Fact:
    metered = None
    if row["closed"] is not None:
        metered = Held(units=row["old_units"], began_at=row["old_began"], ended_at=row["old_ended"])
    return Fact(
        name=row["name"],
        held=Held(units=row["units"], began_at=row["began_at"], ended_at=row["ended_at"]),
        item=Item(row["item"]),
        organisation_id=row["organisation_id"],
        cluster_id=row["cluster_id"],
        node_id=row["node_id"],
        provider=row["provider"],
        region=row["region"],
        kind=row["kind"],
        metered=metered,
        closed=row["closed"],
    )
