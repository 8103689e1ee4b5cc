"""Finds the operations that are due and that nobody is on the way to, so that they can be nudged."""

from django.db import connection

_SWEEP = """
UPDATE operations_operation
   SET nudged_at = now()
 WHERE id IN (
       SELECT id
         FROM operations_operation
        WHERE due_at <= now()
          AND (lease_until IS NULL OR lease_until <= now())
          AND (nudged_at IS NULL OR nudged_at <= now() - make_interval(secs => %s))
        ORDER BY due_at
        LIMIT %s
          FOR UPDATE SKIP LOCKED)
RETURNING id
"""

AT_MOST = 500
# With nudges still queued another one for the same row would only flood the broker. With none queued, a row that is
# still due lost its nudge.
AGAIN_AFTER_WITH_BACKLOG = 10.0
AGAIN_AFTER = 2.0


def mark_nudged(*, backlog: int) -> list[str]:
    """Ids of operations to nudge now, at most AT_MOST, marked as nudged. `backlog`: nudges waiting at the broker."""
    again_after = AGAIN_AFTER_WITH_BACKLOG if backlog else AGAIN_AFTER
    with connection.cursor() as cursor:
        cursor.execute(_SWEEP, [again_after, AT_MOST])
        return [row[0] for row in cursor.fetchall()]
