"""Looking at how many bytes backups hold, so that they can be metered. May be repeated."""

from django.db import connection, transaction

from backend.costs.models import HeldBytes

# An object that several backups have counts for the cluster with the first id of those; one that none has any more,
# for no cluster. `file` is a folder of this machine.
_NOW = """
SELECT organisation_id, cluster_id, location_id, kind, region, sum(bytes)::bigint
  FROM (SELECT object.organisation_id, object.location_id, location.kind, location.region,
               object.stored_bytes AS bytes, COALESCE(min(backup.cluster_id), '') AS cluster_id
          FROM backups_backupobject object
          JOIN backups_backuplocation location ON location.id = object.location_id
          LEFT JOIN backups_backupbundle bundle ON bundle.object_id = object.id
          LEFT JOIN backups_backupnode node ON node.id = bundle.node_id
          LEFT JOIN backups_backup backup ON backup.id = node.backup_id
         WHERE object.stored_at IS NOT NULL AND object.stored_bytes > 0
         GROUP BY object.id, location.id) each
 GROUP BY organisation_id, cluster_id, location_id, kind, region
"""
PROVIDERS = {"s3": "aws", "gcs": "gcp", "folder": "local"}
"""Whose prices count, by the kind of the location."""


@transaction.atomic
def observe_backups() -> int:
    """Ends what holds another number of bytes than it did, and begins it anew. How many changed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('observe-backups'))")
        cursor.execute("SELECT now()")
        now = cursor.fetchone()[0]
        cursor.execute(_NOW)
        seen = {(row[0], row[1], row[2]): row[3:] for row in cursor.fetchall()}
    known = {
        (row.organisation_id, row.cluster_id, row.location_id): row for row in HeldBytes.objects.filter(ended_at=None)
    }
    changed = [
        key for key in {**known, **seen} if key not in seen or key not in known or known[key].bytes != seen[key][2]
    ]
    for key in changed:
        before = known.get(key)
        # One moment for the end and the beginning; a clock that was put back makes nothing overlap.
        moment = now if before is None else max(now, before.began_at)
        if before is not None:
            HeldBytes.objects.filter(pk=before.pk).update(ended_at=moment)
        if key in seen:
            kind, region, held = seen[key]
            HeldBytes.objects.create(
                organisation_id=key[0],
                cluster_id=key[1],
                location_id=key[2],
                provider=PROVIDERS.get(kind, kind),
                region=region,
                bytes=held,
                began_at=moment,
            )
    return len(changed)
