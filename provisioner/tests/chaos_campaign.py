"""Shoots, freezes and starves real workers while they run operations, then looks whether every promise was kept.

    python -m provisioner.tests.chaos_campaign --operations 300 --seconds 120 --seed 7

It brings its own Postgres and Redis. The last line is the report as JSON. A seed replays the choice of faults; when
exactly they strike is up to the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from infra.local import services
from provisioner.tests.chaos_fleet import Chaos, Fleet
from provisioner.tests.chaos_judge import Report, judge

TIME_SCALE = "0.4"  # a lease is 3.2 s
# Seconds after which an operation that is not finished counts as stuck, as nothing at all has been recorded meanwhile.
STILL = 25.0
# Seconds without anything open after which all is over.
QUIET = 1.5
_WAIT_FOR_A_DEATH = ("check_ring_without",)


def run(*, operations: int, seconds: float, seed: int) -> Report:
    """Run a campaign. Faults strike while orders come in, for about half of `seconds`; then all must finish.

    It takes longer on a busy machine: for as long as something moves, and at most four times as long.
    """
    folder = Path(tempfile.mkdtemp(prefix="rm-chaos-"))
    folder.chmod(0o711)
    postgres = services.start_postgres(folder / "postgres")
    broker = services.start_redis(folder / "redis")
    os.environ.update(
        DATABASE_URL=postgres.url,
        REDIS_URL=broker.url,
        DJANGO_SETTINGS_MODULE="backend.config.offline_settings",
        RINGMASTER_CHAOS_FOLDER=str(folder),
        RINGMASTER_TEST_TIME_SCALE=TIME_SCALE,
        RINGMASTER_LOG_LEVEL="WARNING",
        RINGMASTER_BACKUP_STORE=f"file://{folder / 'backups'}",
    )
    (folder / "world").mkdir()
    (folder / "journal").touch()
    fleet = Fleet(dict(os.environ), folder)
    try:
        _prepare_database()
        report = _fight(operations, seconds, seed, fleet, postgres, broker)
        if not (report.unfinished or report.overlaps or report.leaked or report.missing):
            shutil.rmtree(folder)
    finally:
        fleet.end_all()
        broker.stop()
        postgres.stop()
    return report


def _prepare_database() -> None:
    import django
    from django.core.management import call_command
    from django.db import connection

    django.setup()
    call_command("migrate", verbosity=0)
    from backend.backups import locations
    from backend.catalog import actions as catalog
    from backend.clusters import authorities
    from provisioner.operations import registry
    from provisioner.tests.chaos_kinds import know_the_kinds

    catalog.load(with_tests=True)
    authorities.ensure_control_plane_pki()
    locations.ensure_operators()
    registry.register_all()
    know_the_kinds()
    with connection.cursor() as cursor:
        # The test servers save on durability; a killed one must keep what it has acknowledged all the same.
        cursor.execute("ALTER DATABASE ringmaster SET synchronous_commit = on")
        # Evidence that no code of ours writes: every time a step becomes done or undone.
        cursor.execute(
            """
            CREATE TABLE evidence (step text, state text, token uuid);
            CREATE TABLE stood (operation text, what text);
            CREATE FUNCTION keep_standing() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                INSERT INTO stood VALUES (NEW.id, CASE WHEN NEW.state = 'paused' THEN 'paused' ELSE 'waited' END);
                RETURN NEW;
            END $$;
            CREATE TRIGGER keep_standing AFTER INSERT OR UPDATE ON operations_operation
                FOR EACH ROW WHEN (NEW.state = 'paused' OR (NEW.state = 'pending' AND NEW.waits_for <> ''))
                EXECUTE FUNCTION keep_standing();
            CREATE FUNCTION keep_evidence() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                INSERT INTO evidence
                SELECT NEW.id, NEW.state, lease_token FROM operations_operation WHERE id = NEW.operation_id;
                RETURN NEW;
            END $$;
            CREATE TRIGGER keep_evidence AFTER UPDATE ON operations_operationstep
                FOR EACH ROW WHEN (NEW.state IN ('done', 'undone') AND (NEW.*) IS DISTINCT FROM (OLD.*))
                EXECUTE FUNCTION keep_evidence();
            """
        )
    connection.close()


def _fight(
    operations: int, seconds: float, seed: int, fleet: Fleet, postgres: services.Postgres, broker: services.Redis
) -> Report:
    from django.db import DatabaseError, close_old_connections

    from backend.operations.models import Operation
    from backend.operations.states import OperationState
    from provisioner.tests import plans
    from provisioner.tests.chaos_membership import Judge, Monitor
    from provisioner.tests.chaos_mix import Customers
    from provisioner.tests.chaos_world import fake_world

    choose = random.Random(seed)
    chaos = Chaos(choose, fleet, postgres, broker)
    world = fake_world(fleet.logs)
    customers = Customers(random.Random(seed + 1), world.agents)
    ordered = customers.move_in()
    world.keep_every_ring()
    monitor = Monitor(world.rings_since, Judge(lambda address: world.provider.machine_at(address) is not None))
    monitor.start()
    fleet.tend()
    _wait_for_the_first(ordered)
    world.begin_faults()
    report = Report(seed, operations, 0, 0.0, {})
    began = time.monotonic()
    orders_end, faults_end, end = began + seconds * 0.5, began + seconds * 0.65, began + seconds
    asks: dict[str, tuple[str, float]] = {}
    next_strike = began + 2
    unfinished = operations
    peaceful = False
    recorded, moved_at = 0, began
    while unfinished or len(ordered) < operations:
        now = time.monotonic()
        if now > end and (now - moved_at > STILL or now > began + 4 * seconds):
            break
        fleet.tend()
        chaos.wake(all_of_them=now > orders_end)
        if now > faults_end and not peaceful:
            report.provider_faults, peaceful = world.end_faults(), True
        wanted = min(operations, int(operations * (now - began) / (orders_end - began)) + 1)
        try:
            close_old_connections()
            while len(ordered) < wanted:
                ordered.append(customers.order())
                what = choose.choices(["cancel", "pause", None], [15, 5, 80])[0]
                if what:
                    asks[ordered[-1]] = (what, now + choose.uniform(0, 4))
            for operation_id in [o for o, (_, at) in asks.items() if at <= now]:
                what, _ = asks.pop(operation_id)
                if what == "pause" and not plans.pause_for_a_while(operation_id):
                    continue
                if what == "pause":
                    asks[operation_id] = ("resume", now + choose.uniform(1, 3))
                elif what == "resume":
                    plans.resume(operation_id)
                else:
                    plans.ask(operation_id, what)
            # A person looks at what is blocked, and tries again.
            for operation_id in Operation.objects.filter(state=OperationState.BLOCKED).values_list("id", flat=True):
                plans.ask(operation_id, "retry")
                report.retried_by_people += 1
            if now > end:
                report.given_up += _give_up_on_overdue(plans.ask, is_still=now - moved_at > STILL / 2)
            unfinished = _unfinished()
            found = _recorded()
            if found != recorded:
                recorded, moved_at = found, now
        except DatabaseError:
            pass  # it is being restarted; the next round finds it
        if now >= next_strike and now < orders_end:
            chaos.strike()
            next_strike = time.monotonic() + choose.uniform(0.3, 1.2)
        time.sleep(0.1)
    report.seconds = round(time.monotonic() - began, 1)
    chaos.wake(all_of_them=True)
    _end_quietly(fleet)
    monitor.stop()
    fleet.end_all()
    report.faults, report.refused_orders = dict(chaos.counts), dict(customers.refused)
    report.membership_looks = monitor.looks
    report.membership, report.membership_changes = monitor.judge.complaints, monitor.judge.changes
    world.end_faults()
    return judge(report, world, customers, deaf_workers=fleet.exits[70])


def _give_up_on_overdue(ask: Callable[[str, str], None], *, is_still: bool) -> list[str]:
    """Cancels, as a person does, what waits for what does not come: for the death of a node that turned out to live.

    A step calls that overdue after minutes. Where nothing at all moves a person sees it before.
    """
    from django.db.models import F, Q

    from backend.operations.models import OperationStep
    from backend.operations.states import OperationState, StepState

    in_time = Q(operation__cancellable_until=None) | Q(position__lt=F("operation__cancellable_until"))
    overdue = OperationStep.objects.select_related("operation").filter(
        in_time,
        Q(overdue=True) | Q(name__in=_WAIT_FOR_A_DEATH if is_still else ()),
        state=StepState.RUNNING,
        operation__state=OperationState.RUNNING,
        operation__cancel_requested_at=None,
    )
    given_up = []
    for step in overdue:
        ask(step.operation_id, "cancel")
        given_up.append(f"{step.operation.kind} {step.name}: {step.message}")
    return given_up


def _unfinished() -> int:
    """Operations that are open, and backups that are still to be taken away."""
    from backend.backups.models import Backup
    from backend.operations.models import Operation
    from backend.operations.states import FINISHED

    going = Operation.objects.exclude(state__in=FINISHED)
    backups = Backup.objects.filter(state__in=["running", "deleting"])
    return going.count() + backups.exclude(operation_id__in=going.values("id")).count()


def _end_quietly(fleet: Fleet) -> None:
    """Nothing new is begun by itself; what was begun just before ends."""
    fleet.end("beat")
    quiet_since, end = time.monotonic(), time.monotonic() + QUIET * 20
    while time.monotonic() < min(quiet_since + QUIET, end):
        if _unfinished():
            quiet_since = time.monotonic()
        time.sleep(0.1)


def _recorded() -> int:
    """How many outcomes of steps were recorded so far."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM evidence")
        return int(cursor.fetchone()[0])


def _wait_for_the_first(operations: list[str]) -> None:
    """The fleet is up and the first clusters serve: from now on every kind has something to work on."""
    from backend.operations.models import Operation
    from backend.operations.states import FINISHED

    end = time.monotonic() + 180
    while Operation.objects.filter(id__in=operations).exclude(state__in=FINISHED).exists():
        if time.monotonic() > end:
            raise TimeoutError("the fleet did not come up")
        time.sleep(0.1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--operations", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=75)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    options = parser.parse_args()
    report = run(operations=options.operations, seconds=options.seconds, seed=options.seed)
    sys.stdout.write(json.dumps(asdict(report)) + "\n")


if __name__ == "__main__":
    main()
