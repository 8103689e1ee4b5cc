"""Finds the operations that are due and that nobody is on the way to, and rings for them, twice a second.

Every two seconds it also looks at the clusters on which operations wait for each other: whoever ends one sees to those
that wait for it, and this makes good what was left because a row was held at that moment.

It runs in beat's own process, not as a task: with every worker busy a task would wait for its turn while the operations
it should find wait for it.
"""

import threading

import structlog
from celery import Celery
from django.db import Error as DatabaseError
from django.db import connection, transaction
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from provisioner import alive

log = structlog.get_logger(__name__)

EVERY = 0.5  # seconds
TURNS_EVERY = 4  # sweeps
AT_MOST = 500  # operations, or clusters, per sweep
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


def mark_nudged(*, again_after: float, at_most: int = AT_MOST) -> list[str]:
    """Ids of operations to nudge now, marked as nudged. A nudge counts as lost after `again_after` seconds."""
    with connection.cursor() as cursor:
        cursor.execute(_SWEEP, [again_after, at_most])
        return [row[0] for row in cursor.fetchall()]


def settle_turns() -> list[str]:
    """Ids of operations to nudge now because their turn has come, or somebody's whom they must make way for."""
    # The worker's application is imported before Django's models can be.
    from backend.operations import turns

    woken: list[str] = []
    for cluster_id in turns.clusters_that_wait(AT_MOST):
        with transaction.atomic():
            woken += turns.settle(cluster_id)
    return woken


class Sweeper:
    """The thread that sweeps. Two of them, in two beats, do no harm: a row is marked once."""

    def __init__(self, app: Celery, *, queue: str) -> None:
        self._app = app
        self._queue = queue
        self._sweeps = 0

    def start(self) -> None:
        threading.Thread(target=self._go_on, name="sweeper", daemon=True).start()

    def sweep(self) -> int:
        """Nudge what is due and was not nudged lately; how many those were. Errors of broker and database."""
        # First, as this needs no broker: without one, workers look for what is due themselves.
        woken = settle_turns() if self._sweeps % TURNS_EVERY == 0 else []
        self._sweeps += 1
        with self._app.pool.acquire(block=True) as broker:
            backlog: int = broker.default_channel.client.llen(self._queue)
            due = woken + mark_nudged(again_after=AGAIN_AFTER_WITH_BACKLOG if backlog else AGAIN_AFTER)
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
                # Beat itself waits for the broker now, and must not pass for dead.
                alive.note()
            except DatabaseError as error:
                log.warning("sweep without database", error=str(error))
                connection.close()
