"""The part of a restore that takes it to a moment: pieces of commit logs are fetched, and files are made of them.

What they give lies beside the fetched bundles, and is imported as they are. Nothing is changed before.
"""

from typing import Any

from backend.backups import progress, vault_keys
from backend.backups.archive_queries import pieces_for, since_of
from backend.backups.models import ArchivePiece, LogArchive, RestoreNode
from backend.backups.words import size_of
from provisioner.operations import names
from provisioner.operations.backup_store import get_sealed, in_words, key_for, open_store, schema_name
from provisioner.operations.base import Blocked, Done, Outcome, Standing, StepContext, Wait
from provisioner.operations.membership import forget_job
from provisioner.operations.restore_jobs import folder_of, is_running, run_on, share

_BATCH = 500
_BATCH_BYTES = 4 << 30
# What the agent looks for them as: docs/agent-api.md.
_KEYSPACE, _TABLE = "commit_log", "pieces"


def fetch(context: StepContext, part: RestoreNode) -> Outcome:
    """Batch by batch, after the bundles. Done at once where no moment was chosen."""
    batch = _next(part)
    if not batch:
        return Done(f"{size_of(part.fetched_bytes)} are here and verified")
    archive = LogArchive.objects.select_related("location").get(cluster_id=part.restore.backup.cluster_id)
    if any(one.object.location_id != archive.location_id for one in batch):
        raise Blocked(
            "store-refused",
            "The commit logs lie in another backup location than the cluster's archive has now.",
            "Set the archive back to the location that it had then, and retry.",
        )
    name = fetch_name(context, part)
    if context.pause_wanted and not is_running(part.node, name):
        return Standing(f"{size_of(part.fetched_bytes)} of {size_of(part.bytes)} are here")
    parameters: dict[str, Any] = {
        "restore": folder_of(part.restore),
        "store": vault_keys.store_of(archive.location, archive.organisation_id),
        "encryption": vault_keys.encryption(key_for(part.restore.backup)),
        "bundles": [
            {
                "key": one.object.key,
                "bytes": one.object.stored_bytes,
                "sha256": one.object.sha256,
                "keyspace": _KEYSPACE,
                "table": _TABLE,
            }
            for one in batch
        ],
    }
    job = run_on(part.node, name, "fetch-bundles", parameters)
    size = sum(one.object.bytes for one in batch)
    if isinstance(job, Wait):
        done = part.fetched_bytes + (job.progress or 0.0) * size
        return Wait(job.seconds, f"{size_of(done)} of {size_of(part.bytes)}", share(done, part.bytes))
    progress.pieces_fetched(part.id, after=part.piece_cursor, cursor=batch[-1].id, count=size)
    forget_job(part.node, name)
    done = part.fetched_bytes + size
    return Wait(0, f"{size_of(done)} of {size_of(part.bytes)}", share(done, part.bytes))


def _next(part: RestoreNode) -> list[ArchivePiece]:
    point = part.restore.point_in_time
    if point is None:
        return []
    source = None if part.source is None else part.source.node_id
    rows = pieces_for(part.restore.backup, point, node_id=source).filter(id__gt=part.piece_cursor)
    chosen: list[ArchivePiece] = []
    total = 0
    for row in rows.select_related("object").order_by("id")[:_BATCH]:
        total += row.object.bytes
        if chosen and total > _BATCH_BYTES:
            break
        chosen.append(row)
    return chosen


def fetch_name(context: StepContext, part: RestoreNode) -> str:
    return names.job(context.operation, f"fetch-logs-{part.piece_cursor}")


def replay(context: StepContext, part: RestoreNode) -> Outcome:
    """Keeps what was written until the moment, of the chosen tables as the backup's schema has them."""
    restore, backup = part.restore, part.restore.backup
    point, since = restore.point_in_time, since_of(backup)
    assert point is not None
    assert since is not None
    with in_words():
        store = open_store(backup.location, backup.organisation_id)
        schema = get_sealed(store, key_for(backup), schema_name(backup), sha256=backup.schema_sha256)
    chosen = {(one["keyspace"], one["table"]) for one in restore.tables}
    keyspaces = {keyspace for keyspace, _ in chosen}
    parameters = {
        "restore": folder_of(restore),
        "since": since.isoformat(),
        "until": point.isoformat(),
        "tables": [{"keyspace": keyspace, "table": table} for keyspace, table in sorted(chosen)],
        "keyspaces": [
            {
                "name": one["name"],
                "statements": [
                    said
                    for said in one["statements"]
                    if said["type"] == "type" or (said["type"] == "table" and (one["name"], said["name"]) in chosen)
                ],
            }
            for one in schema["keyspaces"]
            if one["name"] in keyspaces
        ],
    }
    job = run_on(part.node, names.job(context.operation, "replay-logs"), "replay-archive", parameters)
    if isinstance(job, Wait):
        return job
    return Done(f"{job.result['kept']:,} writes of {job.result['mutations']:,}, {size_of(int(job.result['bytes']))}")
