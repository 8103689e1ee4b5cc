"""Keeps operations moving while the broker is away: a process that looks for due rows itself and runs them.

    python -m provisioner.standby

Every worker's main process watches the broker and, while that does not answer, keeps one such process beside it. It
runs one operation at a time, under the same lease and the same time limit as a worker's process, so it does no harm
when messages flow again meanwhile. It is slower than the fleet: it is there so that nothing stands still.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import redis
import structlog
from redis.exceptions import RedisError

log = structlog.get_logger(__name__)

COMMAND = (sys.executable, "-m", "provisioner.standby")
# Seconds. A look at the broker may last as long; a restart of it is not worth a process.
EVERY = 1.0
AWAY_FOR = 2.0
# Between two looks at the database that found nothing, and how long a nudge that may still be on its way is waited for.
IDLE = 0.5
NUDGE_LASTS = 0.5


class Standby:
    """The watching side, in a worker's main process. `command` is what runs operations."""

    def __init__(self, redis_url: str, command: Sequence[str] = COMMAND) -> None:
        self.command = command
        self._redis_url = redis_url
        self._runs: subprocess.Popen[bytes] | None = None
        self._away_since: float | None = None
        self._stopping = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._watch, name="standby", daemon=True).start()

    def stop(self) -> None:
        """The worker is going down."""
        self._stopping.set()

    def check(self) -> None:
        """Look at the broker; begin or end the process."""
        if self._broker_answers():
            self._away_since = None
            self._end()
            return
        if self._away_since is None:
            self._away_since = time.monotonic()
        ended = self._runs is None or self._runs.poll() is not None
        if ended and time.monotonic() - self._away_since >= AWAY_FOR:
            log.warning("broker away: running operations without it")
            self._runs = subprocess.Popen(self.command, stdin=subprocess.DEVNULL)

    def _broker_answers(self) -> bool:
        try:
            # A connection of its own: a pool's locks, held while the main process forks, would hang the child.
            with redis.from_url(self._redis_url, socket_connect_timeout=EVERY, socket_timeout=EVERY) as client:
                return bool(client.ping())
        except (RedisError, OSError):
            return False

    def _end(self) -> None:
        """What it holds at this moment comes due again with its lease."""
        if self._runs is not None:
            self._runs.kill()
            self._runs.wait()
            self._runs = None

    def _watch(self) -> None:
        while not self._stopping.wait(EVERY):
            self.check()
        self._end()


def run_due(at_most: int = 1) -> int:
    """Take some operations that are due and that nobody is on the way to some steps further; how many those were."""
    from provisioner import runner
    from provisioner.sweep import mark_nudged
    from provisioner.tasks import dead_within

    due = mark_nudged(again_after=NUDGE_LASTS, at_most=at_most)
    for operation_id in due:
        with dead_within(runner.LIMITS.alarm):
            runner.run(operation_id)
    return len(due)


def main(know_kinds: Callable[[], object] = lambda: None) -> None:
    """Run what is due for as long as the parent lives. `know_kinds` registers kinds that the product does not have."""
    import django
    from django.conf import settings
    from django.db import Error as DatabaseError
    from django.db import connections

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")
    django.setup()
    from backend.config import logs
    from provisioner.operations import registry

    logs.configure(settings.LOGGING)
    registry.register_all()
    know_kinds()
    parent = os.getppid()
    while os.getppid() == parent:
        try:
            found = run_due()
        except DatabaseError as error:
            log.warning("standby without database", error=str(error))
            with suppress(DatabaseError):
                connections.close_all()
            found = 0
        if not found:
            time.sleep(IDLE)


if __name__ == "__main__":
    main()
