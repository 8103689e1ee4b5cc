"""The processes of a campaign, and what strikes them."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import redis

from infra.local import services

WORKERS = 2
CHILDREN = 3


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


def _holds_files(pid: int) -> bool:
    """Whether the process has locked a file. It must not run meanwhile."""
    held = (line.split() for line in Path("/proc/locks").read_text().splitlines())
    return any(words[1] == "POSIX" and words[4] == str(pid) for words in held)


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
                    child = self.choose.choice(children)
                    child.send_signal(how)
                    if how == signal.SIGSTOP and _holds_files(child.pid):
                        # All nodes are one file, which would hang with it for ever; real ones would not.
                        child.send_signal(signal.SIGCONT)
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
