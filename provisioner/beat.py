"""Beat, of which several may run: one rings, the others stand by.

The one that rings holds a lock of its database session. When it dies, or loses its connection, Postgres frees the lock
and another takes it within a turn (a second), or as soon as Postgres notices that a machine has gone (its
tcp_keepalives). Meanwhile two may ring in one second: every task may come twice anyway (provisioner/tasks.py).
"""

import time
from contextlib import suppress

import structlog
from celery.beat import PersistentScheduler
from django.db import Error as DatabaseError
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from backend.config import signs_of_life
from provisioner import alive

log = structlog.get_logger(__name__)

# Any number that no other advisory lock of this database has.
LOCK = 0x52494E47_42454154
# Seconds between two looks of one that stands by.
LOOK_EVERY = 1.0
# Seconds between two notes that it rings.
NOTE_EVERY = 5.0


class Leadership:
    """The lock, on a connection of its own: it lives exactly as long as its session does."""

    def __init__(self, alias: str = "default") -> None:
        self._alias = alias
        self._connection: BaseDatabaseWrapper | None = None
        self._held = False

    def holds(self) -> bool:
        """Whether this process leads, after it has tried to. False while there is no database."""
        try:
            held = self._ask()
        except DatabaseError as error:
            log.warning("beat without database", error=str(error).strip())
            self.give_up()
            return False
        if held and not self._held:
            log.info("beat leads")
        self._held = held
        return held

    def give_up(self) -> None:
        """Give the lock back, at once, and close the session."""
        if self._connection is not None:
            # A session that is gone has none.
            with suppress(DatabaseError), self._connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock_all()")
            self._connection.close()
        self._connection, self._held = None, False

    def _ask(self) -> bool:
        if self._connection is None:
            self._connection = connections.create_connection(self._alias)
        with self._connection.cursor() as cursor:
            if self._held:
                # Fails when the session is gone, and the lock with it.
                cursor.execute("SELECT true")
            else:
                cursor.execute("SELECT pg_try_advisory_lock(%s)", [LOCK])
            return bool(cursor.fetchone()[0])


class LeadingScheduler(PersistentScheduler):
    """Celery's own, which does nothing while another beat leads."""

    def __init__(self, *args: object, **options: object) -> None:
        self.leadership = Leadership()
        self._noted = -NOTE_EVERY
        super().__init__(*args, **options)

    def tick(self, *args: object, **options: object) -> float:
        """Send what is due, if this one leads; returns the seconds until the next turn."""
        alive.note()
        if not self.leadership.holds():
            return LOOK_EVERY
        return float(super().tick(*args, **options))

    def apply_async(self, *args: object, **options: object) -> object:
        sent = super().apply_async(*args, **options)
        # Not at every ring: there are several in a second.
        if time.monotonic() - self._noted >= NOTE_EVERY:
            self._noted = time.monotonic()
            signs_of_life.beat_rang()
        return sent

    def close(self) -> None:
        self.leadership.give_up()
        super().close()
