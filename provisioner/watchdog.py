"""Ends a worker that has gone deaf, so that its supervisor starts a new one.

A Celery worker that reconnects to Redis sometimes never takes another message. It looks healthy: the process runs, the
connection is open. The only proof of hearing is to hear, so the worker sends itself a ping every few seconds on a queue
of its own and notes in its main process when it comes in. A worker of which every process works takes no message at
all: it is busy, not deaf.
"""

import os
import threading
import time
from collections.abc import Callable
from typing import Any

import structlog
from celery import Celery
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from provisioner import alive

log = structlog.get_logger(__name__)

DEAF_EXIT_CODE = 70


class Watchdog:
    """Times in seconds. While pings cannot even be sent the broker is away, which no restart would cure.

    `queue` and `busy` are of the worker: its own queue, and whether every process of it has something to do. `lives` is
    told the queue whenever the worker is seen to hear or to work.
    """

    task_name = "provisioner.ping"

    def __init__(
        self,
        app: Celery,
        *,
        lives: Callable[[str], object],
        every: float = 5.0,
        deaf_after: float = 30.0,
        end_process: Callable[[int], object] = os._exit,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.queue = ""
        self.busy: Callable[[], bool] = lambda: False
        self.every = every
        self.deaf_after = deaf_after
        self._app = app
        self._lives = lives
        self._end_process = end_process
        self._now = now
        self._unheard_since: float | None = None
        self._stopping = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def stop(self) -> None:
        """The worker is going down and takes nothing more; that is not deafness."""
        self._stopping.set()

    def heard(self) -> None:
        """A ping came in."""
        self._unheard_since = None
        self._lives(self.queue)

    def check(self) -> None:
        """Send a ping; end the process when those before have not been heard for too long."""
        if self.busy():
            self._unheard_since = None
            self._lives(self.queue)
            return
        try:
            self._ping()
        except (OperationalError, RedisError, OSError) as error:
            log.warning("broker away", error=str(error))
            self._unheard_since = None
            return
        if self._unheard_since is None:
            self._unheard_since = self._now()
        elif self._now() - self._unheard_since > self.deaf_after:
            log.error("worker deaf", queue=self.queue, unheard_seconds=self._now() - self._unheard_since)
            self._end_process(DEAF_EXIT_CODE)

    def _ping(self) -> None:
        # A connection of its own: a pool's locks, held while the main process forks, would hang the child.
        with self._app.connection_for_write() as connection:
            # One that comes late is heard still: it may have waited behind others' messages.
            options: dict[str, Any] = {"queue": self.queue, "retry": False, "expires": self.deaf_after}
            self._app.send_task(self.task_name, connection=connection, **options)

    def _watch(self) -> None:
        while not self._stopping.wait(self.every):
            self.check()
            alive.note()
