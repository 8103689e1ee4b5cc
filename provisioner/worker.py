"""The Celery application of workers and beat. Messages are nudges; nothing here is true, the rows are.

    celery -A provisioner.worker worker --pool=prefork --without-gossip --without-mingle --without-heartbeat
    celery -A provisioner.worker beat --schedule=<run folder>/beat --pidfile=

Prefork, as only a process of its own can be killed at the hard time limit. Tasks are in provisioner/tasks.py.
"""

import logging
import os
from typing import Any

from celery import Celery, signals
from celery.app.amqp import AMQP
from celery.worker import state
from django.conf import settings
from kombu.connection import Connection
from kombu.entity import Queue

from backend.config import logs, signs_of_life, tracing
from backend.config.celery import celery_settings
from backend.console.states import QUEUE as CONSOLE_QUEUE
from provisioner.standby import Standby
from provisioner.sweep import Sweeper
from provisioner.watchdog import Watchdog

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")

OPERATIONS_QUEUE = "ringmaster"
# What beat sends does not wait behind a backlog of nudges: the worker takes from its queues in turn. The sweep is no
# task at all: beat's process does it (provisioner/sweep.py).
BEAT_QUEUE = "ringmaster.beat"
# Seconds. A node's state is to be true within five (provisioner/reconcile/health.py).
HEALTH_EVERY = 2.0


class _Connection(Connection):
    """Looks for an absent broker every second; the library would soon do so every half minute only."""

    def ensure_connection(self, *args: Any, **options: Any) -> Any:
        every_second = {"interval_start": 1, "interval_step": 0, "interval_max": 1}
        return super().ensure_connection(*args, **{**options, **every_second})


class _Amqp(AMQP):
    Connection = _Connection


app = Celery("provisioner", amqp=_Amqp, include=["provisioner.tasks"])
app.conf.update(celery_settings(settings.ENV.broker_url))
app.conf.update(
    task_queues=[Queue(name, routing_key=name) for name in (OPERATIONS_QUEUE, BEAT_QUEUE, CONSOLE_QUEUE)],
    task_routes={
        "provisioner.reconcile_*": {"queue": BEAT_QUEUE},
        "provisioner.deliver_alerts": {"queue": BEAT_QUEUE},
    },
    # A nudge is used up when it is taken; what it was about is in the row.
    task_acks_late=False,
    worker_enable_prefetch_count_reduction=False,
    # A nudge that is fetched by a worker without a free process waits there while another worker has nothing to do.
    worker_disable_prefetch=True,
    worker_hijack_root_logger=False,
    # A slow machine may need long to fork while it starts everything else.
    worker_proc_alive_timeout=30,
    # Otherwise Celery's Django part would connect anew for every task. Broken connections go in tasks.py.
    CELERY_DB_REUSE_MAX=10_000,
    beat_schedule={
        # What beat could not deliver in time is dropped, so that nothing piles up while all workers are away.
        "health": {"task": "provisioner.reconcile_health", "schedule": HEALTH_EVERY, "options": {"expires": 6}},
        "healing": {"task": "provisioner.reconcile_healing", "schedule": 15.0, "options": {"expires": 15}},
        "leaks": {"task": "provisioner.reconcile_leaks", "schedule": 60.0, "options": {"expires": 60}},
        "images": {"task": "provisioner.reconcile_images", "schedule": 60.0, "options": {"expires": 60}},
        "capacity": {"task": "provisioner.reconcile_capacity", "schedule": 60.0, "options": {"expires": 60}},
        "certificates": {"task": "provisioner.reconcile_certificates", "schedule": 600.0, "options": {"expires": 600}},
        "drift": {"task": "provisioner.reconcile_drift", "schedule": 120.0, "options": {"expires": 120}},
        "tuning": {"task": "provisioner.reconcile_tuning", "schedule": 120.0, "options": {"expires": 120}},
        "repairs": {"task": "provisioner.reconcile_repairs", "schedule": 60.0, "options": {"expires": 60}},
        "catch-up": {"task": "provisioner.reconcile_catch_up", "schedule": 300.0, "options": {"expires": 300}},
        "notices": {"task": "provisioner.reconcile_notices", "schedule": 300.0, "options": {"expires": 300}},
        "prices": {"task": "provisioner.reconcile_prices", "schedule": 600.0, "options": {"expires": 600}},
        "connections": {"task": "provisioner.reconcile_connections", "schedule": 60.0, "options": {"expires": 60}},
        "backups": {"task": "provisioner.reconcile_backups", "schedule": 20.0, "options": {"expires": 20}},
        "archives": {"task": "provisioner.reconcile_archives", "schedule": 10.0, "options": {"expires": 10}},
        "backup-findings": {
            "task": "provisioner.reconcile_backup_findings",
            "schedule": 60.0,
            "options": {"expires": 60},
        },
        "deliveries": {"task": "provisioner.deliver_alerts", "schedule": 5.0, "options": {"expires": 5}},
        "audit": {"task": "provisioner.reconcile_audit", "schedule": 5.0, "options": {"expires": 5}},
        "alerts": {"task": "provisioner.reconcile_alerts", "schedule": 60.0, "options": {"expires": 60}},
        "console": {"task": "provisioner.reconcile_console", "schedule": 60.0, "options": {"expires": 60}},
        "advice": {"task": "provisioner.reconcile_advice", "schedule": 10.0, "options": {"expires": 10}},
        "costs": {"task": "provisioner.reconcile_costs", "schedule": 300.0, "options": {"expires": 300}},
        "budgets": {"task": "provisioner.reconcile_budgets", "schedule": 300.0, "options": {"expires": 300}},
        "drives": {"task": "provisioner.reconcile_drives", "schedule": 30.0, "options": {"expires": 30}},
        "roles": {"task": "provisioner.reconcile_roles", "schedule": 20.0, "options": {"expires": 20}},
    },
    # Of several, one rings: provisioner/beat.py.
    beat_scheduler="provisioner.beat:LeadingScheduler",
    # How late beat may notice that something is due, in seconds.
    beat_max_loop_interval=1,
)


def _lives(queue: str) -> None:
    signs_of_life.worker_heard(queue.removeprefix(f"{OPERATIONS_QUEUE}."))


watchdog = Watchdog(app, lives=_lives)
standby = Standby(settings.ENV.redis_url)


@signals.setup_logging.connect
def _set_up_logging(**_: Any) -> None:
    logs.configure(settings.LOGGING)
    # Two lines for every message, many a second; what matters is logged by the runner, with fields.
    for name in ("celery.worker.strategy", "celery.app.trace", "celery.beat"):
        logging.getLogger(name).setLevel(logging.WARNING)


@signals.celeryd_after_setup.connect
def _take_pings_too(sender: str, instance: Any, **_: Any) -> None:
    watchdog.queue = f"ringmaster.{sender}"
    # As Celery judges whether to take another message, with worker_disable_prefetch.
    watchdog.busy = lambda: len(state.reserved_requests) >= instance.pool.num_processes
    instance.app.amqp.queues.select_add(watchdog.queue)
    # From the beginning: a worker that has never seen its broker is never ready.
    standby.start()


@signals.task_received.connect
def _heard(request: Any, **_: Any) -> None:
    if request.name == watchdog.task_name:
        watchdog.heard()


@signals.worker_ready.connect
def _begin(**_: Any) -> None:
    watchdog.start()
    # Orders are checked against it: a new installation must not wait a minute for beat to ask.
    app.send_task("provisioner.reconcile_capacity", retry=False)


@signals.worker_process_init.connect
def _trace(**_: Any) -> None:
    """In each child, which does the work and may be killed: the parent has no thread to send from."""
    tracing.set_up("ringmaster-worker")


@signals.worker_process_shutdown.connect
def _send_traces(**_: Any) -> None:
    tracing.stop(1.0)


@signals.beat_init.connect
def _sweep(**_: Any) -> None:
    Sweeper(app, queue=OPERATIONS_QUEUE).start()


@signals.worker_shutting_down.connect
def _stop_watching(**_: Any) -> None:
    watchdog.stop()
    standby.stop()
    signs_of_life.worker_left(watchdog.queue.removeprefix(f"{OPERATIONS_QUEUE}."))
