"""A lock in Postgres that commands hold which change the whole installation."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DEFAULT_DB_ALIAS, connections

_KEY = "SELECT hashtextextended('migrate and bootstrap', 0)"


@contextmanager
def one_at_a_time(alias: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    """Waits until no other process is inside. The lock goes with the session, so a killed process holds up nobody."""
    connection = connections[alias]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_advisory_lock(({_KEY}))")
    try:
        yield
    finally:
        # After a lost connection the lock is gone already, and what went wrong is what is told.
        if connection.is_usable():
            with connection.cursor() as cursor:
                cursor.execute(f"SELECT pg_advisory_unlock(({_KEY}))")
