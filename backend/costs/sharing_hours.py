"""Shares out what hours cost to the tables of their clusters. May be repeated, also after a crash.

A row of `HourToShare` says what is still to be shared; who shares it deletes it in the same transaction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from time import monotonic

import structlog
from django.db import connection, transaction

from backend.costs.models import HourToShare, TableDay, TableMonth
from backend.costs.ranges import DAYS_KEPT
from backend.costs.recording import add_to_days
from backend.costs.sharing import PARTS, SHARED, Capacity, Parts, TableUse, share_out, taken_back
from backend.costs.tables import Shares, TableName, add_to_tables, shared_tables, tables_of
from backend.metrics.store import MetricsUnavailable
from backend.metrics.usage import ClusterHour, TableHour, hours_of

PATIENCE = timedelta(hours=24)
"""For so long an hour waits for a store of metrics that does not answer."""
COMPACTED_PER_SECOND = 64 * 2**20
"""Bytes written that count as a second of work: what Cassandra lets a node's compactions write in one by default."""
_MICROS = 1_000_000
_CLUSTERS_AT_ONCE = 50
SECONDS = 30.0
"""After which a run leaves the rest to the next."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class _Measured:
    """What is known of a cluster's hour."""

    uses: Sequence[TableUse]
    counts: Mapping[str, TableHour]
    capacity: Capacity


_NOTHING = _Measured(uses=(), counts={}, capacity=Capacity())


def share_hours(*, seconds: float = SECONDS) -> int:
    """How many hours of clusters were shared out. Without metrics all of an hour stays shared, and is told as such."""
    deadline, done, after = monotonic() + seconds, 0, datetime.min.replace(tzinfo=UTC)
    organisations: set[str] = set()
    while monotonic() < deadline:
        first = HourToShare.objects.filter(hour__gt=after).order_by("hour").first()
        if first is None:
            break
        rows = HourToShare.objects.filter(hour=first.hour).order_by("cluster_id")
        keys = list(rows.values_list("organisation_id", "cluster_id")[:_CLUSTERS_AT_ONCE])
        measured = _measure(sorted({cluster for _, cluster in keys if cluster}), first.hour)
        if measured is None:
            after = first.hour
            continue
        for organisation_id, cluster_id in keys:
            _share(organisation_id, cluster_id, first.hour, measured.get(cluster_id))
            done += 1
            organisations.add(organisation_id)
    # One by one, by their index: those that have new days have old ones, too.
    for organisation_id in organisations:
        oldest = (datetime.now(UTC) - timedelta(days=DAYS_KEPT)).date()
        TableDay.objects.filter(organisation_id=organisation_id, day__lt=oldest).delete()
    return done


def _measure(cluster_ids: Sequence[str], hour: datetime) -> dict[str, _Measured] | None:
    """None: the store does not answer, but may later."""
    if not cluster_ids:
        return {}
    try:
        found = hours_of(cluster_ids, hour)
    except MetricsUnavailable as error:
        if error.code != "metrics_not_configured" and datetime.now(UTC) - hour < PATIENCE:
            log.warning("costs wait for metrics", hour=hour.isoformat(), reason=error.code)
            return None
        return {}
    backups = _backup_bytes(cluster_ids)
    return {cluster: _measured(numbers, backups.get(cluster, {})) for cluster, numbers in found.items()}


def _measured(numbers: ClusterHour, backups: Mapping[TableName, int]) -> _Measured:
    names = sorted({*numbers.tables, *backups})
    tables = {name: numbers.tables.get(name, TableHour()) for name in names}
    return _Measured(
        uses=[
            TableUse(
                name=_joined(name),
                service_micros=round(hour.service_seconds * _MICROS),
                work_micros=round(hour.compacted_bytes * _MICROS / COMPACTED_PER_SECOND),
                live_bytes=round(hour.live_bytes),
                total_bytes=round(hour.total_bytes),
                backup_bytes=backups.get(name, 0),
            )
            for name, hour in tables.items()
        ],
        counts={_joined(name): hour for name, hour in tables.items()},
        capacity=Capacity(
            service_micros=round(numbers.cpu_seconds * _MICROS),
            bytes=round(numbers.disk_bytes),
        ),
    )


def _joined(name: TableName) -> str:
    return ".".join(name)


# As they lie in the store, now: they change slowly. An object that several tables' backups have counts for the first.
_BACKUPS = """
SELECT cluster_id, keyspace, name, sum(bytes)::bigint
  FROM (SELECT DISTINCT ON (object.id) backup.cluster_id, tab.keyspace, tab.name, object.stored_bytes AS bytes
          FROM backups_backup backup
          JOIN backups_backuptable tab ON tab.backup_id = backup.id
          JOIN backups_backupbundle bundle ON bundle.table_id = tab.id
          JOIN backups_backupobject object ON object.id = bundle.object_id
         WHERE backup.cluster_id = ANY(%s) AND object.stored_at IS NOT NULL AND object.stored_bytes > 0
         ORDER BY object.id, backup.cluster_id, tab.keyspace, tab.name) each
 GROUP BY cluster_id, keyspace, name
"""


def _backup_bytes(cluster_ids: Sequence[str]) -> dict[str, dict[TableName, int]]:
    found: dict[str, dict[TableName, int]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_BACKUPS, [list(cluster_ids)])
        for cluster, keyspace, name, held in cursor.fetchall():
            found.setdefault(cluster, {})[keyspace, name] = held
    return found


@transaction.atomic
def _share(organisation_id: str, cluster_id: str, hour: datetime, measured: _Measured | None) -> None:
    """Moves what is the tables' from what is shared to them."""
    row = (
        HourToShare.objects.select_for_update()
        .filter(organisation_id=organisation_id, cluster_id=cluster_id, hour=hour)
        .first()
    )
    if row is None:
        return
    whole = Parts(**{name: getattr(row, name) for name in PARTS})
    HourToShare.objects.filter(organisation_id=organisation_id, cluster_id=cluster_id, hour=hour).delete()
    day = hour.date()
    more = Parts(**{name: max(0, getattr(whole, name)) for name in PARTS})
    shared = shared_tables({(organisation_id, cluster_id)})[organisation_id, cluster_id]
    given = _given(organisation_id, cluster_id, more, measured or _NOTHING, counted=row.uncounted <= 0)
    for table, parts in _taken(organisation_id, cluster_id, day, more - whole, shared).items():
        given[table] = Shares(given.get(table, Shares(Parts())).parts - parts, *_counts(given.get(table)))
    left = sum((shares.parts for shares in given.values()), Parts())
    amounts = {(table, organisation_id, day): shares for table, shares in given.items()}
    add_to_tables({**amounts, (shared, organisation_id, day): Shares(Parts() - left)})
    if cluster_id and measured is None and more.total:
        add_to_days({(organisation_id, cluster_id, day): (Parts(), more.total)})


def _counts(shares: Shares | None) -> tuple[int, int]:
    return (shares.reads, shares.writes) if shares else (0, 0)


def _given(
    organisation_id: str, cluster_id: str, whole: Parts, measured: _Measured, *, counted: bool
) -> dict[int, Shares]:
    """By table, without what stays shared. `counted`: reads and writes of the hour are there already."""
    if not measured.uses:
        return {}
    found = share_out(whole, measured.uses, measured.capacity)
    del found[SHARED]
    names = {name: (name.partition(".")[0], name.partition(".")[2]) for name in found}
    tables = tables_of(organisation_id, cluster_id, list(names.values()))
    if counted:
        return {tables[names[name]]: Shares(parts) for name, parts in found.items()}
    return {
        tables[names[name]]: Shares(
            parts, reads=round(measured.counts[name].reads), writes=round(measured.counts[name].writes)
        )
        for name, parts in found.items()
    }


def _taken(organisation_id: str, cluster_id: str, day: date, less: Parts, shared: int) -> dict[int, Parts]:
    """What tables give back of a day that cost less; of its month when days are not known any more."""
    if less == Parts():
        return {}
    of_cluster = {"organisation_id": organisation_id, "table__cluster_id": cluster_id}
    rows: list[TableDay] | list[TableMonth] = list(TableDay.objects.filter(**of_cluster, day=day))
    if all(row.table_id == shared for row in rows):
        rows = list(TableMonth.objects.filter(**of_cluster, month=day.replace(day=1)))
    borne = {row.table_id: Parts(**{name: getattr(row, name) for name in PARTS}) for row in rows}
    # What is taken back was taken from what is shared when it was written.
    borne[shared] = borne.get(shared, Parts()) + less
    back = taken_back(borne, less)
    del back[shared]
    return back
