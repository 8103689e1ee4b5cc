"""Which backups are kept. Pure.

Only complete backups count. What is not complete goes when a complete one came after it, or by its age; the newest
complete backup of a cluster that lives stays whatever the policy says.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, kw_only=True)
class Policy:
    """At least one of the first two; None: it does not matter."""

    keep_days: int | None
    keep_count: int | None
    keep_after_deletion_days: int


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A backup as far as it matters here. `policy` None: made by hand, kept until `expires_at` (None: for ever)."""

    id: str
    made_at: datetime
    complete: bool
    policy: Policy | None
    group: str
    """Backups of one schedule are counted together."""
    expires_at: datetime | None = None
    locked_until: datetime | None = None


def expired(backups: Sequence[Kept], *, now: datetime, cluster_deleted_at: datetime | None) -> list[str]:
    """Ids of those of one cluster that are to be deleted, the oldest first."""
    complete = sorted((b for b in backups if b.complete), key=lambda b: (b.made_at, b.id), reverse=True)
    last = complete[0].id if complete and cluster_deleted_at is None else ""
    found = [
        backup
        for backup in backups
        if backup.id != last
        and not (backup.locked_until is not None and backup.locked_until > now)
        and _is_over(backup, complete, now, cluster_deleted_at)
    ]
    return [backup.id for backup in sorted(found, key=lambda b: (b.made_at, b.id))]


def _is_over(backup: Kept, complete: Sequence[Kept], now: datetime, cluster_deleted_at: datetime | None) -> bool:
    policy = backup.policy
    if policy is None:
        return backup.expires_at is not None and backup.expires_at <= now
    if cluster_deleted_at is not None:
        return cluster_deleted_at + timedelta(days=policy.keep_after_deletion_days) <= now
    if policy.keep_days is not None and backup.made_at + timedelta(days=policy.keep_days) <= now:
        return True
    newer = [b for b in complete if b.group == backup.group and (b.made_at, b.id) > (backup.made_at, backup.id)]
    if not backup.complete:
        return bool(newer)
    return policy.keep_count is not None and len(newer) >= policy.keep_count
