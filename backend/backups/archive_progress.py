"""What the provisioner finds out about archives of commit logs, written down: each can be repeated, or come late."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from backend.backups.models import ArchiveGap, ArchivePiece, ArchiveStream, BackupObject, LogArchive
from backend.clusters.models import Node

_AT_ONCE = 5_000


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A line of a node's journal; `key` empty: a gap. `bytes` in the object, `stored_bytes` of the object."""

    sequence: int
    begins_at: datetime
    ends_at: datetime
    key: str = ""
    bytes: int = 0
    stored_bytes: int = 0
    sha256: str = ""
    reason: str = ""


@transaction.atomic
def node_told(archive: LogArchive, node: Node, *, stream: str) -> ArchiveStream | None:
    """The node archives under this name from now on; empty: it archives no more."""
    open_now = ArchiveStream.objects.select_for_update().filter(node=node, ended_at=None).first()
    if open_now is not None and open_now.name != stream:
        ArchiveStream.objects.filter(id=open_now.id).update(ended_at=Now())
    if not stream:
        return None
    row, _ = ArchiveStream.objects.update_or_create(
        node=node, name=stream, defaults={"archive": archive, "revision": archive.revision, "ended_at": None}
    )
    return row


@transaction.atomic
def read(
    stream_id: int,
    entries: Sequence[Entry],
    *,
    began_at: datetime,
    covered_until: datetime,
    waiting_bytes: int,
    problem: str,
    more: bool,
) -> int:
    """What a node told since the last look; the sequence that is read up to now. `more`: there are further entries."""
    row = ArchiveStream.objects.select_for_update().select_related("archive").get(id=stream_id)
    fresh = [one for one in entries if one.sequence > row.sequence]
    _store(row, [one for one in fresh if one.key])
    ArchiveGap.objects.bulk_create(
        ArchiveGap(stream=row, sequence=one.sequence, begins_at=one.begins_at, ends_at=one.ends_at, reason=one.reason)
        for one in fresh
        if not one.key
    )
    row.sequence = max([row.sequence, *(one.sequence for one in fresh)])
    row.began_at, row.waiting_bytes, row.problem = began_at, waiting_bytes, problem
    if not more:
        # Before all pieces are known here, nothing can be restored to a later moment.
        row.covered_until = covered_until
    row.save(update_fields=["sequence", "began_at", "waiting_bytes", "problem", "covered_until"])
    return row.sequence


def _store(row: ArchiveStream, pieces: Sequence[Entry]) -> None:
    place: dict[str, Any] = {"location_id": row.archive.location_id, "organisation_id": row.archive.organisation_id}
    for one in pieces:
        # Its content says whose it is and from when, so nobody else's object has this key.
        found, _ = BackupObject.objects.update_or_create(
            **place,
            key=one.key,
            defaults={
                "bytes": one.bytes,
                "stored_bytes": one.stored_bytes,
                "sha256": one.sha256,
                "stored_at": one.ends_at,
                "unneeded_since": None,
            },
        )
        ArchivePiece.objects.create(
            stream=row, object=found, sequence=one.sequence, first_at=one.begins_at, last_at=one.ends_at
        )


def looked_at(archive: LogArchive) -> None:
    LogArchive.objects.filter(cluster_id=archive.cluster_id).update(looked_at=Now())


def forget_pieces(archive: LogArchive, *, before: datetime) -> int:
    """Takes references away, oldest first; how many. Their objects go with the sweep."""
    with transaction.atomic():
        # First: from here on no restore begins that would need them.
        rows = LogArchive.objects.select_for_update().filter(cluster_id=archive.cluster_id)
        row = rows.get()
        if row.purged_until is None or row.purged_until < before:
            rows.update(purged_until=before)
        chosen = ArchivePiece.objects.filter(stream__archive=archive, last_at__lt=before).order_by("last_at", "id")
        gone, _ = ArchivePiece.objects.filter(id__in=list(chosen.values_list("id", flat=True)[:_AT_ONCE])).delete()
        ArchiveGap.objects.filter(stream__archive=archive, ends_at__lt=before).delete()
    return gone
