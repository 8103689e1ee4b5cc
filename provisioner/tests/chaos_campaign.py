"""Shoots, freezes and starves real workers while they run operations, then looks whether every promise was kept.

    python -m provisioner.tests.chaos_campaign --operations 300 --seconds 120 --seed 7

It brings its own Postgres and Redis. The last line is the report as JSON. A seed replays the choice of faults; when
exactly they strike is up to the machine.
"""

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
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path

import psutil
import redis

from infra.local import services

TIME_SCALE = "0.4"  # a lease is 3.2 s
WORKERS = 2
CHILDREN = 3


@dataclass
class Report:
    """What the campaign found. All but the first few fields must be empty or zero."""

    seed: int
    operations: int
    steps: int
    seconds: float
    faults: dict[str, int]
    endings: dict[str, int] = field(default_factory=dict)
    unfinished: list[str] = field(default_factory=list)
    recorded_twice: list[str] = field(default_factory=list)
    made_twice: list[str] = field(default_factory=list)
    overlaps: list[str] = field(default_factory=list)
    leaked: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
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

    def strike(self) -> None:
        faults = {
            "child killed": 10,
            "child hung": 3,
            "worker killed": 3,
            "worker frozen": 2,
            "messages lost": 4,
            "messages doubled": 5,
            "beat killed": 1,
            "redis restarted empty": 1,
            "postgres restarted": 1,
            "postgres killed": 1,
        }
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


def run(*, operations: int, seconds: float, seed: int) -> Report:
    """Run a campaign. Faults strike while orders come in, for about half of `seconds`; then all must finish."""
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
        if not (report.unfinished or report.overlaps):
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
    with connection.cursor() as cursor:
        # The test servers save on durability; a killed one must keep what it has acknowledged all the same.
        cursor.execute("ALTER DATABASE ringmaster SET synchronous_commit = on")
        # Evidence that no code of ours writes: every time a step becomes done or undone.
        cursor.execute(
            """
            CREATE TABLE evidence (step text, state text, token uuid);
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
    from backend.operations.states import FINISHED
    from provisioner.tests import plans
    from provisioner.tests.chaos_worker import KIND, PLAN

    choose = random.Random(seed)
    chaos = Chaos(choose, fleet, postgres, broker)
    fleet.tend()
    began = time.monotonic()
    orders_end, end = began + seconds * 0.45, began + seconds
    ordered: list[Operation] = []
    cancels: dict[str, float] = {}
    next_strike = began + 2
    unfinished = operations
    while (unfinished or len(ordered) < operations) and time.monotonic() < end:
        now = time.monotonic()
        fleet.tend()
        chaos.wake(all_of_them=now > orders_end)
        wanted = min(operations, int(operations * (now - began) / (orders_end - began)) + 1)
        try:
            close_old_connections()
            while len(ordered) < wanted:
                ordered.append(plans.start(*PLAN, kind=KIND))
                if choose.random() < 0.15:
                    cancels[ordered[-1].id] = now + choose.uniform(0, 4)
            for operation_id in [o for o, at in cancels.items() if at <= now]:
                plans.ask(operation_id, "cancel")
                del cancels[operation_id]
            unfinished = Operation.objects.exclude(state__in=FINISHED).count()
        except DatabaseError:
            pass  # it is being restarted; the next round finds it
        if now >= next_strike and now < orders_end:
            chaos.strike()
            next_strike = time.monotonic() + choose.uniform(0.3, 1.2)
        time.sleep(0.1)
    took = time.monotonic() - began
    fleet.end_all()
    return _judge(Report(seed, operations, 0, round(took, 1), dict(chaos.counts)), fleet)


def _judge(report: Report, fleet: Fleet) -> Report:
    from django.db import connection

    from backend.operations.models import Operation, OperationStep
    from backend.operations.states import FINISHED, OperationState
    from provisioner.tests.chaos_worker import JOURNAL, PLAN, WORLD

    connection.close()
    rows = list(Operation.objects.all())
    report.steps = OperationStep.objects.count()
    report.endings = dict(Counter(row.state for row in rows))
    report.unfinished = [f"{row.id} {row.state} {row.reason}" for row in rows if row.state not in FINISHED]
    report.leases_left = sum(row.lease_token is not None for row in rows)
    report.deaf_workers = fleet.exits[70]
    with connection.cursor() as cursor:
        cursor.execute("SELECT step, state FROM evidence GROUP BY 1, 2 HAVING count(*) > 1")
        report.recorded_twice = [f"{step} {state}" for step, state in cursor.fetchall()]

    things = [tuple(step.partition("@")[::2]) for group in PLAN for step in group]
    expected = {
        f"{row.id}.{name}.{target}" for row in rows if row.state == OperationState.SUCCEEDED for name, target in things
    }
    found = {path.name for path in WORLD.iterdir()}
    report.leaked, report.missing = sorted(found - expected), sorted(expected - found)

    spans: dict[str, dict[str, list[int]]] = defaultdict(dict)
    created: Counter[str] = Counter()
    for line in JOURNAL.read_text().splitlines():
        event = json.loads(line)
        span = spans[event["operation"]].setdefault(event["token"], [event["at"], event["at"]])
        span[1] = max(span[1], event["at"])
        if event["event"] == "create":
            created[f"{event['operation']} {event['step']}"] += 1
    report.made_twice = [name for name, times in created.items() if times > 1]
    for operation, by_token in spans.items():
        ordered = sorted(by_token.values())
        for before, after in pairwise(ordered):
            if before[1] >= after[0]:
                report.overlaps.append(f"{operation} {(before[1] - after[0]) / 1e6:.1f} ms")
    return report


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
