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
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import redis

from infra.local import services

if TYPE_CHECKING:  # Django is set up only when the campaign's own database is there
    from backend.operations.models import Operation
    from provisioner.tests.chaos_mix import Customers
    from provisioner.tests.chaos_world import FakeWorld

TIME_SCALE = "0.4"  # a lease is 3.2 s
WORKERS = 2
CHILDREN = 3
# Seconds after which an operation that is not finished counts as stuck, as nothing at all has been recorded meanwhile.
STILL = 25.0


@dataclass
class Report:
    """What the campaign found. All but the first few fields must be empty or zero."""

    seed: int
    operations: int
    steps: int
    seconds: float
    faults: dict[str, int]
    kinds: dict[str, int] = field(default_factory=dict)
    endings: dict[str, int] = field(default_factory=dict)
    refused_orders: dict[str, int] = field(default_factory=dict)
    paused: int = 0
    waited: int = 0
    retried_by_people: int = 0
    # What was overdue long after the faults had ended, so that a person cancelled it.
    given_up: list[str] = field(default_factory=list)
    provider_faults: int = 0
    membership_looks: int = 0
    membership_changes: int = 0
    unfinished: list[str] = field(default_factory=list)
    recorded_twice: list[str] = field(default_factory=list)
    made_twice: list[str] = field(default_factory=list)
    overlaps: list[str] = field(default_factory=list)
    leaked: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    beside_each_other: list[str] = field(default_factory=list)
    membership: list[str] = field(default_factory=list)
    seen_by_others: list[str] = field(default_factory=list)
    leases_left: int = 0
    deaf_workers: int = 0


@dataclass
class Fleet:
    """The processes under fire; what dies is started again, as a supervisor would."""

    environment: dict[str, str]
    logs: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    exits: Counter[int] = field(default_factory=Counter)

    def tend(self) -> None:
        for name in [*(f"worker{n}" for n in range(WORKERS)), "beat"]:
            process = self.processes.get(name)
            if process is not None and process.poll() is None:
                continue
            if process is not None:
                self.exits[process.returncode] += 1
                self.end(name)  # orphaned children must not outlive their parent
            self.processes[name] = self.start(name)

    def start(self, name: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "celery", "--app=provisioner.tests.chaos_worker", "--quiet"]
        if name == "beat":
            command += ["beat", f"--schedule={self.logs / 'schedule'}", "--pidfile="]
        else:
            command += ["worker", f"--hostname={name}@chaos", "--pool=prefork", f"--concurrency={CHILDREN}"]
            command += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        with (self.logs / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                command, env=self.environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
            )

    def children(self, name: str) -> list[psutil.Process]:
        try:
            return psutil.Process(self.processes[name].pid).children()
        except psutil.NoSuchProcess:
            return []

    def signal_group(self, name: str, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):  # already gone; tend() will see
            os.killpg(self.processes[name].pid, number)

    def end(self, name: str) -> None:
        self.signal_group(name, signal.SIGKILL)
        self.processes[name].wait()

    def end_all(self) -> None:
        for name in self.processes:
            self.end(name)


@dataclass
class Chaos:
    """One fault at a time, chosen by weight. Frozen fleets wake by themselves after longer than a lease."""

    choose: random.Random
    fleet: Fleet
    postgres: services.Postgres
    broker: services.Redis
    counts: Counter[str] = field(default_factory=Counter)
    wakes: dict[str, float] = field(default_factory=dict)
    broker_back: float | None = None

    def strike(self) -> None:
        faults = {
            "child killed": 10,
            "child hung": 3,
            "worker killed": 3,
            "worker frozen": 2,
            "messages lost": 4,
            "messages doubled": 5,
            "broker away": 1,
            "beat killed": 1,
            "redis restarted empty": 1,
            "postgres restarted": 1,
            "postgres killed": 1,
        }
        if self.broker_back is not None:
            # What needs a broker has to wait for one.
            faults = {name: weight for name, weight in faults.items() if name in ("child killed", "child hung")}
        # The rare ones come for sure, once each, before chance rules.
        unseen = [name for name in faults if not self.counts[name]]
        fault = self.choose.choice(unseen or self.choose.choices(list(faults), list(faults.values())))
        worker = f"worker{self.choose.randrange(WORKERS)}"
        self.counts[fault] += 1
        match fault:
            case "child killed" | "child hung":
                how = signal.SIGKILL if fault == "child killed" else signal.SIGSTOP
                children = self.fleet.children(worker)
                if children:
                    self.choose.choice(children).send_signal(how)
            case "worker killed":
                self.fleet.end(worker)
            case "worker frozen":
                self.fleet.signal_group(worker, signal.SIGSTOP)
                self.wakes[worker] = time.monotonic() + self.choose.uniform(2, 6)
            case "beat killed":
                self.fleet.end("beat")
            case "redis restarted empty":
                self.broker.kill()
                time.sleep(self.choose.uniform(0, 1))
                self.broker.start()
            case "broker away":
                # Longer than the standby waits, so that operations go on without it.
                self.broker.kill()
                self.broker_back = time.monotonic() + self.choose.uniform(4, 7)
            case "postgres restarted":
                self.postgres.restart()
            case "postgres killed":
                self.postgres.kill()
                self.postgres.start()
            case _:
                self.meddle(fault)

    def meddle(self, fault: str) -> None:
        with redis.from_url(self.broker.url) as client:
            if fault == "messages lost":
                client.delete("ringmaster")
                return
            messages = client.lrange("ringmaster", 0, 99)
            self.choose.shuffle(messages)
            for message in messages * 4:
                client.lpush("ringmaster", message)

    def wake(self, *, all_of_them: bool = False) -> None:
        for worker, at in list(self.wakes.items()):
            if all_of_them or time.monotonic() >= at:
                self.fleet.signal_group(worker, signal.SIGCONT)
                del self.wakes[worker]
        if self.broker_back is not None and (all_of_them or time.monotonic() >= self.broker_back):
            self.broker.start()
            self.broker_back = None


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
    from backend.catalog import actions as catalog
    from backend.clusters import authorities
    from provisioner.operations import registry
    from provisioner.tests.chaos_kinds import know_the_kinds

    catalog.load(with_tests=True)
    authorities.ensure_control_plane_pki()
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
    from backend.operations.states import FINISHED, OperationState
    from provisioner.tests import plans
    from provisioner.tests.chaos_membership import Judge, Monitor
    from provisioner.tests.chaos_mix import Customers
    from provisioner.tests.chaos_world import fake_world

    choose = random.Random(seed)
    chaos = Chaos(choose, fleet, postgres, broker)
    world = fake_world(fleet.logs)
    customers = Customers(random.Random(seed + 1))
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
                report.given_up += _give_up_on_overdue(plans.ask)
            unfinished = Operation.objects.exclude(state__in=FINISHED).count()
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
    monitor.stop()
    fleet.end_all()
    report.faults, report.refused_orders = dict(chaos.counts), dict(customers.refused)
    report.membership_looks = monitor.looks
    report.membership, report.membership_changes = monitor.judge.complaints, monitor.judge.changes
    world.end_faults()
    return _judge(report, fleet, world, customers)


def _give_up_on_overdue(ask: Callable[[str, str], None]) -> list[str]:
    """Cancels, as a person does, what waits for what does not come: for the death of a node that turned out to live."""
    from django.db.models import F, Q

    from backend.operations.models import OperationStep
    from backend.operations.states import OperationState, StepState

    in_time = Q(operation__cancellable_until=None) | Q(position__lt=F("operation__cancellable_until"))
    overdue = OperationStep.objects.select_related("operation").filter(
        in_time,
        state=StepState.RUNNING,
        overdue=True,
        operation__state=OperationState.RUNNING,
        operation__cancel_requested_at=None,
    )
    given_up = []
    for step in overdue:
        ask(step.operation_id, "cancel")
        given_up.append(f"{step.operation.kind} {step.name}: {step.message}")
    return given_up


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


def _judge(report: Report, fleet: Fleet, world: FakeWorld, customers: Customers) -> Report:
    from django.db import connection

    from backend.operations.models import Operation, OperationStep
    from backend.operations.states import FINISHED

    connection.close()
    rows = list(Operation.objects.prefetch_related("steps"))
    report.steps = OperationStep.objects.count()
    report.kinds = dict(Counter(row.kind for row in rows))
    report.endings = dict(Counter(row.state for row in rows))
    report.unfinished = [f"{row.id} {row.kind} {row.state} {row.reason}" for row in rows if row.state not in FINISHED]
    report.leases_left = sum(row.lease_token is not None for row in rows)
    report.deaf_workers = fleet.exits[70]
    with connection.cursor() as cursor:
        cursor.execute("SELECT step, state FROM evidence GROUP BY 1, 2 HAVING count(*) > 1")
        report.recorded_twice = [f"{step} {state}" for step, state in cursor.fetchall()]
        for what in ("paused", "waited"):
            cursor.execute("SELECT count(DISTINCT operation) FROM stood WHERE what = %s", [what])
            setattr(report, what, cursor.fetchone()[0])
    report.beside_each_other = _beside_each_other(rows)
    _judge_files(report, rows)
    _judge_machines(report, world)
    report.seen_by_others = _seen_by_others(customers)
    return report


def _judge_files(report: Report, rows: list[Operation]) -> None:
    """Kinds whose effects are files: what succeeded left exactly its files, and nobody worked beside another."""
    from backend.operations.states import OperationState
    from provisioner.tests.chaos_kinds import JOURNAL, WORLD, on_files, things

    mine = [row for row in rows if row.kind in on_files()]
    expected = {thing for row in mine if row.state == OperationState.SUCCEEDED for thing in things(row)}
    # Nothing is undone on a cluster that is gone.
    forgiven = {thing for row in mine if row.reason_code == "cluster-deleted" for thing in things(row)}
    found = {path.name for path in WORLD.iterdir()} - forgiven
    report.leaked += sorted(found - expected)
    report.missing += sorted(expected - found)

    spans: dict[str, dict[str, list[int]]] = defaultdict(dict)
    created: Counter[str] = Counter()
    for line in JOURNAL.read_text().splitlines():
        event = json.loads(line)
        span = spans[event["operation"]].setdefault(event["token"], [event["at"], event["at"]])
        span[1] = max(span[1], event["at"])
        if event["event"] == "create":
            created[f"{event['operation']} {event['step']}"] += 1
    report.made_twice += [name for name, times in created.items() if times > 1]
    for operation, by_token in spans.items():
        ordered = sorted(by_token.values())
        for before, after in pairwise(ordered):
            if before[1] >= after[0]:
                report.overlaps.append(f"{operation} {(before[1] - after[0]) / 1e6:.1f} ms")


def _judge_machines(report: Report, world: FakeWorld) -> None:
    """Every living data centre has its network and a machine per living node, and there is nothing else."""
    from backend.clusters.models import Cluster, Datacenter, Node
    from provisioner.operations import names
    from provisioner.tests.chaos_world import REGION, SECOND_REGION

    living = Cluster.objects.filter(deleted_at=None)
    nodes = Node.objects.filter(deleted_at=None, cluster__in=living)
    datacenters = Datacenter.objects.filter(deleted_at=None, cluster__in=living)
    expected = {f"machine {names.machine(node)}" for node in nodes}
    expected |= {f"network {names.network(datacenter)}" for datacenter in datacenters}
    found = set(world.provider.inventory())
    report.leaked += sorted(found - expected)
    report.missing += sorted(expected - found)
    there: set[str] = set()
    for effect in world.provider.history():
        if effect.effect == "made":
            if effect.name in there:
                report.made_twice.append(effect.name)
            there.add(effect.name)
        elif effect.effect == "deleted":
            there.discard(effect.name)
    owners = {cluster.id: cluster.organisation_id for cluster in Cluster.objects.all()}
    for machine in [m for region in (REGION, SECOND_REGION) for m in world.provider.list_machines(region=region)]:
        if owners.get(machine.tags["ringmaster-cluster"]) != machine.tags["ringmaster-organisation"]:
            report.seen_by_others.append(f"{machine.name} has another tenant's tag")


def _beside_each_other(rows: list[Operation]) -> list[str]:
    """Steps of two operations on one cluster that were open at the same time though the table keeps them apart.

    One that made way and is cancelled while it stands is undone at once (coordination.py), so its undo does not count.
    """
    from backend.operations.coordination import Verdict, rule

    by_cluster: dict[str, list[Operation]] = defaultdict(list)
    for row in rows:
        if row.cluster_id:
            by_cluster[row.cluster_id].append(row)
    found = []
    for operations in by_cluster.values():
        for one, other in combinations(operations, 2):
            ones, others = rule(one.kind, other.kind).verdict, rule(other.kind, one.kind).verdict
            if Verdict.TOGETHER in (ones, others):
                continue
            of_one = _worked(one, undo=ones is not Verdict.MAKE_WAY)
            of_other = _worked(other, undo=others is not Verdict.MAKE_WAY)
            found += [
                f"{one.kind} {one.id} {a} beside {other.kind} {other.id} {b}"
                for a, b in product(of_one, of_other)
                if a[0] < b[1] and b[0] < a[1]
            ]
    return found


def _worked(row: Operation, *, undo: bool) -> list[tuple[datetime, datetime]]:
    """When steps of it were open, by the database's clock. `undo`: steps that were undone too."""
    spans = []
    for step in row.steps.all():
        ended = step.undone_at or step.finished_at or row.finished_at
        if step.started_at is None or ended is None:
            continue
        if step.finished_at is not None:
            spans.append((step.started_at, step.finished_at))
        if undo and step.undone_at is not None:
            spans.append((step.undo_started_at or step.started_at, step.undone_at))
    return spans


def _seen_by_others(customers: Customers) -> list[str]:
    """Rows that a tenant is shown and that are not its own, or that are its own and not shown."""
    from backend.clusters.models import Cluster
    from backend.clusters.queries import get_cluster
    from backend.core.errors import NotFound
    from backend.operations.models import Operation
    from backend.operations.queries import get_operation

    found = []
    for tenant in customers.tenants:
        for model, get in ((Cluster, get_cluster), (Operation, get_operation)):
            for identifier, owner in model.objects.values_list("id", "organisation_id"):
                try:
                    get(tenant.who, identifier)
                    shown = True
                except NotFound:
                    shown = False
                if shown != (owner == tenant.who.organisation_id):
                    found.append(f"{identifier} to {tenant.who.organisation_id}")
    return found


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
