"""What a worker does when a message comes in. Every task may come twice, late or never."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from celery import Task, shared_task
from django.db import close_old_connections
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from backend.console import outcomes
from backend.console.states import QUEUE as CONSOLE_QUEUE
from provisioner import runner, statements
from provisioner.operations import registry
from provisioner.reconcile import (
    advice,
    alerts,
    archives,
    audit,
    backup_findings,
    backups,
    budgets,
    capacity,
    certificates,
    connections,
    costs,
    drift,
    drives,
    healing,
    health,
    images,
    leaks,
    notices,
    prices,
    repairs,
    roles,
    tuning,
)

log = structlog.get_logger(__name__)

# Longer ones are left to the sweep: a countdown is a message in some worker's memory.
LONGEST_COUNTDOWN = 5.0
RECONCILE_LIMIT = 60  # seconds; a run plans for far less
PRICES_LIMIT = 600  # seconds; Google's list is tens of thousands of rows

registry.register_all()


@contextmanager
def dead_within(seconds: float) -> Iterator[None]:
    """The kernel ends this process unless the block is left in time.

    Celery's hard limit needs a living parent; this one does not. And a process that was frozen (SIGSTOP, a paused
    container) and wakes when its lease is long gone dies before it runs another line.
    """
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@shared_task(name="provisioner.run_operation", time_limit=runner.LIMITS.hard_limit)
def run_operation(operation_id: str) -> None:
    """Take an operation some steps further and ring again when it will be due soon."""
    with dead_within(runner.LIMITS.alarm):
        close_old_connections()
        result = runner.run(operation_id)
        for woken in result.woken:
            nudge(woken)
        if result.again_in is not None and result.again_in <= LONGEST_COUNTDOWN:
            nudge(operation_id, countdown=result.again_in)


@shared_task(name="provisioner.run_statement", time_limit=RECONCILE_LIMIT)
def run_statement(statement_id: str) -> None:
    """See provisioner/statements.py."""
    close_old_connections()
    if statements.run(statement_id):
        _follow(statement_id)


@shared_task(name="provisioner.follow_statement", time_limit=RECONCILE_LIMIT)
def follow_statement(statement_id: str) -> None:
    """A look takes two seconds at most, so that many long statements take turns in few workers."""
    close_old_connections()
    if statements.follow(statement_id):
        _follow(statement_id)


@shared_task(name="provisioner.reconcile_console", time_limit=RECONCILE_LIMIT)
def reconcile_console() -> None:
    """Passwords and answers of the console go when their time is over."""
    close_old_connections()
    outcomes.sweep()


@shared_task(name="provisioner.reconcile_health", time_limit=RECONCILE_LIMIT)
def reconcile_health() -> None:
    """See provisioner/reconcile/health.py."""
    close_old_connections()
    if health.check_clusters().sick:
        _ring_for(reconcile_healing)


@shared_task(name="provisioner.reconcile_healing", time_limit=RECONCILE_LIMIT)
def reconcile_healing() -> None:
    """See provisioner/reconcile/healing.py."""
    close_old_connections()
    healing.heal_clusters()


@shared_task(name="provisioner.reconcile_leaks", time_limit=RECONCILE_LIMIT)
def reconcile_leaks() -> None:
    """See provisioner/reconcile/leaks.py."""
    close_old_connections()
    leaks.sweep_providers()


@shared_task(name="provisioner.reconcile_capacity", time_limit=RECONCILE_LIMIT)
def reconcile_capacity() -> None:
    """See provisioner/reconcile/capacity.py."""
    close_old_connections()
    capacity.record_capacity()


@shared_task(name="provisioner.reconcile_certificates", time_limit=RECONCILE_LIMIT)
def reconcile_certificates() -> None:
    """See provisioner/reconcile/certificates.py."""
    close_old_connections()
    certificates.renew_certificates()


@shared_task(name="provisioner.reconcile_drift", time_limit=RECONCILE_LIMIT)
def reconcile_drift() -> None:
    """See provisioner/reconcile/drift.py."""
    close_old_connections()
    drift.compare_settings()


@shared_task(name="provisioner.reconcile_tuning", time_limit=RECONCILE_LIMIT)
def reconcile_tuning() -> None:
    """See provisioner/reconcile/tuning.py."""
    close_old_connections()
    tuning.refresh_reports()


@shared_task(name="provisioner.reconcile_repairs", time_limit=RECONCILE_LIMIT)
def reconcile_repairs() -> None:
    """See provisioner/reconcile/repairs.py."""
    close_old_connections()
    repairs.start_due()


@shared_task(name="provisioner.reconcile_catch_up", time_limit=RECONCILE_LIMIT)
def reconcile_catch_up() -> None:
    """See provisioner/reconcile/repairs.py."""
    close_old_connections()
    repairs.catch_up()


@shared_task(name="provisioner.reconcile_notices", time_limit=RECONCILE_LIMIT)
def reconcile_notices() -> None:
    """See provisioner/reconcile/notices.py."""
    close_old_connections()
    notices.read_notices()


@shared_task(name="provisioner.reconcile_prices", time_limit=PRICES_LIMIT)
def reconcile_prices() -> None:
    """See provisioner/reconcile/prices.py."""
    close_old_connections()
    prices.read_price_lists()


@shared_task(name="provisioner.reconcile_connections", time_limit=RECONCILE_LIMIT)
def reconcile_connections() -> None:
    """See provisioner/reconcile/connections.py."""
    close_old_connections()
    connections.check_connections()


@shared_task(name="provisioner.reconcile_roles", time_limit=RECONCILE_LIMIT)
def reconcile_roles() -> None:
    """See provisioner/reconcile/roles.py."""
    close_old_connections()
    roles.end_roles()
    roles.read_roles()


@shared_task(name="provisioner.reconcile_images", time_limit=RECONCILE_LIMIT)
def reconcile_images() -> None:
    """See provisioner/reconcile/images.py."""
    close_old_connections()
    images.tell_of_deprecated()


@shared_task(name="provisioner.reconcile_backups", time_limit=RECONCILE_LIMIT)
def reconcile_backups() -> None:
    """See provisioner/reconcile/backups.py."""
    close_old_connections()
    backups.see_to_backups()


@shared_task(name="provisioner.reconcile_backup_findings", time_limit=RECONCILE_LIMIT)
def reconcile_backup_findings() -> None:
    """See provisioner/reconcile/backup_findings.py."""
    close_old_connections()
    backup_findings.tell_of_backups()


@shared_task(name="provisioner.reconcile_archives", time_limit=RECONCILE_LIMIT)
def reconcile_archives() -> None:
    """See provisioner/reconcile/archives.py."""
    close_old_connections()
    archives.see_to_archives()


@shared_task(name="provisioner.deliver_alerts", time_limit=RECONCILE_LIMIT)
def deliver_alerts() -> None:
    """See provisioner/reconcile/alerts.py."""
    close_old_connections()
    alerts.deliver()


@shared_task(name="provisioner.reconcile_audit", time_limit=RECONCILE_LIMIT)
def reconcile_audit() -> None:
    """See provisioner/reconcile/audit.py."""
    close_old_connections()
    audit.link_records()


@shared_task(name="provisioner.reconcile_alerts", time_limit=RECONCILE_LIMIT)
def reconcile_alerts() -> None:
    """See provisioner/reconcile/alerts.py."""
    close_old_connections()
    alerts.look()


@shared_task(name="provisioner.reconcile_advice", time_limit=RECONCILE_LIMIT)
def reconcile_advice() -> None:
    """See provisioner/reconcile/advice.py."""
    close_old_connections()
    advice.review_clusters()


@shared_task(name="provisioner.reconcile_costs", time_limit=RECONCILE_LIMIT)
def reconcile_costs() -> None:
    """See provisioner/reconcile/costs.py."""
    close_old_connections()
    costs.meter()


@shared_task(name="provisioner.reconcile_budgets", time_limit=RECONCILE_LIMIT)
def reconcile_budgets() -> None:
    """See provisioner/reconcile/budgets.py."""
    close_old_connections()
    budgets.look()


@shared_task(name="provisioner.reconcile_drives", time_limit=RECONCILE_LIMIT)
def reconcile_drives() -> None:
    """See provisioner/reconcile/drives.py."""
    close_old_connections()
    drives.see_to_test_drives()


@shared_task(name="provisioner.ping")
def ping() -> None:
    """Only its arrival matters (provisioner/watchdog.py)."""


def _follow(statement_id: str) -> None:
    """A message that is lost is told as such when the statement's time is over."""
    try:
        follow_statement.apply_async((statement_id,), queue=CONSOLE_QUEUE, retry=False)
    except (OperationalError, RedisError, OSError) as error:
        log.warning("statement not followed", statement_id=statement_id, error=str(error))


def _ring_for(reconciler: Task) -> None:
    """Send for a reconciler before beat does. It is dropped when nobody takes it soon, and beat comes in any case."""
    try:
        reconciler.apply_async(expires=5, retry=False)
    except (OperationalError, RedisError, OSError) as error:
        log.warning("reconciler not rung for", task=reconciler.name, error=str(error))


def nudge(operation_id: str, *, countdown: float = 0.0) -> bool:
    """Ring for an operation. False: the broker is away; the row stays due and the sweep rings later."""
    try:
        run_operation.apply_async((operation_id,), countdown=countdown or None, retry=False)
    except (OperationalError, RedisError, OSError) as error:
        log.warning("nudge not sent", operation_id=operation_id, error=str(error))
        return False
    return True
