"""Finds the operations that are due and that nobody is on the way to, and rings for them, twice a second.

It runs in beat's own process, not as a task: with every worker busy a task would wait for its turn while the operations
it should find wait for it.
"""

import threading

import structlog
from celery import Celery
from django.db import Error as DatabaseError
from django.db import connection
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

log = structlog.get_logger(__name__)

EVERY = 0.5  # seconds
AT_MOST = 500  # operations per sweep
# With nudges still queued another one for the same row would only flood the broker. With none queued, a row that is
# still due lost its nudge.
AGAIN_AFTER_WITH_BACKLOG = 10.0
AGAIN_AFTER = 2.0

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


def mark_nudged(*, backlog: int) -> list[str]:
    """Ids of operations to nudge now, at most AT_MOST, marked as nudged. `backlog`: nudges waiting at the broker."""
    again_after = AGAIN_AFTER_WITH_BACKLOG if backlog else AGAIN_AFTER
    with connection.cursor() as cursor:
        cursor.execute(_SWEEP, [again_after, AT_MOST])
        return [row[0] for row in cursor.fetchall()]


class Sweeper:
    """The thread that sweeps. Two of them, in two beats, do no harm: a row is marked once."""

    def __init__(self, app: Celery, *, queue: str) -> None:
        self._app = app
        self._queue = queue

    def start(self) -> None:
        threading.Thread(target=self._go_on, name="sweeper", daemon=True).start()

    def sweep(self) -> int:
        """Nudge what is due and was not nudged lately; how many those were. Errors of broker and database."""
        with self._app.pool.acquire(block=True) as broker:
            backlog: int = broker.default_channel.client.llen(self._queue)
            due = mark_nudged(backlog=backlog)
            for operation_id in due:
                self._app.send_task("provisioner.run_operation", [operation_id], connection=broker, retry=False)
        return len(due)

    def _go_on(self) -> None:
        pause = threading.Event()
        while not pause.wait(EVERY):
            try:
                self.sweep()
            except (OperationalError, RedisError, OSError) as error:
                # What was marked comes again in a few seconds.
                log.warning("sweep without broker", error=str(error))
            except DatabaseError as error:
                log.warning("sweep without database", error=str(error))
                connection.close()
