"""A worker on the world of a campaign, with the kinds of operations that chaos_kinds.py adds.

    celery -A provisioner.tests.chaos_worker worker

Run as a program it is the worker's standby.
"""

import os
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from celery import Celery, signals

from provisioner import standby
from provisioner.worker import app as worker_app
from provisioner.worker import standby as worker_standby
from provisioner.worker import watchdog

app: Celery = worker_app
_for_ever = ExitStack()
# Seconds: what backups of deleted clusters leave is taken away while the campaign lasts.
app.conf.beat_schedule["backups"]["schedule"] = 2.0
worker_standby.command = (sys.executable, "-m", "provisioner.tests.chaos_worker")


@signals.worker_init.connect
def _know_kinds_and_world(**_: object) -> None:
    from provisioner.operations import surroundings
    from provisioner.tests.chaos_backups import shorten_grace
    from provisioner.tests.chaos_kinds import know_the_kinds
    from provisioner.tests.chaos_world import fake_world

    know_the_kinds()
    shorten_grace()
    world = fake_world(Path(os.environ["RINGMASTER_CHAOS_FOLDER"]))
    # For as long as the process lives, and in every process that it forks.
    _for_ever.enter_context(surroundings.use(world.surroundings()))


# A worker that never hears anything of itself, for the test of the watchdog.
if os.environ.get("RINGMASTER_CHAOS_DEAF"):
    watchdog.every, watchdog.deaf_after = 0.2, 1.0
    watchdog.heard = lambda: None  # type: ignore[method-assign]


# One with more to do than it has processes, for much longer than it may be deaf.
if tasks := int(os.environ.get("RINGMASTER_CHAOS_BUSY", "0")):
    watchdog.every, watchdog.deaf_after = 0.2, 1.0

    @app.task(name="provisioner.tests.work", queue="ringmaster")
    def _work(number: int) -> None:
        time.sleep(4)
        Path(os.environ["RINGMASTER_CHAOS_FOLDER"], f"worked-{number}").touch()

    @signals.worker_ready.connect
    def _give_work(**_: object) -> None:
        for number in range(tasks):
            _work.delay(number)


if __name__ == "__main__":
    standby.main(_know_kinds_and_world)
