"""Reading the archive of a cluster's commit logs, and the moments that it can be restored to."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet, Sum
from django.db.models.functions import Now

from backend.accounts.queries import Identity
from backend.backups.access import cluster_of, may_change
from backend.backups.coverage import Interval, Part, Start, Stream, needed_since, restorable_from
from backend.backups.models import ArchivePiece, ArchiveStream, Backup, LogArchive, Restore
from backend.backups.states import BackupState, NodeBackupState, RestoreState, reason_against_archiving
from backend.catalog.queries import archives_logs
from backend.clusters.models import Cluster, Node
from backend.clusters.states import SERVING, ClusterState
from backend.core.schemas import allowed

LATER = timedelta(seconds=10)
"""A write reaches a node so much after the time that it bears, at most: pieces are taken a little past the moment."""
_MOST_GAPS = 20


def get_archive(who: Identity, cluster_id: str) -> dict[str, Any]:
    """Raises NotFound."""
    cluster = cluster_of(who, cluster_id)
    archive = LogArchive.objects.filter(cluster=cluster).select_related("location").first()
    reason = reason_against_archiving(
        ClusterState(cluster.state), may=may_change(who), can=archives_logs(cluster.engine)
    )
    streams = _streams(cluster)
    now = datetime.now(UTC)
    live = [one for one in streams if one.ended_at is None and one.node.deleted_at is None]
    untils = [one.covered_until for one in live if one.covered_until is not None]
    on = archive is not None and archive.enabled
    stored = ArchivePiece.objects.filter(stream__archive__cluster=cluster).aggregate(b=Sum("object__stored_bytes"))["b"]
    return {
        "cluster_id": cluster.id,
        "enabled": on,
        "keep_days": None if archive is None else archive.keep_days,
        "interval_seconds": None if archive is None else archive.interval_seconds,
        "location_id": None if archive is None else archive.location_id,
        "location_name": None if archive is None else archive.location.name,
        "lag_seconds": (now - min(untils)).total_seconds() if on and untils else None,
        "stored_bytes": stored or 0,
        "nodes": [
            {
                "name": one.node.name,
                "covered_until": one.covered_until,
                "waiting_bytes": one.waiting_bytes,
                "problem": one.problem or None,
                "gaps": [
                    {"begins_at": gap.begins_at, "ends_at": gap.ends_at, "reason": gap.reason}
                    for gap in one.gaps.order_by("-sequence")[:_MOST_GAPS]
                ],
            }
            for one in live
        ],
        "restorable": restorable(cluster),
        "allowed_actions": [allowed("set_log_archive", reason)],
    }


def restorable(cluster: Cluster, *, backup: Backup | None = None) -> list[dict[str, Any]]:
    """From when to when with which backup, the newest backup first. `backup`: of that one alone."""
    archive = LogArchive.objects.filter(cluster=cluster).first()
    if archive is None:
        return []
    rows = Backup.objects.filter(cluster=cluster, state=BackupState.COMPLETE, settled_at__isnull=False)
    if backup is not None:
        rows = rows.filter(id=backup.id)
    streams = _streams(cluster)
    found = []
    for row in rows.prefetch_related("nodes", "tables").order_by("-settled_at"):
        if archive.purged_until is not None and (since := since_of(row)) is not None and since < archive.purged_until:
            continue
        interval = _interval(row, streams, cluster)
        if interval is not None:
            found.append({"begins_at": interval.begins_at, "ends_at": interval.ends_at, "backup_id": row.id})
    return found


def _interval(backup: Backup, streams: Sequence[ArchiveStream], cluster: Cluster) -> Interval | None:
    parts = [
        Part(
            datacenter=part.datacenter,
            taken_at=part.taken_at if part.state == NodeBackupState.WRITTEN else None,
            streams=[_stream(one) for one in streams if one.node_id == part.node_id],
        )
        for part in backup.nodes.all()
    ]
    keyspaces = {table.keyspace for table in backup.tables.all()}
    known = [backup.replication[name] for name in keyspaces if name in backup.replication]
    assert backup.settled_at is not None
    return restorable_from(
        parts,
        settled_at=backup.settled_at,
        replication=known if len(known) == len(keyspaces) else [],
        until=_nodes_changed(backup, cluster),
    )


def _stream(row: ArchiveStream) -> Stream:
    began = row.began_at or row.covered_until
    assert began is not None
    assert row.covered_until is not None
    return Stream(
        covered=Interval(begins_at=began, ends_at=max(began, row.covered_until)),
        gaps=[Interval(begins_at=gap.begins_at, ends_at=gap.ends_at) for gap in row.gaps.all()],
    )


def _streams(cluster: Cluster) -> list[ArchiveStream]:
    rows = ArchiveStream.objects.filter(
        archive__cluster=cluster, began_at__isnull=False, covered_until__isnull=False
    ).select_related("node")
    return list(rows.prefetch_related("gaps").order_by("node__position", "id"))


def _nodes_changed(backup: Backup, cluster: Cluster) -> datetime | None:
    """When a node came or left after the backup; None: none did."""
    there = {part.node_id for part in backup.nodes.all()}
    came = Node.objects.filter(cluster=cluster).exclude(id__in=there).filter(created_at__gt=backup.created_at)
    left = Node.objects.filter(id__in=there, deleted_at__isnull=False)
    times = [*came.values_list("created_at", flat=True), *left.values_list("deleted_at", flat=True)]
    # All of a cluster's nodes leave when it is deleted; what was archived until then stays good.
    if cluster.deleted_at is not None or cluster.state in (ClusterState.DELETING, ClusterState.DELETED):
        times = list(came.values_list("created_at", flat=True))
    return min((time for time in times if time is not None), default=None)


def since_of(backup: Backup) -> datetime | None:
    """From when on pieces are needed with it: when the first of its snapshots began."""
    return min((part.taken_at for part in backup.nodes.all() if part.taken_at is not None), default=None)


def pieces_for(backup: Backup, point: datetime, *, node_id: str | None) -> QuerySet[ArchivePiece]:
    """What is replayed on the backup's files: of one node, or of all that are in it."""
    since = since_of(backup)
    nodes = [part.node_id for part in backup.nodes.all()] if node_id is None else [node_id]
    rows = ArchivePiece.objects.filter(
        stream__archive__cluster_id=backup.cluster_id, stream__node_id__in=nodes, first_at__lte=point + LATER
    )
    return rows if since is None else rows.filter(last_at__gte=since)


def to_ask(*, every: timedelta, at_most: int) -> list[LogArchive]:
    """Archives whose nodes are to be looked at again, those that waited longest first."""
    active = Q(enabled=True, cluster__state__in=SERVING) | Q(enabled=False, streams__ended_at=None)
    due = Q(looked_at=None) | Q(looked_at__lt=Now() - every)
    rows = LogArchive.objects.filter(active & due, Q(enabled=True) | Q(streams__isnull=False)).distinct()
    return list(rows.select_related("cluster", "location").order_by("looked_at")[:at_most])


def over(archive: LogArchive, *, now: datetime) -> datetime | None:
    """Pieces that ended before this are needed no more; None: nothing is to be taken away."""
    running = Restore.objects.filter(backup__cluster_id=archive.cluster_id, point_in_time__isnull=False)
    if running.filter(state=RestoreState.RUNNING).exists():
        return None
    rows = Backup.objects.filter(cluster_id=archive.cluster_id, state__in=[BackupState.COMPLETE, BackupState.RUNNING])
    starts = [_start(row) for row in rows.prefetch_related("nodes")]
    return needed_since(starts, keep_since=now - timedelta(days=archive.keep_days)) or now


def _start(backup: Backup) -> Start:
    """One that is still being made may yet be complete."""
    return Start(since=since_of(backup) or backup.created_at, settled_at=backup.settled_at or backup.created_at)


def archives_in(location_id: str, organisation_id: str) -> Collection[LogArchive]:
    """Those that have pieces in a location."""
    rows = LogArchive.objects.filter(organisation_id=organisation_id, streams__pieces__object__location_id=location_id)
    return list(rows.distinct())
